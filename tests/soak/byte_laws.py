"""Laws of arbitrary bytes: nothing crashes or hangs, and what no rule speaks about stays."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import strategies as st

from porttool.edits import Edit, splice
from porttool.errors import PortError
from porttool.layout import FileNames, Layout, Symbol, fragment_end, paths_renaming
from porttool.layout import Fragment as LayoutFragment
from porttool.manifest import load, load_layout
from porttool.names import Pair, Renaming
from porttool.port_patch import read_patch
from porttool.repo import Entry
from porttool.repo_objects import parse_commit, serialize_commit
from porttool.rewrite import is_binary, rewrite, scan, touched
from porttool.translate import Translator
from tests.soak.cases import CHECKED, REFUSED, Blob, Raw, Violation
from tests.soak.layouts import layouts
from tests.soak.pick import Pick
from tests.soak.sources import contents
from tests.soak.tree_laws import FILE, check_undone
from tests.support.cases import MemoryBlobs

RICH = Layout(
    paths=paths_renaming({"pkg/alpha.py": "lib/nova.py", "pkg/core": "pkg/deep/prime", "c/conf.yaml": "c/fresh.yaml"}),
    extra_modules=(Pair(("alpha", "run"), ("nova", "run")),),
    symbols=(Symbol("Alpha", "Nova"), Symbol("beta", "zeta", words=True)),
    keys=Renaming("key", (Pair(("alpha",), ("nova",)), Pair(("alpha", "beta"), ("nova", "deep", "beta")))),
    fragments=(
        LayoutFragment(fragment_end("c/conf.yaml#core"), fragment_end("c/core.yaml#")),
        LayoutFragment(fragment_end("pkg/alpha.py::core"), fragment_end("pkg/beta.py::Nova.core")),
    ),
)
PATHS = (
    "x.py", "x.yaml", "x.sh", "x.md", "x", "pkg/alpha.py", "c/conf.yaml", "pkg/core/__init__.py", ".gitattributes",
)  # fmt: skip
TOKENS = (
    *"()[]{}:;,.=+-*/@#$%&|<>!?~^\\'\"` \t\n", "\n    ", "\n\t", "\r\n", "\r", "\f", '"""', "'''", "${", "$(",
    "<<EOF\n", "EOF\n", "- ", ": ", "? ", "|\n", ">-\n", "&a ", "*a", "<<: ", "!!str ", "---\n", "...\n", "%YAML",
    "defaults:", "override ", "/", "_self_", "@package ", "import ", "from ", "from . import ", " as ", "def ",
    "class ", "async ", "lambda ", "return ", "f'{", "}'", "b'", "\\x", "\\N{", "alpha", "beta", "core",
    "alpha.beta", "alpha.run", "pkg.alpha", "pkg/alpha.py", "pkg", "Alpha", "conf", "cfg.", ".get(",
    "OmegaConf.select(", "python -m ", "python ", "alpha=1", "+alpha.beta=", "~alpha", "x@alpha=", "```bash\n",
    "```\n", "#!/bin/sh\n", "#!/usr/bin/python\n", "\0", "é", "\ufeff", "\u2028", "\udcff", "[attr]", "binary",
    "-text", "if x:", "else", "match ", "case ", "global ", "__all__", "1e5", "0x", "\\\n",
)  # fmt: skip
SOURCE = (
    "(", "[", "{", "- ", "? ", "a: {", "a:\n ", "{a: ", "f'{", "$(", "${", "`", '"', "'", "\\\n", "a.", "alpha.",
    "alpha/", "pkg/", "../", "import alpha;", "x = ", "not ", "-", "lambda: ", "if 1: ", "<<E\n", "&a *a ",
    "# alpha\n", "\r", "\t", "alpha=", "alpha ", "```sh\n", "~", "@", "alpha[", "from . import (", "class A:\n ",
    "*", "alpha.beta=1 ", "!!x ", "- - ", "|\n",
)  # fmt: skip
FLAT = (
    "# alpha\n", "alpha ", "import alpha;", "import alpha\n", "\t", "x = 1\n", "alpha=1 ", "`", "~", "@", "\n", "\r",
    "alpha: 1\n", "[alpha], ",
)  # fmt: skip

soup = st.lists(st.sampled_from(TOKENS), max_size=40).map("".join)
arbitrary = st.one_of(
    st.binary(max_size=120),
    soup.map(lambda text: text.encode("utf-8", "surrogateescape")),
    st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.tuples(st.binary(max_size=20), soup, st.binary(max_size=20)).map(
        lambda parts: parts[0] + parts[1].encode("utf-8", "surrogateescape") + parts[2]
    ),
)


def _soup(pick: Pick, most: int = 40) -> str:
    return "".join(pick.some(lambda: pick.of(TOKENS), most))


def deep(pick: Pick) -> bytes:
    """One piece many times, with something before and behind, and perhaps its mirror image: deep nests, long lines."""
    if pick.seldom(3):
        count, piece, second = pick.of((500, 1000, 2000)), pick.of(FLAT), ""
    else:
        count, piece = pick.of((3, 60, 200, 300)), pick.of(SOURCE)
        second = pick.of(SOURCE) if pick.seldom(2) else ""
    if count < 1000 and pick.seldom(3):
        count = min(count, 400)
        middle = "".join(" " * n + piece + "a:\n" for n in range(count))
    else:
        middle = (piece + second) * count
    ends = [_soup(pick, 12) for _ in range(2)]
    close = pick.of(("", "", ")", "]", "}", "'", "\n"))
    return (ends[0] + middle + close * min(count, 1000) + ends[1]).encode("utf-8", "surrogateescape")


blob_cases = st.builds(Blob, st.just(RICH), st.sampled_from(PATHS), arbitrary)


def soup_cases(pick: Pick) -> Blob:
    """Tokens of all languages in any order."""
    return Blob(RICH, pick.of(PATHS), _soup(pick).encode("utf-8", "surrogateescape"))


def deep_cases(pick: Pick) -> Blob:
    """Deep nests and long lines, under any name."""
    return Blob(RICH, pick.of(PATHS), deep(pick))


def file_cases(pick: Pick) -> Blob:
    """A file that speaks of its layout, with some of its bytes broken."""
    layout = layouts(pick)
    path = pick.of(PATHS)
    blob = contents(pick, layout, path)
    for _ in range(pick.below(3)):
        at = pick.below(len(blob) + 1)
        put = pick.of(TOKENS).encode("utf-8", "surrogateescape") if pick.seldom(2) else bytes((pick.below(256),))
        blob = blob[:at] + put + blob[at + pick.of((0, 1, 1, 5)) :]
    return Blob(layout, path, blob)


def check_blob(case: Blob) -> str:
    """No crash; edits lie in bounds and apart; what is not looked at stays; one-way exactly where it is so."""
    names = case.layout.for_file(case.path)
    check_edits(case.content, names)
    blobs = MemoryBlobs()
    entries = {case.path: Entry(FILE, blobs.write(case.content))}
    translator = Translator(case.layout, blobs)
    try:
        there = translator.tree(entries)
    except PortError:
        return REFUSED
    check_undone(translator, blobs, entries, there)
    return CHECKED


def check_edits(blob: bytes, names: FileNames) -> None:
    """The edits of one file, as such."""
    done = rewrite(blob, names)
    if is_binary(blob):
        if done.blob != blob:
            raise Violation("binary", "a binary file is changed")
        return
    fresh = replace(names.layout).for_file(names.path)
    if rewrite(blob, fresh).blob != done.blob:
        raise Violation("memory", "what was read before changes what is read now")
    found = scan(blob, names)
    looked = touched(blob, names)
    if not looked and found.edits:
        raise Violation("prefilter", f"is not looked at, and has edits {found.edits}")
    try:
        spliced = splice(blob, found.edits)
    except ValueError as fault:
        raise Violation("edits", str(fault)) from fault
    if done.blob != (spliced if looked else blob):
        raise Violation("untouched", "rewriting changes bytes outside its edits")
    if not _speaks(blob, names) and done.blob != blob:
        raise Violation("untouched", f"no word of the layout is there, and the edits are {found.edits}")
    for note in found.notes:
        if not 0 <= note.offset <= len(blob):
            raise Violation("notes", f"a note at {note.offset} of {len(blob)} bytes")
    check_line_ends(blob, done.blob)
    if _whole_names(names.layout):
        for edit in found.edits:
            check_token(blob, edit)


def _speaks(blob: bytes, names: FileNames) -> bool:
    """Whether a layout can say anything about a file: one of its words is there, or what the file leaves unsaid
    changes, since it moves or hangs below a key that does."""
    layout = names.layout
    moves = names.path != names.new_path or (names.module is not None and names.dotted(names.module[0]) is not None)
    hangs = layout.keys.map(names.mount) != names.new_mount
    return moves or hangs or any(word.encode("utf-8", "surrogateescape") in blob for word in layout.words)


def check_line_ends(before: bytes, after: bytes) -> None:
    """CRLF stays CRLF, and a missing last newline stays missing."""
    bare = re.compile(rb"(?<!\r)\n")
    if b"\r\n" in before and not bare.search(before) and bare.search(after):
        raise Violation("line ends", f"LF in a file of CRLF: {after!r}")
    if b"\r" not in before and b"\r" in after:
        raise Violation("line ends", f"CR in a file of LF: {after!r}")
    if before and before != after and before.endswith(b"\n") != after.endswith(b"\n"):
        raise Violation("line ends", f"the last newline: {after!r}")


def _whole_names(layout: Layout) -> bool:
    return all(s.whole for s in layout.symbols) and not any("*" in part for pair in layout.paths for part in pair.old)


_WORD = re.compile(rb"[A-Za-z0-9_]")


def check_token(blob: bytes, edit: Edit) -> None:
    """An edit does not begin or end inside an identifier."""
    for at in {edit.start, edit.end}:
        if _WORD.match(blob, at) and at and _WORD.match(blob, at - 1) and blob[at - 2 : at - 1] != b"\\":
            around = blob[max(at - 9, 0) : at + 9]
            raise Violation("token", f"{blob[edit.start : edit.end]!r} -> {edit.text!r} parts {around!r}")


KEYS = (
    "version: 1", "source: {repo: r, ref: m}", "target: {repo: r, ref: m, branch: b}", "layout:", "  paths: {a: b}",
    "  paths:\n    a/*.py: b/*_x.py", "  symbols: {A: B}", "  symbols: {A: {to: B, in: [a.py], words: true}}",
    "  keys: {a.b: c, a: d}", "  fragments: {'a.yaml#b': 'c.yaml#'}",
    "  fragments:\n    a.py::f: {to: b.py::g, new_after: ''}", "  roots: [., src]", "  modules: {a.b: c.d}",
    "  mounts: {a.yaml: b}", "commits:", "  - {pick: [abc1234]}", "  - {new: p.patch}", "  - {range: a..b}",
    "protected: [a, 'b/*']", "policy: {merges: refuse}", "policy: {committer: {name: x}}", "parity: {x: [1]}",
    "commits: []", "  paths: {a: {to: b, one_way: true}}", "&x", "*x", "<<: *x", "- ", "? ",
    "!!python/object:os.system x", "\t", "layout: {}", "~", "2001-01-01", "0x10", "1e400", ".nan", "'", '"\\ud800"',
    "{" * 40, "[" * 2000, "- " * 2000, "x: &a [1]\ny: [*a, *a]",
)  # fmt: skip
HEADS = (
    "From: A <a@x>", "Date: Mon, 1 Jan 2024 00:00:00 +0000", "Date: 2024-01-01", "Date: x",
    "Date: Mon, 1 Jan 0000 99:99:99 +9999", "Subject: [PATCH 1/2] x", "Subject: =?utf-8?q?=FF?=",
    "Subject: =?x?b?!?=", " folded", "", "---", "diff --git a/x b/x", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "-x",
    "+y", "From abc Mon", "Author: é <e>", 'diff --git "a/\\303" "b/\\777"', "From:", "Date:", ":", "Description: x",
)  # fmt: skip
PARTS = (
    "tree " + "a" * 40, "parent " + "b" * 40, "author A <a@x> 1 +0000", "author", "committer C <c> 1 -0000",
    "encoding latin1", "encoding \udcff", "gpgsig x", " y", "", "message", "mergetag object",
    "author \udce9 <> 99999999999999999999 +9", "HG:x y",
)  # fmt: skip


def _lines(pieces: tuple[str, ...]) -> st.SearchStrategy[bytes]:
    some = st.lists(st.sampled_from(pieces), max_size=14)
    return some.map(lambda told: "\n".join(told).encode("utf-8", "surrogateescape"))


raw_cases = st.one_of(
    st.builds(Raw, st.sampled_from(("manifest", "layout")), st.one_of(_lines(KEYS), _lines(KEYS), arbitrary)),
    st.builds(Raw, st.just("patch"), st.one_of(_lines(HEADS), arbitrary)),
    st.builds(Raw, st.just("commit"), _lines(PARTS).map((b"tree " + b"a" * 40 + b"\n").__add__)),
)


def check_raw(case: Raw) -> str:
    """Whatever is read, it is read or refused."""
    try:
        match case.kind:
            case "layout":
                made = load_layout(case.content)
                made.modules, made.digest, made.inverse().modules
            case "commit":
                commit = parse_commit("0" * 40, case.content)
                if parse_commit("0" * 40, serialize_commit(commit)) != commit:
                    raise Violation("commit", "is not read as it was written")
            case _:
                with tempfile.TemporaryDirectory() as folder:
                    file = Path(folder) / "given"
                    file.write_bytes(case.content)
                    _ = load(file) if case.kind == "manifest" else read_patch(file).paths
    except PortError:
        return REFUSED
    return CHECKED

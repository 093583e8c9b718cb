"""Old names in any text: paths, dotted names, symbols, and config keys where the context says it is a key.

Every rule asks the same of both sides of a pair, so that the inverse layout finds the same places in the result.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from porttool.edits import Edit, Found, Note
from porttool.layout import FileNames, Layout
from porttool.names import Name, Pair
from porttool.rewrite.overrides import LONGEST, config_groups, decode, encode, names_a_key, scan_word
from porttool.rewrite.text_blocks import is_command, shell_blocks

# Letters of two UTF-8 bytes belong to identifiers; wider scripts do not, since their prose has no spaces around names.
_LETTER = rb"(?:[A-Za-z0-9_]|[\xc3-\xdf][\x80-\xbf])"
_TOKEN = re.compile(_LETTER + rb"+")
_DOTTED = re.compile(_LETTER + rb"+(?:\." + _LETTER + rb"+)+")
_PATH = re.compile(rb"(?:[A-Za-z0-9_.\-/*@+]|[\xc3-\xdf][\x80-\xbf])+")
_CLUSTER = re.compile(rb"[A-Za-z0-9_.\-/*@+~\x80-\xff]+")
_IN_CLUSTER = bytes(1 if _CLUSTER.fullmatch(bytes((byte,))) else 0 for byte in range(256))
_OVERRIDE = re.compile(rb"(?:\+\+?|~)?[A-Za-z_][\w\-./]*(?:@[\w.:\-]*)?(?:\[[\w.\-]+\][\w.\-]*)*=(?!=)")
_DELETION = re.compile(rb"~[A-Za-z_][\w\-./]*(?:@[\w.:\-]*)?(?=[\s\"'`,;)\]}]|$)")
_ROOT_AFTER = re.compile(rb"(?:^|/)(?:blob|tree|raw|blame|edit)/[^/]+/$")
_KEY_CALL = re.compile(rb"(?:select|get|update|pop)\s*\(\s*(?:[\w.]+\s*,\s*)?[\"']$")
_MODULE_LEAD = re.compile(rb"(?:\s-m\s+|_target_[\"']?\s*[:=]\s*[\"']?)$")
_PYTHON = re.compile(rb"(?<![\w.\-])(?:python[\d.]*|torchrun|deepspeed|accelerate)(?=\s)")
_QUOTES = b"\"'`"


class _Candidate(NamedTuple):
    """One possible edit; `rank` 0 is certain (an override), the rest compete by length."""

    rank: int
    start: int
    end: int
    text: bytes
    kind: str


class _Lexicon(NamedTuple):
    """What a layout says about text, computed once."""

    words: tuple[bytes, ...]
    path_depth: int


_LEXICONS: dict[str, _Lexicon] = {}


def lexicon_words(layout: Layout) -> tuple[bytes, ...]:
    """The layout's search words as bytes."""
    return _lexicon(layout).words


def _lexicon(layout: Layout) -> _Lexicon:
    found = _LEXICONS.get(layout.digest)
    if found is None:
        if len(_LEXICONS) >= 64:
            _LEXICONS.clear()
        words = _fewest(layout.words)
        depth = max((len(pair.old) for pair in layout.paths), default=0)
        found = _LEXICONS[layout.digest] = _Lexicon(words, depth)
    return found


def _fewest(words: tuple[str, ...]) -> tuple[bytes, ...]:
    """The words that hold no other: one of them stands wherever one of `words` does."""
    kept: list[bytes] = []
    for word in sorted({encode(word) for word in words}, key=len):
        if not any(shorter in word for shorter in kept):
            kept.append(word)
    return tuple(kept)


@lru_cache(maxsize=256)
def _any_of(words: tuple[bytes, ...]) -> re.Pattern[bytes]:
    return re.compile(b"|".join(re.escape(word) for word in words))


def scan(
    source: bytes,
    names: FileNames,
    start: int = 0,
    end: int | None = None,
    *,
    keys: bool = True,
    arguments: Mapping[int, bool] | None = None,
) -> Found:
    """Edits for every old name in `source[start:end]`; with `keys` False no config key is touched.

    `arguments` tells, by offset, what is known to be an argument of a command and what is known not to be one.
    """
    stop = len(source) if end is None else end
    present = tuple(word for word in lexicon_words(names.layout) if source.find(word, start, stop) >= 0)
    if not present:
        return Found([], [])
    scanner = _Scanner(source, names, (start, stop), keys, arguments or {})
    at = start
    for hit in _any_of(present).finditer(source, start, stop):
        if hit.start() >= at:
            at = scanner.cluster(hit.start(), hit.end(), at)
    return scanner.found()


class _Scanner:
    """One pass over one span; collects candidates, then lets the longest win."""

    def __init__(
        self, source: bytes, names: FileNames, span: tuple[int, int], keys: bool, arguments: Mapping[int, bool]
    ) -> None:
        self.source, self.names, self.arguments = source, names, arguments
        self.start, self.stop = span
        groups = config_groups(names.layout)
        self.keys = keys and bool(names.layout.keys or groups.folders or groups.files)
        self.depth = _lexicon(names.layout).path_depth
        self.candidates: list[_Candidate] = []
        self.notes: list[Note] = []
        self._blocks: list[tuple[int, int]] | None = None
        self._line = (0, 0)  # where the last line asked for starts, and up to where no newline follows
        self._long_commands: dict[int, bool] = {}
        self._commands: dict[int, int] = {}
        self._launchers: dict[int, tuple[int, bool]] = {}

    def cluster(self, first: int, last: int, floor: int) -> int:
        """Collect the candidates of the run around `source[first:last]`; the end of that run."""
        source = self.source
        while first > floor and _IN_CLUSTER[source[first - 1]]:
            first -= 1
        tail = _CLUSTER.match(source, last, self.stop)
        last = tail.end() if tail else last
        if self.keys:
            self._overrides(first, last)
            self._reference(first, last)
        for run in _PATH.finditer(source, first, last) if self.depth or self.names.layout.imports else ():
            self._import(run.start(), run.end())
            self._paths(run.start(), run.end())
        for run in _DOTTED.finditer(source, first, last):
            self._dotted(run.start(), run.end())
        if self.names.layout.symbols:
            for run in _TOKEN.finditer(source, first, last):
                new = self.names.symbol(decode(run.group()))
                if new is not None:
                    self.candidates.append(_Candidate(2, run.start(), run.end(), encode(new), "symbol"))
        return last

    def found(self) -> Found:
        """The winners: where candidates overlap, certain ones first, then the longest, then the leftmost."""
        edits: list[Edit] = []
        for group in _overlapping(self.candidates):
            taken: list[_Candidate] = []
            for candidate in sorted(group, key=lambda c: (c.rank, c.start - c.end, c.start)):
                if all(candidate.end <= other.start or other.end <= candidate.start for other in taken):
                    taken.append(candidate)
            edits += [Edit(c.start, c.end, c.text) for c in taken if not self._ambiguous(c, group)]
        edits = [edit for edit in edits if self.source[edit.start : edit.end] != edit.text]
        return Found(sorted(edits), sorted(set(self.notes)))

    def _ambiguous(self, chosen: _Candidate, group: list[_Candidate]) -> bool:
        """Whether a module and a key claim exactly this span with different results."""
        if chosen.rank == 0:
            return False
        rivals = [c for c in group if c[:3] == chosen[:3] and c.text != chosen.text]
        if rivals:
            shown = decode(self.source[chosen.start : chosen.end])
            kinds = " and ".join(sorted({chosen.kind, *(rival.kind for rival in rivals)}))
            self.notes.append(Note(chosen.start, "ambiguous", f"{shown!r} is a {kinds} of the layout"))
        return bool(rivals)

    def _dotted(self, start: int, end: int) -> None:
        source = self.source
        before, after = source[max(start - 2, 0) : start], source[end : end + 2]
        if before[-1:] in (b".", b"/") or after[:1] == b"/":
            return
        if (before[-1:] == b"-" and before[:1].isalnum()) or (after[:1] == b"-" and after[1:].isalnum()):
            return
        name = tuple(decode(source[start:end]).split("."))
        found = self.names.layout.modules.match(name)
        if found and (_shortest(found[0]) > 1 or self._is_module_place(start, end)):
            self._prefix(start, found, name, ".", "module")
        if self.keys:
            found = self.names.layout.keys.match(name)
            if found and self._is_key_place(start, end, found[0], name):
                self._prefix(start, found, name, ".", "key")

    def _prefix(self, start: int, found: tuple[Pair, Name], name: Name, separator: str, kind: str) -> None:
        """A candidate for the leading segments that the pair renames."""
        pair, new = found
        rest = len(name) - len(pair.old)
        old_text = encode(separator.join(name[: len(pair.old)]))
        new_text = encode(separator.join(new[: len(new) - rest]))
        self.candidates.append(_Candidate(1, start, start + len(old_text), new_text, kind))

    def _is_module_place(self, start: int, end: int) -> bool:
        """Whether a pair of one segment may be meant: a whole quoted string, `-m`, `_target_:`."""
        source = self.source
        quote = source[start - 1 : start]
        if quote and quote in _QUOTES:
            return source[end : end + 1] in (quote, b":")
        return _MODULE_LEAD.search(source, max(start - 32, 0), start) is not None

    def _is_key_place(self, start: int, end: int, pair: Pair, name: Name) -> bool:
        source = self.source
        if names_a_key(source, start):
            return True
        if _shortest(pair) > 1:
            return True
        if len(name) == len(pair.old):
            return False
        quote = source[start - 1 : start]
        if quote == b"`":
            return source[end : end + 1] == quote
        return bool(_KEY_CALL.search(source, max(start - 80, 0), start)) and source[end : end + 1] == quote

    def _import(self, start: int, end: int) -> None:
        """A name with slashes, such as a Go import path, stands at the start of its run."""
        name = tuple(decode(self.source[start:end]).split("/"))
        found = self.names.layout.imports.match(name)
        if found:
            self._prefix(start, found, name, "/", "import")

    def _paths(self, start: int, end: int) -> None:
        source, paths = self.source, self.names.layout.paths
        end -= len(source[start:end]) - len(source[start:end].rstrip(b"."))
        glued = source[start - 1 : start] if start > self.start else b""
        if glued in (b"}", b"%", b"$") and glued and source[start : start + 1] != b"/":
            first = source.find(b"/", start, end)
            rooted_at = first + 1 if glued == b"$" else -1
            starts = _starts(source, max(first, start), end) if first >= 0 else []
        else:
            rooted_at = -1
            starts = _starts(source, start, end)
        closed = source[end : end + 1] not in (b"{", b"$", b"%") or source[end - 1 : end] == b"/"
        # Cut behind the segments that can match, as a run may be as long as the file.
        cuts = [*(at - 1 for at in starts[self.depth + 1 :]), *([end] * (self.depth + 1))]
        for at, cut in zip(starts, cuts, strict=False):
            name = tuple(decode(source[at:cut]).split("/", self.depth)[: self.depth])
            found = paths.match(name)
            if found is None:
                continue
            pair, length = found[0], len(encode("/".join(name[: len(found[0].old)])))
            whole = at + length == end
            if whole and not (closed and _looks_like_path(pair.old) and _looks_like_path(pair.new)):
                continue
            if _shortest(pair) > 1 or at == rooted_at or self._is_root(start, at):
                self._prefix(at, found, name, "/", "path")

    def _is_root(self, run: int, at: int) -> bool:
        """Whether a repository path starts at `at`: the run starts here, or what stands before is a root."""
        if at - run > 120:
            return _ROOT_AFTER.search(self.source, at - 120, at) is not None
        lead = self.source[run:at].lstrip(b"*+-@")
        if lead == b"/":
            return self.source[run - 1 : run] in (b"}", b")") and run > self.start
        return (not lead.strip(b"./") and not lead.startswith(b"/")) or _ROOT_AFTER.search(lead) is not None

    def _overrides(self, first: int, last: int) -> None:
        """Hydra overrides whose key is in this run."""
        source = self.source
        while first < last and source[first] >= 0x80:
            first += 1
        reach = min(self.stop, first + LONGEST + 1)
        head = _OVERRIDE.match(source, first, reach) or _DELETION.match(source, first, reach)
        if head is None or head.end() < last:
            return
        sure = b"@" in head.group() or head.group()[:1] in (b"+", b"~") or self._is_argument(first)
        if not sure and b"." not in head.group():
            return
        found = scan_word(source, self.names, first, _word_end(source, first, head.end(), self.stop))
        # Elsewhere only the dot tells an override from an assignment, so it must be there on both sides.
        edits = [edit for edit in found.edits if sure or edit.start >= head.end() or b"." in edit.text]
        self.candidates += [_Candidate(0, *edit, "override") for edit in edits]
        self.notes += found.notes

    def _reference(self, first: int, last: int) -> None:
        """`${key}` of one segment: a shell would take it for a variable, but for a quote or an escape before it."""
        source = self.source
        if source[first - 3 : first] in (b"'${", b"\\${") and source[last : last + 1] == b"}":
            new = self.names.key((decode(source[first:last]),))
            if new is not None:
                self.candidates.append(_Candidate(0, first, last, encode(".".join(new)), "key"))

    def _is_argument(self, at: int) -> bool:
        """Whether `at` starts an argument of a command: after `python`, or inside a fenced shell block."""
        source = self.source
        known = self.arguments.get(at)
        if known is not None:
            return known
        if not source[at - 1 : at].strip(_QUOTES + b" \t"):
            line = self._command_start(at)
            if self._launched(line, at):
                return True
            if self._blocks is None:
                self._blocks = shell_blocks(source)
            block = bisect_right(self._blocks, (at, len(source))) - 1
            if block >= 0 and at < self._blocks[block][1]:
                if at - line <= LONGEST:
                    return is_command(source[line:at])
                if line not in self._long_commands:
                    self._long_commands[line] = is_command(source[line : line + LONGEST])
                return self._long_commands[line]
        return False

    def _command_start(self, at: int) -> int:
        """Where the line of `at` starts, with the lines it continues."""
        source = self.source
        known, searched = self._line if self._line[1] <= at else (0, 0)
        line = max(source.rfind(b"\n", searched, at) + 1, known)
        self._line = (line, at)
        passed = []
        while line not in self._commands and source[max(line - 3, 0) : line].endswith((b"\\\n", b"\\\r\n")):
            passed.append(line)
            line = source.rfind(b"\n", 0, line - 1) + 1
        first = self._commands.get(line, line)
        self._commands.update(dict.fromkeys(passed, first))
        return first

    def _launched(self, line: int, at: int) -> bool:
        """Whether a launcher of Python stands between the start of a command and `at`."""
        searched, found = self._launchers.get(line, (line, False))
        if not found:
            # The last word is searched again: it may have been cut short the time before.
            found = _PYTHON.search(self.source, max(searched - 16, line), at) is not None
            self._launchers[line] = (at, found)
        return found

def _shortest(pair: Pair) -> int:
    """Rules that ask how long a name is ask it of both sides, so that they hold on the way back too."""
    return min(len(pair.old), len(pair.new))


def _looks_like_path(name: Name) -> bool:
    return len(name) > 1 or "." in name[0]


def _starts(source: bytes, start: int, end: int) -> list[int]:
    """Where a repository path may start in a run: at its start, behind leading marks, behind each slash."""
    marks = len(source[start:end]) - len(source[start:end].lstrip(b"*+-@"))
    found = {start, start + marks}
    at = source.find(b"/", start, end)
    while at >= 0:
        found.add(at + 1)
        at = source.find(b"/", at + 1, end)
    return sorted(found)


def _word_end(source: bytes, start: int, value: int, stop: int) -> int:
    """The end of the word that starts at `start` and whose value starts at `value`, as a shell would read it."""
    quote = source[start - 1 : start]
    stop = min(stop, value + LONGEST + 1)
    line = source.find(b"\n", value, stop)
    line = stop if line < 0 else line
    if quote and quote in _QUOTES:
        close = source.find(quote, value, line)
        return close if close >= 0 else line
    at, depth = value, 0
    while at < line:
        byte = source[at : at + 1]
        if byte in (b'"', b"'"):
            close = source.find(byte, at + 1, line)
            if close < 0:
                break
            at = close
        elif byte in (b"(", b"[", b"{"):
            depth += 1
        elif byte in (b")", b"]", b"}"):
            depth -= 1
            if depth < 0:
                break
        elif depth == 0 and byte in b" \t\r;|&<>`":
            break
        at += 1
    return value + len(source[value:at].rstrip(b".,:\\\r "))


def _overlapping(candidates: list[_Candidate]) -> Iterator[list[_Candidate]]:
    """Candidates in groups that touch each other."""
    group: list[_Candidate] = []
    reach = -1
    for candidate in sorted(candidates, key=lambda c: (c.start, c.end)):
        if group and candidate.start >= reach:
            yield group
            group = []
        group.append(candidate)
        reach = max(reach, candidate.end) if len(group) > 1 else candidate.end
    if group:
        yield group

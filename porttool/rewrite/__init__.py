"""One blob in, one blob out: the language module is chosen by the file's name, the rest of the bytes stay."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from porttool.edits import Found, Note, splice
from porttool.layout import FileNames, Layout
from porttool.names import Name

Scan = Callable[[bytes, FileNames], Found]

_SNIFFED = 8000  # git looks for a NUL in as many leading bytes
_SHEBANG = re.compile(rb"#![^\n]*?\b(?:(python)[\d.]*|(?:ba|da|k|z)?sh)\b")
# The letter of an escape such as `\n` is no part of the word behind it.
_WHOLE = rb"(?:(?<![A-Za-z0-9_])|(?<=\\[A-Za-z0-9_]))%s(?![A-Za-z0-9_])"
_IMPLIED = ("py", "pyi", "yaml", "yml")
_RELATIVE_IMPORT = re.compile(rb"\bfrom[\s\\]*\.")


@dataclass(frozen=True)
class Rewritten:
    """A blob in the other layout; the offsets of `notes` are those of the blob it came from."""

    blob: bytes
    notes: tuple[Note, ...] = ()


def rewrite(blob: bytes, names: FileNames) -> Rewritten:
    """Rename in one blob what `names` renames there; a binary comes back as it is."""
    if is_binary(blob) or not touched(blob, names):
        return Rewritten(blob)
    found = scan(blob, names)
    return Rewritten(splice(blob, found.edits) if found.edits else blob, tuple(found.notes))


def scan(blob: bytes, names: FileNames) -> Found:
    """The edits and notes of the language module that reads this file; none in a file that the layout keeps."""
    if names.kept:
        return Found([], [])
    return _scanner(language(names.path, blob))(blob, names)


def is_binary(blob: bytes) -> bool:
    """Git's own rule, so that the two never disagree about what is text."""
    return b"\0" in blob[:_SNIFFED]


def touched(blob: bytes, names: FileNames) -> bool:
    """Whether a scan can find anything: a name of the layout, or a file that says less than it means and moves, which
    is a Python file with relative imports, and some YAML. Nothing is found in a file that the layout keeps."""
    if names.kept:
        return False
    kind = language(names.path, blob)
    if any(needle.word in blob and needle.pricks(blob, names, kind) for needle in _needles(names.layout)):
        return True
    match kind:
        case "python":
            renamed = names.module is not None and names.dotted(names.module[0]) is not None
            return (renamed or names.path != names.new_path) and _RELATIVE_IMPORT.search(blob) is not None
        case "yaml":
            from porttool.rewrite.yaml import means_more

            return means_more(blob, names)
    return False


@dataclass(frozen=True)
class _Needle:
    """A word that every mention of a pair holds. `whole` finds it as a whole token; None where it may be part of one.

    The segment before it, `beside`, stands in the same file, but in the package `home`, where an import may be
    relative, and in YAML, where a file may hang below the key.
    """

    word: bytes
    whole: re.Pattern[bytes] | None
    beside: bytes = b""
    home: Name = ()

    def pricks(self, blob: bytes, names: FileNames, kind: str) -> bool:
        if self.beside not in blob and kind != "yaml":
            here = names.module[0] if names.module else ()
            if not self.home or here[: len(self.home)] != self.home:
                return False
        return self.whole is None or self.whole.search(blob) is not None


_NEEDLES: dict[str, tuple[_Needle, ...]] = {}


def _needles(layout: Layout) -> tuple[_Needle, ...]:
    found = _NEEDLES.get(layout.digest)
    if found is None:
        parts = any("*" in segment for pair in layout.paths for segment in pair.old)
        parts = parts or not all(symbol.whole for symbol in layout.symbols)
        loose = (_Needle(_bytes(word), None) for word in layout.words)
        if len(_NEEDLES) >= 64:
            _NEEDLES.clear()
        found = _NEEDLES[layout.digest] = tuple(loose if parts else dict.fromkeys(_sharp(layout)))
    return found


def _sharp(layout: Layout) -> Iterator[_Needle]:
    for renaming in (layout.paths, layout.modules, layout.imports, layout.keys):
        for pair in renaming:
            if pair.old:
                stem, dot, suffix = pair.old[-1].rpartition(".")
                last = _bytes(stem if dot and suffix in _IMPLIED else pair.old[-1])
                # A config is chosen by its stem alone.
                beside = _bytes(pair.old[-2]) if len(pair.old) > 1 and suffix not in ("yaml", "yml") else b""
                yield _Needle(last, _whole(last), beside, pair.old[:-1] if renaming.kind == "module" else ())
    for symbol in layout.symbols:
        yield _Needle(_bytes(symbol.old), _whole(_bytes(symbol.old)))


def _whole(word: bytes) -> re.Pattern[bytes]:
    return re.compile(_WHOLE % re.escape(word))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def language(path: str, blob: bytes) -> str:
    """`python`, `yaml`, `shell` or `text`: by suffix, and by the `#!` line where there is no suffix."""
    name = path.rpartition("/")[2]
    suffix = name.rpartition(".")[2] if "." in name[1:] else ""
    if suffix:
        return _SUFFIXES.get(suffix, "text")
    found = _SHEBANG.match(blob)
    if found is None:
        return "text"
    return "python" if found.group(1) else "shell"


_SUFFIXES = {"py": "python", "pyi": "python", "yaml": "yaml", "yml": "yaml", "sh": "shell", "bash": "shell"}


@lru_cache(maxsize=8)
def _scanner(name: str) -> Scan:
    """Imported at first use: the grammars take longer to load than most commits take to carry."""
    if name == "python":
        from porttool.rewrite.python import scan as python_scan

        return python_scan
    if name == "yaml":
        from porttool.rewrite.yaml import scan as yaml_scan

        return yaml_scan
    if name == "shell":
        from porttool.rewrite.shell import scan as shell_scan

        return shell_scan
    from porttool.rewrite.text import scan as text_scan

    return text_scan

"""A Layout: renamings of paths, modules, symbols and config keys, plus fragments. It can be undone."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from porttool.errors import LayoutError
from porttool.names import Name, Pair, Renaming, split

FragmentKind = Literal["yaml", "python"]


@dataclass(frozen=True)
class Symbol:
    """`old` -> `new` as a whole identifier, with `words` as a word inside camelCase and snake_case tokens, or with
    `part` anywhere inside an identifier, in exactly the given case.

    `scope` limits the symbol to the files (old-side globs or paths) that define or use it; elsewhere it is renamed
    only where an import resolves to a file of the scope. Empty: everywhere.
    """

    old: str
    new: str
    scope: tuple[str, ...] = ()
    words: bool = False
    one_way: bool = False
    where: str = ""
    part: bool = False

    @property
    def whole(self) -> bool:
        return not (self.words or self.part)


@dataclass(frozen=True)
class FragmentEnd:
    """One home of a fragment: `path#a.b` (a YAML mapping; `path#` is the whole file) or `path::Class.method`.

    `after` is the sibling (key or definition) the fragment stands behind; "" = first, None = last.
    `lead` is the literal text between that sibling and the fragment on this side; it goes and comes with the fragment.
    """

    path: str
    kind: FragmentKind
    name: Name
    after: str | None = None
    lead: str | None = None

    @property
    def whole_file(self) -> bool:
        return self.kind == "yaml" and not self.name

    def __str__(self) -> str:
        return self.path + ("#" if self.kind == "yaml" else "::") + ".".join(self.name)


@dataclass(frozen=True)
class Fragment:
    """A part of a file with a home of its own on the other side."""

    old: FragmentEnd
    new: FragmentEnd
    where: str = ""

    def reversed(self) -> Fragment:
        return Fragment(self.new, self.old, self.where)


def fragment_end(text: str, after: str | None = None, lead: str | None = None) -> FragmentEnd:
    """Parse `path#key.path` or `path::Definition.name`; raises LayoutError on anything else."""
    for mark, kind in (("::", "python"), ("#", "yaml")):
        path, found, name = text.partition(mark)
        if found and path and (name or kind == "yaml"):
            return FragmentEnd(path, kind, split(name), after, lead)  # type: ignore[arg-type]
    raise LayoutError(f"{text!r} is not a fragment", hint="write path.yaml#key, path.yaml# or path.py::Class.method")


@dataclass(frozen=True)
class Layout:
    """All the names that differ between two branches. Immutable; `inverse()` is the layout of the way back.

    `roots` are import roots (both sides). `mounts` give the config key at which the root of a YAML file is mounted
    (old-side path glob -> key), where the file is not a Hydra primary config. `keep` names files (old-side globs or
    paths) whose content stays as it is. `on_old_side` is False for an inverse: scopes, mounts and kept files are
    always written in the names of the original old side.
    """

    paths: Renaming = field(default_factory=lambda: Renaming("path", separator="/"))
    extra_modules: tuple[Pair, ...] = ()
    extra_imports: tuple[Pair, ...] = ()  # names with slashes, such as Go import paths
    symbols: tuple[Symbol, ...] = ()
    keys: Renaming = field(default_factory=lambda: Renaming("key"))
    fragments: tuple[Fragment, ...] = ()
    roots: tuple[str, ...] = (".",)
    mounts: tuple[tuple[str, Name], ...] = ()
    keep: tuple[str, ...] = ()
    on_old_side: bool = True

    def __post_init__(self) -> None:
        Renaming("symbol", tuple(Pair((s.old, *s.scope), (s.new, *s.scope), s.one_way, s.where) for s in self.symbols))
        for end in ("old", "new"):
            homes: dict[str, Fragment] = {}
            for fragment in self.fragments:
                home = str(getattr(fragment, end))
                if home in homes:
                    hint = "give each fragment one home"
                    raise LayoutError(f"fragment {home} is declared twice", fragment.where, hint)
                homes[home] = fragment
            _check_whole_files([getattr(fragment, end) for fragment in self.fragments], self.fragments)
            for fragment in self.fragments:
                if any(_glob_match(getattr(fragment, end).path, glob) for glob in self.keep):
                    hint = "nothing can be taken out of a file that `keep` names, or put into it"
                    raise LayoutError(f"fragment {getattr(fragment, end)} stands in a kept file", fragment.where, hint)

    @cached_property
    def modules(self) -> Renaming:
        """Dotted names: modules derived from paths and roots, explicit extras, and the qualified names that
        scoped symbols and Python fragments move (`pkg.a.f` -> `pkg.b.g`)."""
        pairs = {pair.old: pair for pair in _derived_modules(self)}
        pairs.update({pair.old: pair for pair in self.extra_modules})
        return Renaming("module", tuple(sorted(pairs.values(), key=lambda pair: pair.old)))

    @cached_property
    def imports(self) -> Renaming:
        """Slash-separated import names; they are whole names, never found behind another segment."""
        return Renaming("import", self.extra_imports, "/")

    @cached_property
    def digest(self) -> str:
        """A sha256 over what the layout does, independent of how and in which order it was written."""
        told = {
            "roots": list(self.roots),
            "paths": sorted(_told(pair) for pair in self.paths),
            "modules": sorted(_told(pair) for pair in (*self.extra_modules, *self.extra_imports)),
            "symbols": sorted([s.old, s.new, list(s.scope), s.words, s.one_way, s.part] for s in self.symbols),
            "keys": sorted(_told(pair) for pair in self.keys),
            "fragments": sorted([_told_end(f.old), _told_end(f.new)] for f in self.fragments),
            "mounts": sorted([glob, list(key)] for glob, key in self.mounts),
            "old_side": self.on_old_side,
            **({"keep": sorted(self.keep)} if self.keep else {}),
        }
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode("utf-8", "surrogateescape")).hexdigest()

    @cached_property
    def _inverse(self) -> Layout:
        return Layout(
            paths=self.paths.inverse(),
            extra_modules=tuple(pair.reversed() for pair in self.extra_modules if not pair.one_way),
            extra_imports=tuple(pair.reversed() for pair in self.extra_imports if not pair.one_way),
            symbols=tuple(
                Symbol(s.new, s.old, s.scope, s.words, False, s.where, s.part)
                for s in self.symbols
                if not s.one_way
            ),
            keys=self.keys.inverse(),
            fragments=tuple(fragment.reversed() for fragment in self.fragments),
            roots=self.roots,
            mounts=self.mounts,
            keep=self.keep,
            on_old_side=not self.on_old_side,
        )

    def inverse(self) -> Layout:
        """The layout that carries names back; one-way pairs are not in it."""
        return self._inverse

    @cached_property
    def _path_cache(self) -> dict[str, str]:
        return {}

    @cached_property
    def memory(self) -> dict[str, Any]:
        """What rewriters remember from one file to the next, by language: it makes them faster, nothing else."""
        return {}

    def path(self, path: str) -> str:
        """The path on the other side. Raises LayoutError where it does not round-trip."""
        found = self._path_cache.get(path)
        if found is None:
            found = self._path_cache[path] = "/".join(self.paths.apply(tuple(path.split("/"))))
        return found

    def module_of(self, path: str) -> tuple[Name, bool] | None:
        """The dotted name of a Python file under the longest import root, and whether it is a package."""
        return module_of(path, self.roots)

    def key_mount(self, path: str) -> Name:
        """The config key at which the root of a YAML file on this side is mounted; () = the root of the config."""
        for fragment in self.fragments:
            if fragment.old.path == path and fragment.old.whole_file:
                there = self.inverse().key_mount(fragment.new.path) + fragment.new.name
                return self.inverse().keys.map(there)
        old_path = path if self.on_old_side else "/".join(self.inverse().paths.map(tuple(path.split("/"))))
        for glob, key in self.mounts:
            if fnmatch.fnmatchcase(old_path, glob):
                return key if self.on_old_side else self.inverse().keys.map(key)
        return ()

    def for_file(self, path: str) -> FileNames:
        """The layout as seen from one file on this side."""
        return FileNames(self, path, "/".join(self.paths.map(tuple(path.split("/")))))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Byte-search words: a blob that holds none of them, and does not move, is not changed by this layout."""
        found: set[str] = set()
        for renaming in (self.paths, self.modules, self.imports, self.keys):
            found.update(_telling_word(pair, renaming.kind) for pair in renaming)
        found.update(symbol.old for symbol in self.symbols if not symbol.words)
        for symbol in self.symbols:
            if symbol.words:
                found.update((symbol.old.lower(), symbol.old.capitalize(), symbol.old.upper(), symbol.old))
        found.update(fragment.old.name[-1] for fragment in self.fragments if fragment.old.name)
        return tuple(sorted(word for word in found if word))


@dataclass(frozen=True)
class FileNames:
    """A layout bound to one file: what a rewriter asks. Lookups never raise; None means "unchanged"."""

    layout: Layout
    path: str  # on the side the content comes from
    new_path: str  # on the side it goes to

    @cached_property
    def module(self) -> tuple[Name, bool] | None:
        """Dotted name of this file where it comes from, and whether it is a package's `__init__`."""
        return self.layout.module_of(self.path)

    @cached_property
    def new_module(self) -> tuple[Name, bool] | None:
        return self.layout.module_of(self.new_path)

    @cached_property
    def mount(self) -> Name:
        return self.layout.key_mount(self.path)

    @cached_property
    def new_mount(self) -> Name:
        return self.layout.inverse().key_mount(self.new_path)

    @cached_property
    def _whole_symbols(self) -> dict[str, str]:
        return {s.old: s.new for s in self.layout.symbols if s.whole and self._in_scope(s)}

    @cached_property
    def _word_symbols(self) -> tuple[tuple[re.Pattern[str], str], ...]:
        told = (s for s in self.layout.symbols if s.words and self._in_scope(s))
        return tuple((_word_pattern(s.old), s.new) for s in told)

    @cached_property
    def _part_symbols(self) -> tuple[re.Pattern[str], dict[str, str]] | None:
        told = {s.old: s.new for s in self.layout.symbols if s.part and self._in_scope(s)}
        longest_first = sorted(told, key=lambda old: (-len(old), old))
        return (re.compile("|".join(map(re.escape, longest_first))), told) if told else None

    @property
    def _old_path(self) -> str:
        return self.path if self.layout.on_old_side else self.new_path

    @property
    def kept(self) -> bool:
        """Whether nothing in this file is renamed, whatever it says."""
        return any(_glob_match(self._old_path, glob) for glob in self.layout.keep)

    def _in_scope(self, symbol: Symbol) -> bool:
        return not symbol.scope or any(_glob_match(self._old_path, glob) for glob in symbol.scope)

    def symbol(self, token: str) -> str | None:
        """The new form of an identifier in this file; scoped symbols count only inside their scope."""
        whole = self._whole_symbols.get(token)
        if whole is not None:
            return whole
        new = token
        for pattern, to in self._word_symbols:
            new = pattern.sub(lambda found, to=to: _cased(to, found.group()), new)  # type: ignore[misc]
        if self._part_symbols:
            parts, told = self._part_symbols
            new = parts.sub(lambda found: told[found.group()], new)
        return new if new != token else None

    def dotted(self, name: Name) -> Name | None:
        """The new form of a dotted Python name (module, or module plus attributes)."""
        new = self.layout.modules.map(name)
        return new if new != name else None

    def key(self, name: Name) -> Name | None:
        """The new form of an absolute config key."""
        new = self.layout.keys.map(name)
        return new if new != name else None

    def file_path(self, path: str) -> str | None:
        """The new form of a repository path written in text."""
        parts = tuple(path.split("/"))
        new = self.layout.paths.map(parts)
        return "/".join(new) if new != parts else None


def _check_whole_files(ends: list[FragmentEnd], fragments: tuple[Fragment, ...]) -> None:
    """A file that moves as a whole has no parts with homes of their own."""
    whole = {end.path for end in ends if end.whole_file}
    for end, fragment in zip(ends, fragments, strict=True):
        if end.path in whole and not end.whole_file:
            hint = "let the whole file move, or its parts"
            raise LayoutError(f"fragment {end} is a part of {end.path}#, another fragment", fragment.where, hint)


def module_of(path: str, roots: Iterable[str]) -> tuple[Name, bool] | None:
    """Dotted name of a `.py`, `.pyi` or directory path under the longest matching root; None where it has none."""
    best: str | None = None
    for root in roots:
        prefix = "" if root in (".", "") else root.strip("/") + "/"
        if path.startswith(prefix) and (best is None or len(prefix) > len(best)):
            best = prefix
    if best is None:
        return None
    parts = path[len(best) :].rstrip("/").split("/")
    stem, dot, suffix = parts[-1].rpartition(".")
    if dot and suffix not in ("py", "pyi"):
        return None
    parts[-1] = stem if dot else parts[-1]
    package = parts[-1] == "__init__"
    if package:
        parts.pop()
    # A star stands for a piece of an identifier, so that a globbed pair of paths gives a pair of modules.
    return (tuple(parts), package) if parts and all(p.replace("*", "_").isidentifier() for p in parts) else None


def _derived_modules(layout: Layout) -> Iterable[Pair]:
    for pair in layout.paths:
        old = module_of("/".join(pair.old), layout.roots)
        new = module_of("/".join(pair.new), layout.roots)
        if old and new and old[0] != new[0]:
            yield Pair(old[0], new[0], pair.one_way, pair.where)
    forward = layout if layout.on_old_side else layout.inverse()
    for symbol in layout.symbols:
        for glob in symbol.scope:
            old_path, new_path = glob, "/".join(forward.paths.map(tuple(glob.split("/"))))
            if not layout.on_old_side:
                old_path, new_path = new_path, old_path
            here, there = module_of(old_path, layout.roots), module_of(new_path, layout.roots)
            if here and there and "*" not in glob and old_path.endswith(".py"):
                yield Pair((*here[0], symbol.old), (*there[0], symbol.new), symbol.one_way, symbol.where)
    for fragment in layout.fragments:
        here, there = module_of(fragment.old.path, layout.roots), module_of(fragment.new.path, layout.roots)
        if fragment.old.kind == "python" and here and there:
            yield Pair(here[0] + fragment.old.name, there[0] + fragment.new.name, False, fragment.where)


def _telling_word(pair: Pair, kind: str) -> str:
    """The last segment that differs: every mention of the pair holds it. Of a starred one, its longest part."""
    if kind == "key":
        return pair.old[-1] if pair.old else ""
    parts = (max(segment.split("*"), key=len) for segment in reversed(pair.old))
    return next(filter(None, (re.sub(r"\.(?:pyi?|ya?ml)$", "", part) for part in parts)), "")


def _glob_match(path: str, glob: str) -> bool:
    return fnmatch.fnmatchcase(path, glob) or path.startswith(glob.rstrip("/") + "/")


def _word_pattern(word: str) -> re.Pattern[str]:
    """A word of a camelCase or snake_case token, in lower, Capitalised or UPPER case, whole."""
    lower, capital, upper = word.lower(), word[:1].upper() + word[1:].lower(), word.upper()
    return re.compile(
        rf"(?<![a-z]){re.escape(lower)}(?![a-z])"
        rf"|{re.escape(capital)}(?![a-z])"
        rf"|(?<![A-Za-z]){re.escape(upper)}(?![A-Za-z])"
    )


def _cased(to: str, like: str) -> str:
    if like.isupper() and len(like) > 1:
        return to.upper()
    return to[:1].upper() + to[1:].lower() if like[:1].isupper() else to.lower()


def _told(pair: Pair) -> list[object]:
    return [list(pair.old), list(pair.new), pair.one_way]


def _told_end(end: FragmentEnd) -> list[object]:
    return [end.path, end.kind, list(end.name), end.after, end.lead]


def paths_renaming(pairs: Mapping[str, str]) -> Renaming:
    """A path renaming from written paths; a trailing `/` marks a directory and is dropped."""
    return Renaming("path", tuple(Pair(split(o, "/"), split(n, "/")) for o, n in pairs.items()), "/")

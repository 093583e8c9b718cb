"""The git objects of a pin: one commit with the content of the package, then one for each patch."""

from __future__ import annotations

import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from porttool.errors import EnvironmentFault, ManifestError
from porttool.vendor_git import Git
from porttool.vendor_pins import Branch, Pin
from porttool.vendor_series import Listed, apply_series, read_series

Progress = Callable[[str], None]
FILE, EXECUTABLE, LINK = "100644", "100755", "120000"


@dataclass(frozen=True)
class Packed:
    """One file of a package archive; `mode` as git writes it, `content` of a link is its target."""

    path: str
    mode: str
    content: bytes


def branch_patches(pin: Pin, patches: Path) -> dict[str, list[Listed]]:
    """By branch, its patches in order; `patches` is the folder of all series."""
    return {branch.name: _listed(branch, patches) for branch in pin.branches}


def _listed(branch: Branch, patches: Path) -> list[Listed]:
    listed = [item for series in branch.series for item in read_series(patches / series)]
    for tag, file in branch.tags.items():
        if file not in [item.file for item in listed]:
            message = f"tag {tag!r} stands on a patch that is not there: {file}"
            raise ManifestError(message, branch.where, "name a patch of its series")
    return listed


def build_objects(
    git: Git, pin: Pin, archive: Path, patches: Mapping[str, list[Listed]], progress: Progress
) -> dict[str, str]:
    """Write all objects of a pin and give its refs: full name -> commit. No ref is touched.

    The same pin and patches give the same ids on any machine. Raises ManifestError where a patch does not apply.
    """
    progress(f"unpacking {archive.name}")
    places = {pin.base: _base_commit(git, pin, archive)}
    refs = {f"refs/heads/{pin.base}": places[pin.base]}
    for branch in pin.branches:
        listed = patches[branch.name]
        if listed:
            progress(f"applying {len(listed)} patches of {branch.name}")
        made = apply_series(git, places[branch.start], listed)
        places[branch.name] = refs[f"refs/heads/{branch.name}"] = made[-1] if made else places[branch.start]
        at = {item.file: oid for item, oid in zip(listed, made, strict=True)}
        for tag, file in branch.tags.items():
            places[tag] = refs[f"refs/tags/{tag}"] = at[file]
    return refs


def _base_commit(git: Git, pin: Pin, archive: Path) -> str:
    message = f"{pin.name} {pin.version}\n\nThe content of {pin.file}\nsha256 {pin.sha256}\n"
    author = f"{pin.author} {pin.date}"
    ref = f"refs/porttool/import/{pin.sha256}"
    told = message.encode()
    lines = [b"feature done", f"commit {ref}".encode(), b"mark :1", f"author {author}".encode()]
    lines += [f"committer {author}".encode(), b"data %d" % len(told), told]
    for packed in sorted(_unpacked(pin, archive), key=lambda packed: packed.path):
        lines.append(f"M {packed.mode} inline {_quoted(packed.path)}".encode("utf-8", "surrogateescape"))
        lines += [b"data %d" % len(packed.content), packed.content]
    lines += [b"get-mark :1", f"reset {ref}".encode(), b"from " + b"0" * 40, b"", b"done", b""]
    return git.text("fast-import", "--quiet", "--date-format=raw", stdin=b"\n".join(lines)).split()[0]


def _quoted(path: str) -> str:
    for plain, told in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n")):
        path = path.replace(plain, told)
    return f'"{path}"'


def _unpacked(pin: Pin, archive: Path) -> Iterator[Packed]:
    """The files of a package without its packaging records, which would be stale after the first patch."""
    try:
        for packed in _zip_files(archive) if archive.suffix in (".whl", ".zip") else _tar_files(archive):
            path = packed.path if pin.wheel else packed.path.partition("/")[2]
            parts = path.split("/")
            if packed.path.startswith("/") or ".." in parts or ".git" in [part.lower() for part in parts]:
                message = f"{archive.name} holds a file outside its folder: {packed.path!r}"
                raise EnvironmentFault(message, pin.where, _BAD)
            if path and path != "PKG-INFO" and not any(part.endswith((".dist-info", ".egg-info")) for part in parts):
                yield Packed(path, packed.mode, packed.content)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise EnvironmentFault(f"{archive.name} cannot be unpacked: {error}", pin.where, _BAD) from None


_BAD = "do not use this file: pin another one"


def _zip_files(archive: Path) -> Iterator[Packed]:
    with zipfile.ZipFile(archive) as opened:
        for item in opened.infolist():
            bits = item.external_attr >> 16
            if not item.is_dir():
                mode = LINK if stat.S_ISLNK(bits) else EXECUTABLE if bits & stat.S_IXUSR else FILE
                yield Packed(item.filename, mode, opened.read(item))


def _tar_files(archive: Path) -> Iterator[Packed]:
    with tarfile.open(archive) as opened:
        for item in opened:
            if item.issym():
                yield Packed(item.name, LINK, item.linkname.encode("utf-8", "surrogateescape"))
            elif item.isfile() or item.islnk():
                stream = opened.extractfile(item)
                assert stream is not None
                yield Packed(item.name, EXECUTABLE if item.mode & stat.S_IXUSR else FILE, stream.read())

"""What is not as pinned: the cached file, the installed package, the patch series, the built repository."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from porttool.errors import PortError
from porttool.vendor import BUILD, current_refs, pin_digest, read_stamp
from porttool.vendor_build import branch_patches, build_objects
from porttool.vendor_fetch import cache_folder, cached, sha256_of
from porttool.vendor_git import Git
from porttool.vendor_pins import PINS, Pin, chosen, load_pins
from porttool.vendor_series import ORDER, Listed


@dataclass(frozen=True)
class Problem:
    """One thing that is not as pinned; `str()` gives the three lines of an error."""

    pin: str
    message: str
    where: str
    hint: str

    def __str__(self) -> str:
        return str(PortError(f"{self.pin}: {self.message}", self.where, self.hint))


def verify(names: tuple[str, ...] = (), *, root: Path, installed: list[str] | None = None) -> list[Problem]:
    """Every way in which the named pins, or all, do not hold; nothing is fetched and nothing under `root` changes.

    `installed` is where to look for installed packages; the running Python's own path where it is None.
    Raises a PortError only where there is nothing to check: pins that cannot be read, or no git.
    """
    every = load_pins(root / PINS)
    problems = [found for pin in chosen(every, names, root / PINS) for found in _checked(pin, root, installed)]
    return problems + ([] if names else list(_strays(every, root / PINS.parent)))


def _checked(pin: Pin, root: Path, installed: list[str] | None) -> Iterator[Problem]:
    yield from _installed(pin, installed)
    patches: dict[str, list[Listed]] | None = None
    try:
        patches = branch_patches(pin, root / PINS.parent)
    except PortError as error:
        yield _problem(pin, error)
    file = cached(pin, cache_folder())
    if not file.is_file():
        yield Problem(str(pin), f"{pin.file} is not in the cache", pin.where, f"run `porttool vendor sync {pin.name}`")
    elif (found := sha256_of(file)) != pin.sha256:
        message = f"{pin.file} has sha256 {found}, not {pin.sha256} as in {pin.where}"
        yield Problem(str(pin), message, str(file), f"run `porttool vendor sync {pin.name}` to fetch it again")
    elif patches is not None:
        yield from _built(pin, root / BUILD / pin.name, file, patches)


def _problem(pin: Pin, error: PortError) -> Problem:
    return Problem(str(pin), error.message, error.where, error.hint)


def _built(pin: Pin, folder: Path, file: Path, patches: dict[str, list[Listed]]) -> Iterator[Problem]:
    """Build the objects once more in a scratch repository, and hold the built one against them."""
    with tempfile.TemporaryDirectory(prefix="porttool-") as scratch:
        git = Git(Path(scratch))
        git.run("init", "--quiet", "--bare", "--template=", "--object-format=sha1", "--initial-branch=main")
        try:
            refs = build_objects(git, pin, file, patches, lambda line: None)
        except PortError as error:
            yield _problem(pin, error)
            return
    again = f"run `porttool vendor sync {pin.name}`"
    try:
        stamp = read_stamp(folder)
    except PortError as error:
        yield _problem(pin, error)
        return
    if stamp is None:
        return
    if stamp.digest != pin_digest(pin, patches):
        yield Problem(str(pin), "the repository was built from other pins or patches", str(folder), again)
        return
    standing = current_refs(folder, refs)
    for name, oid in refs.items():
        if standing.get(name) != oid:
            message = f"{name} is {standing.get(name, 'missing')}, and the patches give {oid}"
            yield Problem(str(pin), message, str(folder), again)


def _strays(pins: tuple[Pin, ...], patches: Path) -> Iterator[Problem]:
    """Series that no branch uses: their patches would be believed to count."""
    used = {series for pin in pins for branch in pin.branches for series in branch.series}
    for order in sorted(patches.rglob(ORDER)):
        series = order.parent.relative_to(patches).as_posix()
        if series not in used:
            yield Problem(series, "no branch uses this series", str(order), f"name it in {patches / PINS.name}")


def _installed(pin: Pin, installed: list[str] | None) -> Iterator[Problem]:
    # The first one found is the one that is imported.
    first = next(iter(distributions(name=pin.name, path=sys.path if installed is None else installed)), None)
    if first is not None:
        yield from _as_pinned(pin, first)


def _as_pinned(pin: Pin, found: Distribution) -> Iterator[Problem]:
    again = f"run `pip install --force-reinstall --no-deps {pin}`"
    home = str(found.locate_file(""))
    if found.version != pin.version:
        yield Problem(str(pin), f"version {found.version} is installed, not as in {pin.where}", home, again)
        return
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable"):
        yield Problem(str(pin), f"an editable install, not as in {pin.where}", origin.get("url", home), again)
        return
    hashes = origin.get("archive_info", {}).get("hashes", {})
    if hashes.get("sha256", pin.sha256) != pin.sha256:
        yield Problem(str(pin), f"installed from another file than in {pin.where}", origin.get("url", home), again)
        return
    record = found.read_text("RECORD")
    if record is None:
        yield Problem(str(pin), "installed without a record of its files (editable, or not by pip)", home, again)
        return
    # Read here: newer Pythons leave missing files out of `Distribution.files`.
    for file, told, _ in csv.reader(record.splitlines()):
        place = Path(str(found.locate_file(file)))
        wanted = f"as its RECORD and {pin.where} say"
        if told and not place.is_file():
            yield Problem(str(pin), f"an installed file is missing; it is not {wanted}", str(place), again)
        elif told and told != _record_hash(place, told.partition("=")[0]):
            yield Problem(str(pin), f"an installed file was changed; it is not {wanted}", str(place), again)


def _record_hash(path: Path, mode: str) -> str:
    digest = hashlib.new(mode, path.read_bytes()).digest()
    return f"{mode}=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

"""Fetch the file of a pin with pip into a cache, and trust it only by its hash."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from porttool.errors import EnvironmentFault
from porttool.vendor_pins import Pin

Progress = Callable[[str], None]


def cache_folder() -> Path:
    """Where fetched files are kept: `PORTTOOL_CACHE`, else the user's cache folder."""
    told = os.environ.get("PORTTOOL_CACHE")
    if told:
        return Path(told)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "porttool"


def cached(pin: Pin, cache: Path) -> Path:
    """Where the file of a pin lies once fetched."""
    return cache / pin.file


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def fetch(pin: Pin, cache: Path, progress: Progress) -> Path:
    """The pinned file: from the cache where its hash is right, else from the package index.

    A file reaches its name in the cache only whole and checked. Raises EnvironmentFault where pip cannot give it.
    """
    kept = cached(pin, cache)
    if kept.is_file() and sha256_of(kept) == pin.sha256:
        return kept
    progress(f"fetching {pin.file}")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=cache) as scratch:
        _download(pin, Path(scratch))
        got = Path(scratch) / pin.file
        if not got.is_file():
            other = ", ".join(sorted(path.name for path in Path(scratch).iterdir() if path.suffix != ".pin"))
            raise EnvironmentFault(f"the index gave {other}, not {pin.file}", pin.where, "correct `file` of the pin")
        found = sha256_of(got)
        if found != pin.sha256:
            raise EnvironmentFault(f"{pin.file} has sha256 {found}, not {pin.sha256}", pin.where, _TAMPERED)
        got.replace(kept)
    return kept


def _download(pin: Pin, folder: Path) -> None:
    """Let pip fetch one file; index, proxy and certificates are as the user has set them up for pip."""
    request = folder / "request.pin"
    request.write_text(f"{pin} --hash=sha256:{pin.sha256}\n", encoding="utf-8")
    form = ["--only-binary", pin.name] if pin.wheel else ["--no-binary", pin.name]
    words = ["download", "--no-deps", "--require-hashes", "--ignore-requires-python", *form]
    words += ["--dest", str(folder), "--requirement", str(request)]
    ran = subprocess.run(
        [sys.executable, "-m", "pip", *words], capture_output=True, text=True, errors="replace", check=False
    )
    if ran.returncode == 0:
        return
    if "No module named pip" in ran.stderr:
        raise EnvironmentFault("pip is not installed", sys.executable, "run `python -m ensurepip`")
    if "DO NOT MATCH THE HASHES" in ran.stderr:
        raise EnvironmentFault(f"{pin.file} on the index has not the pinned hash", pin.where, _TAMPERED)
    reasons = [line for line in ran.stderr.splitlines() if line.startswith("ERROR: ")]
    reason = reasons[-1].removeprefix("ERROR: ") if reasons else f"pip ended with status {ran.returncode}"
    raise EnvironmentFault(f"pip cannot fetch {pin}", pin.where, reason)


_TAMPERED = "do not use this file: find out which of the two is wrong before changing the pin"

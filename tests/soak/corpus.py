"""Real files, and ways of breaking them."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

from porttool.errors import LayoutError
from porttool.layout import Layout
from tests.laws.soak import files_of, random_layout
from tests.soak.cases import Blob, Raw, Tree
from tests.soak.pick import Pick
from tests.support.cases import CASES, read_cases

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = ROOT / "manifests"
PACKAGES = ("rich", "hydra", "omegaconf", "yaml", "git", "hypothesis", "_pytest")
MORE = "SOAK_CORPUS"  # folders, wheels and sdists, separated as in PATH
LARGEST = 40_000
_KINDS = (".py", ".pyi", ".yaml", ".yml", ".sh", ".md", ".rst", ".txt", ".toml", ".cfg")


@cache
def packages() -> dict[str, dict[str, bytes]]:
    """Files by path of each package that is installed or named in the environment; none longer than a few pages."""
    more = [place for place in os.environ.get(MORE, "").split(os.pathsep) if place]
    found = {}
    for name in (*PACKAGES, *more):
        files = {p: b for p, b in files_of(name).items() if len(b) <= LARGEST and p.endswith(_KINDS)}
        if files:
            found[name] = files
    return found


@cache
def case_blocks() -> list[Blob]:
    """The old side of each case of `tests/cases`, with its layout."""
    cases = [case for file in sorted(CASES.rglob("*.md")) if file.name != "README.md" for case in read_cases(file)]
    return [
        Blob(case.read_layout(), path, content)
        for case in cases
        if case.layout is not None
        for path, (_, content) in case.side("old").items()
    ]


@cache
def manifests() -> list[bytes]:
    """The manifests of this project."""
    return [file.read_bytes() for file in sorted(MANIFESTS.glob("*.yaml"))]


@cache
def _lines() -> list[bytes]:
    return [line for block in case_blocks() for line in block.content.splitlines(keepends=True)]


def _spliced(rng: random.Random, blob: bytes) -> bytes:
    other = rng.choice(case_blocks()).content
    at, low = rng.randrange(len(blob) + 1), rng.randrange(len(other) + 1)
    return blob[:at] + other[low : low + rng.randrange(200)] + blob[at + rng.choice((0, 0, 10)) :]


def _repeated(rng: random.Random, blob: bytes) -> bytes:
    low = rng.randrange(len(blob) + 1)
    piece = blob[low : low + rng.randrange(1, 60)]
    return (blob[:low] + piece * rng.choice((2, 2, 3, 300)) + blob[low:])[: 2 * LARGEST]


def _truncated(rng: random.Random, blob: bytes) -> bytes:
    at = rng.randrange(len(blob) + 1)
    return blob[:at] if rng.random() < 0.5 else blob[at:]


def _flipped(rng: random.Random, blob: bytes) -> bytes:
    changed = bytearray(blob)
    for _ in range(rng.randrange(1, 6) if changed else 0):
        at = rng.randrange(len(changed))
        changed[at] = changed[at] ^ 1 << rng.randrange(8) if rng.random() < 0.5 else rng.choice(_TELLING)
    return bytes(changed)


_TELLING = b"()[]{}:'\"\\\n\r\t #-&*%$`=.,\0\xff"


def _unlined(rng: random.Random, blob: bytes) -> bytes:
    lines = blob.splitlines(keepends=True)
    for _ in range(rng.randrange(1, 4) if lines else 0):
        at = rng.randrange(len(lines))
        match rng.randrange(4):
            case 0:
                lines[at : at + 1] = []
            case 1:
                lines.insert(at, rng.choice(lines))
            case 2:
                lines[at:at] = [rng.choice(_lines())]
            case _:
                lines[at] = b" " * rng.randrange(9) + lines[at].lstrip()
        if not lines:
            break
    return b"".join(lines)


def _reended(rng: random.Random, blob: bytes) -> bytes:
    return blob.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"\r\r\n")), rng.choice((-1, 1, 5)))


MUTATIONS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _spliced, _repeated, _truncated, _flipped, _flipped, _unlined, _unlined, _reended,
)  # fmt: skip


def mutated(rng: random.Random, blob: bytes) -> bytes:
    """A file broken in one to three ways."""
    for _ in range(rng.randrange(1, 4)):
        blob = rng.choice(MUTATIONS)(rng, blob)
    return blob


def _layout_for(rng: random.Random, files: dict[str, bytes]) -> Layout:
    while True:
        try:
            made = random_layout(rng, files, fresh=rng.random() < 0.7)
            made.modules, made.inverse().modules
        except LayoutError:
            continue
        return made


def mutated_blob(pick: Pick) -> Blob:
    """A broken block of a case, or a broken file of a package under a layout made for it."""
    rng = random.Random(pick.below(2**63))
    if rng.random() < 0.4:
        block = rng.choice(case_blocks())
        return Blob(block.layout, block.path, mutated(rng, block.content))
    files = rng.choice(sorted(packages().items()))[1]
    few = {path: files[path] for path in rng.sample(sorted(files), min(8, len(files)))}
    path = rng.choice(sorted(few))
    return Blob(_layout_for(rng, few), path, mutated(rng, few[path]))


def mutated_tree(pick: Pick) -> Tree:
    """A few files of a package under a layout made for them, most of them broken."""
    rng = random.Random(pick.below(2**63))
    files = rng.choice(sorted(packages().items()))[1]
    few = {path: files[path] for path in rng.sample(sorted(files), min(rng.randrange(2, 5), len(files)))}
    layout = _layout_for(rng, few)
    return Tree(layout, {path: mutated(rng, blob) if rng.random() < 0.6 else blob for path, blob in few.items()})


def mutated_manifest(pick: Pick) -> Raw:
    """A broken manifest."""
    rng = random.Random(pick.below(2**63))
    return Raw("manifest", mutated(rng, rng.choice(manifests())))


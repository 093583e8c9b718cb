"""`pins.yaml`: strict, and every refusal names its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from porttool.errors import ManifestError
from porttool.vendor_pins import Pin, load_pins

GOOD = """\
toy:
  version: 0.10
  file: toy-0.10-py3-none-any.whl
  sha256: {digest}
  base:
    branch: upstream/v0.10
    author: Toy Makers <toy@example.invalid>
    date: 2026-03-16T05:34:00+02:00
  branches:
    fixes:
      from: upstream/v0.10
      series: [toy/fixes]
      tags: {{half-way: 0001-first.patch}}
    more:
      from: half-way
      series: [toy/more, toy/most]
""".format(digest="a" * 64)


def load(tmp_path: Path, text: str) -> tuple[Pin, ...]:
    path = tmp_path / "pins.yaml"
    path.write_text(text)
    return load_pins(path)


def test_good_pins(tmp_path: Path) -> None:
    """Every field arrives as written: a version is text, a date is as git stores it."""
    [pin] = load(tmp_path, GOOD)
    assert (pin.name, pin.version, str(pin), pin.wheel) == ("toy", "0.10", "toy==0.10", True)
    assert (str(pin.author), pin.date) == ("Toy Makers <toy@example.invalid>", "1773632040 +0200")
    fixes, more = pin.branches
    assert (fixes.start, dict(fixes.tags)) == ("upstream/v0.10", {"half-way": "0001-first.patch"})
    assert (more.start, more.series) == ("half-way", ("toy/more", "toy/most"))
    assert pin.where.endswith("pins.yaml:1") and more.where.endswith("pins.yaml:14")


def test_pins_of_this_project() -> None:
    """The pins that the project ships are valid."""
    names = [pin.name for pin in load_pins(Path(__file__).parents[2] / "vendor_patches" / "pins.yaml")]
    assert names == ["verl", "arctic-platform", "deepspeed"]


BAD = [
    ("  version: 0.10\n", "", 1, "key 'version' is missing"),
    ("  version:", "  versoin:", 2, "unknown key 'versoin'"),
    ("  sha256: a", "  sha256: g", 4, "is not a sha256"),
    ("toy-0.10-py3", "../toy-0.10-py3", 3, "is not a wheel or sdist file name"),
    ("Toy Makers <toy@example.invalid>", "Toy Makers", 7, "the author is not"),
    ("+02:00", "", 8, "the date is not"),
    ("2026-03-16", "2026-13-16", 8, "the date is not"),
    ("branch: upstream/v0.10", "branch: -x", 6, "is not a branch name"),
    ("branch: upstream/v0.10", "branch: a..b", 6, "is not a branch name"),
    ("      from: half-way", "      from: nowhere", 15, "'nowhere' is no branch or tag above this one"),
    ("    more:", "    half-way:", 14, "'half-way' is already a branch or tag"),
    ("    more:", "    -more:", 14, "'-more' is not a branch name"),
    ("    more:", "    fixes:", 14, "key 'fixes' is given twice"),
    ("[toy/fixes]", "[../fixes]", 12, "is not a series folder"),
    ("[toy/fixes]", "toy/fixes", 12, "expected a list"),
    ("{half-way:", "{-half:", 13, "is not a tag name"),
    ("0001-first.patch", "first", 13, "is not a patch file name"),
    ("    date:", "    when: x\n    date:", 8, "unknown key 'when'"),
    ("  version: 0.10", "  version: [1]", 2, "expected a version"),
    ("toy:\n", "toy!:\n", 1, "is not a package name"),
]


@pytest.mark.parametrize(("old", "new", "line", "message"), BAD)
def test_bad_pins(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    """A wrong value is refused with its line, in three lines."""
    assert old in GOOD
    with pytest.raises(ManifestError) as caught:
        load(tmp_path, GOOD.replace(old, new, 1))
    assert message in caught.value.message
    assert caught.value.where == f"{tmp_path / 'pins.yaml'}:{line}"
    assert len(str(caught.value).splitlines()) == 3


def test_unknown_key_names_the_nearest(tmp_path: Path) -> None:
    """A misspelt key is answered with the key it resembles."""
    with pytest.raises(ManifestError) as caught:
        load(tmp_path, GOOD.replace("sha256", "sha265"))
    assert caught.value.hint == "did you mean 'sha256'?"


@pytest.mark.parametrize("text", ["", "- a\n", "toy: 1\n", "toy: {"])
def test_not_pins_at_all(tmp_path: Path, text: str) -> None:
    """An empty file, a list or a broken document is refused with a line."""
    with pytest.raises(ManifestError) as caught:
        load(tmp_path, text)
    assert caught.value.where.startswith(f"{tmp_path / 'pins.yaml'}:")


def test_no_pins_file(tmp_path: Path) -> None:
    """A folder without pins is told where they belong."""
    with pytest.raises(ManifestError) as caught:
        load_pins(tmp_path / "pins.yaml")
    assert caught.value.message == "there is no file of pins"

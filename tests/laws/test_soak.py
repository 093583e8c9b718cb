"""A bounded sample of the soak, on packages that are installed wherever the tests run."""

from __future__ import annotations

import random

import pytest

from porttool.layout import Layout, Symbol
from tests.laws import soak


@pytest.mark.parametrize("package", ["rich", "hydra", "git"])
def test_the_round_trip_law_holds_on_installed_packages(package):
    """Every text file of the package, under layouts drawn from a fixed seed: no violation."""
    tally = soak.soak(package, layouts=2, seed=7)
    assert tally.violations == []
    assert tally.changed > 0


def test_layouts_of_fresh_names_hardly_ever_meet_a_file_that_does_not_come_back():
    """One-way is for names that are in use already; new names give it nearly no reason."""
    files = soak.files_of("rich")
    tally = soak.Tally()
    for seed in range(2):
        soak.check(files, soak.random_layout(random.Random(seed), files), tally, str(seed))
    assert sum(tally.one_way.values()) <= tally.translated * 0.02


def test_a_seed_gives_one_layout():
    """A violation can be run again."""
    files = {"a/b.py": b"class Thing: pass\n", "a/c.yaml": b"k:\n  l: 1\n"}
    first, second = (soak.random_layout(random.Random(5), files) for _ in range(2))
    assert first.digest == second.digest


def test_an_edit_away_from_every_word_is_a_violation(monkeypatch):
    """The soak does not trust the rewriters."""
    monkeypatch.setattr(soak, "scan", lambda blob, names: soak.Found([soak.Edit(0, 1, b"x")], []))
    tally = soak.Tally()
    soak.check({"a.txt": b"first\nOld\n"}, Layout(symbols=(Symbol("Old", "New"),)), tally, "t")
    assert len(tally.violations) == 1


def test_a_crash_is_a_violation(monkeypatch):
    """With the file and the fault."""

    def broken(self, entries):
        raise IndexError("bug")

    monkeypatch.setattr(soak.Translator, "entries", broken)
    tally = soak.Tally()
    soak.check({"a.txt": b"Old\n"}, Layout(symbols=(Symbol("Old", "New"),)), tally, "t")
    assert tally.violations == ["t: a.txt: IndexError: bug"]

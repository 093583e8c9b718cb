"""Every fault is caught with its cause, and no control raises anything."""

from __future__ import annotations

import os

import pytest

from parity.capture import PACKAGES, Checkout, stack
from porttool.errors import EnvironmentFault, PortError
from tests.faults import run, smoke, suite
from tests.faults.judged import Raised, judge, names

SCENARIOS, FAULTS = suite.load()
PATCHES = sorted(file.name for file in suite.HERE.glob("*.patch"))
TRAINED = smoke.listed()
NAMED = {
    patch
    for variant in (
        *(one for fault in (*FAULTS, *TRAINED.faults) for one in (fault.variant, *fault.controls, *fault.healed)),
        *TRAINED.harmless,
    )
    for patch in variant.patches
    if patch
}
# Rows of the sheet of known bugs that the suite has to hold, and the vendor's silent error with rows apart.
WANTED = {*map(str, (*range(3, 14), 20, 22, 27, 34, 35, 36, 44, 60, 67)), "recipe"}


@pytest.mark.slow
def test_every_fault_is_caught_and_every_control_is_silent(tmp_path, monkeypatch, target):
    """Each fault is raised by its probe in its words; controls raise nothing that the target itself does not."""
    try:
        stack()
    except EnvironmentFault as error:
        pytest.skip(f"{error.message}: captures need {len(PACKAGES)} packages of the trainer")
    monkeypatch.setenv("HOME", str(tmp_path))  # packages of the trainer stack write there
    answers = run.run(run.setting(), tmp_path / "cache", jobs=os.cpu_count() or 1)
    assert [(answer.fault.name, answer.caught, answer.loud) for answer in answers if not answer.good] == []


@pytest.mark.parametrize("patch", [name for name in PATCHES if not suite.on_package(name)])
def test_a_patch_applies_without_fuzz(patch, target, source):
    """Each patch stands on the ported target, or on the source, exactly where it says."""
    side = source if patch.endswith(".source.patch") else target
    suite.apply(suite.HERE / patch, side.folder, "--check")


@pytest.mark.parametrize("patch", PATCHES)
def test_a_patch_is_small(patch):
    """A patch says what it does in one line, and keeps one line of context."""
    text = (suite.HERE / patch).read_text(encoding="utf-8")
    context, longest = 0, 0
    for line in text.partition("\n@@")[2].splitlines()[1:]:
        context = context + 1 if line[:1] == " " else 0
        longest = max(longest, context)
    assert len(suite.words(patch).splitlines()) == 1
    assert longest <= 2


def test_every_patch_is_listed():
    """No patch lies about that no fault names, and none is named that does not exist."""
    assert set(PATCHES) == NAMED


def test_the_wanted_rows_are_there():
    """The suite holds the rows it was asked for, and at least 25 faults."""
    assert {fault.row for fault in FAULTS} >= WANTED
    assert len(FAULTS) >= 25


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_every_fault_has_a_control(fault):
    """A fault nobody can be free of proves nothing; its control is harmless, or a repair where both sides have it."""
    assert fault.controls
    assert fault.variant not in (*fault.controls, *fault.healed)
    assert bool(fault.variant.patch) != fault.shared


def test_an_unknown_key_is_refused(tmp_path):
    """A misspelt key of the list is an error: it would weaken a fault without a word."""
    file = tmp_path / "faults.yaml"
    file.write_text("scenarios: {}\nfaults: {one: {row: 1, scenario: a, probe: wire, cause: x, controll: y}}")
    with pytest.raises(ValueError, match="controll"):
        suite.load(file)


def test_a_patch_that_does_not_fit_is_refused(tmp_path):
    """A patch whose context is gone stops the suite instead of leaving a fault out."""
    base = tmp_path / "base" / "verl" / "trainer" / "ppo"
    base.mkdir(parents=True)
    (base / "ray_trainer.py").write_text("x = 1\n")
    tree = Checkout("target", "t", "", "tree", tmp_path / "base")
    with pytest.raises(ValueError, match="does not apply"):
        suite.planted(tree, "01-shift.patch", tmp_path / "cache")
    assert (base / "ray_trainer.py").read_text() == "x = 1\n"


def test_a_planted_fault_leaves_the_target_alone(target, tmp_path):
    """Planted trees are links to the target's; the file that a patch writes is not."""
    file = "verl/trainer/ppo/ray_trainer.py"
    before = (target.folder / file).read_bytes()
    made = suite.planted(target, "01-shift.patch", tmp_path)
    assert (target.folder / file).read_bytes() == before
    assert (made.folder / file).read_bytes() != before


def fault_of(**changed):
    """The first fault of the list, changed."""
    return suite.Fault(**{**vars(FAULTS[0]), "cause": "moved", "probe": "wire", "shared": False, **changed})


@pytest.mark.parametrize(
    ("one", "is_it"),
    [
        (Raised("wire", "a", "has moved"), True),
        (Raised("config", "a", "has moved"), False),
        (Raised("wire", "a", "gone"), False),
        (Raised("wire", "a", "has moved", shared=True), False),
    ],
)
def test_a_fault_is_caught_by_its_probe_with_its_cause(one, is_it):
    """Another probe, other words, or a defect of both sides do not count as caught."""
    assert names(fault_of(), one) is is_it


def test_judging_sees_silence_and_noise():
    """A fault that raises nothing is missed, a control that raises something is loud, a known mismatch is not."""
    known = Raised("consumers", "meta.x.unread", "nobody reads it", shared=True)
    by_patch = {"": (known,), "bad.patch": (known,), "fine.patch": (known, Raised("wire", "b", "new"))}
    plain = suite.Variant("plain")
    fault = fault_of(
        variant=suite.Variant("plain", "bad.patch"), controls=(suite.Variant("plain", "fine.patch"),), healed=()
    )

    def raises(variant):
        return by_patch[variant.patch]

    answer = judge(fault, raises)
    assert answer.caught is None and not answer.good
    assert answer.loud == ((fault.controls[0], Raised("wire", "b", "new")),)
    by_patch.update({"bad.patch": (known, Raised("wire", "a", "moved")), "fine.patch": (known,)})
    assert judge(fault, raises).good
    by_patch[plain.patch] = (known, Raised("wire", "a", "drifts"))
    assert not judge(fault, raises).good


def test_the_command_says_what_is_missing(capsys, monkeypatch, tmp_path):
    """Without a manifest that can be read, the command ends with its fault and not with a table."""
    from tests.faults import __main__ as command

    monkeypatch.setattr("sys.argv", ["faults", "--manifest", str(tmp_path / "none.yaml")])
    assert command.main() == PortError.exit_code
    assert "error:" in capsys.readouterr().err

"""Faults that a training run must see, and controls that leave every bit of it as it is."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from parity.capture import PACKAGES, stack
from parity.record import leaf
from parity.smoke.compare import compared
from parity.smoke.outcome import Told
from parity.smoke.series import Series
from porttool.errors import EnvironmentFault, PortError
from tests.faults import __main__ as command
from tests.faults import smoke, suite
from tests.faults.judged import Answer, Raised, judge
from tests.faults.suite import Fault, Variant

LISTED = smoke.listed()
# What a short training run was asked to see, and the fault of the list that stands for it.
ASKED = {
    "shift wrong for old": "01-shift-old",
    "shift wrong for ref": "01-shift-ref",
    "shift wrong for entropy": "01-shift-entropy",
    "horizon = total_epochs": "02-horizon",
    "clipping not forwarded": "08-clipping",
    "gradient accumulation dtype": "12-accumulation-dtype",
    "temperature on one side only": "98-temperature",
    "mini-batch loop missing": "20-mini-batches",
    "advantages shifted by one": "95-advantages-shifted",
    "weights not synced": "96-not-synced",
    "reward always zero": "70-reward-zero",
    "optimizer betas lost": "97-betas-lost",
    "loss scaled by the accumulation steps": "60-scaled-by-gas",
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="training runs need Linux")
def test_a_training_run_sees_a_fault_and_no_control(tmp_path, monkeypatch, target):
    """Three runs of two steps: the shift is seen at step 1 with its cause; all controls together move no bit."""
    try:
        stack()
    except EnvironmentFault as error:
        pytest.skip(f"{error.message}: training runs need {len(PACKAGES)} packages of the trainer")
    monkeypatch.setenv("HOME", str(tmp_path))  # packages of the trainer stack write there
    faults = [fault for fault in LISTED.faults if fault.name == "01-shift"]
    (answer,), _ = smoke.run(LISTED, tmp_path / "cache", faults=faults)
    assert answer.caught and answer.caught.key == "step[1].first_ratio"
    assert answer.loud == ()


def test_what_was_asked_for_is_listed():
    """Each fault that a short training run was asked to see is in the list."""
    assert set(ASKED.values()) <= {fault.name for fault in LISTED.faults}


def test_the_list_is_long_enough():
    """At least 35 faults in all, those of both tiers counted once, and three changes that are none."""
    _, static = suite.load()
    assert len({fault.name for fault in (*static, *LISTED.faults)}) >= 35
    assert len(LISTED.harmless) >= 3


@pytest.mark.parametrize("fault", LISTED.faults, ids=lambda fault: fault.name)
def test_every_fault_has_a_control(fault):
    """A fault nobody can be free of proves nothing; a fault of both sides is not planted."""
    assert fault.probe == smoke.PROBE
    assert fault.controls and fault.variant not in (*fault.controls, *fault.healed)
    assert bool(fault.variant.patch) != fault.shared


@pytest.mark.parametrize("scenario", LISTED.scenarios)
def test_the_controls_of_a_scenario_stand_together(scenario, target, tmp_path):
    """One tree takes all of them, those on the server's package last."""
    patches = LISTED.controls(scenario).patch.split()
    on_target = [name for name in patches if not suite.on_package(name)]
    assert patches[: len(on_target)] == on_target
    made = suite.planted(target, " ".join(on_target), tmp_path)
    for name in {file for patch in on_target for file in suite.touched(patch)}:
        assert (made.folder / name).read_bytes() != (target.folder / name).read_bytes()


def series(side: str, *steps: dict[str, object], variance: float = 1.0) -> Series:
    """A run of a few metrics."""
    told = tuple({name: leaf(value) for name, value in step.items()} for step in steps)
    return Series("zorro", side, 1, {}, told, {}, (variance,) * len(steps), (1.0,) * len(steps))


def test_findings_are_raised_with_step_and_cause():
    """What differs is raised at its step, in the report's words and with its cause."""
    found = smoke.raised(compared([series("source", {"entropy": 0.5})], [series("target", {"entropy": 0.25})], Told()))
    assert [one.key for one in found] == ["step[1].entropy"]
    assert "source: 0.5, target: 0.25" in found[0].cause and "shift" in found[0].cause


def test_equal_runs_raise_nothing():
    """A control's run is the source's to the bit; then nothing is raised."""
    both = [series(side, {"entropy": 0.5}) for side in ("source", "target")]
    assert smoke.raised(compared(both[:1], both[1:], Told())) == ()


def test_a_run_that_cannot_be_compared_is_raised():
    """Rewards that never vary are no match, and the verdict says why."""
    right = series("target", {"score": 0.0}, variance=0.0)
    (found,) = smoke.raised(compared([series("source", {"score": 0.5})], [right], Told()))
    assert (found.probe, found.key) == (smoke.PROBE, "verdict")
    assert "target side: reward always 0" in found.cause


def test_a_law_that_both_sides_break_is_raised_as_shared():
    """A defect of both sides differs nowhere and is told nevertheless."""
    both = [series(side, {"updates": 1}) for side in ("source", "target")]
    (found,) = smoke.raised(compared(both[:1], both[1:], Told(updates=2)))
    assert found.shared and found.key == "step[1].updates" and "asks for 2" in found.cause


def test_rounding_of_both_sides_is_no_noise_of_a_control():
    """What both sides break alike in the control too is known; what only the control raises is not."""
    rounded = Raised(smoke.PROBE, "step[1].first_ratio", "round differently", shared=True)
    fault = replace(LISTED.faults[0], cause="shift", shared=False)
    by = {
        fault.variant: (Raised(smoke.PROBE, "step[1].entropy", "shift"), rounded),
        fault.controls[0]: (rounded,),
        Variant(fault.variant.scenario): (rounded,),
    }
    assert judge(fault, by.__getitem__).good
    by[fault.controls[0]] = (rounded, Raised(smoke.PROBE, "step[2].loss", "1 and 2"))
    assert judge(fault, by.__getitem__).loud


def answer(name: str, *, good: bool) -> Answer:
    """How a made-up fault fared."""
    fault = Fault(name, "1", "what is | done", Variant("zorro", "01-shift.patch"), smoke.PROBE, "x", ())
    caught = Raised(smoke.PROBE, "step[2].lr", "the horizon") if good else None
    return Answer(fault, caught, (Raised(smoke.PROBE, "step[3].loss", "1 and 2"),), (), 12.5)


def test_the_table_has_step_cause_and_seconds(capsys):
    """A row holds who caught it, where, why and in what time; a missed fault says so."""
    command.markdown([answer("one", good=True), answer("two", good=False)], [])
    rows = capsys.readouterr().out.splitlines()[2:]
    assert rows[0] == "| one | 1 | what is \\| done | smoke zorro | `step[2].lr`: the horizon | 12 |"
    assert "**missed**" in rows[1]


def test_the_screen_shows_what_came_instead(capsys):
    """A missed fault prints what was wanted and what was raised; a loud harmless change is printed with it."""
    loud = smoke.Harmless(LISTED.harmless[0], (Raised(smoke.PROBE, "step[1].loss", "1 and 2"),), 3.0)
    command.screen([answer("two", good=False)], [loud])
    told = capsys.readouterr().out
    assert "MISSED  two" in told and "wanted: smoke x" in told and "raised: smoke step[3].loss" in told
    assert "LOUD    00-log-line.patch" in told


def test_a_fault_of_both_tiers_is_counted_once():
    """Missed by one tier is missed."""
    told = command.summary([answer("one", good=True), answer("one", good=False), answer("two", good=True)], [])
    assert told.startswith("2 faults, 1 caught")


def test_a_name_nobody_has_is_refused(monkeypatch):
    """A misspelt --only runs nothing, and does not pass."""
    monkeypatch.setattr("sys.argv", ["faults", "--tier", "smoke", "--only", "nonesuch"])
    with pytest.raises(SystemExit, match="nonesuch"):
        command.main()


def test_without_a_section_nothing_is_trained(tmp_path):
    """A manifest without training runs is told, and is no pass."""
    file = Path(tmp_path) / "m.yaml"
    with pytest.raises(PortError):
        smoke.setting(LISTED, file, tmp_path)

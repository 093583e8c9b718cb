"""Both sides trained and compared, A/A, and evidence; on a trainer of a few lines."""

from __future__ import annotations

import pytest

from parity.smoke import envelope
from parity.smoke.run import Asked, Trainer, alike, measure, smoke
from parity.smoke.setting import setting
from parity.smoke.watch import Lines
from parity.verdict import Verdict
from porttool.errors import EnvironmentFault, UsageError
from porttool.manifest import load

ENVELOPE = "    compare: {envelope: {alpha: 0.05, runs: 5}}\n"
QUIET = Lines([].append)


def trainer(trained, right: str = "", **asked) -> Trainer:
    return Trainer(setting(load(trained.project.manifest), right=right), Asked(**asked))


def test_each_scenario_and_seed(trained):
    """Runs are paired by scenario and seed; the command runs one scenario again."""
    trained.section("{plain: [], bold: [lr=2]}")
    shown = smoke(trainer(trained, seeds=(1, 2), steps=2), QUIET)
    assert [(one.scenario, one.compared.seeds, one.compared.steps) for one in shown] == [
        ("plain", (1, 2), 2),
        ("bold", (1, 2), 2),
    ]
    assert [run.seed for run in shown[1].right] == [1, 2] and shown[0].names == ("recipe", "port/x")
    assert shown[1].command == (
        "porttool smoke manifests/m.yaml --scenario bold --steps 2 --seeds 1,2 --left recipe --right port/x"
    )
    assert {one.verdict for one in shown} == {Verdict.MATCH}


def test_a_crashed_side_is_incomparable(trained):
    """Never a match, whatever the other side does."""
    trained.section("{plain: [crash=2]}")
    [one] = smoke(trainer(trained), QUIET)
    assert one.verdict is Verdict.INCOMPARABLE
    assert "crashed after 1 step: RuntimeError: the trainer broke" in one.compared.reason


def test_no_variance_is_incomparable(trained):
    """Rewards that never vary teach nothing: equal runs are no evidence."""
    trained.section("{plain: [variance=0]}")
    [one] = smoke(trainer(trained), QUIET)
    assert one.verdict is Verdict.INCOMPARABLE


def test_alike(trained):
    """The source against itself: as many comparisons as asked, each of runs of their own; no alarm."""
    lines: list[str] = []
    [told] = alike(trainer(trained), 3, Lines(lines.append))
    assert lines[0] == "4 training runs to make, 2 at a time"
    assert (len(told.compared), told.alarms, told.verdict) == (3, 0, Verdict.MATCH)
    assert told.reason == "3 runs of the source against its own first run: 0 alarms"


def test_alike_counts_alarms(trained):
    """A source that does not repeat itself raises an alarm each time."""
    [told] = alike(trainer(trained, noise="free"), 2, QUIET)
    assert (told.alarms, told.verdict) == (2, Verdict.DIFFER)
    assert told.reason.startswith("2 runs of the source against its own first run: 2 alarms; step[1].score")


def test_delays_are_held_to_a_run_without(trained, monkeypatch):
    """Two equal runs prove little: with delays the first runs without, the others with."""
    asked: list[str] = []
    found = trainer(trained, noise="delays")
    original = Trainer.launch

    def launch(self, runs, watch):
        asked.extend(run.noise for run in runs)
        return original(self, runs, watch)

    monkeypatch.setattr(Trainer, "launch", launch)
    alike(found, 2, QUIET)
    assert asked == ["none", "delays", "delays"]


def test_measure_and_compare(trained):
    """Evidence is written beside the manifest with its environment; then runs are held to it, wide as it is."""
    trained.section(extra=ENVELOPE)
    [(file, found)] = measure(trainer(trained), 6, QUIET).items()
    assert file == trained.project.manifest.parent / "m.captures" / "convergence.plain.json"
    told = envelope.from_json(file.read_text())
    assert (told.alpha, len(told.runs), told.seeds) == (0.05, 6, (1,)) and told.environment == found.environment
    assert told.environment["env.cpu"] and "ref" not in told.runs[0].provenance
    lines: list[str] = []
    [one] = smoke(trainer(trained), Lines(lines.append))
    assert lines[0].startswith("2 training runs to make")  # no run of the evidence is held to it
    assert one.verdict is Verdict.MATCH and one.compared.rate == 0.05
    [far] = smoke(trainer(trained, "main"), QUIET)
    assert far.verdict is Verdict.DIFFER


def test_measure_over_seeds(trained):
    """Several seeds: as many as there are runs, counting on from the last."""
    [found] = measure(trainer(trained, seeds=(3, 5)), 5, QUIET).values()
    assert found.seeds == (3, 5, 6, 7, 8)


def test_measure_is_refused(trained, monkeypatch):
    """Too few runs, a source that crashes, and CI."""
    with pytest.raises(UsageError, match="--measure is 4"):
        measure(trainer(trained), 4, QUIET)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(UsageError, match="--measure is refused in CI"):
        measure(trainer(trained), 5, QUIET)
    monkeypatch.delenv("CI")
    trained.section("{plain: [crash=1]}")
    with pytest.raises(EnvironmentFault, match="these runs are no evidence: run 1: it crashed"):
        measure(trainer(trained), 5, QUIET)
    assert not (trained.project.manifest.parent / "m.captures").exists()

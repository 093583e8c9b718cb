"""The section of training runs: what it says, and what it may not say."""

from __future__ import annotations

import pytest

from parity.smoke.order import DRIVER
from parity.smoke.setting import Tolerance, convergence, setting
from parity.smoke.windows import Band
from porttool.errors import EnvironmentFault, ManifestError
from porttool.manifest import load

PLAIN = {"scenarios": {"plain": []}}


def read(**told):
    return convergence({**PLAIN, **told}, "m.yaml:9")[0]


def test_what_is_left_out():
    """Six steps, seed 1, windows of three, exact, verl's driver."""
    found, base = convergence(PLAIN)
    assert (found.steps, found.seeds, found.windows, found.compare, found.driver) == (6, (1,), 3, "exact", DRIVER)
    assert base == () and found.noise == "none" and not found.bands
    assert [one.name for one in found.scenarios] == ["plain"]


def test_all_of_it(tmp_path):
    """Each key is read; the driver's file is found beside the manifest."""
    (tmp_path / "d.py").write_text("def fit(order, writer): ...")
    told = {
        "steps": 4,
        "seeds": [3, 1],
        "base": ["a=1"],
        "scenarios": {"plain": [], "bold": {"overrides": ["b=2"], "why": "more"}},
        "compare": {"envelope": {"alpha": 0.05, "runs": 8}},
        "windows": 2,
        "bands": {"entropy": {"low": 0.17, "high": 0.21, "why": "as in the report"}},
        "driver": "d.py:fit",
    }
    found, base = convergence(told, folder=tmp_path)
    assert (found.steps, found.seeds, found.windows, base) == (4, (3, 1), 2, ("a=1",))
    assert found.compare == Tolerance(0.05, 8) and found.noise == "free"
    assert found.bands == {"entropy": Band(0.17, 0.21, "as in the report")}
    assert found.scenarios[1].overrides == ("b=2",) and found.scenarios[1].why == "more"
    assert found.driver == f"{tmp_path / 'd.py'}:fit"


def test_an_envelope_by_its_name():
    """`{envelope: }` alone is the usual rate and the fewest runs."""
    assert read(compare={"envelope": None}).compare == Tolerance(0.01, 5)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"stepps": 3}, "parity.convergence: unknown key 'stepps'"),
        ({"steps": 0}, "parity.convergence.steps: wants a whole number of at least 1, not 0"),
        ({"steps": True}, "parity.convergence.steps: wants a whole number of at least 1, not True"),
        ({"seeds": []}, "parity.convergence.seeds: wants a list of different whole numbers, not []"),
        ({"seeds": [1, 1]}, "parity.convergence.seeds: wants a list of different whole numbers, not [1, 1]"),
        ({"base": "a=1"}, "parity.convergence.base: wants a list of strings, not 'a=1'"),
        ({"scenarios": {}}, "parity.convergence.scenarios: is empty: nothing would be run"),
        ({"scenarios": {"p": {"rows": 1}}}, "parity.convergence.scenarios.p: unknown key 'rows'"),
        ({"compare": "roughly"}, "parity.convergence.compare: is 'roughly'"),
        ({"compare": {"envelop": {}}}, "parity.convergence.compare: unknown key 'envelop'"),
        ({"compare": {"envelope": {"alpha": 2.0}}}, "parity.convergence.compare.envelope.alpha: wants a chance"),
        ({"compare": {"envelope": {"runs": 4}}}, "parity.convergence.compare.envelope.runs: wants a whole number"),
        ({"windows": -1}, "parity.convergence.windows: wants a whole number of at least 0, not -1"),
        ({"bands": {"x": {"low": 1}}}, "parity.convergence.bands.x: wants a number for high, not None"),
        ({"bands": {"x": {"low": 2, "high": 1}}}, "parity.convergence.bands.x: a band from 2.0 to 1.0 holds nothing"),
        ({"driver": "fit"}, "parity.convergence.driver: 'fit' is no driver"),
    ],
)
def test_refused(told, message):
    """Every refusal says where it is and what is wanted."""
    with pytest.raises(ManifestError) as refused:
        read(**told)
    assert refused.value.message.startswith(message)
    assert refused.value.where == "m.yaml:9"


def test_the_nearest_key_is_named():
    """A misspelt key gets a hint."""
    with pytest.raises(ManifestError) as refused:
        read(step=3)
    assert "'steps'" in refused.value.hint or "steps" in refused.value.hint


def test_without_a_section(trained):
    """A manifest that has none is told what the section is."""
    manifest = trained.project.write(f"  - {{pick: [{trained.project.picks[0]}]}}\n")
    with pytest.raises(ManifestError, match=r"no `parity.convergence` section"):
        setting(load(manifest))


def test_sides_and_runs(trained):
    """Both refs are taken out; a run is told in its side's names, with its seed."""
    trained.section("{plain: [old_rl.lr=3]}")
    of = setting(load(trained.project.manifest))
    assert (of.left.ref, of.right.ref) == ("recipe", "port/x")
    assert (of.right.folder / "rate.txt").read_text() == "0.5"
    [scenario] = of.chosen([])
    left, right = (of.run(side, scenario, 7, 2) for side in (of.left, of.right))
    assert [run.job.overrides for run in (left, right)] == [
        (("old_rl.lr=3", "old_rl.lr=3"),),
        (("old_rl.lr=3", "remote.lr=3"),),
    ]
    assert (left.job.side, right.job.side, left.job.seed, left.seed, left.steps) == ("source", "target", 7, 7, 2)


def test_before_a_port_the_target_is_compared(trained):
    """Without a port branch the right side is target.ref."""
    trained.project.repo.git("branch", "-D", "port/x")
    assert setting(load(trained.project.manifest)).right.ref == "main"


def test_an_unknown_scenario(trained):
    """The nearest one is named."""
    trained.section("{plain: [], bold: []}")
    with pytest.raises(ManifestError) as refused:
        setting(load(trained.project.manifest)).chosen(["blod"])
    assert "no scenario 'blod'" in refused.value.message and "bold" in refused.value.hint


def test_another_trainer_needs_no_stack_of_ours(trained):
    """Only its own packages are asked for; what is missing is named."""
    assert set(setting(load(trained.project.manifest)).stack.packages) == {"python"}
    text = trained.project.manifest.read_text().replace("packages: []", "packages: [no-such-package-here]")
    trained.project.manifest.write_text(text)
    with pytest.raises(EnvironmentFault, match="no-such-package-here"):
        setting(load(trained.project.manifest))


def test_the_schedule_is_of_the_scenario(trained, monkeypatch):
    """For verl's driver the learning rates are held to the closed form, with the steps of this very run."""
    actor = "actor_rollout_ref.actor"
    base = f"[{actor}.optim.lr=2e-6, data.train_batch_size=8, {actor}.ppo_mini_batch_size=4]"
    trained.section("{plain: [actor_rollout_ref.actor.optim.lr_warmup_steps_ratio=0.5]}", f"    base: {base}\n")
    of = setting(load(trained.project.manifest))
    [scenario] = of.chosen([])
    assert of.told(scenario, 4).schedule is None
    monkeypatch.setattr("parity.smoke.setting.DRIVER", of.how.driver)
    told = of.told(scenario, 4)
    assert (told.schedule.peak, told.schedule.horizon, told.updates, told.windows) == (2e-6, 8, 2, 3)


def test_an_envelope_without_evidence(trained):
    """It is refused, with the command that measures."""
    trained.section(extra="    compare: {envelope: {alpha: 0.01, runs: 5}}\n")
    of = setting(load(trained.project.manifest))
    with pytest.raises(ManifestError, match="the envelope of plain has no evidence") as refused:
        of.told(of.chosen([])[0], 3)
    assert refused.value.hint == "measure it: porttool smoke --scenario plain --measure 5"
    of.evidence_file("plain").parent.mkdir()
    of.evidence_file("plain").write_text("{}")
    with pytest.raises(ManifestError, match="the evidence of plain is none"):
        of.told(of.chosen([])[0], 3)

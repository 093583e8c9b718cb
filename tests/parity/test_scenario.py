"""Scenarios: written once in the source's names, told to each side in its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from parity.scenario import Harness, Rows, Scenario, job, job_from_json, override, read
from porttool.errors import ManifestError
from porttool.layout import Layout, Symbol, paths_renaming
from porttool.manifest import load
from porttool.names import renaming

LAYOUT = Layout(
    paths=paths_renaming({"pkg/ppo/client.py": "pkg/remote/arctic.py", "pkg/workers.py": "pkg/remote/worker.py"}),
    symbols=(Symbol("Trainer", "RemoteTrainer"), Symbol("Worker", "ArcticWorker", scope=("pkg/workers.py",))),
    keys=renaming("key", [("arctic_rl", "remote_backend"), ("arctic_rl.use_zorro", "remote_backend.zorro.enable")]),
)
SUBJECT = {
    "trainer": "pkg.trainer.Trainer",
    "worker": "pkg.workers.Worker",
    "rollout": "pkg.rollout.Server",
    "adapter": "pkg.ppo.client.Client",
}
HARNESS = Harness(
    subject=SUBJECT,
    select={"source": ("trainer.use=True",), "target": ("remote_backend=arctic",)},
    base=("trainer.device=cpu",),
    scenarios=(Scenario("zorro", ("arctic_rl.use_zorro=True", "+arctic_rl.new.key=[1,2]")),),
    gpus=("arctic_rl.training_gpus",),
)
SECTION = {"subject": SUBJECT, "select": {"source": ["a=1"], "target": ["b=2"]}}


def test_source_keeps_what_is_written():
    """The source side is told its own names."""
    told = job(HARNESS, HARNESS.scenario("zorro"), "source", LAYOUT)
    assert [applied for _, applied in told.overrides] == [written for written, _ in told.overrides]
    assert told.subject == SUBJECT
    assert told.select == ("trainer.use=True",)


def test_target_is_told_the_layouts_names():
    """Overrides, classes and GPU keys are carried over; each override keeps the form it was written in."""
    told = job(HARNESS, HARNESS.scenario("zorro"), "target", LAYOUT)
    assert told.overrides == (
        ("trainer.device=cpu", "trainer.device=cpu"),
        ("arctic_rl.use_zorro=True", "remote_backend.zorro.enable=True"),
        ("+arctic_rl.new.key=[1,2]", "+remote_backend.new.key=[1,2]"),
    )
    assert told.subject == {
        "trainer": "pkg.trainer.RemoteTrainer",
        "worker": "pkg.remote.worker.ArcticWorker",
        "rollout": "pkg.rollout.Server",
        "adapter": "pkg.remote.arctic.Client",
    }
    assert told.gpus == ("remote_backend.training_gpus",)


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_job_survives_its_json(side):
    """A job read back is the job that was written, and has the same digest."""
    told = job(HARNESS, HARNESS.scenario("zorro"), side, LAYOUT)
    again = job_from_json(told.to_json())
    assert again == told
    assert again.digest() == told.digest()


def test_the_digest_sees_every_part():
    """Another override, another drive and other rows are other jobs."""
    base = Scenario("one")
    others = [
        Scenario("one", ("a=1",)),
        Scenario("one", drive="engine"),
        Scenario("one", rows=Rows(order="interleaved")),
    ]
    digests = {job(HARNESS, scenario, "source", LAYOUT).digest() for scenario in [base, *others]}
    assert len(digests) == 4


def test_why_is_no_part_of_the_job():
    """A sentence about a scenario does not make its captures stale."""
    plain, told = Scenario("one"), Scenario("one", why="because")
    assert job(HARNESS, plain, "source", LAYOUT).digest() == job(HARNESS, told, "source", LAYOUT).digest()


def test_interpolations_are_translated():
    """A value that refers to a key follows the key."""
    assert override("a.b=${arctic_rl.use_zorro}", LAYOUT) == "a.b=${remote_backend.zorro.enable}"


def test_unreadable_override_is_refused():
    """What Hydra does not read cannot be translated, and says so."""
    with pytest.raises(ManifestError, match="cannot be translated"):
        override("arctic_rl.use_zorro=[1,", LAYOUT)


def test_the_section_is_read():
    """A list is a scenario's overrides; a mapping may name rows, drive and why."""
    rows = {"prompt_lengths": [2, 1], "order": "interleaved"}
    scenarios = {"a": ["x=1"], "b": {"drive": "engine", "rows": rows, "why": "w"}}
    found = read({**SECTION, "scenarios": scenarios, "config": "p.q/r"})
    assert found.scenario("a") == Scenario("a", ("x=1",))
    assert found.scenario("b") == Scenario("b", (), Rows((2, 1), order="interleaved"), "engine", "w")
    assert found.config == ("p.q", "r")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"scenaros": {}}, "unknown key 'scenaros'"),
        ({"subject": {"trainer": "a.B"}}, "does not name the worker, rollout, adapter"),
        ({"scenarios": {"a": {"driv": "engine"}}}, "scenarios.a: unknown key 'driv'"),
        ({"scenarios": {"a": {"drive": "gpu"}}}, "drive is 'gpu'"),
        ({"scenarios": {"a": {"rows": {"lengths": []}}}}, "scenarios.a.rows: unknown key"),
        ({"scenarios": {"a/b": []}}, "scenarios.a/b: a scenario's name is part of a file's name"),
        ({"scenarios": ["a"]}, "wants a mapping from name to scenario"),
        ({"base": "a=1"}, "base: wants a list of strings"),
        ({"select": {"left": []}}, "select: unknown key 'left'"),
    ],
)
def test_the_section_is_strict(change, told):
    """What the section does not know is refused with its place."""
    with pytest.raises(ManifestError, match=told):
        read({**SECTION, **change})


def test_an_unknown_scenario_names_the_known():
    """A typo in a scenario's name is answered with those there are."""
    with pytest.raises(ManifestError) as caught:
        HARNESS.scenario("zoro")
    assert "zorro" in caught.value.hint


@pytest.mark.parametrize("lengths", [(), (0,), (3, -1)])
def test_rows_need_tokens(lengths):
    """A prompt or a response without a token is no row."""
    with pytest.raises(ValueError, match="at least one token"):
        Rows(prompt_lengths=lengths)


def test_the_rehearsals_scenarios_cover_what_its_commits_touch():
    """At least ten scenarios, among them each logits knob, both protocols and every ZeRO stage named."""
    told = read(load(Path(__file__).parents[2] / "manifests/rl_correctness.yaml").parity)
    written = {override for scenario in told.scenarios for override in scenario.overrides}
    assert len(told.scenarios) >= 10
    for needed in (
        "arctic_rl.use_zorro=True",
        "arctic_rl.comm_protocol=http",
        "arctic_rl.training_gpus=8",
        "arctic_rl.zero_optimization.stage=1",
        "arctic_rl.zero_optimization.stage=3",
        "arctic_rl.data_types.grad_accum_dtype=fp32",
        "arctic_rl.logits_optimization=compute",
        "arctic_rl.logits_optimization=memory",
        "arctic_rl.logits_compute_in_fp32=True",
        "arctic_rl.logits_compute_from_fp32_inputs=True",
        "actor_rollout_ref.actor.use_kl_loss=True",
        "actor_rollout_ref.actor.entropy_coeff=0.01",
        "actor_rollout_ref.actor.optim.lr_scheduler_type=cosine",
        "actor_rollout_ref.actor.optim.clip_grad=0.0",
        "actor_rollout_ref.model.enable_gradient_checkpointing=False",
    ):
        assert needed in written

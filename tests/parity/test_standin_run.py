"""Both sides of the rehearsal, run: slow, and only where the trainer stack and the rehearsal's branches are there."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from parity.capture import capture, checkout, stack
from parity.compare import compare
from parity.scenario import job, read
from porttool.manifest import load

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = ROOT / "manifests/rl_correctness.yaml"
NAMES = ("zorro", "kl_loss", "http", "eight_gpus", "engine_zorro", "engine_apart")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("verl") is None, reason="the trainer stack is not installed"),
    pytest.mark.skipif(
        not (ROOT / "build/verl/.git").exists(), reason="the rehearsal is not built: porttool vendor sync verl"
    ),
]


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    """Captures of the source and of the target before the port; the first scenario of the source twice."""
    manifest = load(MANIFEST)
    harness = read(manifest.parity)
    cache = tmp_path_factory.mktemp("cache")
    told = {}
    for side, end in (("source", manifest.source), ("target", manifest.target)):
        there = checkout(manifest.repo(end), end.ref, side, cache)
        told[side] = there, [job(harness, harness.scenario(name), side, manifest.layout) for name in NAMES]
    found = capture([told["source"], told["target"]], stack(), cache)
    again = capture([(told["source"][0], told["source"][1][:1])], stack(), cache, fresh=True)
    by_name = {side: dict(zip(NAMES, row, strict=True)) for side, row in zip(told, found, strict=True)}
    return {**by_name, "again": again[0][0]}


def test_nothing_crashed(sides):
    """Every scenario of both sides gives every probe."""
    for row in (sides["source"], sides["target"]):
        for name, told in row.items():
            assert not told.crashed, told.crashed
            wanted = {"wire", "config", "contract"} | ({"reads", "oracle"} if name.startswith("engine") else set())
            assert set(told.probes) == wanted


def test_the_source_raises_nothing(sides):
    """Every part of the step comes to its end."""
    for told in sides["source"].values():
        assert not [key for key in told.probes["contract"] if key.startswith(("raises.", "never_awaited"))]


def test_an_engine_that_deepspeed_refuses_is_an_observation(sides):
    """The unported target sends no data_types; the server's default does not go with stage 0."""
    told = sides["target"]["engine_zorro"].probes["contract"]["raises.driver"].value
    assert told.startswith("NotImplementedError: unsupported mix")


def test_two_runs_of_one_side_are_equal(sides):
    """Another process, the same leaves."""
    assert sides["again"].digest() == sides["source"]["zorro"].digest()


def test_the_unported_target_lacks_what_the_port_brings(sides):
    """The wire differs in exactly the keys of the recipe's commits."""
    found = compare(sides["source"]["zorro"], sides["target"]["zorro"]).findings
    update = "update_actor.fwd_bwd."
    keys = {finding.key.removeprefix(update) for finding in found if finding.key.startswith(update)}
    assert {key for key in keys if key.startswith("meta.")} == {
        "meta.drop_position_ids",
        "meta.logits_compute_in_fp32",
        "meta.logits_optimization",
        "meta.logits_optimization_peak_mem_size_in_gib",
        "meta.zorro_train_load_balancer",
    }
    # The -1 shift on zorro's aligned values.
    assert "batch.old_log_probs" in keys
    config = {finding.key for finding in found if finding.probe == "config"}
    assert "client.training_config.optimizer.gradient_clipping" in config
    assert "client.training_config.training_horizon" in config


def test_overrides_the_unported_target_does_not_know_are_told(sides):
    """A scenario's key that one side lacks is a leaf, not a crash."""
    told = sides["target"]["http"].probes["config"]
    assert told["override.arctic_rl.cuda_ipc_weight_sync"].value == "this side has no such key"


def test_the_order_of_a_step(sides):
    """As verl's fit drives it, with the reference pass where the KL loss needs one."""
    assert sides["source"]["kl_loss"].probes["wire"]["order"].value.split(" > ") == [
        "first_sync.sync_weights",
        "generate.generate",
        "old_log_prob.fwd_no_grad",
        "ref_log_prob.fwd_no_grad",
        "update_actor.fwd_bwd",
        "update_actor.step",
        "sync.sync_weights",
        "save.save_checkpoint",
        "destroy.shutdown",
    ]


def test_http_sends_what_ray_sends(sides):
    """The bodies survive their encoding; the shutdown is a plain call."""
    wire = sides["source"]["http"].probes["wire"]
    assert wire["update_actor.fwd_bwd.awaited"].value is True
    assert "destroy.shutdown.awaited" not in wire


def test_lost_values_are_flagged(sides):
    """actor_config holds objects that JSON cannot say."""
    wire = sides["source"]["zorro"].probes["wire"]
    assert wire["update_actor.fwd_bwd.meta.actor_config.optim"].lost


def test_deepspeed_is_asked_for_1_8_and_64_ranks(sides):
    """Each engine has a verdict for each number."""
    config = sides["source"]["zorro"].probes["config"]
    for world in (1, 8, 64):
        assert config[f"deepspeed.training.{world}.train_batch_size"].value == 64
        assert f"deepspeed.training.{world}.refused" not in config


def test_the_oracle_agrees_where_prompts_are_adjacent(sides):
    """The real zorro path on a real engine, against a dense forward."""
    oracle = sides["source"]["engine_zorro"].probes["oracle"]
    assert {value.value for key, value in oracle.items() if key.endswith(".agrees")} == {True}
    assert len(oracle) == 4


def test_the_oracle_names_the_cause_where_they_are_not(sides):
    """Ratio and loss see nothing; the rows and the reason are told."""
    told = sides["source"]["engine_apart"].probes["oracle"]
    assert told["ref_log_prob.fwd_no_grad.agrees"].value is False
    assert "not adjacent" in told["ref_log_prob.fwd_no_grad.cause"].value


def test_reads_tell_the_story_of_the_knobs(sides):
    """Under zorro the knobs in meta have no reader and those in ds_worker_config have; the balancer's key is near."""
    reads = sides["source"]["engine_zorro"].probes["reads"]
    assert reads["update_actor.meta.logits_optimization.unread"].value is True
    assert "model_patch_in_zorro" in reads["ds_worker_config.logits_optimization.read_by"].value
    assert reads["update_actor.meta.zorro_train_load_balancer.unread"].value is True
    assert reads["update_actor.meta.load_balancer.unsent"].value is True
    assert "_split_batch" in reads["update_actor.meta.load_balancer.read_by"].value

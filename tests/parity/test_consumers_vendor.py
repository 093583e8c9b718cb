"""Who reads what in the pinned server. Skipped where it is not installed."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from parity.consumers_vendor import from_json, installed, to_json

pytestmark = pytest.mark.skipif(find_spec("arctic_platform") is None, reason="the trainer stack is not installed")


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    """The scan of the installed server."""
    return installed(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def reads(scan):
    """Conditions of the reads of each `dict.key`, with the function that reads."""
    found: dict[str, set[tuple[str, str]]] = {}
    for read in scan.reads:
        if read.how != "parameter":
            conditions = " and ".join(f"{guard}" for guard in read.guards)
            found.setdefault(f"{read.dict}.{read.key}", set()).add((read.function, conditions))
    return found


@pytest.mark.parametrize(
    ("key", "function", "condition"),
    [
        ("meta.drop_position_ids", "_split_batch", ""),
        ("meta.load_balancer", "_split_batch", ""),
        ("meta.rollout_n", "_split_batch", "meta.load_balancer"),
        ("meta.zorro_train_max_rollouts", "_split_batch", "meta.load_balancer"),
        ("meta.max_token_len_per_gpu", "_split_batch", "meta.load_balancer"),
        ("meta.max_response_len", "_split_batch", "meta.load_balancer"),
        ("meta.max_response_len", "_forward_maybe_backward", "DEBUG is on, which it is not"),
        ("meta.zorro_train_enable", "run_pipeline", ""),
        ("meta.max_prompt_len", "run_pipeline", "meta.zorro_train_enable"),
        ("meta.pad_token_id", "run_pipeline", "not meta.zorro_train_enable"),
        ("meta.worker_return_tensors", "_forward_maybe_backward", ""),
        ("batch.prompts", "compute_packing_info_for_batch", ""),
        ("batch.loss_mask", "shard_token_stats", "$ARL_LOG_DP_SHARD_TOKENS is on, which it is not"),
        ("ds_worker_config.attn_implementation", "initialize", ""),
        ("ds_worker_config.enable_gradient_checkpointing", "initialize", ""),
        ("ds_worker_config.use_autocast", "ds_inference_config", "job.job_type is 'log_prob'"),
        ("ds_worker_config.logits_optimization", "model_patch_in_zorro", "ds_worker_config.zorro_train_enable"),
        ("ds_worker_config.temperature", "model_patch_in_zorro", "ds_worker_config.zorro_train_enable"),
        ("job.seed", "initialize", "job.full_determinism"),
        ("args.low_memory", "sync_weights", "args.cuda_ipc"),
    ],
)
def test_readers(reads, key, function, condition):
    """Each key is read by this function on this condition."""
    assert (function, condition) in reads[key]


@pytest.mark.parametrize(
    ("key", "default"),
    [
        ("meta.load_balancer", "False"),
        ("ds_worker_config.logits_optimization", "'none'"),
        ("ds_worker_config.logits_optimization_peak_mem_size_in_gib", "4"),
        ("ds_worker_config.enable_gradient_checkpointing", "True"),
        ("ds_worker_config.attn_implementation", "'flash_attention_2'"),
        ("training_config.optimizer.eps", "1e-08"),
        ("ds_config.data_types", "{'grad_accum_dtype': 'fp32'}"),
        ("processing.loss_fn", "'grpo'"),
    ],
)
def test_silent_defaults(scan, key, default):
    """What holds where the key is not sent."""
    label, _, name = key.rpartition(".")
    assert default in {read.default for read in scan.reads if (read.dict, read.key) == (label, name)}


def test_logits_live_in_two_dicts(reads):
    """Without zorro the knobs are read from meta, with zorro from ds_worker_config."""
    told = reads["meta.logits_compute_in_fp32"]
    assert {function for function, _ in told} == {"compute_entropy_and_logprobs_post"}
    assert all("not ds_worker_config.zorro_train_enable" in condition for _, condition in told)
    assert "meta.logits_compute_from_fp32_inputs" not in reads


def test_nobody_reads(reads):
    """These are sent and read by nobody; the balancer's name is another one."""
    for key in ("meta.zorro_train_load_balancer", "batch.responses", "training_config.max_length", "meta.use_zorro"):
        assert key not in reads


def test_stored_and_not_used(scan):
    """These are read into attributes that nothing uses."""
    assert {f"{label}.{key}" for label, key, _ in scan.shelved} == {
        "ds_worker_config.max_token_len",
        "ds_worker_config.rollout_n",
        "meta.actor_config.clip_ratio",
        "meta.actor_config.clip_ratio_low",
        "meta.actor_config.clip_ratio_high",
        "meta.actor_config.clip_ratio_c",
        "meta.policy_loss_config.loss_mode",
    }


def test_the_model_names_what_it_takes(scan):
    """The zorro forward takes calculate_entropy from meta; the plain one does not."""
    named = {(read.file.rpartition("/")[2], read.key) for read in scan.reads if read.how == "parameter"}
    assert ("qwen_model_patcher.py", "calculate_entropy") in named
    assert ("modeling_qwen3.py", "labels") in named
    assert ("modeling_qwen3.py", "calculate_entropy") not in named


def test_kept_by_content(scan, tmp_path):
    """A scan is written once and read back the same."""
    assert from_json(to_json(scan)) == scan
    assert installed(tmp_path) == scan
    (kept,) = (tmp_path / "scans").iterdir()
    before = kept.stat().st_mtime_ns
    assert installed(tmp_path) == scan
    assert kept.stat().st_mtime_ns == before

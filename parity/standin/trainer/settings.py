"""What the driver says over a job's own overrides, so that it runs on a CPU, below one folder, and repeats itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from parity.scenario import Job
from parity.smoke.order import FitOrder, Noise

# The environment of each process of a run, and why.
ENVIRONMENT: Mapping[str, str] = {
    "HYDRA_FULL_ERROR": "1",  # the error itself, not its last line
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is sent anywhere
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # a process without a GPU keeps its CUDA_VISIBLE_DEVICES
    "RAY_DEDUP_LOGS": "0",  # the log of a crash is whole
    "RAY_AUTH_MODE": "disabled",  # Ray listens to this machine only, and would keep a token in the home folder
    "RAY_prestart_worker_first_driver": "0",  # before there is a job: such a worker cannot be forked
    "RAY_worker_niceness": "0",  # who waits for a worker is no more urgent than the worker
    "PYTHONHASHSEED": "0",  # no order of a set differs
    "OMP_NUM_THREADS": "1",  # sums are added in one order
    "MKL_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",  # the model is a folder
    "TRANSFORMERS_VERBOSITY": "error",
    "DS_ACCELERATOR": "cpu",
    "CUDA_VISIBLE_DEVICES": "",
    # verl passes these to each Ray worker unless they are set: a worker with an environment of its own starts slower
    "TOKENIZERS_PARALLELISM": "false",
    "NCCL_DEBUG": "WARN",
    "VLLM_LOGGING_LEVEL": "WARN",
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "true",
    "CUDA_DEVICE_MAX_CONNECTIONS": "1",
    "VLLM_DISABLE_COMPILE_CACHE": "1",
    "HCCL_HOST_SOCKET_PORT_RANGE": "auto",
    "HCCL_NPU_SOCKET_PORT_RANGE": "auto",
}
# Overrides that are the same in each run, and why. They come after the job's own, and win.
FIXED: Mapping[str, str] = {
    "trainer.device": "cpu",
    "trainer.n_gpus_per_node": "1",  # one forwarder
    "trainer.nnodes": "1",
    "trainer.logger": "[console]",  # steps are told by a hook, exact to the bit
    "trainer.resume_mode": "disable",  # a run begins at its beginning
    "trainer.val_before_train": "False",  # validation is what comes after the last step
    "data.dataloader_num_workers": "0",  # no processes beside Ray's
    "data.validation_shuffle": "False",  # shuffled without a seed
    "actor_rollout_ref.rollout.agent.num_workers": "1",  # several would ask in any order
    "reward.num_workers": "1",
    "ray_kwargs.ray_init.num_cpus": "4",  # room for the actors that ask for a CPU, whatever the machine has
    "+ray_kwargs.ray_init.address": "local",  # never a cluster that runs already
    "+ray_kwargs.ray_init.include_dashboard": "False",
    "+ray_kwargs.ray_init._node_ip_address": "127.0.0.1",  # no port is open to others
    "+ray_kwargs.ray_init.object_store_memory": "150000000",
    "hydra.output_subdir": "null",  # no files beside the run's own
    "hydra.job.chdir": "False",
    "hydra/job_logging": "none",
    "hydra/hydra_logging": "none",
}
AGENT = "parity.standin.trainer.agent.SerialAgentLoop"


# What the processes of a run import one by one; the fork server imports it once. Hooks come before what they hook.
PRELOADED = (
    "parity.standin.trainer.forkserver_ray:no_draws",
    "parity.standin.trainer.inject:install",
    "verl.trainer.main_ppo",
    "verl.experimental.agent_loop",
    "verl.experimental.reward_loop.reward_manager",
    "verl.workers.engine_workers",
    "transformers.models.qwen3.modeling_qwen3",
    "parity.standin.trainer.server",
    "parity.standin.trainer.agent",
    "parity.standin.trainer.told",
)


def preloaded(job: Job) -> list[str]:
    """The modules that the processes of one side need, those of its subject last."""
    return [*PRELOADED, *(name.rpartition(".")[0] for name in job.subject.values())]


def overrides(order: FitOrder, files: Mapping[str, Path], ray_folder: Path) -> list[str]:
    """The driver's own overrides. `files`: model, train, val, reward, agent, checkpoints, hydra."""
    own = {
        **FIXED,
        "trainer.total_training_steps": order.steps,
        # Once each, after the last step.
        "trainer.save_freq": order.steps,
        "trainer.test_freq": order.steps,
        "trainer.default_local_dir": files["checkpoints"],
        "data.train_files": files["train"],
        "data.val_files": files["val"],
        "data.seed": order.seed,
        "actor_rollout_ref.model.path": files["model"],
        "reward.custom_reward_function.path": files["reward"],
        "hydra.run.dir": files["hydra"],
        # A socket's path has room for 107 bytes.
        "+ray_kwargs.ray_init._temp_dir": ray_folder,
    }
    if serial(order.noise):
        own["actor_rollout_ref.rollout.agent.agent_loop_config_path"] = files["agent"]
        own["actor_rollout_ref.rollout.agent.default_agent_loop"] = "serial"
    return [f"{key}={value}" for key, value in own.items()]


def serial(noise: Noise) -> bool:
    """Whether requests have a fixed order."""
    return noise != "free"


def agent_config() -> str:
    """The file that makes verl know the agent loop with a fixed order."""
    return f"- name: serial\n  _target_: {AGENT}\n"


def known(tree: Path, job: Job, own: Sequence[str]) -> tuple[list[str], list[str]]:
    """The overrides of the job that its config knows, as applied, and those left out, as written.

    A target that is not ported yet lacks the keys that the port brings: it runs without them, and says so. The source
    has to know all of them.
    """
    from hydra import compose, initialize_config_dir
    from hydra.errors import ConfigCompositionException

    module, name = job.config
    applied, dropped = list(job.overrides), []
    with initialize_config_dir(str(tree / module.replace(".", "/")), version_base=None):
        while True:
            try:
                compose(name, [*job.select, *(text for _, text in applied), *own])
            except ConfigCompositionException as error:
                unknown = culprit(applied, f"{error}")
                if unknown is None or job.side == "source":
                    raise
                applied.remove(unknown)
                dropped.append(unknown[0])
            else:
                return [*job.select, *(text for _, text in applied)], dropped


def culprit(pairs: Sequence[tuple[str, str]], said: str) -> tuple[str, str] | None:
    """The override that Hydra refused because its key does not exist."""
    found = re.search(r"Could not override '([^']+)'", said)
    return next((pair for pair in pairs if found and _key(pair[1]) == found.group(1)), None)


def _key(text: str) -> str:
    return text.lstrip("+~").partition("=")[0]

"""One GRPO step of one side, with its real trainer, adapter, worker and rollout; no Ray in between."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import torch

from parity.record import Key, Leaf, leaf
from parity.scenario import Job, Rows
from parity.standin.model import EOS, SPECIAL, VOCABULARY
from parity.standin.recorder import Session
from parity.standin.values import leaves

# What a clock says; only that it is there, and its type, can be compared.
_MEASURED = ("mfu", "timing")


def named(dotted: str) -> Any:
    """The object of a dotted name."""
    module, _, last = dotted.rpartition(".")
    return getattr(import_module(module), last)


class Group:
    """A worker group of one worker, called as verl's decorators leave its methods."""

    world_size = 1

    def __init__(self, worker: Any) -> None:
        self._worker = worker
        self._dispatch_info = {"actor": [0], "ref": [0], "rollout": [0]}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._worker, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            return finished(method(*args, **kwargs))

        return call


def finished(outcome: Any) -> Any:
    """What a method gives, run to its end where it is a coroutine."""
    return asyncio.run(_whole(outcome)) if inspect.isawaitable(outcome) else outcome


async def _whole(outcome: Any) -> Any:
    return await outcome


class Step:
    """Builds the side's objects and drives them as verl's `fit` does; what comes back is kept as leaves."""

    def __init__(self, job: Job, config: Any, session: Session) -> None:
        self.job, self.config, self.session = job, config, session
        self.returned: dict[Key, Leaf] = {}
        self.prompt_kept: bool | None = None

    def run(self) -> None:
        """Every part is tried, also after one failed: all that a side gets wrong is seen in one run."""
        with self.session.part("driver"):
            self.trainer = self._trainer()
        if not hasattr(self, "trainer"):
            return
        with self.session.part("worker"):
            self._connect()
        if hasattr(self, "worker"):
            self._step()
        self._stop()

    def _trainer(self) -> Any:
        from torch.utils.data import SequentialSampler
        from verl.trainer.ppo.utils import Role

        worker = named(self.job.subject["worker"])
        rows = [{"row": number} for number in range(3 * self.config.data.train_batch_size)]
        return named(self.job.subject["trainer"])(
            config=self.config,
            tokenizer=None,
            role_worker_mapping={Role.ActorRollout: worker, Role.ActorRolloutRef: worker, Role.RefPolicy: worker},
            resource_pool_manager=None,
            train_dataset=rows,
            val_dataset=rows,
            collate_fn=list,
            train_sampler=SequentialSampler(rows),
        )

    def _connect(self) -> None:
        """The worker and the rollout attach with the handle the trainer hands to its workers."""
        told = self.trainer.wg_kwargs
        worker = named(self.job.subject["worker"])(self.config.actor_rollout_ref, "actor_rollout_ref", **told)
        worker.init_model()
        self.trainer.actor_rollout_wg = self.trainer.ref_policy_wg = Group(worker)
        self.worker = worker

    def _step(self) -> None:
        session, trainer, group = self.session, self.trainer, Group(self.worker)
        with session.part("first_sync"):
            group.update_weights(global_steps=0)
        with session.part("generate"):
            self._generate()
        batch = proto(self.job.rows, self.config)
        with session.part("balance"):
            if self.config.trainer.balance_batch:
                trainer._balance_batch(batch, metrics={})
        with session.part("old_log_prob"):
            old, _ = trainer._compute_old_log_prob(batch)
            self._keep("old_log_prob", dict(old.batch.items()))
            batch = batch.union(old)
        with session.part("ref_log_prob"):
            if trainer.use_reference_policy:
                ref = trainer._compute_ref_log_prob(batch)
                self._keep("ref_log_prob", dict(ref.batch.items()))
                batch = batch.union(ref)
        with session.part("update_actor"):
            batch.batch["advantages"] = advantages(batch.batch["response_mask"])
            output = trainer._update_actor(batch)
            self._keep("update_actor", output.meta_info["metrics"])
        with session.part("sync"):
            group.update_weights(global_steps=1)
        with session.part("save"):
            group.save_checkpoint("ignored", None, 1, None)

    def _generate(self) -> None:
        prompt = prompts(self.job.rows, 1)[0]
        told = self.trainer.wg_kwargs
        server = named(self.job.subject["rollout"])(self.config.actor_rollout_ref.rollout, **told)
        # As the agent loop asks for it.
        rollout = self.config.actor_rollout_ref.rollout
        params = {"temperature": rollout.temperature, "top_p": rollout.top_p, "repetition_penalty": 1.0}
        answer = finished(
            server.generate(prompt_ids=prompt, sampling_params={**params, "logprobs": False}, request_id="request")
        )
        self.prompt_kept = self._tokenised_again() == prompt
        self._keep("generate", {"token_ids": list(answer.token_ids), "stop_reason": answer.stop_reason})

    def _tokenised_again(self) -> list[int]:
        """What the sampling engine makes of the prompt that was sent to it as text."""
        from transformers import AutoTokenizer

        sent = self.session.calls[-1].arguments["args.prompts[0]"].value
        tokenizer = AutoTokenizer.from_pretrained(self.config.actor_rollout_ref.model.path)
        return list(tokenizer(sent, add_special_tokens=False)["input_ids"])

    def _stop(self) -> None:
        adapter = named(self.job.subject["adapter"])
        held = [value for value in vars(self.trainer).values() if isinstance(value, adapter)]
        with self.session.part("destroy"):
            finished(self.trainer.destroy())
        with self.session.part("destroy_again"):
            finished(self.trainer.destroy())
        with self.session.part("adapter_destroy_again"):
            for one in held:
                finished(one.destroy())

    def _keep(self, part: str, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            key = f"{part}.{name}"
            if any(word in name for word in _MEASURED):
                self.returned[key] = Leaf(f"measured {type(value).__name__}", "measured")
            else:
                plain = getattr(value, "values", value) if type(value).__name__ == "Metric" else value
                self.returned.update(leaves(plain, key, self.session.scrub))
                if plain is not value:
                    self.returned[f"{key}#class"] = leaf(f"Metric({getattr(value.aggregation, 'name', '')})")


def prompts(rows: Rows, count: int) -> list[list[int]]:
    """One prompt for each group, lengths in turn; all differ, unless the rows say that one stands there twice."""
    generator = torch.Generator().manual_seed(7)
    found: list[list[int]] = []
    for place in range(count):
        length = rows.prompt_lengths[place % len(rows.prompt_lengths)]
        ids = torch.randint(3, len(VOCABULARY), (length,), generator=generator).tolist()
        # The first token tells groups apart, also where a prompt is one token long; group 0 begins with a space.
        found.append([3 + place % (len(VOCABULARY) - 3), *ids[1:]])
    if rows.spelled:
        found[0] = [VOCABULARY.index(letter) for letter in SPECIAL[EOS]]
    if rows.repeat:
        found[-1] = list(found[0])
    return found


def proto(rows: Rows, config: Any) -> Any:
    """The DataProto that verl's rollout would give: prompts left-padded, responses right-padded."""
    from verl import DataProto

    each = int(config.actor_rollout_ref.rollout.n)
    wide, long = int(config.data.max_prompt_length), int(config.data.max_response_length)
    count = int(config.data.train_batch_size)
    groups = [ids[-wide:] for ids in prompts(rows, count)]
    order = [group for group in range(count) for _ in range(each)]
    if rows.order == "interleaved":
        order = [group for _ in range(each) for group in range(count)]
    total = len(order)
    prompt = torch.zeros(total, wide, dtype=torch.long)
    response = torch.zeros(total, long, dtype=torch.long)
    mask = torch.zeros(total, wide + long, dtype=torch.long)
    generator = torch.Generator().manual_seed(11)
    for row, group in enumerate(order):
        ids = groups[group]
        length = min(long, rows.response_lengths[row % len(rows.response_lengths)])
        prompt[row, wide - len(ids) :] = torch.tensor(ids)
        response[row, :length] = torch.randint(3, len(VOCABULARY), (length,), generator=generator)
        response[row, length - 1] = EOS
        mask[row, wide - len(ids) : wide + length] = 1
    tensors = {
        "prompts": prompt,
        "responses": response,
        "input_ids": torch.cat([prompt, response], dim=1),
        "attention_mask": mask,
        "position_ids": (mask.cumsum(dim=1) - 1).clamp(min=0) * mask,
        "response_mask": mask[:, wide:].clone(),
    }
    temperature = config.actor_rollout_ref.rollout.temperature
    return DataProto.from_dict(tensors, meta_info={"temperature": temperature})


def advantages(response_mask: torch.Tensor) -> torch.Tensor:
    """[B, R] float32, one value a row as GRPO gives, alternating in sign, 0 outside the response."""
    rows = response_mask.shape[0]
    each = torch.tensor([(-1.0) ** row * (1.0 + row / 8.0) for row in range(rows)])
    return each.unsqueeze(1) * response_mask

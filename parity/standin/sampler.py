"""In place of vLLM's replicas: one greedy sampler on a copy of the training weights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import torch

from parity.standin.cpu import SeededModel
from parity.standin.local_ray import Actor


class Weights:
    """What one sampling engine answers from: a copy of the trained weights, there only after a sync."""

    def __init__(self, model: Any) -> None:
        self.model = model.eval()
        self.version = 0

    def load_weights_from_shm_path(self, path: str) -> dict[str, Any]:
        """Copy the weights that the training worker wrote."""
        weights = dict(torch.load(path, map_location="cpu", weights_only=True))
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(weights[name].to(parameter.dtype))
        self.version += 1
        return {"status": "ok"}

    def compute_weight_norm(self) -> dict[str, Any]:
        """As the vendor's worker answers."""
        squares = sum(p.data.double().pow(2).sum().item() for p in self.model.parameters())
        return {"norm": squares**0.5, "num_params": sum(1 for _ in self.model.parameters())}


class Replica(Weights):
    """One sampling worker of a step: a token at a time."""

    def __init__(self, name: str) -> None:
        super().__init__(SeededModel.from_pretrained(name, dtype=torch.float32))

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def sample(self, ids: list[int], params: dict[str, Any]) -> list[int]:
        """Token ids after `ids`; the seed is made of prompt and weights, so that it is the same on every run."""
        limit, temperature = int(params.get("max_tokens") or 16), float(params.get("temperature") or 0.0)
        text = f"{ids}{self.version}".encode()
        generator = torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(text).digest()[:4], "big"))
        stop = self.model.config.eos_token_id
        made: list[int] = []
        while len(made) < limit:
            logits = self.model(input_ids=torch.tensor([ids + made])).logits[0, -1].float()
            if temperature == 0.0:
                made.append(int(logits.argmax()))
            else:
                chances = torch.softmax(logits / temperature, dim=-1)
                made.append(int(torch.multinomial(chances, 1, generator=generator)))
            if made[-1] == stop:
                break
        return made


class Pool:
    """Answers as `ReplicaPool` does; prompts arrive as text and are tokenised here, as vLLM would."""

    def __init__(self) -> None:
        self._config: Any = None
        self._workers: list[Any] = []
        self.num_replicas, self.tp_size, self.sleeping = 0, 1, False

    def _replica(self, name: str) -> Any:
        return Replica(name)

    def _sampled(self, replica: Any, ids: list[int], params: dict[str, Any]) -> list[int]:
        return list(replica.sample(ids, params))

    async def initialize(self, config: Any, num_replicas: int = 1, **_: Any) -> None:
        """Load the model and its tokenizer."""
        from transformers import AutoTokenizer

        self._config, self.num_replicas = config, num_replicas
        self._tokenizer = AutoTokenizer.from_pretrained(config.model)
        self._workers = [Actor(self._replica(config.model)) for _ in range(num_replicas)]

    async def generate(self, prompts: Sequence[str], params: dict[str, Any] | None, **_: Any) -> list[dict[str, Any]]:
        """One answer for each prompt, in order."""
        replica = self._workers[0].inner
        answers = []
        for prompt in prompts:
            ids = self._tokenizer(prompt, add_special_tokens=False)["input_ids"]
            made = self._sampled(replica, ids, params or {})
            stopped = made[-1] == replica.model.config.eos_token_id
            text, reason = self._tokenizer.decode(made), "stop" if stopped else "length"
            answers.append({"text": text, "token_ids": made, "finish_reason": reason, "prompt_len": len(ids)})
        return answers

    async def sleep(self, **_: Any) -> str:
        self.sleeping = True
        return "ok"

    async def wake_up(self, **_: Any) -> str:
        self.sleeping = False
        return "ok"

    async def reset_prefix_cache(self) -> str:
        return "ok"

    async def close_weight_sync(self) -> None:
        pass

    async def shutdown(self) -> None:
        self._config, self._workers = None, []

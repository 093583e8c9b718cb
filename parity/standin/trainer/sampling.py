"""In place of vLLM's replicas: Hugging Face generation on a copy of the weights, with a seed for each request."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch

from parity.standin.local_ray import Actor


def request_seed(seed: int, ids: Sequence[int], occurrence: int, version: int) -> int:
    """The seed of one request: the same wherever and whenever it is asked, so that order alone changes no token."""
    text = f"{seed} {list(ids)} {occurrence} {version}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:7], "big")


class Replica:
    """One sampling engine; it has the trained weights only after a sync."""

    def __init__(self, name: str) -> None:
        from transformers import AutoModelForCausalLM

        self.model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="sdpa", dtype=torch.float32)
        self.model.eval()
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

    def digest(self) -> str:
        """sha256 over every weight."""
        told = hashlib.sha256()
        for name, parameter in sorted(self.model.named_parameters()):
            told.update(name.encode() + parameter.detach().numpy().tobytes())
        return told.hexdigest()[:16]

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def sample(self, ids: list[int], params: dict[str, Any], seed: int) -> list[int]:
        """Token ids after `ids`."""
        temperature = float(params.get("temperature") or 0.0)
        asked: dict[str, Any] = {"do_sample": False}
        if temperature > 0.0:
            top_k = int(params.get("top_k") or 0)
            asked = {
                "do_sample": True,
                "temperature": temperature,
                "top_p": float(params.get("top_p") or 1.0),
                # vLLM says -1 where Hugging Face says 0: no limit.
                "top_k": max(top_k, 0),
            }
        prompt = torch.tensor([ids])
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            made = self.model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                max_new_tokens=int(params.get("max_tokens") or 16),
                use_cache=True,
                pad_token_id=self.model.config.pad_token_id,
                **asked,
            )
        return [int(token) for token in made[0, len(ids) :]]


class Pool:
    """Answers as `ReplicaPool` does; prompts arrive as text and are tokenised here, as vLLM would."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._config: Any = None
        self._workers: list[Any] = []
        self._asked: Counter[tuple[int, ...]] = Counter()
        self._version = -1
        self.num_replicas, self.tp_size, self.sleeping = 0, 1, False

    async def initialize(self, config: Any, num_replicas: int = 1, **_: Any) -> None:
        """Load the model and its tokenizer."""
        from transformers import AutoTokenizer

        self._config, self.num_replicas = config, num_replicas
        self._tokenizer = AutoTokenizer.from_pretrained(config.model)
        self._workers = [Actor(Replica(config.model)) for _ in range(num_replicas)]

    async def generate(self, prompts: Sequence[str], params: dict[str, Any] | None, **_: Any) -> list[dict[str, Any]]:
        """One answer for each prompt, in order."""
        replica = self._workers[0].inner
        if replica.version != self._version:
            self._asked.clear()
            self._version = replica.version
        answers = []
        for prompt in prompts:
            ids = self._tokenizer(prompt, add_special_tokens=False)["input_ids"]
            occurrence = self._asked[tuple(ids)]
            self._asked[tuple(ids)] += 1
            made = replica.sample(ids, params or {}, request_seed(self._seed, ids, occurrence, self._version))
            stopped = made[-1] == replica.model.config.eos_token_id
            text, reason = self._tokenizer.decode(made), "stop" if stopped else "length"
            answers.append({"text": text, "token_ids": made, "finish_reason": reason, "prompt_len": len(ids)})
        return answers

    def digest(self) -> str:
        """What the first replica samples with."""
        return str(self._workers[0].inner.digest()) if self._workers else ""

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

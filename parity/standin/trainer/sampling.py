"""In place of vLLM's replicas: Hugging Face generation on a copy of the weights, with a seed for each request."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch

from parity.standin import sampler
from parity.standin.sampler import Weights


def request_seed(seed: int, ids: Sequence[int], occurrence: int, version: int) -> int:
    """The seed of one request: the same wherever and whenever it is asked, so that order alone changes no token."""
    text = f"{seed} {list(ids)} {occurrence} {version}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:7], "big")


class Replica(Weights):
    """One sampling engine of a run."""

    def __init__(self, name: str) -> None:
        from transformers import AutoModelForCausalLM

        super().__init__(AutoModelForCausalLM.from_pretrained(name, attn_implementation="sdpa", dtype=torch.float32))

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


class Pool(sampler.Pool):
    """Samples with a seed of its own for each request."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed
        self._asked: Counter[tuple[int, ...]] = Counter()
        self._version = -1

    def _replica(self, name: str) -> Replica:
        return Replica(name)

    def _sampled(self, replica: Replica, ids: list[int], params: dict[str, Any]) -> list[int]:
        if replica.version != self._version:
            self._asked.clear()
            self._version = replica.version
        occurrence = self._asked[tuple(ids)]
        self._asked[tuple(ids)] += 1
        made: list[int] = replica.sample(ids, params, request_seed(self._seed, ids, occurrence, self._version))
        return made

    def digest(self) -> str:
        """What the first replica samples with."""
        return str(self._workers[0].inner.digest()) if self._workers else ""

"""What the vendor's training worker takes from a GPU, given by the CPU; each shim says what it replaces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

ATTENTION = "cpu_varlen"
# A flat distribution would hide a wrong log-prob.
HEAD_SCALE = 8.0


@contextmanager
def cuda_names() -> Iterator[None]:
    """The names of torch.cuda that `initialize` logs; while it runs only: fake properties break torch.compile."""
    kept = {name: getattr(torch.cuda, name) for name in ("current_device", "get_device_properties", "synchronize")}
    torch.cuda.current_device = lambda: 0
    torch.cuda.get_device_properties = lambda *_: SimpleNamespace(uuid="cpu")
    torch.cuda.synchronize = lambda *_: None
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(torch.cuda, name, value)


def no_builds() -> None:
    """DeepSpeed compiles a shared-memory collective at its first start; one rank needs none, and no build hangs us."""
    # The package's own `torch` attribute is PyTorch, so the module is taken by its name.
    import_module("deepspeed.comm.torch").build_shm_op = lambda: None  # type: ignore[attr-defined]


def attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """Causal attention inside each packed sequence: in place of flash attention's variable-length kernel.

    query [1, H, T, D], key and value [1, G, U, D]; gives [1, T, H, D]. Sequences end at `cu_seq_lens_q` and
    `cu_seq_lens_k` where the caller says so (zorro), else a sequence starts where its position is 0.
    """
    heads, groups = query.shape[1], key.shape[1]
    if heads != groups:
        key = key.repeat_interleave(heads // groups, dim=1)
        value = value.repeat_interleave(heads // groups, dim=1)
    ends_q, ends_k = _ends(kwargs, query.shape[2])
    pieces = []
    for (a, b), (c, d) in zip(pairwise(ends_q), pairwise(ends_k), strict=True):
        # The last query sees every key of its sequence, also where queries are a suffix of the keys.
        seen = torch.ones(b - a, d - c, dtype=torch.bool).tril(diagonal=(d - c) - (b - a))
        piece = scaled_dot_product_attention(
            query[:, :, a:b], key[:, :, c:d], value[:, :, c:d], attn_mask=seen, scale=scaling
        )
        pieces.append(piece)
    return torch.cat(pieces, dim=2).transpose(1, 2).contiguous(), None


def _ends(kwargs: dict[str, Any], length: int) -> tuple[list[int], list[int]]:
    given = kwargs.get("cu_seq_lens_q")
    if given is not None:
        return given.tolist(), kwargs["cu_seq_lens_k"].tolist()
    positions = kwargs.get("position_ids")
    if positions is None:
        return [0, length], [0, length]
    starts = (positions.reshape(-1) == 0).nonzero().reshape(-1).tolist()
    ends = [0, *(start for start in starts if start), length]
    return ends, ends


def register_attention() -> None:
    """Known to transformers under ATTENTION from here on."""
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION, attention)


class SeededModel:
    """In place of `AutoModelForCausalLM` in the worker's module: the same weights for every engine, from a seed."""

    seed = 1

    @classmethod
    def from_pretrained(cls, name: str, attn_implementation: str = ATTENTION, dtype: Any = torch.float32) -> Any:
        """A model of the config in folder `name`. `attn_implementation` is what was sent; ours runs instead."""
        from transformers import AutoConfig, AutoModelForCausalLM

        config = AutoConfig.from_pretrained(name)
        with torch.random.fork_rng():
            torch.manual_seed(cls.seed)
            model = AutoModelForCausalLM.from_config(config, attn_implementation=ATTENTION, dtype=dtype)
            with torch.no_grad():
                model.lm_head.weight.mul_(HEAD_SCALE)
        return model

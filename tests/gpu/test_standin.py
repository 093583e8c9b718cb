"""What runs on a CPU in place of a GPU's kernels, against the kernels.

Left out of `make test`. On a machine with an NVIDIA card, a CUDA build of PyTorch, DeepSpeed and nvcc:

    pytest -m gpu tests/gpu
"""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest

torch = pytest.importorskip("torch")

from parity.standin.cpu import attention  # noqa: E402

pytestmark = pytest.mark.gpu
HEADS, GROUPS, WIDTH = 8, 2, 64
# Relative rounding of bf16; the kernel rounds its weights and its result.
BF16 = 2**-8


def packed(lengths, heads, generator):
    """[1, heads, sum of lengths, WIDTH], rounded to bf16 so that both sides start from the same numbers."""
    drawn = torch.randn(1, heads, sum(lengths), WIDTH, generator=generator)
    return drawn.to(torch.bfloat16).float()


def flash(query, key, value, ends_q, ends_k, scale):
    """PyTorch's flash attention over packed sequences, on the GPU in bf16: [T, H, D]."""
    rows = [side[0].transpose(0, 1).to("cuda", torch.bfloat16).contiguous() for side in (query, key, value)]
    ends = [torch.tensor(side, dtype=torch.int32, device="cuda") for side in (ends_q, ends_k)]
    longest = [max(b - a for a, b in pairwise(side)) for side in (ends_q, ends_k)]
    told = torch.ops.aten._flash_attention_forward(*rows, *ends, *longest, 0.0, True, False, scale=scale)
    return told[0].float().cpu()


def ends(lengths):
    return [0, *accumulate(lengths)]


@pytest.mark.parametrize(
    ("queries", "keys"),
    [
        ([5, 1, 17, 64, 3], [5, 1, 17, 64, 3]),
        ([130], [130]),
        ([4, 9, 1, 30], [12, 9, 25, 64]),
    ],
    ids=["packed", "one sequence", "queries are a suffix of the keys, as zorro packs responses behind a prompt"],
)
def test_attention(queries, keys):
    """Which query sees which key is what the flash kernel does, in every packing; values agree to bf16's rounding."""
    generator = torch.Generator().manual_seed(7)
    query = packed(queries, HEADS, generator)
    key, value = (packed(keys, GROUPS, generator) for _ in range(2))
    scale = WIDTH**-0.5
    named = {"cu_seq_lens_q": torch.tensor(ends(queries)), "cu_seq_lens_k": torch.tensor(ends(keys))}
    ours = attention(None, query, key, value, None, scale, **named)[0][0]
    theirs = flash(query, key, value, ends(queries), ends(keys), scale)
    apart = (ours - theirs).abs().max().item()
    print(f"largest difference {apart:.2e}, largest value {theirs.abs().max().item():.3f}")
    assert apart <= 2 * BF16 * theirs.abs().max().item()


def test_a_wrong_mask_is_far_away():
    """The bound tells an attention that sees one key too many from a rounding."""
    generator = torch.Generator().manual_seed(7)
    query, key, value = (packed([30], HEADS, generator) for _ in range(3))
    theirs = flash(query, key, value, [0, 30], [0, 30], WIDTH**-0.5)
    wrong = torch.ones(30, 30, dtype=torch.bool).tril(diagonal=1)
    other = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=wrong)[0].transpose(0, 1)
    assert (other - theirs).abs().max().item() > 20 * BF16 * theirs.abs().max().item()


def steps_of(make, device, dtype=None):
    """Parameters after 20 steps with gradients that are the same on every device."""
    generator = torch.Generator().manual_seed(11)
    start, gradients = torch.randn(4096, generator=generator), torch.randn(20, 4096, generator=generator)
    parameter = torch.nn.Parameter(start.clone().to(device))
    optimizer = make([parameter])
    for gradient in gradients:
        parameter.grad = (gradient * 1e-2).to(device)
        optimizer.step()
    return parameter.detach().cpu()


def test_the_optimizer():
    """torch's AdamW makes the steps of DeepSpeed's kernel: 20 of them within a few roundings of float32."""
    deepspeed = pytest.importorskip("deepspeed.ops.adam")
    told = {"lr": 1e-3, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1}
    ours = steps_of(lambda held: torch.optim.AdamW(held, **told), "cpu")
    theirs = steps_of(lambda held: deepspeed.FusedAdam(held, adam_w_mode=True, **told), "cuda")
    apart = (ours - theirs).abs().max().item()
    print(f"largest difference {apart:.2e}, largest value {theirs.abs().max().item():.3f}")
    assert apart <= 8 * torch.finfo(torch.float32).eps * theirs.abs().max().item()
    other = steps_of(lambda held: deepspeed.FusedAdam(held, adam_w_mode=False, **told), "cuda")
    assert (other - theirs).abs().max().item() > 1e-4

"""The block without each of its parts, alone, and with other activations: five seeds of the same training.

    make experiments NAME=block_parts

The data, the model around the blocks and the initialisation are those of :mod:`experiments.norm_placement`.
"""

from typing import Any

import torch
from torch import Tensor, nn

from experiments.common import run
from experiments.norm_placement import NextByte, train
from pioneers.layers import FeedForward, GatedFeedForward, MultiHeadAttention, Stack, TransformerBlock

CONFIG = {
    "d_model": 48,
    "num_heads": 4,
    "num_layers": 6,
    "seq_len": 32,
    "batch_size": 16,
    "steps": 400,
    "lr": 4e-3,
    "warmup_steps": 40,
}
# At d_model = 48: a plain network with d_ff = 192 and a gated one with d_ff = 128 have the same matrices.
CASES: dict[str, dict[str, Any]] = {
    "the whole block": {},
    "no residual": {"without": "residual"},
    "no norm": {"without": "norm"},
    "no attention": {"without": "attention"},
    "no FFN": {"without": "ffn"},
    "the whole block, lr 0.001": {"lr": 1e-3},
    "no residual, lr 0.001": {"without": "residual", "lr": 1e-3},
    "no residual, lr 0.0003": {"without": "residual", "lr": 3e-4},
    "no norm, lr 0.001": {"without": "norm", "lr": 1e-3},
    "no norm, lr 0.0003": {"without": "norm", "lr": 3e-4},
    "no norm but the final one, lr 0.001": {"without": "norm", "lr": 1e-3, "final_norm": True},
    "no attention, lr 0.001": {"without": "attention", "lr": 1e-3},
    "no FFN, lr 0.001": {"without": "ffn", "lr": 1e-3},
    "no attention, d_ff = 6 D": {"without": "attention", "d_ff": 288},
    "relu": {"activation": "relu"},
    "swiglu": {"activation": "swiglu", "d_ff": 128},
    "geglu": {"activation": "geglu", "d_ff": 128},
    "one block": {"keep": 1},
    "one layer of attention": {"keep": 1, "without": "ffn"},
}

GATES = {"swiglu": "swish", "geglu": "gelu"}


class Nothing(nn.Module):
    """Stands where a layer was, and adds nothing."""

    def forward(self, x: Tensor, *args: Any, **how: Any) -> Tensor:
        """Zeros of the shape of x."""
        return torch.zeros_like(x)


def remove(stack: Stack, part: str) -> None:
    """Take ``"residual"``, ``"norm"``, ``"attention"`` or ``"ffn"`` out of every block, in place."""
    for block in stack.blocks:
        if part == "residual":
            block.residual_scale = 0.0
        elif part == "norm":
            block.norm_attn, block.norm_ffn, stack.norm = nn.Identity(), nn.Identity(), nn.Identity()
        elif part == "attention":
            block.attn, block.norm_attn = Nothing(), nn.Identity()
        elif part == "ffn":
            block.ffn, block.norm_ffn = Nothing(), nn.Identity()
        else:
            raise ValueError(f"unknown part {part!r}; known: residual, norm, attention, ffn")


def feed_forward(d_model: int, d_ff: int | None, activation: str) -> nn.Module:
    """A plain network, or a gated one if the activation says so."""
    if activation in GATES:
        return GatedFeedForward(d_model, d_ff, activation=GATES[activation])
    return FeedForward(d_model, d_ff, activation=activation)


def one_case(
    *,
    seed: int,
    d_model: int,
    num_heads: int,
    num_layers: int,
    seq_len: int,
    without: str | None = None,
    activation: str = "gelu",
    d_ff: int | None = None,
    keep: int | None = None,
    final_norm: bool = False,
    **how: Any,
) -> dict[str, Any]:
    """Train the first ``keep`` blocks; ``final_norm`` puts back the norm on top.

    ``how`` goes to :func:`experiments.norm_placement.train`.
    """
    torch.manual_seed(seed)
    blocks = [
        TransformerBlock(MultiHeadAttention(d_model, num_heads), feed_forward(d_model, d_ff, activation))
        for _ in range(num_layers)
    ]
    stack = Stack(blocks[:keep], nn.LayerNorm(d_model))
    if without is not None:
        remove(stack, without)
    if final_norm:
        stack.norm = nn.LayerNorm(d_model)
    model = NextByte(stack, d_model, seq_len)
    parameters = sum(p.numel() for p in stack.parameters())
    return {"parameters": parameters, **train(model, seed, seq_len=seq_len, **how)}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("block_parts", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

"""The block without each of its parts, alone, and with other activations: five seeds of the same training.

    make experiments NAME=block_parts

The data, the model around the blocks and the initialisation are those of :mod:`experiments.norm_placement`.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from experiments.common import run
from experiments.norm_placement import NextByte, next_byte_loss, train
from pioneers.data import RandomWindows, language_reference, split_text
from pioneers.device import best_device
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
    "the whole block": {"look": True},
    "no residual": {"without": "residual"},
    "no norm": {"without": "norm"},
    "no attention": {"without": "attention"},
    "no FFN": {"without": "ffn"},
    "the whole block, lr 0.001": {"lr": 1e-3},
    "no residual, lr 0.001": {"without": "residual", "lr": 1e-3, "look": True},
    "no residual, lr 0.0003": {"without": "residual", "lr": 3e-4},
    "no norm, lr 0.001": {"without": "norm", "lr": 1e-3, "look": True},
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


def look_inside(model: NextByte, seq_len: int, windows: int = 200) -> dict[str, Tensor]:
    """Likeness of positions and length of the gradient before the first block and after each: held-out text.

    Likeness is the mean cosine between two positions of a window; both are ``(num_layers + 1,)``.
    """
    _, text = split_text(language_reference())
    ids = torch.tensor(list(text.encode()), device=best_device())
    batch = RandomWindows(ids, seq_len=seq_len, batch_size=windows, seed=1)(0)
    stream: list[Tensor] = []
    hooks = [
        part.register_forward_hook(lambda _, __, x: stream.append(x))
        for part in (model.embed, *model.stack.get_submodule("blocks").children())
    ]
    gradients = torch.autograd.grad(next_byte_loss(model, batch), stream)
    for hook in hooks:
        hook.remove()
    units = normalize(torch.stack(stream), dim=-1)  # (num_layers + 1, B, T, D)
    alike = ((units @ units.mT).sum((-2, -1)) - seq_len) / (seq_len * (seq_len - 1))
    return {"alike": alike.mean(-1), "gradient": torch.stack([g.norm() for g in gradients])}


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
    look: bool = False,
    **how: Any,
) -> dict[str, Any]:
    """Train the first ``keep`` blocks; ``final_norm`` puts back the norm on top.

    ``look`` adds what :func:`look_inside` finds before the training and after it; ``how`` goes to
    :func:`experiments.norm_placement.train`.
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
    start = look_inside(model.to(best_device()), seq_len) if look else {}
    trained = train(model, seed, seq_len=seq_len, **how)
    end = look_inside(model, seq_len) if look else {}
    inside = {
        f"{name}_{when}": x for when, found in (("start", start), ("end", end)) for name, x in found.items()
    }
    return {"parameters": parameters, **trained, **inside}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("block_parts", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

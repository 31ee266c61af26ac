"""Trained on short texts, tested on long ones: six kinds of positions in a language model.

    make experiments NAME=positions

The models are equal but for their positions. They read the bytes of the Python language reference in windows
of ``train_len`` and are tested on held-out windows of ``test_len``. Press et al. 2022, figure 1, in small.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.common import run
from pioneers.data import RandomWindows, language_reference, split_text
from pioneers.device import best_device, seed_everything
from pioneers.layers import (
    FeedForward,
    LearnedPositions,
    MultiHeadAttention,
    RelativeBias,
    Rotary,
    SinusoidalPositions,
    Stack,
    TransformerBlock,
    alibi_bias,
    init_weights,
    window_mask,
)
from pioneers.objectives import causal_lm, causal_lm_loss
from pioneers.training import TrainConfig, fit

CONFIG = {
    "train_len": 64,
    "test_len": 512,
    "d_model": 64,
    "num_heads": 4,
    "num_layers": 2,
    "steps": 800,
    "batch_size": 16,
    "lr": 4e-3,
}
KINDS = ("none", "learned", "sinusoidal", "relative", "alibi", "rotary")


class LanguageModel(nn.Module):
    """A causal model of bytes that is told where they stand in one of several ways, or not at all.

    Args:
        d_model: D.
        num_heads: H.
        num_layers: number of blocks.
        added: T → vectors ``(T, D)`` added to those of the bytes.
        rotary: turns queries and keys.
        bias: T → values ``(H, T, T)`` added to the scores.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        num_layers: int,
        *,
        added: Callable[[int], Tensor] | None = None,
        rotary: Rotary | None = None,
        bias: Callable[[int], Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.token = nn.Embedding(256, d_model)
        blocks = [
            TransformerBlock(MultiHeadAttention(d_model, num_heads), FeedForward(d_model))
            for _ in range(num_layers)
        ]
        self.stack = Stack(blocks, nn.LayerNorm(d_model))
        self.added, self.rotary, self.bias = added, rotary, bias
        init_weights(self, std=d_model**-0.5)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Bytes ``(B, T)`` → logits ``(B, T, 256)``."""
        x = self.token(ids) * math.sqrt(self.token.embedding_dim)
        if self.added is not None:
            x = x + self.added(ids.shape[1])
        bias = None if self.bias is None else self.bias(ids.shape[1])
        x = self.stack(x, causal=True, mask=mask, rotary=self.rotary, bias=bias)
        return x @ self.token.weight.T


def build(
    kind: str, d_model: int, num_heads: int, num_layers: int, train_len: int, test_len: int
) -> LanguageModel:
    """A model with one kind of positions, good for texts of ``test_len``."""
    buckets = {"num_buckets": 32, "max_distance": train_len, "bidirectional": False}
    how = {
        "none": dict,
        "learned": lambda: {"added": LearnedPositions(test_len, d_model)},
        "sinusoidal": lambda: {"added": SinusoidalPositions(test_len, d_model)},
        "relative": lambda: {"bias": RelativeBias(num_heads, **buckets)},
        "alibi": lambda: {"bias": lambda length: alibi_bias(num_heads, length, device=best_device())},
        "rotary": lambda: {"rotary": Rotary(d_model // num_heads, max_seq_len=test_len)},
    }
    return LanguageModel(d_model, num_heads, num_layers, **how[kind]())


@torch.inference_mode()
def bits_by_position(model: nn.Module, windows: Tensor, mask: Tensor | None = None) -> Tensor:
    """Bits per byte at each position, ``(T,)``, over windows ``(N, T + 1)``."""
    losses = []
    for some in windows.split(30):
        ids, targets = causal_lm(some)
        losses.append(F.cross_entropy(model(ids, mask).transpose(1, 2), targets, reduction="none"))
    return torch.cat(losses).mean(0) / math.log(2)


def one_case(
    *,
    seed: int,
    kind: str,
    train_len: int,
    test_len: int,
    steps: int,
    batch_size: int,
    lr: float,
    **sizes: int,
) -> dict[str, list[float]]:
    """Train one model; its loss by position, with every key in sight and with the newest ``train_len``."""
    device = best_device()
    train, test = (
        torch.tensor(list(text.encode()), device=device) for text in split_text(language_reference())
    )
    seed_everything(seed)
    model = build(kind, **sizes, train_len=train_len, test_len=test_len).to(device)
    recipe = TrainConfig(max_steps=steps, lr=lr, warmup_steps=50, precision="fp32", log_every=100, seed=seed)
    batches = RandomWindows(train, seq_len=train_len, batch_size=batch_size, seed=seed)
    fit(model, lambda m, windows: causal_lm_loss(m(windows[:, :-1]), windows[:, 1:]), batches, recipe)
    windows = test.unfold(0, test_len + 1, 128)
    near = window_mask(test_len, window=train_len, device=device)
    return {
        "bits": bits_by_position(model, windows).view(-1, 16).mean(1).tolist(),
        "bits_in_window": bits_by_position(model, windows, near).view(-1, train_len).mean(1).tolist(),
    }


def main() -> None:
    """Run what has not been run yet, and write ``pioneers/results/positions.json``."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("positions", {kind: {"kind": kind} for kind in KINDS}, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

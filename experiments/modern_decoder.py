"""From GPT-2's block to Llama 3's, one swapped part at a time: five seeds of the same training.

    make experiments NAME=modern_decoder

Every model reads the same bytes in the same order, at the better of two learning rates, which the first seed
chooses by a validation text. The feed-forward networks are as wide as makes the matrices of a block have the
same number of entries.
"""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor, nn

from experiments.common import run
from experiments.growing_model import BYTES, as_bytes, bits, loss_fn
from pioneers.data import RandomWindows, language_reference, split_text
from pioneers.device import best_device, seed_everything
from pioneers.layers import (
    FeedForward,
    GatedFeedForward,
    GPTEmbedding,
    MultiHeadAttention,
    Rotary,
    Stack,
    TokenEmbedding,
    TransformerBlock,
    init_weights,
    initial_std,
)
from pioneers.training import TrainConfig, fit

CONFIG = {
    "d_model": 64,
    "num_heads": 4,
    "num_kv_heads": 2,
    "num_layers": 2,
    "seq_len": 64,
    "batch_size": 8,
    "steps": 1000,
    "rates": (3e-3, 9e-3),
}
LLAMA = ("RMSNorm", "RoPE", "SwiGLU", "grouped queries", "no biases", "untied head")
CHANGES: dict[str, tuple[str, ...]] = {
    "GPT-2": (),
    **{part: (part,) for part in (*LLAMA, "QK-norm")},
    "Llama 3": LLAMA,
    "Llama 3 without RoPE": tuple(part for part in LLAMA if part != "RoPE"),
}
CASES = {name: {"parts": parts} for name, parts in CHANGES.items()}


def feed_forward(d_model: int, shared: int, parts: Sequence[str]) -> nn.Module:
    """Plain or gated, wider by what ``shared`` entries, saved in keys and values, are worth."""
    entries = 8 * d_model**2 + shared
    if "SwiGLU" in parts:
        return GatedFeedForward(d_model, round(entries / (3 * d_model)))
    return FeedForward(
        d_model, round(entries / (2 * d_model)), activation="gelu_tanh", bias="no biases" not in parts
    )


class Decoder(nn.Module):
    """A GPT-2 of bytes, some of whose parts are swapped.

    Args:
        parts: which, from ``CHANGES``.
        d_model: D.
        num_heads: H.
        num_kv_heads: the key/value heads, if they are shared.
        num_layers: number of blocks.
        seq_len: longest sequence.
    """

    def __init__(
        self,
        parts: Sequence[str],
        *,
        d_model: int,
        num_heads: int,
        num_kv_heads: int,
        num_layers: int,
        seq_len: int,
    ) -> None:
        super().__init__()
        biases, rotary = "no biases" not in parts, "RoPE" in parts
        norm = nn.RMSNorm if "RMSNorm" in parts else partial(nn.LayerNorm, bias=biases)
        kv_heads = num_kv_heads if "grouped queries" in parts else num_heads
        qk_norm = norm if "QK-norm" in parts else None
        shared = 2 * d_model**2 * (num_heads - kv_heads) // num_heads
        self.embed = (
            TokenEmbedding(BYTES, d_model) if rotary else GPTEmbedding(BYTES, d_model, max_seq_len=seq_len)
        )
        self.rotary = Rotary(d_model // num_heads, max_seq_len=seq_len) if rotary else None
        blocks = [
            TransformerBlock(
                MultiHeadAttention(d_model, num_heads, num_kv_heads=kv_heads, bias=biases, qk_norm=qk_norm),
                feed_forward(d_model, shared, parts),
                norm=norm,
            )
            for _ in range(num_layers)
        ]
        self.stack = Stack(blocks, norm(d_model))
        self.lm_head = nn.Linear(d_model, BYTES, bias=False)
        if "untied head" not in parts:
            self.lm_head.weight = self.embed.token.weight
        init_weights(self, std=initial_std(d_model))

    def forward(self, input_ids: Tensor) -> Tensor:
        """Bytes ``(B, T)`` → logits of the next one ``(B, T, 256)``."""
        return self.lm_head(self.stack(self.embed(input_ids), causal=True, rotary=self.rotary))


@cache  # the first seed has already been trained at the rate that is chosen
def train(
    parts: tuple[str, ...], seed: int, lr: float, text: str, *, batch_size: int, steps: int, **sizes: int
) -> nn.Module:
    """Train one model at one learning rate."""
    seed_everything(seed)
    model = Decoder(parts, **sizes).to(best_device())
    windows = RandomWindows(as_bytes(text), seq_len=sizes["seq_len"], batch_size=batch_size, seed=seed)
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 10, precision="fp32", log_every=steps, seed=seed
    )
    fit(model, loss_fn, windows, recipe)
    return model


@cache
def by_rate(
    parts: tuple[str, ...], rates: tuple[float, ...], text: str, validation: str, **how: int
) -> dict[float, float]:
    """How many bits per character the first seed needs for the validation text, by learning rate."""
    T = how["seq_len"]
    return {lr: bits(train(parts, 0, lr, text, **how), validation, T, T) for lr in rates}


def one_case(
    *, seed: int, parts: tuple[str, ...], rates: tuple[float, ...], seq_len: int, **how: int
) -> dict[str, Any]:
    """Train one model; bits per character of the held-out text."""
    how["seq_len"] = seq_len
    rest, test_text = split_text(language_reference())
    train_text, validation_text = split_text(rest)
    found = by_rate(parts, rates, train_text, validation_text, **how)
    lr = min(rates, key=found.__getitem__)
    model = train(parts, seed, lr, train_text, **how)
    return {
        "bits_per_character": bits(model, test_text, seq_len, seq_len // 2),
        "lr": lr,
        "validation": list(found.values()),
        "parameters": sum(p.numel() for p in model.parameters()),
    }


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("modern_decoder", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

"""Placement of the norm, with and without warm-up: post-, pre-, sandwich norm and DeepNorm.

    make experiments NAME=norm_placement

The models read the bytes of the Python language reference and predict the next one. Six blocks, the depth of
the paper, at two learning rates; then eighteen. Xiong et al. 2020, figure 2, and Wang et al. 2022, in small.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from experiments.common import run
from pioneers.data import RandomWindows, language_reference, split_text
from pioneers.device import best_device
from pioneers.layers import (
    FeedForward,
    GPTEmbedding,
    MultiHeadAttention,
    Stack,
    TransformerBlock,
    apply_deepnorm,
)
from pioneers.objectives import causal_lm, causal_lm_loss
from pioneers.training import TrainConfig, fit

CONFIG = {"d_model": 48, "num_heads": 4, "seq_len": 32, "batch_size": 16, "steps": 300}
SETTINGS = [  # blocks, learning rate, steps of warm-up, placements
    (6, 1e-3, 0, ("post", "pre")),
    (6, 1e-3, 150, ("post", "pre")),
    (6, 4e-3, 0, ("post", "pre", "sandwich", "deepnorm")),
    (6, 4e-3, 150, ("post", "pre", "sandwich", "deepnorm")),
    (18, 1e-3, 0, ("pre", "deepnorm")),
    (18, 1e-3, 150, ("post", "deepnorm")),
]
CASES = {
    f"{placement}, {num_layers} blocks, lr {lr:g}, warm-up {warmup_steps}": {
        "placement": placement,
        "num_layers": num_layers,
        "lr": lr,
        "warmup_steps": warmup_steps,
    }
    for num_layers, lr, warmup_steps, placements in SETTINGS
    for placement in placements
}
LOG_EVERY = 25


class NextByte(nn.Module):
    """A causal language model over bytes, its weights drawn as in the paper: linear maps by Xavier's rule.

    Args:
        stack: the blocks.
        d_model: D.
        seq_len: longest sequence.
    """

    def __init__(self, stack: nn.Module, d_model: int, seq_len: int) -> None:
        super().__init__()
        self.embed = GPTEmbedding(256, d_model, max_seq_len=seq_len)
        self.stack = stack
        self.lm_head = nn.Linear(d_model, 256)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_normal_(module.weight)
                nn.init.zeros_(module.bias) if module.bias is not None else None
        for vectors in (self.embed.token.weight, self.embed.position.table):
            nn.init.normal_(vectors)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Bytes ``(B, T)`` → logits ``(B, T, 256)``."""
        return self.lm_head(self.stack(self.embed(input_ids), causal=True))


def next_byte_loss(model: nn.Module, windows: Tensor) -> Tensor:
    """Mean loss in nats per byte of windows ``(B, T + 1)``."""
    input_ids, targets = causal_lm(windows)
    return causal_lm_loss(model(input_ids), targets)


def train(
    model: nn.Module, seed: int, *, seq_len: int, batch_size: int, steps: int, lr: float, warmup_steps: int
) -> dict[str, Any]:
    """Train; returns the training loss on the way and the loss on held-out text, in bits per byte."""
    model = model.to(best_device())
    texts = split_text(language_reference())
    train_ids, test_ids = (torch.tensor(list(text.encode()), device=best_device()) for text in texts)
    recipe = TrainConfig(
        max_steps=steps,
        lr=lr,
        warmup_steps=warmup_steps,
        precision="fp32",
        log_every=LOG_EVERY,
        seed=seed,
    )
    windows = RandomWindows(train_ids, seq_len=seq_len, batch_size=batch_size, seed=seed)
    history = fit(model, next_byte_loss, windows, recipe)
    with torch.inference_mode():
        held_out = next_byte_loss(model, RandomWindows(test_ids, seq_len=seq_len, batch_size=1000, seed=1)(0))
    curve = [round(row["loss"] / math.log(2), 3) for row in history]  # a value every LOG_EVERY steps
    return {"bits": held_out.item() / math.log(2), "curve": curve}


def one_case(
    *, seed: int, placement: str, num_layers: int, d_model: int, num_heads: int, seq_len: int, **how: Any
) -> dict[str, Any]:
    """Train one model; ``how`` goes to :func:`train`."""
    torch.manual_seed(seed)
    written_as = "post" if placement == "deepnorm" else placement
    blocks = [
        TransformerBlock(
            MultiHeadAttention(d_model, num_heads),
            FeedForward(d_model, activation="relu"),
            norm_placement=written_as,
        )
        for _ in range(num_layers)
    ]
    stack = Stack(blocks, None if written_as == "post" else nn.LayerNorm(d_model))
    model = NextByte(stack, d_model, seq_len)
    if placement == "deepnorm":
        apply_deepnorm(stack)
    return train(model, seed, seq_len=seq_len, **how)


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("norm_placement", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

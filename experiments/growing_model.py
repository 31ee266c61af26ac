"""One language model that grows: bigrams, then attention, then a block, then a GPT.

    make experiments NAME=growing_model

Every model reads the same bytes, in windows and batches of the same size, for the same number of steps. For
each, the better of two learning rates is chosen with the first seed, by a validation text.
"""

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from experiments.common import run
from pioneers.analysis import bits_per_character, negative_log_likelihood
from pioneers.data import RandomWindows, language_reference, split_text
from pioneers.device import best_device, seed_everything
from pioneers.generation import sample
from pioneers.layers import (
    FeedForward,
    GPTEmbedding,
    MultiHeadAttention,
    Stack,
    TransformerBlock,
    init_weights,
    initial_std,
)
from pioneers.objectives import causal_lm, causal_lm_loss
from pioneers.training import TrainConfig, fit

BYTES = 256
CONFIG = {
    "d_model": 128,
    "seq_len": 64,
    "batch_size": 16,
    "steps": 400,
    "rates": (4e-3, 2e-2),
    "prompt": "The statement ",
    "length": 120,
    "temperature": 0.8,
}
CASES = {kind: {"kind": kind} for kind in ("bigram", "attention", "block", "GPT")}
BLOCKS = {"block": 1, "GPT": 4}


class AddAttention(nn.Module):
    """Each position keeps its vector and adds what it has looked up."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.attn = MultiHeadAttention(d_model, 1)

    def forward(self, x: Tensor, causal: bool) -> Tensor:
        """``x (B, T, D)`` → ``(B, T, D)``."""
        return x + self.attn(x, causal=causal)


class GrowingModel(nn.Module):
    """A language model of bytes, with the parts that a chapter has."""

    def __init__(self, kind: str, d_model: int, seq_len: int) -> None:
        super().__init__()
        self.kind = kind
        if kind == "bigram":
            self.embed: nn.Module = nn.Embedding(BYTES, d_model)
        else:
            self.embed = GPTEmbedding(BYTES, d_model, max_seq_len=seq_len)
        self.body: nn.Module
        if kind == "attention":
            self.body = AddAttention(d_model)
        elif kind != "bigram":
            parts = [(MultiHeadAttention(d_model, 4), FeedForward(d_model)) for _ in range(BLOCKS[kind])]
            self.body = Stack([TransformerBlock(*pair) for pair in parts], nn.LayerNorm(d_model))
        self.lm_head = nn.Linear(d_model, BYTES)
        init_weights(self, std=initial_std(d_model))

    def forward(self, ids: Tensor) -> Tensor:
        """``ids (B, T)`` → logits of the next byte ``(B, T, 256)``."""
        x = self.embed(ids)  # (B, T, D)
        if self.kind != "bigram":
            x = self.body(x, causal=True)  # (B, T, D)
        return self.lm_head(x)


def loss_fn(model: nn.Module, windows: Tensor) -> Tensor:
    """The loss of next bytes in windows ``(B, T + 1)``."""
    input_ids, targets = causal_lm(windows)
    return causal_lm_loss(model(input_ids), targets)


@torch.inference_mode()
def continue_text(model: nn.Module, prompt: str, length: int, seq_len: int, temperature: float) -> str:
    """Sample bytes after a prompt, each from the last ``seq_len`` bytes so far."""
    ids = torch.tensor([list(prompt.encode())], device=best_device())
    generator = torch.Generator(ids.device).manual_seed(0)
    for _ in range(length):
        logits = model(ids[:, -seq_len:])[:, -1] / temperature  # (1, 256)
        ids = torch.cat([ids, sample(logits, generator=generator)], dim=1)
    return bytes(ids[0].tolist()).decode(errors="replace")


@cache  # the first seed has already been trained at the rate that is chosen
def train(kind: str, seed: int, lr: float, text: str, *, d_model: int, seq_len: int, **how: int) -> nn.Module:
    """Train one model at one learning rate."""
    seed_everything(seed)
    model, steps = GrowingModel(kind, d_model, seq_len).to(best_device()), how["steps"]
    recipe = TrainConfig(max_steps=steps, lr=lr, warmup_steps=steps // 20, log_every=steps, seed=seed)
    windows = RandomWindows(as_bytes(text), seq_len=seq_len, batch_size=how["batch_size"], seed=seed)
    fit(model, loss_fn, windows, recipe)
    return model.eval()


def as_bytes(text: str) -> Tensor:
    """The bytes of a text, ``(L,)``."""
    return torch.tensor(list(text.encode()), device=best_device())


def bits(model: nn.Module, text: str, seq_len: int, stride: int) -> float:
    """Bits per character of a text."""
    nats = negative_log_likelihood(model, as_bytes(text), seq_len=seq_len, stride=stride)
    return bits_per_character(nats, text)


@cache
def best_rate(kind: str, rates: tuple[float, ...], text: str, validation: str, **how: int) -> float:
    """The learning rate at which the first seed predicts the validation text best."""
    windows = {"seq_len": how["seq_len"], "stride": how["seq_len"]}
    return min(rates, key=lambda lr: bits(train(kind, 0, lr, text, **how), validation, **windows))


def one_case(
    *,
    kind: str,
    rates: tuple[float, ...],
    prompt: str,
    length: int,
    temperature: float,
    seed: int,
    **how: int,
) -> dict[str, Any]:
    """Train one model; bits per character of the held-out text, and how it continues the prompt."""
    rest, test_text = split_text(language_reference())
    train_text, validation_text = split_text(rest)
    lr = best_rate(kind, rates, train_text, validation_text, **how)
    model = train(kind, seed, lr, train_text, **how)
    return {
        "bits_per_character": bits(model, test_text, how["seq_len"], how["seq_len"] // 2),
        "lr": lr,
        "parameters": sum(p.numel() for p in model.parameters()),
        "sample": continue_text(model, prompt, length, how["seq_len"], temperature),
    }


def main() -> None:
    """Run all cases."""
    run("growing_model", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

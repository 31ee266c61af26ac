"""What attention costs by length, and what cheaper patterns cost in quality: five seeds.

    make experiments NAME=attention_cost

Three kinds of case. ``cost``: processor time and peak memory of one forward and backward pass, by length.
``text``: the same small decoder of bytes with different attention. ``needle``: the same small encoder, which
has to name, at every position of a text in lower case, the one capital letter in it. Each model is trained at
the better of two learning rates, which the first seed chooses on a validation set.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.common import run
from experiments.growing_model import BYTES, as_bytes, bits
from pioneers.analysis.cost import peak_bytes, processor_time
from pioneers.data import RandomWindows, language_reference, split_text
from pioneers.device import best_device, seed_everything
from pioneers.layers import (
    FeedForward,
    GPTEmbedding,
    KernelAttention,
    LinformerAttention,
    LocalAttention,
    MultiHeadAttention,
    Stack,
    TransformerBlock,
    attention_weights,
    init_weights,
    initial_std,
    kernel_attention,
    local_attention,
)
from pioneers.objectives import causal_lm, causal_lm_loss
from pioneers.training import TrainConfig, fit

HEADS, HEAD_DIM, WINDOW, GLOBAL, COMPRESSED = 2, 32, 64, 4, 64  # of the measurements of cost
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
CONFIG: dict[str, Any] = {
    "cost": {"repeats": 7},
    "text": {
        "d_model": 64, "num_layers": 2, "length": 256, "batch_size": 4, "steps": 1200, "rates": (3e-3, 6e-3),
    },
    "needle": {
        "d_model": 48, "num_layers": 2, "length": 96, "batch_size": 32, "steps": 300, "rates": (5e-3, 1e-2),
    },
}  # fmt: skip
LONGEST = {"explicit": 4096, "fused": 8192, "window": 16384, "Linformer": 16384, "kernel": 16384}
ATTENTION: dict[str, dict[str, Any]] = {
    "full": {},
    "window 16": {"window": 16},
    "window 16, 1 global": {"window": 16, "num_global": 1},
    "Linformer 16": {"num_compressed": 16},
    "kernel": {"kernel": True},
}
NEEDLES = ("full", "window 16", "window 16, 1 global", "Linformer 16", "kernel")
CASES: dict[str, dict[str, Any]] = {
    **{f"cost: {form}": {"task": "cost", "form": form} for form in LONGEST},
    **{f"text: {name}": {"task": "text", "form": name} for name in ("full", "window 16", "kernel")},
    **{f"needle: {name}": {"task": "needle", "form": name} for name in NEEDLES},
}
CAPITALS, NEEDLE_TESTS = 8, 1000


def heads(form: str) -> Callable[..., Tensor]:
    """One form of attention: causal, except for Linformer's, which cannot be."""
    forms: dict[str, Callable[..., Tensor]] = {
        "explicit": lambda q, k, v: attention_weights(q, k, causal=True) @ v,
        "fused": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        "window": lambda q, k, v: local_attention(q, k, v, window=WINDOW, num_global=GLOBAL, causal=True),
        "Linformer": lambda q, k, v, E, F_: F.scaled_dot_product_attention(q, E @ k, F_ @ v),
        "kernel": lambda q, k, v: kernel_attention(q, k, v, causal=True),
    }
    return forms[form]


def cost(form: str, seed: int, *, repeats: int) -> dict[str, Any]:
    """Seconds of processor time and bytes at the peak of a forward and a backward pass, by length."""
    torch.manual_seed(seed)
    lengths = [T for T in LENGTHS if LONGEST[form] >= T]
    seconds, peak = [], []
    for T in lengths:
        inputs = [torch.randn(1, HEADS, T, HEAD_DIM, requires_grad=True) for _ in range(3)]
        if form == "Linformer":
            inputs += [torch.randn(COMPRESSED, T, requires_grad=True) for _ in range(2)]

        def both_passes(inputs: list[Tensor] = inputs) -> None:
            for x in inputs:
                x.grad = None
            heads(form)(*inputs).sum().backward()

        seconds.append(processor_time(both_passes, repeats=repeats))
        peak.append(peak_bytes(both_passes))
    return {"lengths": lengths, "seconds_by_length": seconds, "peak_bytes": peak}


def layer(form: str, d_model: int, length: int) -> MultiHeadAttention:
    """An attention layer of four heads."""
    how = ATTENTION[form]
    if "window" in how:
        return LocalAttention(d_model, 4, **how)
    if "num_compressed" in how:
        return LinformerAttention(d_model, 4, max_seq_len=length, **how)
    return KernelAttention(d_model, 4) if how else MultiHeadAttention(d_model, 4)


class Model(nn.Module):
    """A decoder of bytes, or an encoder that names a capital letter at every position."""

    def __init__(self, form: str, *, d_model: int, num_layers: int, length: int, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.embed = GPTEmbedding(BYTES, d_model, max_seq_len=length)
        blocks = [
            TransformerBlock(layer(form, d_model, length), FeedForward(d_model)) for _ in range(num_layers)
        ]
        self.stack = Stack(blocks, nn.LayerNorm(d_model))
        self.head = nn.Linear(d_model, BYTES if causal else CAPITALS)
        init_weights(self, std=initial_std(d_model))

    def forward(self, ids: Tensor) -> Tensor:
        """Bytes ``(B, T)`` → logits of the next ones ``(B, T, 256)``, or of the capital ``(B, T, 8)``."""
        return self.head(self.stack(self.embed(ids), causal=self.causal))


def text_loss(model: nn.Module, windows: Tensor) -> Tensor:
    """The loss of next bytes in windows ``(B, T + 1)``."""
    input_ids, targets = causal_lm(windows)
    return causal_lm_loss(model(input_ids), targets)


class Needles:
    """Texts in lower case ``(B, T)`` that begin with a star, each with one capital from A to H in it.

    Beside the texts come the place of the capital, ``(B,)``, and which of the eight it is, ``(B,)``.
    """

    def __init__(self, text: str, length: int, batch_size: int, seed: int) -> None:
        self.bytes = as_bytes(text.lower())
        self.length, self.batch_size, self.seed = length, batch_size, seed

    def __call__(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        """The batch of a step."""
        generator = torch.Generator().manual_seed(1_000_003 * self.seed + step)
        B, T = self.batch_size, self.length
        start = torch.randint(len(self.bytes) - T, (B, 1), generator=generator)
        ids = self.bytes[start + torch.arange(T)].clone()
        capital = torch.randint(CAPITALS, (B,), generator=generator)
        place = torch.randint(1, T, (B,), generator=generator)
        ids[torch.arange(B), place] = ord("A") + capital
        ids[:, 0] = ord("*")
        return ids, place, capital


def needle_loss(model: nn.Module, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """Cross-entropy of the capital, at every position."""
    ids, _, capital = batch
    logits = model(ids)  # (B, T, 8)
    return F.cross_entropy(logits.flatten(0, 1), capital.repeat_interleave(ids.shape[1]))


@torch.inference_mode()
def named_by_distance(model: nn.Module, text: str, length: int) -> Tensor:
    """The share of positions that name the capital, by their distance from it, ``(T - 1,)``.

    The star itself does not count: it is the global position of the models that have one.
    """
    ids, place, capital = Needles(text, length, NEEDLE_TESTS, seed=999)(0)
    right = (model(ids).argmax(-1) == capital[:, None])[:, 1:].double()  # (B, T - 1)
    distance = (torch.arange(1, length) - place[:, None]).abs()
    zeros = torch.zeros(length - 1, dtype=torch.double)
    named = zeros.index_add(0, distance.flatten(), right.flatten())
    return named / zeros.index_add(0, distance.flatten(), torch.ones_like(right).flatten())


@cache  # the first seed has already been trained at the rate that is chosen
def train(task: str, form: str, seed: int, lr: float, text: str, **how: int) -> nn.Module:
    """Train one model at one learning rate."""
    seed_everything(seed)
    steps, batch_size, length = how["steps"], how["batch_size"], how["length"]
    sizes = {"d_model": how["d_model"], "num_layers": how["num_layers"], "length": length}
    model = Model(form, causal=task == "text", **sizes).to(best_device())
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 10, precision="fp32", log_every=steps, seed=seed
    )
    if task == "text":
        windows = RandomWindows(as_bytes(text), seq_len=length, batch_size=batch_size, seed=seed)
        fit(model, text_loss, windows, recipe)
    else:
        fit(model, needle_loss, Needles(text, length, batch_size, seed), recipe)
    return model.eval()


def score(task: str, model: nn.Module, text: str, length: int) -> float:
    """Bits per character, or one minus the share named, over all distances: the smaller, the better."""
    if task == "text":
        return bits(model, text, length, length // 2)
    return 1 - named_by_distance(model, text, length).mean().item()


@cache
def by_rate(
    task: str, form: str, rates: tuple[float, ...], text: str, validation: str, **how: int
) -> dict[float, float]:
    """The score of the first seed on the validation text, by learning rate."""
    return {lr: score(task, train(task, form, 0, lr, text, **how), validation, how["length"]) for lr in rates}


def one_case(*, seed: int, task: str, form: str, **settings: Any) -> dict[str, Any]:
    """Measure one form of attention, or train a model with it and test it."""
    how = dict(settings[task])
    if task == "cost":
        return cost(form, seed, **how)
    rates = tuple(how.pop("rates"))
    rest, test_text = split_text(language_reference())
    train_text, validation_text = split_text(rest)
    validation = by_rate(task, form, rates, train_text, validation_text, **how)
    lr = min(rates, key=validation.__getitem__)
    model = train(task, form, seed, lr, train_text, **how)
    result = {
        "lr": lr,
        "validation": list(validation.values()),
        "parameters": sum(p.numel() for p in model.parameters()),
    }
    if task == "text":
        return result | {"bits_per_character": score(task, model, test_text, how["length"])}
    return result | {"named": named_by_distance(model, test_text, how["length"])}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("attention_cost", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

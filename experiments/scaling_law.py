"""Small GPTs of six sizes, each trained on a quarter of a million characters: how does the loss fall?

    make experiments NAME=scaling_rates
    make experiments NAME=scaling_law
    make experiments NAME=scaling_held_out
    make experiments NAME=scaling_budgets

In this order, because the second takes its learning rates from the first, and the third predicts from the
second. A token is a character, and no character is read twice. The other three reuse what is defined here.
"""

import math
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from experiments.common import run
from experiments.gpt_documents import stored_texts
from pioneers.analysis import experiment, fit_power_law, training_operations
from pioneers.analysis.power_law import PowerLaw
from pioneers.device import best_device, seed_everything
from pioneers.models import GPT, GPTConfig
from pioneers.objectives import causal_lm, linear_cross_entropy
from pioneers.training import TrainConfig, fit

CONFIG = {"seq_len": 32, "batch_size": 8, "num_heads": 4}
CHARACTERS = 128  # ASCII; the few others share the last id
TOKENS = 2**18  # read by every model
SIZES = ((2, 16), (2, 24), (2, 32), (3, 32), (3, 40), (3, 56))  # blocks, width
TEST_EVERY = 4  # the loss is measured on one in so many windows of the held-out text


def config_of(layers: int, width: int) -> GPTConfig:
    """The sizes of a GPT."""
    return GPTConfig(
        vocab_size=CHARACTERS,
        max_seq_len=CONFIG["seq_len"],
        d_model=width,
        num_layers=layers,
        num_heads=CONFIG["num_heads"],
    )


def parameters_of(layers: int, width: int) -> int:
    """All parameters, those of the embeddings included."""
    with torch.device("meta"):
        return sum(p.numel() for p in GPT(config_of(layers, width)).parameters())


CASES: dict[str, dict[str, Any]] = {
    f"{layers} x {width}": {"layers": layers, "width": width, "tokens": TOKENS} for layers, width in SIZES
}


def encode(text: str) -> Tensor:
    """The characters of a text as ids ``(L,)``."""
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    return torch.from_numpy(np.minimum(codes, CHARACTERS - 1).astype(np.int64))


@cache
def tokens_of(part: str) -> Tensor:
    """The ids of the training text or of the held-out text."""
    return encode(getattr(stored_texts(), part))


class EachWindowOnce:
    """Batches of windows ``(B, T + 1)`` in random order; after the last, they come again in a new order.

    Raises:
        ValueError: the text has fewer tokens than are to be read.
    """

    def __init__(self, tokens: Tensor, wanted: int, *, seq_len: int, batch_size: int, seed: int) -> None:
        if len(tokens) <= wanted:
            raise ValueError(f"{wanted:,} tokens are to be read, and the text has {len(tokens):,}")
        self.tokens, self.seq_len, self.batch_size, self.seed = tokens, seq_len, batch_size, seed
        everything = np.random.default_rng(seed).permutation((len(tokens) - 1) // seq_len)
        self.windows = everything[: wanted // seq_len // batch_size * batch_size]
        self.order: tuple[int, Any] = (-1, None)  # an epoch and its windows, for all its steps

    def __call__(self, step: int) -> Tensor:
        """Return the batch of one step."""
        steps = len(self.windows) // self.batch_size
        epoch, place = divmod(step, steps)
        if epoch != self.order[0]:
            self.order = epoch, np.random.default_rng((self.seed, epoch)).permutation(self.windows)
        starts = self.order[1][place * self.batch_size :][: self.batch_size, None] * self.seq_len
        return self.tokens[torch.from_numpy(starts + np.arange(self.seq_len + 1)).to(self.tokens.device)]


def loss_fn(model: GPT, windows: Tensor) -> Tensor:
    """The mean loss of windows ``(B, T + 1)``, in nats."""
    input_ids, targets = causal_lm(windows)
    return linear_cross_entropy(model.hidden_states(input_ids), model.lm_head.weight, targets)


@torch.inference_mode()
def bits(model: nn.Module, seq_len: int) -> float:
    """Bits per character of held-out windows."""
    tokens = tokens_of("held_out").to(next(model.parameters()).device)
    windows = tokens[: len(tokens) // (seq_len + 1) * (seq_len + 1)].view(-1, seq_len + 1)[::TEST_EVERY]
    sums = [loss_fn(model, part).double() * len(part) for part in windows.split(256)]
    return (torch.stack(sums).sum() / len(windows)).item() / math.log(2)


def best_rates() -> tuple[list[int], list[float]]:
    """The parameters of every size, and its best learning rate: the lowest point of a parabola."""
    rows = experiment("scaling_rates")["rows"]
    sizes, best = [], []
    for size in sorted({row["parameters"] for row in rows}):
        tried = [(np.log(row["lr"]), row["bits"]) for row in rows if row["parameters"] == size]
        rates, losses = zip(*tried, strict=True)
        bend, slope, _ = np.polyfit(rates, losses, 2)
        lowest = -slope / (2 * bend) if bend > 0 else rates[int(np.argmin(losses))]
        sizes.append(size)
        best.append(float(np.exp(np.clip(lowest, min(rates), max(rates)))))
    return sizes, best


@cache
def rate_law() -> PowerLaw:
    """The learning rate of every size, and of larger ones: a power law through the best."""
    return fit_power_law(*best_rates(), offset=False)


def one_case(
    *,
    seed: int,
    layers: int,
    width: int,
    tokens: int,
    seq_len: int,
    batch_size: int,
    num_heads: int,
    distinct: int | None = None,
    lr: float | None = None,
) -> dict[str, Any]:
    """Train one GPT on so many tokens, of which ``distinct`` are different; bits per held-out character."""
    config, device = config_of(layers, width).replace(num_heads=num_heads, max_seq_len=seq_len), best_device()
    parameters = parameters_of(layers, width)
    rate = float(rate_law()(parameters)) if lr is None else lr
    steps = tokens // (batch_size * seq_len)
    seed_everything(seed)
    model = GPT(config).to(device)
    recipe = TrainConfig(
        max_steps=steps,
        lr=rate,
        warmup_steps=max(10, steps // 20),
        min_lr_factor=0.1,
        precision="fp32",
        log_every=steps,
        seed=seed,
    )
    train = tokens_of("train").to(device)
    batches = EachWindowOnce(train, distinct or tokens, seq_len=seq_len, batch_size=batch_size, seed=seed)
    fit(model, loss_fn, batches, recipe)
    read = steps * batch_size * seq_len
    return {
        "parameters": parameters,
        "in_blocks": sum(p.numel() for p in model.stack.parameters()),
        "tokens": read,
        "operations": training_operations(config, read),
        "lr": rate,
        "bits": bits(model, seq_len),
    }


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    stored_texts()  # before several processes want them
    run("scaling_law", CASES, one_case, config=CONFIG, seeds=range(2))


if __name__ == "__main__":
    main()

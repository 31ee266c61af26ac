"""A GPT and an LSTM with as many parameters, on windows of 256 tokens: the loss by place, and of what recurs.

    make experiments NAME=gpt_lstm

Both read the same windows of documentation in the same order, at the learning rates that did best among four
for each in ``pretraining_rates``, over as many steps of as many tokens. Then both are trained again, four
times as long, on windows that repeat a passage until they are full; for this the learning rate is the better
of two for each, by the loss of one seed (GPT: 0.002, 0.004; LSTM: 0.008, 0.016).
"""

import functools
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.common import run
from experiments.gpt_documents import loss_fn, stored_texts
from pioneers.data import RandomWindows
from pioneers.device import best_device, seed_everything
from pioneers.models import GPT, GPTConfig
from pioneers.models.baselines import LSTMLanguageModel
from pioneers.objectives import causal_lm
from pioneers.tokenizers import FastBPE
from pioneers.training import TrainConfig, fit

VOCAB_SIZE = 1024
READ = 4_000_000  # characters of the training text
TESTED = 400  # windows
BINS = 8
CONFIG = {"seq_len": 256, "batch_size": 4, "steps": 1000}
CASES: dict[str, dict[str, Any]] = {
    "GPT": {"sizes": {"d_model": 128, "num_layers": 2, "num_heads": 4}, "lr": 4e-3},
    "LSTM": {"sizes": {"d_model": 208, "num_layers": 1}, "lr": 1.6e-2},
}
CASES |= {
    f"{name}, repeats": {"sizes": CASES[name]["sizes"], "lr": lr, "steps": 4000, "shortest": 32}
    for name, lr in (("GPT", 4e-3), ("LSTM", 8e-3))
}


class Repeats:
    """Step → windows of ``seq_len`` + 1 tokens, each one passage again and again.

    A passage has ``shortest`` tokens to half a window, as the seed and the step decide.
    """

    def __init__(self, tokens: Tensor, *, seq_len: int, batch_size: int, shortest: int, seed: int) -> None:
        self.tokens, self.shape, self.shortest, self.seed = tokens, (batch_size, seq_len), shortest, seed

    def __call__(self, step: int) -> Tensor:
        """The windows of a step, ``(batch_size, seq_len + 1)``."""
        draw = torch.Generator().manual_seed(self.seed * 100_003 + step)
        rows, seq_len = self.shape
        lengths = torch.randint(self.shortest, seq_len // 2 + 1, (rows, 1), generator=draw)
        starts = torch.randint(len(self.tokens) - seq_len, (rows, 1), generator=draw)
        return self.tokens[starts + torch.arange(seq_len + 1) % lengths]


@functools.cache
def tokens() -> tuple[Tensor, Tensor]:
    """The ids of the training text and of what is held out."""
    text = stored_texts()
    tokenizer = FastBPE.train(text.train[:READ], VOCAB_SIZE)
    train, held_out = (torch.tensor(tokenizer.encode(part)) for part in (text.train[:READ], text.held_out))
    return train.to(best_device()), held_out.to(best_device())


def build(sizes: dict[str, int], seq_len: int) -> nn.Module:
    """A GPT if there are heads, otherwise an LSTM."""
    if "num_heads" in sizes:
        return GPT(GPTConfig(vocab_size=VOCAB_SIZE, max_seq_len=seq_len, **sizes))
    return LSTMLanguageModel(VOCAB_SIZE, **sizes)


def recurs(windows: Tensor) -> Tensor:
    """Which targets complete a pair of tokens that occurred earlier in their window, ``(N, T)``."""
    found = torch.zeros(windows[:, 1:].shape, dtype=torch.bool)
    for i, row in enumerate(windows.tolist()):
        seen: set[tuple[int, int]] = set()
        for t, pair in enumerate(pairwise(row)):
            found[i, t] = pair in seen
            seen.add(pair)
    return found


@torch.inference_mode()
def losses(model: nn.Module, windows: Tensor) -> Tensor:
    """Nats of each target, ``(N, T)``."""
    found = []
    for some in windows.split(20):
        input_ids, targets = causal_lm(some)
        found.append(F.cross_entropy(model(input_ids).transpose(1, 2), targets, reduction="none"))
    return torch.cat(found).cpu()


def one_case(
    *,
    seed: int,
    sizes: dict[str, int],
    lr: float,
    seq_len: int,
    batch_size: int,
    steps: int,
    shortest: int = 0,
) -> dict[str, Any]:
    """Nats per held-out token: by place, of pairs that recur and of new ones, and of a passage read twice."""
    train, held_out = tokens()
    seed_everything(seed)
    model = build(sizes, seq_len).to(best_device())
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 20, schedule="linear", weight_decay=0.01,
        betas=(0.9, 0.98), log_every=steps, seed=seed,
    )  # fmt: skip
    shape = {"seq_len": seq_len, "batch_size": batch_size, "seed": seed}
    batches = Repeats(train, shortest=shortest, **shape) if shortest else RandomWindows(train, **shape)
    fit(model, loss_fn, batches, recipe)
    width = seq_len + 1
    windows = held_out[: len(held_out) // width * width].view(-1, width)[:TESTED]
    found, again = losses(model, windows), recurs(windows)
    half = windows[:, : width // 2]
    twice = losses(model, torch.cat([half, half], dim=1))
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "nats": found.mean().item(),
        "by_place": found.mean(0).view(BINS, -1).mean(1).tolist(),
        "recurring": found[again].mean().item(),
        "new": found[~again].mean().item(),
        "share": again.float().mean().item(),
        "first_time": twice[:, : width // 2 - 1].mean().item(),
        "second_time": twice[:, width // 2 :].mean().item(),
    }


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    stored_texts()  # before several processes want them
    run("gpt_lstm", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

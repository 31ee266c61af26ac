"""One small T5 for four tasks by prefix, against one T5 for each task: Raffel et al. 2020, figure 1.

    make experiments NAME=t5_tasks

Every task is text to text: numbers below ten thousand from English into German, into French, and from German
into English; and the package that a docstring is from, whose name is written out. A prefix says what to do.
The model for four tasks is as large as that for one task, makes as many updates, and reads the same examples
of each task, in batches four times as large. Each is trained at two learning rates, and the better one on
held-out examples for training is tested, with the right prefix, without any, and with the others.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from experiments.common import run
from pioneers.data import PairBatch, RandomPairs, docstring_packages, translation_pairs
from pioneers.data.tasks import PACKAGES
from pioneers.device import seed_everything
from pioneers.generation import translate
from pioneers.models import T5, T5Config
from pioneers.objectives import seq2seq_loss
from pioneers.tokenizers import FastBPE
from pioneers.training import TrainConfig, fit

Pairs = list[tuple[str, str]]
PAD, STOP = "<pad>", "</s>"
LONGEST = 32  # tokens, of a source and of a target
TRAINED, VALIDATED, TESTED = 1250, 120, 300  # examples of each task
DRAWN = 3000  # numbers, of which two in three are below ten thousand
DIGITS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
CONFIG = {
    "sizes": {"d_model": 64, "d_ff": 256, "num_layers": 2, "num_heads": 4, "head_dim": 16, "dropout": 0.0},
    "vocab_size": 512,
    "rows": 16,  # of each task in a batch
    "steps": 350,
    "rates": (2.5e-3, 5e-3),
}
SHOWN = ("thirty-seven", "four hundred and twenty-six", "five thousand, two hundred and two")


def number_words(split: str, *, target: str, backwards: bool = False) -> Pairs:
    """Numbers below ten thousand in English and another language."""
    pairs = []
    for english, other in translation_pairs("numbers", target=target, count=DRAWN, split=split):
        thousands, large, _ = english.partition(" thousand")
        if not large or thousands in DIGITS:
            pairs.append((other, english) if backwards else (english, other))
    return pairs


def packages(split: str) -> Pairs:
    """Docstrings and the names of their packages, in random order."""
    rows = docstring_packages(split)
    order = np.random.default_rng(0).permutation(len(rows))
    return [(rows[i].text, PACKAGES[rows[i].label]) for i in order]


TASKS: dict[str, Callable[[str], Pairs]] = {
    "to German": functools.partial(number_words, target="de"),
    "to French": functools.partial(number_words, target="fr"),
    "to English": functools.partial(number_words, target="de", backwards=True),
    "package": packages,
}
CASES: dict[str, dict[str, Any]] = {
    "one T5 for all": {"tasks": list(TASKS)},
    **{f"a T5 for: {task}": {"tasks": [task]} for task in TASKS},
}


@functools.cache
def pairs(task: str, split: str) -> Pairs:
    """The examples of a task; no source of ``"validation"`` or ``"test"`` is one for training."""
    if split == "test":
        return list(dict.fromkeys(TASKS[task]("test")))[:TESTED]
    published = TASKS[task]("train")
    train = published[:TRAINED]
    if split == "train":
        return train
    seen = {source for source, _ in train}
    return [pair for pair in published[TRAINED:] if pair[0] not in seen][:VALIDATED]


@functools.cache
def vocabulary(vocab_size: int) -> FastBPE:
    """Byte pairs of what all tasks read and write."""
    texts = [f"{task}: {source}\n{target}" for task in TASKS for source, target in pairs(task, "train")]
    return FastBPE(FastBPE.train("\n".join(texts), vocab_size - 2).merges, [PAD, STOP])


class MixedBatches:
    """As many random examples of every task in each batch; step → :class:`PairBatch`."""

    def __init__(self, tasks: Sequence[str], tokenizer: FastBPE, rows: int, seed: int) -> None:
        ids = tokenizer.special_ids
        self.collate = RandomPairs([], batch_size=1, start_id=ids[PAD], stop_id=ids[STOP]).collate
        encode = tokenizer.encode
        self.sets = {
            task: [(encode(f"{task}: {a}")[:LONGEST], encode(b)) for a, b in pairs(task, "train")]
            for task in tasks
        }
        self.rows, self.seed = rows, seed

    def __call__(self, step: int) -> PairBatch:
        """The batch of one step; a task has the same examples whatever the other tasks are."""
        chosen = []
        for task, examples in self.sets.items():
            draw = np.random.default_rng((self.seed, step, list(TASKS).index(task)))
            chosen += [examples[i] for i in draw.integers(len(examples), size=self.rows)]
        return self.collate(chosen)


def loss(model: nn.Module, batch: PairBatch) -> Tensor:
    """Mean negative log-likelihood of the targets' tokens, in nats."""
    logits = model(batch.source_ids, batch.input_ids, mask=batch.mask)
    return seq2seq_loss(logits, batch.targets, label_smoothing=0.0)


def write(model: T5, sources: Sequence[str], tokenizer: FastBPE) -> list[str]:
    """What the model writes when it reads these texts."""
    ids = tokenizer.special_ids
    start, stop = ids[PAD], ids[STOP]
    rows: Any = [(tokenizer.encode(source)[:LONGEST], []) for source in sources]
    batch = RandomPairs([], batch_size=1, start_id=start, stop_id=stop).collate(rows)
    found = translate(
        model, batch.source_ids, LONGEST, mask=batch.mask, start_id=start, stop_id=stop, pad_id=start
    )
    return [tokenizer.decode(i for i in row if i not in (start, stop)) for row in found.tolist()]


def exact(model: T5, task: str, split: str, tokenizer: FastBPE, *, prefix: bool = True) -> float:
    """Share of the examples that are right to the letter."""
    sources, targets = zip(*pairs(task, split), strict=True)
    written = write(model, [f"{task}: " * prefix + source for source in sources], tokenizer)
    return float(np.mean([a == b for a, b in zip(written, targets, strict=True)]))


def train(
    tasks: Sequence[str],
    *,
    seed: int,
    lr: float,
    sizes: dict[str, Any],
    vocab_size: int,
    rows: int,
    steps: int,
) -> T5:
    """A T5 that has learned these tasks."""
    tokenizer = vocabulary(vocab_size)
    seed_everything(seed)
    model = T5(T5Config(vocab_size=tokenizer.vocab_size, max_seq_len=LONGEST + 1, **sizes))
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 10, schedule="linear", betas=(0.9, 0.98),
        weight_decay=0.0, log_every=steps, seed=seed,
    )  # fmt: skip
    fit(model, loss, MixedBatches(tasks, tokenizer, rows, seed), recipe)
    return model


def one_case(
    *, seed: int, tasks: Sequence[str], rates: Sequence[float], vocab_size: int, **how: Any
) -> dict[str, Any]:
    """Train at each rate; shares of exact answers of the better one, and what it writes with any prefix."""
    tokenizer = vocabulary(vocab_size)
    tried = [train(tasks, seed=seed, lr=lr, vocab_size=vocab_size, **how) for lr in rates]
    scores = [[exact(model, task, "validation", tokenizer) for task in tasks] for model in tried]
    best = int(np.argmax(np.mean(scores, axis=1)))
    found: dict[str, Any] = {"lr": rates[best], "validation": np.mean(scores, axis=1).tolist()}
    for task in tasks:
        found[task] = exact(tried[best], task, "test", tokenizer)
        found[f"{task}, no prefix"] = exact(tried[best], task, "test", tokenizer, prefix=False)
    if len(tasks) > 1:
        prefixes = [*(f"{task}: " for task in TASKS), ""]
        found["shown"] = {
            text: write(tried[best], [before + text for before in prefixes], tokenizer) for text in SHOWN
        }
    return found


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("t5_tasks", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

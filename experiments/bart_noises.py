"""A small BART for each of its noises, fine-tuned on one task: Lewis et al. 2020, section 4 and table 1.

    make experiments NAME=bart_noises

A BART learns to restore the beginnings of two consecutive sentences of Python's documentation, in lower
case, after one of five noises, two of them together, or none at all: then it only learns to copy. All read
the same texts for as many steps. Then each is fine-tuned to answer a question in words, how the second of two
sentences begins (``sentence_boundary_qa``), at two learning rates; the better one on a tenth of the examples
for training is tested. So is one without pretraining.
"""

import copy
import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from experiments.common import run
from experiments.text.tasks import part
from pioneers.data import PairBatch, RandomPairs, documents, sentence_boundary_qa
from pioneers.device import seed_everything
from pioneers.generation import translate
from pioneers.models import BART, BARTConfig
from pioneers.objectives import (
    delete_tokens,
    infill_text,
    mask_tokens,
    permute_sentences,
    rotate_document,
    seq2seq_loss,
)
from pioneers.tokenizers import FastBPE
from pioneers.training import TrainConfig, fit

PAD, END, MASK = "<pad>", "</s>", "<mask>"
HALF = 12  # tokens of each sentence of a text, and at most of a question
SHORTEST = 5  # tokens of a sentence of a question
ANSWER = 10  # tokens of the longest answer that is generated
SHARE = 0.3  # of the tokens that are masked, deleted or in spans
CONFIG = {
    "sizes": {"d_model": 64, "num_layers": 2, "num_heads": 4, "dropout": 0.0, "inner_dropout": 0.0},
    "vocab_size": 512,
    "steps": 350,
    "rows": 32,
    "lr": 3e-3,
    "finetuning_steps": 80,
    "finetuning_rates": (1e-3, 3e-3),
}
CASES: dict[str, dict[str, Any]] = {
    "no pretraining": {"noise": None},
    "no noise": {"noise": []},
    "token masking": {"noise": ["mask"]},
    "token deletion": {"noise": ["delete"]},
    "text infilling": {"noise": ["infill"]},
    "sentence permutation": {"noise": ["permute"]},
    "document rotation": {"noise": ["rotate"]},
    "infilling and permutation": {"noise": ["permute", "infill"]},
}
Pairs = list[tuple[list[int], list[int]]]


@functools.cache
def tokenizer(vocab_size: int) -> FastBPE:
    """Byte pairs of the texts for training."""
    text = "\n".join(f" {one.lower()}" for document in documents("train") for one in document.sentences)
    return FastBPE(FastBPE.train(text, vocab_size - 3).merges, [PAD, END, MASK])


@functools.cache
def texts(vocab_size: int) -> list[tuple[list[int], int]]:
    """The beginnings of two consecutive sentences as ids, and where the second one begins."""
    encode = tokenizer(vocab_size).encode
    rows = []
    for document in documents("train"):
        halves = [encode(f" {one.lower()}")[:HALF] for one in document.sentences]
        rows += [(a + b, len(a)) for a, b in itertools.pairwise(halves)]
    return rows


def damage(ids: Tensor, second: int, noise: Sequence[str], mask: int, draw: torch.Generator) -> Tensor:
    """A text after these noises; sentences change places first."""
    ends = torch.arange(len(ids)) == second - 1
    noises: dict[str, Callable[[Tensor], Tensor]] = {
        "permute": lambda t: permute_sentences(t, ends, generator=draw),
        "rotate": lambda t: rotate_document(t, generator=draw),
        "mask": lambda t: mask_tokens(t, mask_id=mask, mask_prob=SHARE, generator=draw),
        "delete": lambda t: delete_tokens(t, mask_prob=SHARE, generator=draw),
        "infill": lambda t: infill_text(t, mask_id=mask, mask_prob=SHARE, generator=draw),
    }
    for name in noise:
        ids = noises[name](ids)
    return ids


def pairs_of(rows: Pairs, special: Mapping[str, int], batch_size: int, seed: int) -> RandomPairs:
    """Batches of these pairs; the decoder begins with the end of a text, as in BART."""
    end, pad = special[END], special[PAD]
    return RandomPairs(rows, batch_size=batch_size, start_id=end, stop_id=end, pad_id=pad, seed=seed)


class Damaged:
    """Damaged texts and the originals; step → :class:`PairBatch`. All noises read the same texts."""

    def __init__(self, noise: Sequence[str], vocab_size: int, rows: int, seed: int) -> None:
        self.noise, self.texts, self.rows, self.seed = noise, texts(vocab_size), rows, seed
        self.special = tokenizer(vocab_size).special_ids

    def __call__(self, step: int) -> PairBatch:
        """The batch of one step."""
        chosen = np.random.default_rng((self.seed, step)).integers(len(self.texts), size=self.rows)
        draw = torch.Generator().manual_seed(1_000_003 * self.seed + step)
        rows = []
        for ids, second in (self.texts[i] for i in chosen):
            damaged = damage(torch.tensor(ids), second, self.noise, self.special[MASK], draw)
            damaged = damaged[: 2 * HALF]  # infilling may make a text longer
            rows.append(([*damaged.tolist(), self.special[END]], ids))
        return pairs_of([], self.special, 1, 0).collate(rows)


@functools.cache
def questions(split: str, vocab_size: int) -> Pairs:
    """Contexts, the last 5 to 12 tokens of one sentence and as many of the next, and answers as ids.

    The question is always the same and left out.
    """
    encode, end = tokenizer(vocab_size).encode, tokenizer(vocab_size).special_ids[END]
    draw, rows = np.random.default_rng(0), []
    for question in sentence_boundary_qa("test" if split == "test" else "train"):
        text, start = question.answers[0]
        before, after = draw.integers(SHORTEST, HALF + 1, size=2)
        first = encode(f" {question.context[:start].strip()}")[-before:]
        second, answer = encode(f" {question.context[start:]}")[:after], encode(f" {text}")
        if answer == second[: len(answer)]:
            rows.append(([*first, *second, end], answer))
    return part(rows, split)


def loss(model: nn.Module, batch: PairBatch) -> Tensor:
    """Mean negative log-likelihood of the targets' tokens, in nats."""
    logits = model(batch.source_ids, batch.input_ids, mask=batch.mask)
    return seq2seq_loss(logits, batch.targets, label_smoothing=0.0)


@torch.inference_mode()
def judge(model: BART, split: str) -> dict[str, float]:
    """Loss per token, in nats, and the share of exact answers."""
    vocab_size = model.config.vocab_size
    rows, special = questions(split, vocab_size), tokenizer(vocab_size).special_ids
    batch, end = pairs_of([], special, 1, 0).collate(rows), special[END]
    found = translate(
        model, batch.source_ids, ANSWER, mask=batch.mask, start_id=end, stop_id=end, pad_id=special[PAD]
    )
    written = [row[: row.index(end)] if end in row else row for row in found.tolist()]
    right = [text == answer for text, (_, answer) in zip(written, rows, strict=True)]
    return {"loss": loss(model, batch).item(), "exact": float(np.mean(right))}


def recipe(steps: int, lr: float, seed: int) -> TrainConfig:
    """Of pretraining and of fine-tuning."""
    return TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 10, schedule="linear", betas=(0.9, 0.98),
        weight_decay=0.01, log_every=steps, seed=seed,
    )  # fmt: skip


def one_case(
    *,
    seed: int,
    noise: Sequence[str] | None,
    sizes: dict[str, Any],
    vocab_size: int,
    steps: int,
    rows: int,
    lr: float,
    finetuning_steps: int,
    finetuning_rates: Sequence[float],
) -> dict[str, Any]:
    """Pretrain one BART, fine-tune it at each rate, and test the better one."""
    seed_everything(seed)
    model = BART(BARTConfig(vocab_size=vocab_size, max_seq_len=2 * HALF + 1, **sizes))
    found: dict[str, Any] = {}
    if noise is not None:
        history = fit(model, loss, Damaged(noise, vocab_size, rows, seed), recipe(steps, lr, seed))
        found["pretraining"] = history[-1]["loss"]
    special, tuned = tokenizer(vocab_size).special_ids, []
    for rate in finetuning_rates:
        tuned.append(copy.deepcopy(model))
        batches = pairs_of(questions("train", vocab_size), special, rows, seed)
        fit(tuned[-1], loss, batches, recipe(finetuning_steps, rate, seed))
    validation = [judge(one, "validation")["loss"] for one in tuned]
    best = int(np.argmin(validation))
    return found | {"finetuning_rate": finetuning_rates[best]} | judge(tuned[best], "test")


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("bart_noises", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

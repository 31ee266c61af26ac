"""Read captions in English and German with one small BERT, label it in English, test it in German.

    PIONEERS_DATA=folder make experiments NAME=cross_lingual

Four models with one vocabulary for both languages: without pretraining; pretrained on the English
captions of one half of the photographs and the German ones of the other, so that no translation is ever
seen, as in multilingual BERT (Pires et al. 2019); the same, but German has ids of its own, so that no
piece is shared; and pretrained on as many captions that are translations of each other, in every other
step joined into one row, which is the translation language model of Conneau & Lample 2019. Each is
fine-tuned on English topics and tested in both languages, and on German topics for comparison. And each
looks for the translations of held-out captions by the mean of its states. The topics come from keywords
of the English captions. Twelve minutes on one core.
"""

import copy
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.common import run
from experiments.text.captions import (
    ENGLISH,
    GERMAN,
    LANGUAGES,
    TOPICS,
    WIDTH,
    Reader,
    Texts,
    captions,
    labelled,
    shared_pieces,
    trimmed,
    vocabulary,
)
from pioneers.device import best_device, seed_everything
from pioneers.layers import LearnedPositions
from pioneers.models import BERTConfig, BERTForMaskedLM
from pioneers.objectives import masked_lm_loss
from pioneers.training import TrainConfig, fit

CANDIDATES = 500  # translations to choose from
SIZES = {"d_model": 128, "num_layers": 2, "num_heads": 4, "d_ff": 256, "num_segments": 0, "dropout": 0.0}
CONFIG = {"vocab_size": 2048, "steps": 1800, "rows": 32, "labels": 1000, "tuning_steps": 120}
CASES = {
    "no pretraining": {"reads": None, "shared": True, "lr": 0.0, "tuning_lr": 2e-3},
    "unaligned": {"reads": "unaligned", "shared": True, "lr": 3e-3, "tuning_lr": 1e-3},
    "unaligned, no shared piece": {"reads": "unaligned", "shared": False, "lr": 3e-3, "tuning_lr": 1e-3},
    "joined": {"reads": "joined", "shared": True, "lr": 3e-3, "tuning_lr": 1e-3},
}


class Restarting(LearnedPositions):
    """Positions that are counted anew in the second caption of a row, with one vector to tell them apart.

    XLM does the same. Without that vector, two gaps at the same place of both captions would be the same.
    """

    def __init__(self, max_seq_len: int, d_model: int) -> None:
        super().__init__(max_seq_len, d_model)
        self.second = nn.Parameter(torch.empty(d_model).normal_(std=0.02))

    def forward(self, length: int, start: int = 0) -> Tensor:
        """The vectors ``(length, D)``."""
        places = torch.arange(start, start + length, device=self.table.device)
        which = (places >= len(self.table))[:, None]  # (T, 1)
        return self.table[places % len(self.table)] + which * self.second


def new_model(config: BERTConfig) -> BERTForMaskedLM:
    """A BERT with random weights that can read a caption, or a caption and its translation."""
    model = BERTForMaskedLM(config)
    model.bert.embed.position = Restarting(config.max_seq_len, config.d_model)
    return model.to(best_device())


def gap_loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    """Of masked language modelling; padding, whose id is 0, is not looked at."""
    ids, targets = batch
    logits = model(ids, mask=(ids != 0)[:, None, None], predict_mask=targets != -100)
    return masked_lm_loss(logits, targets)


def mean_states(bert: Any, ids: Tensor, inner: Tensor) -> Tensor:
    """Means over the pieces, True in ``inner (B, T)``, of embedding and blocks, ``(L + 1, B, D)``."""
    states = [bert.embed(ids)]
    for block in bert.stack.blocks:
        states.append(block(states[-1], mask=(ids != 0)[:, None, None]))
    weights = inner[..., None] / inner.sum(1)[:, None, None]  # (B, T, 1)
    return torch.stack([(state * weights).sum(1) for state in states])


class TopicModel(nn.Module):
    """A pretrained BERT with a linear map of the mean of its last states."""

    def __init__(self, bert: Any) -> None:
        super().__init__()
        self.bert, self.head = bert, nn.Linear(bert.config.d_model, len(TOPICS))

    def forward(self, ids: Tensor, inner: Tensor) -> Tensor:
        """``ids (B, T)`` and which of them are pieces → logits ``(B, topics)``."""
        return self.head(mean_states(self.bert, ids, inner)[-1])


def tune(model: BERTForMaskedLM, reader: Reader, language: int, **how: Any) -> dict[str, float]:
    """Fine-tune a copy on topics in one language; mean accuracy over the topics, in both languages."""
    seed, labels, steps, lr = how["seed"], how["labels"], how["steps"], how["lr"]
    pairs, topics = labelled("first" if language == ENGLISH else "second")
    chosen = np.random.default_rng(seed).permutation(len(pairs))[:labels]
    rows = reader.rows(pairs, language)
    copied = copy.deepcopy(model)
    seed_everything(seed)
    tuned = TopicModel(copied.bert).to(best_device())

    def batch(step: int) -> tuple[Tensor, Tensor, Tensor]:
        some = np.random.default_rng((seed, step)).choice(chosen, 32, replace=False)
        ids = trimmed(rows[some]).to(best_device())
        return ids, reader.inner(ids), topics[some].to(best_device())

    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 10, schedule="linear", betas=(0.9, 0.98),
        weight_decay=0.01, log_every=steps, seed=seed,
    )  # fmt: skip
    fit(tuned, lambda model, batch: F.cross_entropy(model(*batch[:2]), batch[2]), batch, recipe)
    test, truth = labelled("held out")
    right = {}
    for side, name in zip(LANGUAGES, ("english", "german"), strict=True):
        with torch.inference_mode():
            ids = reader.rows(test, side).to(best_device())
            best = tuned(ids, reader.inner(ids)).argmax(-1).cpu()
        hits = [(best[truth == i] == i).float().mean().item() for i in range(len(TOPICS))]
        right[name] = sum(hits) / len(hits)
    return right


@torch.inference_mode()
def retrieval(model: BERTForMaskedLM, reader: Reader) -> list[float]:
    """Share of English captions whose nearest German one is their translation, for each layer.

    As Pires et al. 2019, section 5: the difference of the means of both languages is added, the distance is
    Euclidean.
    """
    pairs = captions("held out")[:CANDIDATES]
    rows = [reader.rows(pairs, side).to(best_device()) for side in LANGUAGES]
    english, german = (mean_states(model.bert, ids, reader.inner(ids)) for ids in rows)
    shifted = english + german.mean(1, keepdim=True) - english.mean(1, keepdim=True)
    nearest = torch.cdist(shifted, german).argmin(-1).cpu()  # (L + 1, N)
    return (nearest == torch.arange(len(pairs))).float().mean(-1).tolist()


@torch.inference_mode()
def held_out_losses(model: BERTForMaskedLM, reader: Reader, seed: int) -> dict[str, float]:
    """At the gaps of held-out captions, by language; and of German ones beside their translation."""
    pairs = captions("held out")[:CANDIDATES]
    english, german = (reader.rows(pairs, side).to(best_device()) for side in LANGUAGES)
    gaps, targets = reader.hide(german, seed)
    none = torch.full_like(english, -100)
    return {
        "english_loss": gap_loss(model, reader.hide(english, seed)).item(),
        "german_loss": gap_loss(model, (gaps, targets)).item(),
        "translated_loss": gap_loss(
            model, (torch.cat([english, gaps], 1), torch.cat([none, targets], 1))
        ).item(),
    }


def pretrain(
    reader: Reader, *, reads: str | None, steps: int, rows: int, lr: float, seed: int
) -> BERTForMaskedLM:
    """A model with random weights, or one that has filled the gaps of captions."""
    seed_everything(seed)
    model = new_model(BERTConfig(vocab_size=reader.vocab_size, max_seq_len=WIDTH, **SIZES))
    if reads is None:
        return model.eval()
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 10, schedule="linear", betas=(0.9, 0.98),
        weight_decay=0.01, log_every=steps, seed=seed,
    )  # fmt: skip
    fit(model, gap_loss, Texts(reader, reads == "joined", rows=rows, seed=seed), recipe)
    return model.eval()


def one_case(
    *,
    seed: int,
    reads: str | None,
    shared: bool,
    lr: float,
    tuning_lr: float,
    vocab_size: int,
    steps: int,
    rows: int,
    labels: int,
    tuning_steps: int,
) -> dict[str, Any]:
    """Pretrain once, then losses, translations found by layer, and topics after fine-tuning."""
    reader = Reader(vocabulary(vocab_size), shared)
    model = pretrain(reader, reads=reads, steps=steps, rows=rows, lr=lr, seed=seed)
    how = {"seed": seed, "labels": labels, "steps": tuning_steps, "lr": tuning_lr}
    tuned = {
        name: tune(model, reader, side, **how) for side, name in ((ENGLISH, "english"), (GERMAN, "german"))
    }
    return {
        **held_out_losses(model, reader, seed),
        "retrieval": retrieval(model, reader),
        "tuned_in_english": tuned["english"],
        "tuned_in_german": tuned["german"],
        "shared": shared_pieces(reader.tokenizer),
    }


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)
    print(run("cross_lingual", CASES, one_case, config=CONFIG))


if __name__ == "__main__":
    main()

"""Distil the small BERT of the book into two blocks: what its soft targets give, and what its weights give.

    make experiments NAME=distillation

Four students of two blocks read the same batches for the same number of steps. They begin with random weights
or with the first and the last block of the teacher, and learn from the hidden tokens alone or also from the
teacher's probabilities and hidden states, as in Sanh et al. 2019, section 3. Each case is judged by its loss
on held-out text, by how often its best guess is right or the teacher's, and by frozen features: which package
a docstring is from. Five minutes on one core.
"""

import functools
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from experiments.bert_documents import FOLDER, Batches, hide, pairs, sentences
from experiments.common import run
from experiments.text.tasks import examples
from pioneers import from_pretrained
from pioneers.device import best_device, seed_everything
from pioneers.layers import padding_mask
from pioneers.models import BERTForPretraining, DistilBERTForMaskedLM, student_from
from pioneers.objectives import (
    BERTInputs,
    hidden_cosine_loss,
    masked_lm_loss,
    soft_target_loss,
    text_inputs,
)
from pioneers.tokenizers import WordPiece
from pioneers.training import TrainConfig, fit
from pioneers.weights import load_tokenizer

SEQ_LEN = 48
CONFIG = {"blocks": (0, 2), "steps": 240, "tokens": 768, "temperature": 2.0}
HELD_OUT = 400  # pairs
PROBED = 600  # docstrings, to fit and to judge
CASES = {
    "teacher": {"initialised": None, "soft_targets": False, "lr": 0.0},
    "from scratch": {"initialised": False, "soft_targets": False, "lr": 3e-3},
    "from scratch, soft targets": {"initialised": False, "soft_targets": True, "lr": 3e-3},
    "initialised": {"initialised": True, "soft_targets": False, "lr": 2e-3},
    "initialised, soft targets": {"initialised": True, "soft_targets": True, "lr": 2e-3},
}


@functools.cache
def frozen_teacher() -> tuple[BERTForPretraining, WordPiece]:
    """The stored BERT and its vocabulary."""
    return from_pretrained(FOLDER).eval().requires_grad_(False).to(best_device()), load_tokenizer(FOLDER)


@functools.cache
def texts(split: str) -> list[tuple[str, ...]]:
    """The documents of a split, read once."""
    return sentences(split)


def new_student(blocks: tuple[int, ...], initialised: bool) -> DistilBERTForMaskedLM:
    """A student with copies of some blocks of the teacher, or the same with random weights."""
    student = student_from(frozen_teacher()[0], blocks)
    return (student if initialised else DistilBERTForMaskedLM(student.config)).to(best_device())


def student_loss(student: nn.Module, batch: tuple[Tensor, ...], temperature: float | None) -> Tensor:
    """Of the hidden tokens, and with a temperature also of the teacher's probabilities and states."""
    ids, segments, lengths, targets, _ = batch
    mask, asked = padding_mask(lengths, ids.shape[1]), targets != -100
    hidden = student.bert(ids, mask=mask)  # (B, T, D)
    logits = student.masked_lm(hidden[asked])  # (M, V)
    loss = masked_lm_loss(logits, targets)
    if temperature is None:
        return loss
    teacher, _ = frozen_teacher()
    with torch.no_grad():
        teacher_hidden = teacher.bert(ids, segment_ids=segments, mask=mask)
        teacher_logits = teacher.masked_lm(teacher_hidden[asked])
    real = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]  # (B, T)
    loss = loss + soft_target_loss(logits, teacher_logits, temperature=temperature)
    return loss + hidden_cosine_loss(hidden[real], teacher_hidden[real])


@functools.cache
def held_out(seed: int) -> tuple[Tensor, dict[str, Tensor], Tensor, Tensor]:
    """Pairs with gaps, where they are, the hidden tokens, and the teacher's logits of them."""
    teacher, tokenizer = frozen_teacher()
    inputs, _ = pairs(texts("test"), tokenizer, SEQ_LEN, seed)
    rows, lengths = inputs.input_ids[:HELD_OUT], inputs.lengths[:HELD_OUT]
    ids, targets = hide(rows, tokenizer, torch.Generator().manual_seed(seed))
    how = {"mask": padding_mask(lengths, SEQ_LEN), "predict_mask": targets != -100}
    logits = teacher(ids, segment_ids=inputs.segment_ids[:HELD_OUT], **how).masked_lm
    return ids, how, targets[targets != -100], logits


@torch.inference_mode()
def judge(model: nn.Module, seed: int) -> dict[str, float]:
    """Loss at the gaps of held-out pairs, shares of right and of shared best guesses, and the probe."""
    ids, how, truth, teacher_logits = held_out(seed)
    is_teacher = model is frozen_teacher()[0]
    logits = teacher_logits if is_teacher else model(ids, **how)
    best = logits.argmax(-1)
    return {
        "masked_lm": F.cross_entropy(logits, truth).item(),
        "right": (best == truth).float().mean().item(),
        "like_teacher": (best == teacher_logits.argmax(-1)).float().mean().item(),
        "packages": probe(model.bert),
    }


@functools.cache
def docstrings(split: str) -> tuple[BERTInputs, list[int]]:
    """Docstrings of a split and the numbers of their packages."""
    rows = examples("packages", split)[:PROBED]
    inputs = text_inputs([row[0] for row in rows], frozen_teacher()[1], max_seq_len=SEQ_LEN)
    return inputs, [row[-1] for row in rows]


def probe(body: nn.Module) -> float:
    """Accuracy of a linear model of the mean of the last states, on held-out docstrings."""

    def features(inputs: BERTInputs) -> np.ndarray:
        hidden = body(inputs.input_ids, mask=inputs.mask)  # (B, T, D)
        real = (torch.arange(hidden.shape[1]) < inputs.lengths[:, None])[..., None]
        return ((hidden * real).sum(1) / inputs.lengths[:, None]).numpy()

    (train, labels), (test, truth) = docstrings("train"), docstrings("test")
    seen = features(train)
    centre, scale = seen.mean(0), seen.std(0)
    fitted = LogisticRegression(C=0.1, max_iter=500).fit((seen - centre) / scale, labels)
    return float(fitted.score((features(test) - centre) / scale, truth))


@functools.cache
def read(seed: int, steps: int, tokens: int) -> Batches:
    """The batches of a seed, the same for every student."""
    sizes = {"steps": steps, "tokens": tokens, "short": SEQ_LEN, "long": SEQ_LEN}
    return Batches(texts("train"), frozen_teacher()[1], **sizes, seed=seed)


def one_case(
    *,
    seed: int,
    initialised: bool | None,
    soft_targets: bool,
    lr: float,
    blocks: tuple[int, ...],
    steps: int,
    tokens: int,
    temperature: float,
) -> dict[str, Any]:
    """Train one student and judge it; ``initialised=None`` judges the teacher."""
    seed_everything(seed)
    if initialised is None:
        return judge(frozen_teacher()[0], seed)
    student = new_student(blocks, initialised)
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 10, schedule="linear", betas=(0.9, 0.98),
        weight_decay=0.01, log_every=steps, seed=seed,
    )  # fmt: skip
    wanted = temperature if soft_targets else None
    fit(student, lambda model, batch: student_loss(model, batch, wanted), read(seed, steps, tokens), recipe)
    return judge(student, seed)


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)
    print(run("distillation", CASES, one_case, config=CONFIG))


if __name__ == "__main__":
    main()

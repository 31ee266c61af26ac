"""Fill the rows of a BERT in RoBERTa's four ways, at the same number of tokens: Liu et al. 2019, table 2.

    make experiments NAME=input_formats

Copies of the stored BERT go on for the same number of steps, and every step reads the same number of tokens
whatever the format, padding aside: short rows are more of them, as in section 4.2 of the paper. With pairs,
next-sentence prediction is learned too, without them the gaps alone. Each is judged by its loss at the gaps
of held-out rows in all four formats, by frozen features (which of eight packages a docstring is from), and,
after fine-tuning, by F1 on questions that are answered with a span.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from experiments.bert_documents import hide
from experiments.common import run
from experiments.text.stored import (
    FORMATS,
    PAIRS,
    SEQ_LEN,
    finetune_reader,
    formatted,
    go_on,
    some_rows,
    stored,
    vocabulary,
)
from experiments.text.tasks import examples
from pioneers.models import BERT, BERTForPretraining
from pioneers.objectives import BERTInputs, masked_lm_loss, text_inputs

CONFIG = {"steps": 240, "tokens": 512, "finetuning": {"lr": 1e-3, "steps": 200}}
CASES: dict[str, dict[str, Any]] = {
    "before": {"form": None, "lr": 0.0},
    "segment pairs": {"form": "segment pairs", "lr": 3e-4},
    "sentence pairs": {"form": "sentence pairs", "lr": 3e-4},
    "full sentences": {"form": "full sentences", "lr": 3e-4},
    "one document": {"form": "one document", "lr": 3e-4},
}
HELD_OUT = 25  # batches in each format
PROBED = 600  # docstrings, to fit and to judge
Batch = tuple[BERTInputs, Tensor, Tensor]


def batches(form: str, split: str, tokens: int, seed: int) -> Callable[[int], Batch]:
    """Step → rows with gaps, their targets, and the labels of next-sentence prediction."""
    rows = formatted(form, split, seed)

    def batch(step: int) -> Batch:
        draw = torch.Generator().manual_seed(step + 1_000_003 * seed)
        inputs, labels = some_rows(rows, tokens, draw)
        ids, targets = hide(inputs.input_ids, vocabulary(), draw)
        return inputs._replace(input_ids=ids), targets, labels

    return batch


def losses(model: BERTForPretraining, batch: Batch) -> tuple[Tensor, Tensor]:
    """Of masked language modelling and of next-sentence prediction."""
    inputs, targets, labels = batch
    logits = model(
        inputs.input_ids, segment_ids=inputs.segment_ids, mask=inputs.mask, predict_mask=targets != -100
    )
    return masked_lm_loss(logits.masked_lm, targets), F.cross_entropy(logits.next_sentence, labels)


def objective(form: str) -> Callable[[BERTForPretraining, Batch], Tensor]:
    """The loss that a format is trained with: pairs also learn next-sentence prediction."""
    if form in PAIRS:
        return lambda model, batch: torch.stack(losses(model, batch)).sum()
    return lambda model, batch: losses(model, batch)[0]


@torch.inference_mode()
def held_out(model: BERTForPretraining, form: str, tokens: int) -> float:
    """The loss at gaps of held-out rows of a format, the same for all models."""
    batch = batches(form, "test", tokens, seed=0)
    return sum(losses(model, batch(step))[0].item() for step in range(HELD_OUT)) / HELD_OUT


@torch.inference_mode()
def probe(bert: BERT) -> float:
    """Accuracy of a linear model of the mean of the last states, on held-out docstrings."""

    def features(split: str) -> tuple[np.ndarray, list[int]]:
        rows = examples("packages", split)[:PROBED]
        inputs = text_inputs([row[0] for row in rows], vocabulary(), max_seq_len=SEQ_LEN)
        hidden = bert(inputs.input_ids, mask=inputs.mask)  # (B, T, D)
        real = (torch.arange(hidden.shape[1]) < inputs.lengths[:, None])[..., None]
        mean = (hidden * real).sum(1) / inputs.lengths[:, None]
        return mean.numpy(), [row[-1] for row in rows]

    (seen, labels), (test, truth) = features("train"), features("test")
    centre, scale = seen.mean(0), seen.std(0)
    fitted = LogisticRegression(C=0.1, max_iter=500).fit((seen - centre) / scale, labels)
    return float(fitted.score((test - centre) / scale, truth))


def one_case(
    *, seed: int, form: str | None, lr: float, steps: int, tokens: int, finetuning: dict[str, Any]
) -> dict[str, float]:
    """Go on in one format: losses in all four, accuracy of the probe, exact match and F1 of the answers."""
    model = stored()
    if form is not None:
        batch = batches(form, "train", tokens, seed)
        go_on(model, objective(form), batch, seed=seed, lr=lr, steps=steps)
    found = {name: held_out(model, name, tokens) for name in FORMATS} | {"packages": probe(model.bert)}
    return found | finetune_reader(model.bert, seed, **finetuning)


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    print(run("input_formats", CASES, one_case, config=CONFIG))


if __name__ == "__main__":
    main()

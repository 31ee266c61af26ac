"""Hide tokens or spans in pretraining, then answer questions with spans: Joshi et al. 2020.

    make experiments NAME=span_masking

Copies of the stored BERT, which has learned to fill gaps of single tokens, go on for the same number of
steps on the same rows of text. They differ in what is hidden, and the last also learns the span-boundary
objective: tables 6 and 7 of the paper. Each is then fine-tuned to find the first two words of the second of
two sentences that run on, and is judged by exact match and F1 on held-out questions. The losses are those of
hidden tokens and of hidden spans on held-out text.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from experiments.common import run
from experiments.text.stored import finetune_reader, formatted, go_on, some_rows, stored, vocabulary
from pioneers.models import BERTForPretraining, SpanBoundaryHead
from pioneers.objectives import MaskedSpans, masked_lm, masked_lm_loss, span_masking

CONFIG = {"steps": 600, "tokens": 512, "finetuning": {"lr": 1e-3, "steps": 200}}
CASES: dict[str, dict[str, Any]] = {
    "before": {"hidden": None, "boundary": False, "lr": 0.0},
    "tokens": {"hidden": "tokens", "boundary": False, "lr": 3e-4},
    "spans": {"hidden": "spans", "boundary": False, "lr": 1e-3},
    "spans, lower rate": {"hidden": "spans", "boundary": False, "lr": 3e-4},  # as tokens
    "spans, boundary": {"hidden": "spans", "boundary": True, "lr": 1e-3},
}
HELD_OUT = 25  # batches
Batch = tuple[Tensor, MaskedSpans]


class SpanBERT(nn.Module):
    """The stored BERT, and perhaps a head that fills its gaps from the ends of their span."""

    def __init__(self, model: BERTForPretraining, *, boundary: bool) -> None:
        super().__init__()
        self.bert, self.masked_lm = model.bert, model.masked_lm
        self.boundary = SpanBoundaryHead(model.bert) if boundary else None


def word_ids(input_ids: Tensor) -> Tensor:
    """The number of the word that each token belongs to, ``(B, T)``: ``##`` goes on with the word before."""
    begins = torch.tensor([not piece.startswith("##") for piece in vocabulary().vocab])
    return begins[input_ids].cumsum(1) - 1


def corrupt(input_ids: Tensor, hidden: str, draw: torch.Generator) -> MaskedSpans:
    """Hide tokens or spans of ``input_ids (B, T)``; the ends of a single token are itself."""
    special = vocabulary().special_ids
    how: dict[str, Any] = {
        "mask_id": special["[MASK]"], "vocab_size": vocabulary().vocab_size,
        "special_ids": special.values(), "generator": draw,
    }  # fmt: skip
    if hidden == "spans":
        return span_masking(input_ids, word_ids=word_ids(input_ids), **how)
    itself = torch.arange(input_ids.shape[1]).expand_as(input_ids)
    return MaskedSpans(*masked_lm(input_ids, **how), itself, itself)


def batches(split: str, hidden: str, tokens: int, seed: int) -> Callable[[int], Batch]:
    """Step → mask of real keys, and rows with gaps; the rows are the same whatever is hidden."""

    def batch(step: int) -> Batch:
        draw = torch.Generator().manual_seed(step + 1_000_003 * seed)
        inputs = some_rows(formatted("one document", split, 0), tokens, draw).inputs
        return inputs.mask, corrupt(inputs.input_ids, hidden, draw)

    return batch


def fill(model: SpanBERT, batch: Batch) -> tuple[Tensor, Tensor]:
    """The loss of BERT's own head at the gaps, and the states ``(B, T, D)``."""
    mask, gaps = batch
    states = model.bert(gaps.input_ids, mask=mask)
    return masked_lm_loss(model.masked_lm(states[gaps.targets != -100]), gaps.targets), states


def loss(model: SpanBERT, batch: Batch) -> Tensor:
    """Of the hidden tokens, and of the same tokens from the ends of their spans if there is a head for it."""
    found, states = fill(model, batch)
    if model.boundary is None:
        return found
    _, gaps = batch
    return found + masked_lm_loss(model.boundary(*gaps.boundaries(states)), gaps.targets)


@torch.inference_mode()
def held_out(model: SpanBERT, hidden: str, tokens: int) -> float:
    """The loss of BERT's own head on held-out rows, whose gaps are the same for all models."""
    batch = batches("test", hidden, tokens, seed=0)
    return sum(fill(model, batch(step))[0].item() for step in range(HELD_OUT)) / HELD_OUT


def one_case(
    *,
    seed: int,
    hidden: str | None,
    boundary: bool,
    lr: float,
    steps: int,
    tokens: int,
    finetuning: dict[str, Any],
    judged_on: str = "test",
) -> dict[str, float]:
    """Pretrain and fine-tune one model: its losses on held-out text, exact match and F1."""
    torch.manual_seed(seed)
    model = SpanBERT(stored(), boundary=boundary)
    if hidden is not None:
        batch = batches("train", hidden, tokens, seed)
        go_on(model, loss, batch, seed=seed, lr=lr, steps=steps)
    found = {name: held_out(model, name, tokens) for name in ("tokens", "spans")}
    return found | finetune_reader(model.bert, seed, **finetuning, judged_on=judged_on)


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    print(run("span_masking", CASES, one_case, config=CONFIG))


if __name__ == "__main__":
    main()

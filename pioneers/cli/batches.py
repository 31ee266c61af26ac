"""From rows to batches, and from batches to answers, for models with a head."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from pioneers.cli.examples import Example
from pioneers.data import Question, TaggedSentence
from pioneers.models import best_span
from pioneers.objectives import (
    BERTInputs,
    QuestionInputs,
    pair_inputs,
    question_inputs,
    tagging_inputs,
    text_inputs,
)
from pioneers.tokenizers import WordPiece

T = TypeVar("T")
B = TypeVar("B")

LONGEST_ANSWER = 30  # tokens


def drawn(rows: Sequence[T], make: Callable[[list[T]], B], batch_size: int, seed: int) -> Callable[[int], B]:
    """Make random batches of rows, sampled with replacement: step → batch."""

    def batch(step: int) -> B:
        places = np.random.default_rng((seed, step)).integers(len(rows), size=batch_size)
        return make([rows[place] for place in places])

    return batch


def in_turn(rows: Sequence[T], size: int) -> Iterator[list[T]]:
    """Cut rows into lists of at most ``size``."""
    for start in range(0, len(rows), size):
        yield list(rows[start : start + size])


def moved(batch: Any, device: torch.device) -> Any:
    """Move every tensor of nested tuples to a device."""
    if isinstance(batch, Tensor):
        return batch.to(device)
    parts = [moved(part, device) for part in batch]
    return type(batch)(*parts) if hasattr(batch, "_fields") else tuple(parts)


def run_encoder(model: Any, inputs: BERTInputs, **how: Any) -> Tensor:
    """Run a model on a batch; segments are told only where there are two texts."""
    segments = inputs.segment_ids if bool(inputs.segment_ids.any()) else None
    return model(inputs.input_ids, segment_ids=segments, mask=inputs.mask, **how)


def classified(
    rows: Sequence[Example], labels: Sequence[str], tokenizer: WordPiece, seq_len: int
) -> tuple[BERTInputs, Tensor]:
    """Collate labelled texts; a label that is not among ``labels`` is -100."""
    known = {name: number for number, name in enumerate(labels)}
    first, *second = zip(*(row.texts for row in rows), strict=True)
    if second:
        inputs = pair_inputs(first, second[0], tokenizer, max_seq_len=seq_len)
    else:
        inputs = text_inputs(first, tokenizer, max_seq_len=seq_len)
    return inputs, torch.tensor([known.get(row.label, -100) for row in rows])


def tagged(
    rows: Sequence[TaggedSentence], labels: Sequence[str], tokenizer: WordPiece, seq_len: int
) -> tuple[BERTInputs, Tensor]:
    """Collate tagged sentences; a tag that is not among ``labels`` is -100."""
    known = {name: number for number, name in enumerate(labels)}
    numbers = [[known.get(tag, -100) for tag in row.tags] for row in rows]
    return tagging_inputs([row.words for row in rows], numbers, tokenizer, max_seq_len=seq_len)


def asked(rows: Sequence[Question], tokenizer: WordPiece, seq_len: int) -> QuestionInputs:
    """Collate questions; the first accepted answer counts."""
    spans = [
        (row.answers[0].start, row.answers[0].start + len(row.answers[0].text)) if row.answers else None
        for row in rows
    ]
    texts = [row.question for row in rows], [row.context for row in rows]
    return question_inputs(*texts, spans, tokenizer, max_seq_len=seq_len)


@torch.no_grad()
def found_tags(
    model: Any, sentences: Sequence[Sequence[str]], tokenizer: WordPiece, seq_len: int
) -> list[list[int]]:
    """Tag words: a number for each, -1 for those beyond the model's length or without a token."""
    marks = [list(range(len(words))) for words in sentences]
    inputs, places = tagging_inputs(sentences, marks, tokenizer, max_seq_len=seq_len)
    device = next(model.parameters()).device
    best = run_encoder(model, moved(inputs, device)).argmax(-1).cpu()
    found = [[-1] * len(words) for words in sentences]
    for row, (numbers, where) in enumerate(zip(best.tolist(), places.tolist(), strict=True)):
        for number, place in zip(numbers, where, strict=True):
            if place >= 0:
                found[row][place] = number
    return found


@torch.no_grad()
def found_answers(model: Any, rows: Sequence[Question], tokenizer: WordPiece, seq_len: int) -> list[str]:
    """Answer questions; "" where the model finds no answer."""
    device = next(model.parameters()).device
    batch = moved(asked(rows, tokenizer, seq_len), device)
    spans = best_span(run_encoder(model, batch.inputs, allowed=batch.allowed), max_length=LONGEST_ANSWER)
    return batch.answers([row.context for row in rows], spans)

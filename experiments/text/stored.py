"""Go on pretraining the stored BERT on rows of text, and fine-tune it to answer questions with a span."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from experiments.bert_documents import FOLDER, sentences
from experiments.text.finetuning import train
from experiments.text.tokens import chosen, questions, span_logits
from pioneers import from_pretrained
from pioneers.analysis import exact_match, overlap_f1
from pioneers.device import best_device, seed_everything
from pioneers.models import BERT, BERTForPretraining, BERTReader, best_span
from pioneers.objectives import (
    BERTInputs,
    QuestionInputs,
    doc_sentences,
    full_sentences,
    padded_inputs,
    question_inputs,
    segment_pairs,
    sentence_pairs,
    span_loss,
)
from pioneers.tokenizers import WordPiece
from pioneers.training import TrainConfig, fit
from pioneers.weights import load_tokenizer

SEQ_LEN = 64
TASK = "run-on"
FORMATS: dict[str, Callable[..., Any]] = {
    "segment pairs": segment_pairs,
    "sentence pairs": sentence_pairs,
    "full sentences": full_sentences,
    "one document": doc_sentences,
}
PAIRS = ("segment pairs", "sentence pairs")  # with next-sentence prediction


class Rows(NamedTuple):
    """Rows of one format.

    Attributes:
        inputs: N rows.
        labels: ``(N,)``, 0 if the second part of a pair follows the first and 1 if it does not; all 0 without
            pairs.
    """

    inputs: BERTInputs
    labels: Tensor


@functools.cache
def vocabulary() -> WordPiece:
    """That of the stored BERT."""
    return load_tokenizer(FOLDER)


def stored() -> BERTForPretraining:
    """The stored BERT, anew at each call."""
    return from_pretrained(FOLDER).float().to(best_device())


@functools.cache
def token_ids(split: str) -> list[list[list[int]]]:
    """The documents of a split, each a list of sentences of token ids."""
    return [[vocabulary().encode(sentence) for sentence in text] for text in sentences(split)]


@functools.cache
def formatted(form: str, split: str, seed: int) -> Rows:
    """All rows of a split in a format, the shortest first; the seed draws the pairs."""
    drawn = {"seed": seed} if form in PAIRS else {}
    texts = FORMATS[form](token_ids(split), vocabulary(), max_seq_len=SEQ_LEN, **drawn)
    texts = sorted(texts, key=lambda text: len(text.inputs.input_ids))
    labels = torch.tensor([int(text.is_next is False) for text in texts])
    return Rows(padded_inputs([text.inputs for text in texts], vocabulary()), labels)


def some_rows(rows: Rows, tokens: int, draw: torch.Generator) -> Rows:
    """Rows of about the same length with ``tokens`` tokens together, give or take a row, padding aside."""
    ends = rows.inputs.lengths.cumsum(0)  # (N,)
    start = torch.randint(int(ends[-1]) - tokens, (1,), generator=draw)
    first, after = torch.searchsorted(ends, torch.cat([start, start + tokens]), right=True).tolist()
    lengths = rows.inputs.lengths[first:after]
    ids, segments = (part[first:after, : lengths.max()] for part in rows.inputs[:2])
    return Rows(BERTInputs(ids, segments, lengths), rows.labels[first:after])


def go_on(
    model: nn.Module,
    loss: Callable[[Any, Any], Tensor],
    batch: Callable[[int], Any],
    *,
    seed: int,
    lr: float,
    steps: int,
) -> None:
    """Train for some more steps, with a warm-up over a tenth of them and a decay to zero."""
    seed_everything(seed)
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 10, schedule="linear", betas=(0.9, 0.98),
        weight_decay=0.01, log_every=steps, seed=seed,
    )  # fmt: skip
    fit(model, loss, batch, recipe)
    model.eval()


def asked(rows: Sequence[Any]) -> QuestionInputs:
    """Questions as a BERT gets them."""
    ranges = [(row.answers[0].start, row.answers[0].start + len(row.answers[0].text)) for row in rows]
    return question_inputs(
        [row.question for row in rows], [row.context for row in rows], ranges, vocabulary(),
        max_seq_len=SEQ_LEN,
    )  # fmt: skip


def finetune_reader(
    bert: BERT, seed: int, *, lr: float, steps: int, judged_on: str = "test"
) -> dict[str, float]:
    """Train a BERT to find the first two words of the second of two sentences that run on.

    Args:
        bert: the model; it is changed.
        seed: of the new head and the batches.
        lr: highest learning rate.
        steps: of 16 questions each.
        judged_on: ``"test"``, or ``"validation"`` to choose a rate by.

    Returns:
        Exact match and F1 of its answers.
    """
    torch.manual_seed(seed)
    reader = BERTReader(bert)
    seen, judges = chosen(questions(TASK, "train"), questions(TASK, "test"), seed, None, judged_on)

    def loss_fn(reader: nn.Module, rows: Sequence[Any]) -> Tensor:
        batch = asked(rows)
        return span_loss(span_logits(reader, batch), batch.starts, batch.ends)

    train(reader, loss_fn, seen, seed, lr=lr, steps=steps)
    given: list[str] = []
    with torch.inference_mode():
        for some in (judges[i : i + 64] for i in range(0, len(judges), 64)):
            batch = asked(some)
            spans = best_span(span_logits(reader, batch)[:, 1:], max_length=8) + 1
            given += batch.answers([row.context for row in some], spans)
    right = [row.answers[0].text for row in judges]
    return {"exact_match": exact_match(given, right), "f1": overlap_f1(given, right)}

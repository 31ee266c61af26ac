"""Fine-tune a BERT on tasks about single tokens, tags and the answers to questions, and on any other task."""

import functools
import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from experiments.text.finetuning import STEPS, finetune, marks, on_device, states, train
from experiments.text.more_tasks import cloze_questions, punctuation
from experiments.text.pretraining import SEQ_LEN, vocabulary
from experiments.text.tasks import drawn, part
from pioneers.analysis import exact_match, overlap_f1
from pioneers.data import (
    code_words,
    sentence_boundary_qa,
    squad2,
    ud_english_ewt,
)
from pioneers.models import BERTForPretraining, BERTReader, BERTTagger, best_span
from pioneers.objectives import (
    BERTInputs,
    QuestionInputs,
    question_inputs,
    span_loss,
    tagging_inputs,
    tagging_loss,
)

TAGGING = ("code words", "ewt", "punctuation")
QUESTIONS = ("cloze", "run-on", "squad")
WINDOW = 32  # words of a long text that a question is put to at a time


def finetune_task(model: nn.Module, task: str, seed: int, **how: Any) -> dict[str, float]:
    """Train a model on a task of any shape; returns its marks.

    Arguments as for :func:`experiments.text.finetuning.finetune`; ``num_labels`` counts sentences where words
    are tagged, and questions where answers are found.
    """
    if task in QUESTIONS:
        return finetune_questions(model, task, seed, **how)
    return (finetune_tags if task in TAGGING else finetune)(model, task, seed, **how)


def chosen(
    train_rows: Sequence[Any], test_rows: Sequence[Any], seed: int, num_labels: int | None, judged_on: str
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Those of the rows that a model trains with, and those that it is judged by."""
    if judged_on == "test" and num_labels is None:
        return train_rows, test_rows
    judges = test_rows if judged_on == "test" else part(train_rows, judged_on)
    return drawn(part(train_rows, "train"), num_labels, seed), judges


@functools.cache
def tagged(task: str) -> tuple[list[Any], list[Any], list[str]]:
    """Sentences to train with and to judge by, and the names of their tags."""
    if task == "ewt":
        train, test = ud_english_ewt("validation"), ud_english_ewt("test")
    else:
        read = {"code words": code_words, "punctuation": punctuation}[task]
        train, test = read("train"), read("test")
    return train, test, sorted({tag for sentence in (*train, *test) for tag in sentence.tags})


def tag_batch(task: str, sentences: Sequence[Any]) -> tuple[BERTInputs, Tensor]:
    """Sentences as a BERT gets them, and the tags ``(B, T)``."""
    number = {tag: i for i, tag in enumerate(reversed(tagged(task)[2]))}  # TEXT 0, CODE 1
    tags = [[number[tag] for tag in sentence.tags] for sentence in sentences]
    words = [sentence.words for sentence in sentences]
    inputs, targets = tagging_inputs(words, tags, vocabulary("bert"), max_seq_len=SEQ_LEN)
    return on_device(inputs), on_device(targets)


def finetune_tags(
    model: BERTForPretraining,
    task: str,
    seed: int,
    *,
    lr: float,
    num_labels: int | None = None,
    judged_on: str = "test",
) -> dict[str, float]:
    """Train a BERT to tag every word; marks of the words that fit into a row. Arguments as above."""
    torch.manual_seed(seed)
    train_rows, test_rows, names = tagged(task)
    train_rows, test_rows = chosen(train_rows, test_rows, seed, num_labels, judged_on)
    tagger = BERTTagger(model.bert, len(names))

    def logits(inputs: BERTInputs) -> Tensor:
        return tagger(inputs.input_ids, segment_ids=inputs.segment_ids, mask=inputs.mask)

    def loss_fn(_: nn.Module, rows: Sequence[Any]) -> Tensor:
        inputs, tags = tag_batch(task, rows)
        return tagging_loss(logits(inputs), tags)

    train(tagger, loss_fn, train_rows, seed, lr=lr, steps=STEPS[num_labels or 1000])
    with torch.inference_mode():
        found = [
            (tags[tags >= 0], logits(inputs).argmax(-1)[tags >= 0])
            for i in range(0, len(test_rows), 64)
            for inputs, tags in [tag_batch(task, test_rows[i : i + 64])]
        ]
    return marks(*(torch.cat(part).cpu() for part in zip(*found, strict=True)))


@torch.inference_mode()
def probe_tags(model: BERTForPretraining, task: str) -> dict[str, float]:
    """Frozen features: logistic regression on the last state of the first piece of every word."""

    def features(sentences: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        found = []
        for start in range(0, len(sentences), 64):
            inputs, tags = tag_batch(task, sentences[start : start + 64])
            hidden, _ = states(model.bert, inputs, "mean")
            found.append((hidden[tags >= 0].float().cpu().numpy(), tags[tags >= 0].cpu().numpy()))
        return tuple(np.concatenate(part) for part in zip(*found, strict=True))

    train_rows, test_rows, _ = tagged(task)
    seen, tags = features(train_rows)
    centre, scale = seen.mean(0), seen.std(0)
    fitted = LogisticRegression(C=0.1, max_iter=500).fit((seen - centre) / scale, tags)
    asked, truth = features(test_rows)
    return marks(torch.from_numpy(truth), torch.from_numpy(fitted.predict((asked - centre) / scale)))


class Window(NamedTuple):
    """A question and a part of the text that is searched for its answer.

    Attributes:
        number: of the question.
        question: as asked.
        text: the part.
        answer: half-open range of characters of the part; None if the answer is not in it.
    """

    number: int
    question: str
    text: str
    answer: tuple[int, int] | None


@functools.cache
def questions(task: str, split: str) -> list[Any]:
    """Questions that have an answer; a fifth of SQuAD's paragraphs is held out."""
    if task != "squad":
        return {"cloze": cloze_questions, "run-on": sentence_boundary_qa}[task](split)
    answered = [question for question in squad2("sample") if question.answers]
    contexts = list(dict.fromkeys(question.context for question in answered))
    held_out = set(contexts[-len(contexts) // 5 :])
    return [question for question in answered if (question.context in held_out) == (split == "test")]


def windows(rows: Sequence[Any]) -> list[Window]:
    """Every question with all parts of its context, each of which overlaps the next by half."""
    found = []
    for number, row in enumerate(rows):
        begin = row.answers[0].start
        end = begin + len(row.answers[0].text)
        words = [match.span() for match in re.finditer(r"\S+", row.context)]
        for first in range(0, max(1, len(words) - WINDOW // 2), WINDOW // 2):
            a, b = words[first][0], words[first : first + WINDOW][-1][1]
            answer = (begin - a, end - a) if a <= begin and end <= b else None
            found.append(Window(number, row.question, row.context[a:b], answer))
    return found


def question_batch(rows: Sequence[Window]) -> QuestionInputs:
    """Windows as a BERT gets them."""
    _, asked, texts, answers = zip(*rows, strict=True)
    return on_device(question_inputs(asked, texts, answers, vocabulary("bert"), max_seq_len=SEQ_LEN))


def finetune_questions(
    model: BERTForPretraining,
    task: str,
    seed: int,
    *,
    lr: float,
    num_labels: int | None = None,
    judged_on: str = "test",
) -> dict[str, float]:
    """Train a BERT to find answers; their exact match and F1. Arguments as above."""
    torch.manual_seed(seed)
    reader = BERTReader(model.bert)
    train_rows, asked = questions(task, "train"), questions(task, "test")
    train_rows, asked = chosen(train_rows, asked, seed, num_labels, judged_on)

    def loss_fn(reader: nn.Module, rows: Sequence[Window]) -> Tensor:
        batch = question_batch(rows)
        return span_loss(span_logits(reader, batch), batch.starts, batch.ends)

    train(reader, loss_fn, windows(train_rows), seed, lr=lr, steps=STEPS[num_labels])
    given, right = answers(reader, asked), [row.answers[0].text for row in asked]
    return {"exact_match": exact_match(given, right), "f1": overlap_f1(given, right)}


def span_logits(reader: nn.Module, batch: QuestionInputs) -> Tensor:
    """Two for each token, ``(B, T, 2)``: that an answer starts there, that it ends there."""
    inputs = batch.inputs
    return reader(inputs.input_ids, segment_ids=inputs.segment_ids, mask=inputs.mask, allowed=batch.allowed)


@torch.inference_mode()
def answers(reader: nn.Module, asked: Sequence[Any]) -> list[str]:
    """The best span of all windows of each question."""
    best = [(-math.inf, "")] * len(asked)
    rows = windows(asked)
    for some in (rows[i : i + 64] for i in range(0, len(rows), 64)):
        batch = question_batch(some)
        scores = span_logits(reader, batch)
        spans = best_span(scores[:, 1:], max_length=8) + 1
        row = torch.arange(len(some), device=scores.device)
        gain = scores[row, spans[:, 0], 0] + scores[row, spans[:, 1], 1] - scores[:, 0].sum(-1)
        texts = batch.answers([window.text for window in some], spans)
        for window, score, text in zip(some, gain.tolist(), texts, strict=True):
            best[window.number] = max(best[window.number], (score, text))
    return [text for _, text in best]

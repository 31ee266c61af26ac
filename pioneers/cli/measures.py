"""Measures of a model on held-out data: loss and perplexity, accuracy and F1, exact match, BLEU and chrF."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from pioneers.analysis.answers import exact_match, overlap_f1
from pioneers.cli.batches import classified, found_answers, found_tags, in_turn, moved, run_encoder
from pioneers.cli.examples import Example
from pioneers.cli.translate import translation
from pioneers.data import ImageSet, Question, TaggedSentence
from pioneers.extras import import_extra
from pioneers.objectives import causal_lm, causal_lm_loss, classification_loss

Measures = dict[str, Any]
NONE = "O"  # the tag of a word outside of all spans


@torch.no_grad()
def of_text(model: Any, tokenizer: Any, text: str, seq_len: int, batch_size: int) -> Measures:
    """Measure a language model on a text, cut into windows of ``seq_len`` tokens that do not overlap.

    Raises:
        ValueError: the text has fewer than two tokens.
    """
    ids = torch.tensor(tokenizer.encode(text), device=next(model.parameters()).device)
    if len(ids) < 2:
        raise ValueError("the text has fewer than two tokens; give a longer one")
    places = range(0, len(ids) - 1, seq_len)
    whole = [ids[place : place + seq_len + 1] for place in places if place + seq_len < len(ids)]
    parts: list[Tensor] = [torch.stack(rows) for rows in in_turn(whole, batch_size)]
    if len(whole) < len(places):
        parts.append(ids[places[len(whole)] :][None])
    nats = 0.0
    for part in parts:
        inputs, targets = causal_lm(part)
        nats += causal_lm_loss(model(inputs), targets).item() * targets.numel()
    loss = nats / (len(ids) - 1)
    return {
        "tokens": len(ids) - 1,
        "loss": loss,
        "perplexity": math.exp(loss) if loss < 700 else math.inf,
        "bits_per_character": nats / math.log(2) / len(text),
    }


@torch.no_grad()
def of_classes(model: Any, batches: Sequence[tuple[Any, Tensor]], run: Any) -> Measures:
    """Measure a classifier on batches of inputs and labels; F1 is the mean over the classes (macro)."""
    device = next(model.parameters()).device
    found, right, nats = [], [], 0.0
    for batch in batches:
        inputs, labels = moved(batch, device)
        logits = run(model, inputs)
        nats += classification_loss(logits, labels).item() * len(labels)
        found += logits.argmax(-1).tolist()
        right += labels.tolist()
    agree = sum(a == b for a, b in zip(found, right, strict=True))
    return {
        "examples": len(right),
        "loss": nats / len(right),
        "accuracy": agree / len(right),
        "macro_f1": macro_f1(found, right),
    }


def of_texts(model: Any, tokenizer: Any, rows: Sequence[Example], seq_len: int, batch_size: int) -> Measures:
    """Measure a classifier of texts."""
    known = model.labels or tuple(map(str, range(model.num_classes)))
    unknown = {row.label for row in rows} - {*known}
    if unknown:
        raise ValueError(f"the data have the label {min(unknown)!r}; the model knows {', '.join(known)}")
    parts = [classified(part, known, tokenizer, seq_len) for part in in_turn(rows, batch_size)]
    return of_classes(model, parts, run_encoder)


def of_images(model: Any, images: ImageSet, batch_size: int) -> Measures:
    """Measure a classifier of images."""
    parts = list(zip(*(part.split(batch_size) for part in images), strict=True))
    return of_classes(model, parts, lambda model, batch: model(batch))


def of_tags(
    model: Any, tokenizer: Any, rows: Sequence[TaggedSentence], seq_len: int, batch_size: int
) -> Measures:
    """Measure a tagger: words beyond the model's length count as wrong.

    Where the tags are ``B-…``, ``I-…`` and ``O``, F1 is that of spans that agree in kind and both ends, over
    all of them, as seqeval counts (micro); else it is that of words, the mean over the tags (macro).
    """
    names = [*(model.labels or map(str, range(model.num_tags))), ""]  # "" is number -1
    found = [
        [names[number] for number in numbers]
        for part in in_turn(rows, batch_size)
        for numbers in found_tags(model, [row.words for row in part], tokenizer, seq_len)
    ]
    pairs = [
        (a, b) for row, tags in zip(rows, found, strict=True) for a, b in zip(tags, row.tags, strict=True)
    ]
    numbers: Measures = {"words": len(pairs), "accuracy": sum(a == b for a, b in pairs) / len(pairs)}
    given = {tag for row in rows for tag in row.tags}
    if given - {NONE} and all(tag == NONE or tag[:2] in ("B-", "I-", "E-", "S-") for tag in given):
        return numbers | {"span_f1": span_f1(found, [row.tags for row in rows])}
    return numbers | {"macro_f1": macro_f1([a for a, _ in pairs], [b for _, b in pairs])}


def of_questions(
    model: Any, tokenizer: Any, rows: Sequence[Question], seq_len: int, batch_size: int
) -> Measures:
    """Measure a reader as SQuAD does: the best over the accepted answers, "" where there is none."""
    found = [
        answer
        for part in in_turn(rows, batch_size)
        for answer in found_answers(model, part, tokenizer, seq_len)
    ]
    accepted = [[answer.text for answer in row.answers] or [""] for row in rows]
    both = {"exact_match": exact_match, "f1": overlap_f1}
    return {"questions": len(rows)} | {
        name: sum(
            max(measure([given], [right]) for right in some)
            for given, some in zip(found, accepted, strict=True)
        )
        / len(rows)
        for name, measure in both.items()
    }


def of_pairs(model: Any, tokenizer: Any, pairs: Sequence[tuple[str, str]], beams: int) -> Measures:
    """Measure translations by BLEU and chrF, with sacrebleu's signatures."""
    sacrebleu = import_extra("sacrebleu", "metrics")
    found = [translation(model, tokenizer, source, beams=beams, alpha=0.6) for source, _ in pairs]
    numbers: Measures = {"pairs": len(pairs)}
    for name, metric in (("bleu", sacrebleu.BLEU()), ("chrf", sacrebleu.CHRF())):
        numbers[name] = metric.corpus_score(found, [[target for _, target in pairs]]).score
        numbers[f"{name}_signature"] = str(metric.get_signature())
    return numbers


def macro_f1(found: Sequence[Any], right: Sequence[Any]) -> float:
    """Compute the mean F1 of the classes that occur in ``right``.

    Example:
        >>> macro_f1(["a", "a", "b"], ["a", "b", "b"])
        0.6666666666666666
    """
    scores = []
    for name in sorted(set(right)):
        shared = sum(a == b == name for a, b in zip(found, right, strict=True))
        scores.append(2 * shared / (list(found).count(name) + list(right).count(name)))
    return sum(scores) / len(scores)


def span_f1(found: Sequence[Sequence[str]], right: Sequence[Sequence[str]]) -> float:
    """Compute the F1 of all spans, which must agree in kind and in both ends: seqeval's default.

    Example:
        >>> span_f1([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "O"]])
        0.6666666666666666
    """
    ours, theirs = (
        {(row, *span) for row, tags in enumerate(side) for span in spans(tags)} for side in (found, right)
    )
    return 2 * len(ours & theirs) / (len(ours) + len(theirs)) if ours or theirs else 1.0


def spans(tags: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Find the spans in tags such as ``B-PER``: their kind, first word, and the word behind them.

    Example:
        >>> list(spans(["B-PER", "I-PER", "B-PER", "O", "I-LOC"]))
        [('PER', 0, 2), ('PER', 2, 3), ('LOC', 4, 5)]
    """
    kind, start, ended = None, 0, False
    for place, tag in enumerate([*tags, NONE]):
        prefix, _, name = tag.partition("-")
        inside = prefix in ("I", "E") and kind == name and not ended
        if kind is not None and not inside:
            yield kind, start, place
            kind = None
        if prefix in ("B", "I", "E", "S") and not inside:
            kind, start = name, place
        ended = prefix in ("E", "S")

"""Exercise 5.1: the row that BERT reads, ``[CLS] a [SEP] b [SEP]``, its segments and its padding.

Whole numbers go in and come out.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Mistake, Probe

Ids = list[int]
Texts = list[Ids]
Part = tuple[Ids, int]
SPECIAL = {"cls_id": 2, "sep_id": 3, "pad_id": 0}


def _longest_first(texts: Texts, room: int) -> Texts:
    kept = [list(text) for text in texts]
    while sum(map(len, kept)) > room:
        max(kept, key=len).pop()
    return kept


def _parts(texts: Texts, cls: int, sep: int) -> list[Part]:
    first, *second = texts
    return [([cls, *first, sep], 0), *(([*text, sep], 1) for text in second)]


def lay_out(
    parts: Callable[[Texts, int, int], list[Part]] = _parts,
    cut: Callable[[Texts, int], Texts] = _longest_first,
    real: Callable[[Tensor, int, Tensor], Tensor] = lambda at, length, special: at < length,
    pad_segment: int = 0,
    pads: bool = True,
) -> Callable[..., Tensor]:
    """A row from a way to join texts, to shorten them, and to say which tokens are real."""

    def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id) -> Tensor:
        texts = [a.tolist()] if b is None else [a.tolist(), b.tolist()]
        joined = parts(cut(texts, max_seq_len - len(texts) - 1), cls_id, sep_id)
        ids = [i for part, _ in joined for i in part][:max_seq_len]
        segments = [segment for part, segment in joined for _ in part][:max_seq_len]
        length, missing = len(ids), max_seq_len - len(ids) if pads else 0
        row = torch.tensor([ids + [pad_id] * missing, segments + [pad_segment] * missing])
        special = (row[0] == cls_id) | (row[0] == sep_id)
        return torch.stack([*row, real(torch.arange(row.shape[1]), length, special).long()])

    return bert_row


def _row_probes() -> list[Probe]:
    def probe(name: str, a: Ids, b: Ids | None, max_seq_len: int, **special: int) -> Probe:
        second = None if b is None else torch.tensor(b)
        sizes = {"max_seq_len": max_seq_len, **SPECIAL, **special}
        return Probe(name, {"a": torch.tensor(a), "b": second, **sizes})

    return [
        probe("a pair with room to spare", [7, 5, 11], [13, 17], 11),
        probe("a pair that just fits", [7, 5], [13, 17, 19], 8),
        probe("the second text is the longer one, and too long", [7, 5], [11, 12, 13, 14, 15, 16, 17], 8),
        probe("the first text is the longer one, and too long", [11, 12, 13, 14, 15, 16], [7, 5, 6], 9),
        probe("two long texts, an odd room", [11, 12, 13, 14, 15, 16], [21, 22, 23, 24, 25], 10),
        probe("one text", [7, 5, 11], None, 7),
        probe("one text, too long", [11, 12, 13, 14, 15], None, 5),
        probe("other special tokens", [7, 5], [13], 11, cls_id=101, sep_id=102, pad_id=1),
    ]


def _first_sep_with_b(texts: Texts, cls: int, sep: int) -> list[Part]:
    first, *second = texts
    if not second:
        return _parts(texts, cls, sep)
    return [([cls, *first], 0), ([sep, *second[0], sep], 1)]


def _last_sep_in_first(texts: Texts, cls: int, sep: int) -> list[Part]:
    first, *second = texts
    return [([cls, *first, sep], 0), *(part for text in second for part in ((text, 1), ([sep], 0)))]


def _one_sep(texts: Texts, cls: int, sep: int) -> list[Part]:
    first, *second = texts
    return [([cls, *first, sep], 0), *((text, 1) for text in second)]


def _two_cls(texts: Texts, cls: int, sep: int) -> list[Part]:
    first, *second = texts
    return [([cls, *first, sep], 0), *(([cls, *text, sep], 1) for text in second)]


def _always_two(texts: Texts, cls: int, sep: int) -> list[Part]:
    return _parts(texts if len(texts) == 2 else [*texts, []], cls, sep)


def _only_second(texts: Texts, room: int) -> Texts:
    *first, last = texts
    return [*first, last[: max(0, room - sum(map(len, first)))]]


def _ties_to_b(texts: Texts, room: int) -> Texts:
    return _longest_first(texts[::-1], room)[::-1]


def _halves(texts: Texts, room: int) -> Texts:
    return [text[: room // len(texts)] for text in texts]


def _ends(texts: Texts, room: int) -> Texts:
    return [kept[::-1] for kept in _longest_first([text[::-1] for text in texts], room)]


MISTAKES = (
    Mistake(
        "the whole row is cut at its end",
        "Shorten the texts first and join them then: a row cut at its end loses its last [SEP].",
        lay_out(cut=lambda texts, room: texts),
    ),
    Mistake(
        "the last [SEP] is missing",
        "[SEP] ends each text: a pair has two, one text has one.",
        lay_out(_one_sep),
    ),
    Mistake(
        "the first [SEP] counted to the second text",
        "[SEP] ends a text and belongs to it: segment 1 begins with the first token of b.",
        lay_out(_first_sep_with_b),
    ),
    Mistake(
        "the last [SEP] counted to the first text",
        "[SEP] ends a text and belongs to it: the last one is in segment 1.",
        lay_out(_last_sep_in_first),
    ),
    Mistake(
        "a [CLS] for each text",
        "There is one [CLS], at the very front: it stands for the whole input.",
        lay_out(_two_cls),
    ),
    Mistake(
        "one text with two [SEP]",
        "When b is None there is one text, ended by one [SEP], all in segment 0.",
        lay_out(_always_two),
    ),
    Mistake(
        "only the second text is cut",
        "The longer text loses its end, token by token, whichever it is.",
        lay_out(cut=_only_second),
    ),
    Mistake(
        "of two equally long texts the second is cut",
        "When both are equally long, the first loses a token.",
        lay_out(cut=_ties_to_b),
    ),
    Mistake(
        "half of the room for each text",
        "A short text leaves its room to the long one: nothing is cut before the room is full.",
        lay_out(cut=_halves),
    ),
    Mistake(
        "the beginning is cut off",
        "Too long a text loses its end, not its beginning.",
        lay_out(cut=_ends),
    ),
    Mistake(
        "padding in segment 1",
        "Behind the last [SEP] the segment is 0, as everywhere that is not b.",
        lay_out(pad_segment=1),
    ),
    Mistake(
        "1 means padding",
        "The third row is BERT's mask: 1 for a real token, 0 for padding.",
        lay_out(real=lambda at, length, special: at >= length),
        section="sec-padding",
        equation="eq-mask",
    ),
    Mistake(
        "special tokens taken for padding",
        "[CLS] and [SEP] are real tokens, which the others attend to; only [PAD] is not.",
        lay_out(real=lambda at, length, special: (at < length) & ~special),
    ),
    Mistake(
        "not padded",
        "All rows of a batch have max_seq_len tokens: fill up with pad_id.",
        lay_out(pads=False),
    ),
)

EXERCISES = (
    Exercise(
        key="5.1",
        name="bert_row",
        parameters=("a", "b", "max_seq_len", "cls_id", "sep_id", "pad_id"),
        points=9,
        section="sec-bert-inputs",
        equation="eq-bert-input",
        reference=lay_out(),
        probes=_row_probes,
        mistakes=MISTAKES,
    ),
)

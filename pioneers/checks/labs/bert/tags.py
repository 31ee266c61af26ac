"""Exercise 5.8: tags of words become targets of tokens, at the first piece of each word."""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run


def _first(words: Tensor) -> Tensor:
    start = torch.full_like(words[:, :1], -1)
    return words != torch.cat((start, words[:, :-1]), dim=1)


def tag(
    where: Callable[[Tensor], Tensor] = lambda words: _first(words) & (words >= 0), unasked: int = -100
) -> Callable[..., Tensor]:
    """Targets with another rule for where a tag stands, or another number elsewhere."""

    def tag_targets(words: Tensor, tags: Tensor) -> Tensor:
        return torch.where(where(words), tags.gather(1, words % tags.shape[1]), unasked)

    return tag_targets


def _tag_probes() -> list[Probe]:
    def probe(name: str, words: list[list[int]], tags: list[list[int]]) -> Probe:
        return Probe(name, {"words": torch.tensor(words), "tags": torch.tensor(tags)})

    words = [[-1, 0, 0, 1, 2, 2, 2, 3, -1, -1, -1], [-1, 0, 1, 1, 2, 3, 4, 4, 4, 4, -1]]
    tags = [[3, 1, 1, 0, 0], [2, 2, 0, 4, 1]]
    return [
        probe("two sentences of four and five words", words, tags),
        probe("a batch of one, every word one piece", [[-1, 0, 1, 2, -1]], [[1, 0, 5]]),
        probe("neighbours with the same tag", [[-1, 0, 0, 1, 1, 2, -1]], [[4, 4, 4]]),
        probe("a window without [CLS]", [[0, 0, 0, 0, 0], [0, 1, 1, 2, -1]], [[5, 3, 4], [2, 6, 1]]),
        probe("a row of padding", [[-1, 0, 1, 1, 2, 2, -1], [-1] * 7], [[0, 6, 3], [8, 9, 7]]),
    ]  # fmt: skip


def _one_row_each(run: Run) -> tuple[Tensor, Tensor]:
    probe = _tag_probes()[0]
    rows = [
        run(probe.having("law", **{name: x[i : i + 1] for name, x in probe.args.items()})).tensor
        for i in range(2)
    ]
    return run(probe).tensor, torch.cat(rows)


def _change_of_tag(words: Tensor, tags: Tensor) -> Tensor:
    every = tag(lambda words: words >= 0)(words, tags)
    before = torch.cat((torch.full_like(every[:, :1], -100), every[:, :-1]), dim=1)
    return torch.where(every != before, every, -100)


def _by_place(words: Tensor, tags: Tensor) -> Tensor:
    targets = torch.full_like(words, -100)
    count = min(tags.shape[1], words.shape[1] - 1)
    targets[:, 1 : 1 + count] = tags[:, :count]
    return targets


def _last_piece(words: Tensor) -> Tensor:
    return _first(words.flip(1)).flip(1) & (words >= 0)


NOT_IGNORED = (
    "another number than -100",
    "Only -100 is left out of the loss: 0 is a tag like any other, and -1 is no tag at all.",
)
MISTAKES = (
    Mistake(
        "every piece has the tag of its word",
        "The answer is read at the first piece only; otherwise a long word would count several times.",
        tag(lambda words: words >= 0),
    ),
    Mistake(
        "the tag stands at the last piece",
        "The convention is the first piece of each word.",
        tag(_last_piece),
    ),
    Mistake(
        "special tokens have the last tag",
        "words is -1 at [CLS], [SEP] and padding, and index -1 is the last tag: keep those at -100.",
        tag(_first),
    ),
    Mistake(
        "special tokens have the last tag",
        "words is -1 at [CLS], [SEP] and padding, and index -1 is the last tag: keep those at -100.",
        tag(lambda words: _first(words) | (words < 0)),
    ),
    *(Mistake(*NOT_IGNORED, tag(unasked=n)) for n in (0, -1)),
    Mistake(
        "a word begins where the tag changes",
        "Two neighbouring words may have the same tag: compare the numbers of the words.",
        _change_of_tag,
    ),
    Mistake(
        "one tag for each token in turn",
        "Words have one piece or several: words says to which word each token belongs.",
        _by_place,
    ),
    Mistake(
        "the row taken for a ring",
        "roll puts the last token before the first: the first token of a row has nothing before it.",
        tag(lambda words: (words != words.roll(1, 1)) & (words >= 0)),
    ),
    Mistake(
        "rows joined to one",
        "Each row has words of its own: what ends the row above does not stand before the next one.",
        tag(lambda words: _first(words.reshape(1, -1)).reshape(words.shape) & (words >= 0)),
    ),
    Mistake(
        "the first token of a row is never asked for",
        "A row need not begin with [CLS]: where its first token begins a word, there is a tag.",
        tag(lambda words: (_first(words) & (words >= 0)).index_fill(1, words.new_tensor([0]), False)),
    ),
)

EXERCISES = (
    Exercise(
        key="5.8",
        name="tag_targets",
        parameters=("words", "tags"),
        points=8,
        section="sec-task-tags",
        equation="",
        reference=tag(),
        probes=_tag_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "rows do not know each other", "Each sentence has its own words and tags.", _one_row_each
            ),
        ),
    ),
)

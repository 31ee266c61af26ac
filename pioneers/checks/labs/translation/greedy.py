"""Exercise 3.7: greedy decoding of a batch, each row until its own stop token.

The model is a table: ``log_probs`` (B, V, V) holds for each sentence the log-probability of the next token
(last axis) behind each last token.
"""

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run
from pioneers.checks.labs.translation.symptoms import NO_TENSOR


def _next(log_probs: Tensor, last: Tensor) -> Tensor:
    return log_probs[torch.arange(len(last), device=last.device), last].argmax(-1)


def _writing(
    follow: Callable[[Tensor, Tensor], Tensor] = _next, feed_back: bool = True
) -> Callable[[Tensor, int, int], Tensor]:
    """Tokens without regard to stops: (B, N)."""

    def write(log_probs: Tensor, start_id: int, count: int) -> Tensor:
        last = torch.full((len(log_probs),), start_id, device=log_probs.device)
        tokens = []
        for _ in range(count):
            token = follow(log_probs, last)
            tokens.append(token)
            last = token if feed_back else last
        return torch.stack(tokens, dim=1)

    return write


def _stops_before(tokens: Tensor, stop_id: int) -> Tensor:
    """How many stop tokens each place has before it."""
    stops = (tokens == stop_id).long()
    return stops.cumsum(1) - stops


def _decoding(
    write: Callable[[Tensor, int, int], Tensor],
) -> Callable[[Tensor, int, int, int, int], Tensor]:
    def greedy(log_probs: Tensor, start_id: int, stop_id: int, pad_id: int, max_new_tokens: int) -> Tensor:
        tokens = write(log_probs, start_id, max_new_tokens)
        return tokens.masked_fill(_stops_before(tokens, stop_id) > 0, pad_id)

    return greedy


greedy = _decoding(_writing())


def tables(seed: int, B: int, V: int, never: tuple[int, ...]) -> Tensor:
    """Random log-probabilities (B, V, V) in which the tokens ``never`` are all but impossible."""
    logits = 2 * normals(seed)(B, V, V)
    logits[..., list(never)] -= 30
    return logits.log_softmax(-1)


def chain(V: int, *texts: tuple[int, ...]) -> Tensor:
    """Log-probabilities (B, V, V) under which greedy decoding writes each text: every token has its next."""
    logits = torch.linspace(0, 1, V).repeat(len(texts), V, 1)
    for table, text in zip(logits, texts, strict=True):
        for last, token in pairwise(text):
            table[last, token] = 3.0
    return logits.log_softmax(-1)


def _probes() -> list[Probe]:
    def probe(name: str, log_probs: Tensor, start_id: int, stop_id: int, pad_id: int, most: int) -> Probe:
        ids = {"start_id": start_id, "stop_id": stop_id, "pad_id": pad_id, "max_new_tokens": most}
        return Probe(name, {"log_probs": log_probs} | ids)

    texts = (1, 5, 4, 3, 2, 6, 2), (1, 2, 4, 5, 3, 6), (1, 6, 4, 4)
    return [
        probe("rows that stop at different places, one of them never", chain(7, *texts), 1, 2, 0, 6),
        probe(
            "other ids for start, stop and padding", chain(7, (0, 3, 1, 6, 4), (0, 6, 3, 2, 5, 1)), 0, 6, 5, 5
        ),
        probe("a batch of one that stops at once", chain(5, (3, 4, 1, 2)), 3, 4, 0, 3),
        probe("three random tables", tables(371, 3, 11, (0, 1)), 1, 2, 0, 7),
        probe("a single step", tables(372, 2, 5, (3,)), 0, 1, 3, 1),
    ]


def _alone(run: Run) -> tuple[Tensor, Tensor]:
    probe = _probes()[3]
    together = run(probe).tensor
    rows = [run(probe.having("law", log_probs=row[None])).tensor for row in probe.args["log_probs"]]
    return torch.cat(rows), together


def _longer(run: Run) -> tuple[Tensor, Tensor]:
    probe = _probes()[0]
    return run(probe.having("law", max_new_tokens=4)).tensor, run(probe).tensor[:, :4]


def _never_ends(log_probs: Tensor, start_id: int, stop_id: int, pad_id: int, max_new_tokens: int) -> Tensor:
    return _writing()(log_probs, start_id, max_new_tokens)


def _until(ends: Callable[[Tensor], Tensor]) -> Callable[[Tensor, int, int, int, int], Tensor]:
    """All rows end together, where ``ends`` says so of the rows (B,) that have stopped."""

    def answer(log_probs: Tensor, start_id: int, stop_id: int, pad_id: int, max_new_tokens: int) -> Tensor:
        tokens = _writing()(log_probs, start_id, max_new_tokens)
        over = ends(_stops_before(tokens, stop_id) > 0)
        return tokens.masked_fill(over, pad_id)

    return answer


def _only_real(log_probs: Tensor, start_id: int, stop_id: int, pad_id: int, max_new_tokens: int) -> Tensor:
    tokens = greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens)
    return tokens.masked_fill(tokens == stop_id, pad_id)


def _stops_repeated(
    log_probs: Tensor, start_id: int, stop_id: int, pad_id: int, max_new_tokens: int
) -> Tensor:
    return greedy(log_probs, start_id, stop_id, stop_id, max_new_tokens)


def _cut(tokens: Tensor, pad_id: int) -> Tensor:
    return tokens[:, : int((tokens != pad_id).any(0).sum())]


def _with_start(log_probs: Tensor, start_id: int, stop_id: int, pad_id: int, max_new_tokens: int) -> Tensor:
    tokens = greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens)
    return torch.cat([torch.full_like(tokens[:, :1], start_id), tokens], dim=1)


TOGETHER = (
    "one row ends the others",
    "Each row has its own end: one that has stopped is padded while the others go on.",
)
MISTAKES = (
    NO_TENSOR,
    Mistake(
        "the stop token is not obeyed",
        "Behind its first stop token a row holds pad_id; what would come next is no part of the text.",
        _never_ends,
    ),
    Mistake(*TOGETHER, _until(lambda over: over.any(0))),
    Mistake(
        "rows that have stopped go on until the last one stops",
        "Each row has its own end: behind it stands pad_id, whatever the others still do.",
        _until(lambda over: over.all(0)),
    ),
    Mistake(
        "the stop token is left out",
        "The stop token is a token of the text, its last: the padding begins behind it.",
        _only_real,
    ),
    Mistake(
        "filled up with stop tokens",
        "A text has one stop token; behind it stands pad_id.",
        _stops_repeated,
    ),
    Mistake(
        "padding is always 0",
        "Use pad_id: 0 may well be a word.",
        lambda log_probs, start_id, stop_id, pad_id, most: greedy(log_probs, start_id, stop_id, 0, most),
    ),
    Mistake(
        "the start token is part of the text",
        "The decoder reads the start token but does not write it.",
        _with_start,
    ),
    Mistake(
        "the start token is part of the text",
        "The decoder reads the start token but does not write it, and it takes the place of a token.",
        lambda *args: _with_start(*args)[:, :-1],
    ),
    Mistake(
        "the token is not fed back",
        "The next token depends on the one just written: read it, not the start token again.",
        _decoding(_writing(feed_back=False)),
    ),
    Mistake(
        "one table for all rows",
        "Each sentence has its own source, so each row its own table.",
        lambda log_probs, *ids: greedy(log_probs[:1].expand_as(log_probs), *ids),
    ),
    Mistake(
        "read along the wrong axis",
        "log_probs[b, last] is the row of the last token; the next token is chosen along its last axis.",
        lambda log_probs, *ids: greedy(log_probs.mT, *ids),
    ),
    Mistake(
        "narrower when all rows end early",
        "Here the result always has max_new_tokens columns; the last ones may be padding only.",
        lambda log_probs, start_id, stop_id, pad_id, most: _cut(
            greedy(log_probs, start_id, stop_id, pad_id, most), pad_id
        ),
    ),
)

EXERCISES = (
    Exercise(
        key="3.7",
        name="greedy",
        parameters=("log_probs", "start_id", "stop_id", "pad_id", "max_new_tokens"),
        points=8,
        section="sec-greedy",
        equation="eq-search",
        reference=greedy,
        probes=_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "a row is decoded as it would be alone", "Rows of a batch do not see each other.", _alone
            ),
            Property(
                "more steps change nothing of the first ones",
                "Greedy decoding never changes its mind.",
                _longer,
            ),
        ),
    ),
)

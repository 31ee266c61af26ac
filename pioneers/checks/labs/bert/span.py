"""Exercise 5.9: the best legal span, or no answer; [CLS] is position 0. ``start`` and ``end`` are (B, T)."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run, Symptom

Legal = Callable[[Tensor, Tensor, Tensor, int], Tensor]


def _legal(i: Tensor, j: Tensor, allowed: Tensor, m: int) -> Tensor:
    return (i <= j) & (j < i + m) & allowed[i] & allowed[j]


def spans(
    legal: Legal = _legal,
    better: Callable[[Tensor, Tensor, float], Tensor] = lambda best, none, tau: best > none + tau,
    none: Callable[[Tensor, Tensor], Tensor] = lambda start, end: start[0] + end[0],
    fill: float = -torch.inf,
) -> Callable[..., Tensor]:
    """Best spans under another rule for what is legal, or for when an answer is given."""

    def best_span(start, end, allowed, max_length, tau=0.0) -> Tensor:
        at, T, found = torch.arange(start.shape[1], device=start.device), start.shape[1], []
        for s, e, a in zip(start, end, allowed, strict=True):
            possible = legal(at[:, None], at, a, max_length)
            scores = (s[:, None] + e).masked_fill(~possible, fill)
            best = int(scores.argmax())
            given = possible.any() and better(scores.flatten()[best], none(s, e), tau)
            found.append([best // T, best % T] if given else [0, 0])
        return torch.tensor(found)

    return best_span


def _span_probes() -> list[Probe]:
    normal = normals(591)

    def probe(name: str, B: int, T: int, first: int, last: int, max_length: int, low=9.0, **more) -> Probe:
        scores = {"start": 3 * normal(B, T), "end": 3 * normal(B, T)}
        for x in scores.values():
            x[:, 0] -= low
        at = torch.arange(T)
        allowed = ((at >= first) & (at <= last)).expand(B, T).clone()
        return Probe(name, {**scores, "allowed": allowed, "max_length": max_length, **more})

    plain = probe("seven rows of eleven tokens", 7, 11, 3, 9, 4)
    even = torch.tensor([[1.0, 0.0, 2.0, 4.0, 3.0], [1.0, 0.0, 2.0, 4.0, 3.0], [1.0, 9.0, 2.0, 4.0, 9.0]])
    context = torch.tensor([[0, 0, 1, 1, 0]]).bool().expand(3, 5)
    tied = {"start": even, "end": even, "allowed": context, "max_length": 2, "tau": 6.0}
    spread = probe("a context with holes", 5, 13, 2, 11, 5)
    holes = spread.args["allowed"] & (torch.arange(13) % 4 != torch.arange(5)[:, None] % 4)
    return [
        plain,
        plain.having("very low scores", **{name: plain.args[name] - 50 for name in ("start", "end")}),
        probe("answers of one token", 5, 7, 2, 6, 1),
        probe("a row shorter than the longest answer", 3, 5, 1, 4, 17),
        spread.having(spread.name, allowed=holes),
        probe("some rows without an answer", 11, 7, 2, 5, 3, low=-4.0),
        probe("a margin of 5", 11, 7, 2, 5, 3, low=0.0, tau=5.0),
        probe("a negative margin", 11, 7, 2, 5, 3, low=-6.0, tau=-4.0),
        Probe("exactly as good as no answer", tied),
        plain.having("no context at all", allowed=plain.args["allowed"] & False),
    ]  # fmt: skip


def _shifted_scores(run: Run) -> tuple[Tensor, Tensor]:
    probe = _span_probes()[5]
    moved = {"start": probe.args["start"] + 7, "end": probe.args["end"] - 5}
    return run(probe).tensor, run(probe.having("law", **moved)).tensor


def _apart(start, end, allowed, max_length, tau=0.0, swap: bool = False, after: bool = False) -> Tensor:
    """Start and end each by itself; perhaps exchanged, or the end sought behind the start."""
    low, found = -torch.inf, []
    for s, e, a in zip(start, end, allowed, strict=True):
        i, at = int(s.masked_fill(~a, low).argmax()), torch.arange(len(s))
        near = a & (at >= i) & (at < i + max_length) if after else a
        j = int(e.masked_fill(~near, low).argmax())
        pair = [j, i] if swap and j < i else [i, j]
        found.append(pair if a.any() and s[i] + e[j] > s[0] + e[0] + tau else [0, 0])
    return torch.tensor(found)


def _first_row(start, end, allowed, max_length, tau=0.0) -> Tensor:
    return spans()(start, end, allowed[:1].expand_as(allowed), max_length, tau)


def _answers_everything(symptom: Symptom) -> bool:
    """Every answer that there is was found, and one more where there is none."""

    def found(got: Tensor, want: Tensor) -> bool:
        answered = want.any(1)
        return torch.equal(got[answered], want[answered])

    return symptom.stage == "value" and all(
        found(case.outcome.tensor, case.expected.tensor) for case in symptom.cases
    )


APART = (
    "start and end chosen apart",
    "The best start and the best end need not fit together: compare pairs, all those that are legal.",
)
IGNORED = (
    "tokens outside of the context allowed",
    "An answer is a stretch of the context: start and end must both be allowed.",
)
MISTAKES = (
    Mistake(*APART, _apart),
    Mistake(*APART, partial(_apart, swap=True)),
    Mistake(
        "the end chosen after the start",
        "The best start may have poor ends behind it: the pair with the highest sum may begin elsewhere.",
        partial(_apart, after=True),
    ),
    Mistake(
        "the end may come before the start",
        "A span has start ≤ end.",
        spans(lambda i, j, allowed, m: ((j - i).abs() < m) & allowed[i] & allowed[j]),
    ),
    Mistake(
        "the end may come before the start",
        "A span has start ≤ end.",
        spans(lambda i, j, allowed, m: (j < i + m) & allowed[i] & allowed[j]),
    ),
    Mistake(
        "one token too many",
        "A span from i to j has j - i + 1 tokens: the last legal end is i + m - 1.",
        spans(lambda i, j, allowed, m: (i <= j) & (j <= i + m) & allowed[i] & allowed[j]),
    ),
    Mistake(
        "answers of one token excluded",
        "Start and end may be the same token: start ≤ end.",
        spans(lambda i, j, allowed, m: (i < j) & (j < i + m) & allowed[i] & allowed[j]),
    ),
    Mistake(
        "max_length is ignored",
        "A span has at most max_length tokens.",
        spans(lambda i, j, allowed, m: (i <= j) & allowed[i] & allowed[j]),
    ),
    Mistake(*IGNORED, spans(lambda i, j, allowed, m: (i <= j) & (j < i + m) & (i > 0))),
    Mistake(*IGNORED, spans(lambda i, j, allowed, m: (i <= j) & (j < i + m))),
    Mistake(
        "only the start is in the context",
        "The end must be allowed too.",
        spans(lambda i, j, allowed, m: (i <= j) & (j < i + m) & allowed[i]),
    ),
    Mistake(
        "only the end is in the context",
        "The start must be allowed too.",
        spans(lambda i, j, allowed, m: (i <= j) & (j < i + m) & allowed[j]),
    ),
    Mistake(
        "always an answer",
        "When no span beats [CLS] by more than the margin, the answer is (0, 0).",
        spans(better=lambda best, none, tau: best == best),
        equation="eq-no-answer",
    ),
    Mistake(
        "tau is ignored",
        "A span must beat [CLS] by more than tau.",
        spans(better=lambda best, none, tau: best > none),
        equation="eq-no-answer",
    ),
    Mistake(
        "the margin on the wrong side",
        "tau makes answering harder: it is added to the score of [CLS].",
        spans(better=lambda best, none, tau: best + tau > none),
        equation="eq-no-answer",
    ),
    Mistake(
        "as good as no answer is no better",
        "The span must beat the other score: the comparison is >, not ≥.",
        spans(better=lambda best, none, tau: best >= none + tau),
        equation="eq-no-answer",
    ),
    Mistake(
        "compared with half of the score of [CLS]",
        "No answer is the span from [CLS] to [CLS]: its score is a start score plus an end score.",
        spans(none=lambda start, end: start[0]),
        equation="eq-no-answer",
    ),
    Mistake(
        "compared with zero",
        "Scores have no zero of their own: the best span is compared with that of [CLS].",
        spans(none=lambda start, end: 0 * start[0]),
        equation="eq-no-answer",
    ),
    Mistake(
        "illegal spans have the score 0",
        "0 is a score like any other, and higher than many: what is illegal needs -inf.",
        spans(fill=0.0),
    ),
    Mistake(
        "the context of the first row for all",
        "Each row has a context of its own.",
        _first_row,
        section="sec-three-shapes",
    ),
    Mistake(
        "an answer where there is none",
        "Read the score of [CLS] before you hide what is not allowed: otherwise every span beats it.",
        shows=_answers_everything,
        equation="eq-no-answer",
    ),
)

EXERCISES = (
    Exercise(
        key="5.9",
        name="best_span",
        parameters=("start", "end", "allowed", "max_length", "tau=0.0"),
        points=12,
        section="sec-task-questions",
        equation="eq-legal-span",
        reference=spans(),
        probes=_span_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "a constant added to all scores changes nothing",
                "A softmax does not notice it either; the answer and no answer move together.",
                _shifted_scores,
                equation="eq-span",
            ),
        ),
    ),
)

"""Exercise 7.5: mean and sample deviation of the runs of each arm.

``scores`` and ``finished`` are (A, S), arms and seeds; where a run is not finished its score means nothing.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import FUSED, Exercise, Mistake, Probe, Property, Run

Measure = Callable[[Tensor], Tensor]
READY = frozenset({"std", "var", "std_mean", "var_mean", "cov"})


def _written(
    middle: Measure = Tensor.mean,
    width: Measure = Tensor.std,
    keep: Callable[[Tensor, Tensor], Tensor] = lambda row, done: row[done],
) -> Callable[[Tensor, Tensor], Tensor]:
    """Two numbers for each arm by other measures; the defaults give the reference."""

    def summary(scores, finished) -> Tensor:
        rows = [keep(row, done) for row, done in zip(scores, finished, strict=True)]
        return torch.stack([torch.stack((middle(row), width(row))) for row in rows])

    return summary


def _population(row: Tensor) -> Tensor:
    return row.std(correction=0)


def _standard_error(row: Tensor) -> Tensor:
    return row.std() / len(row) ** 0.5


def _range(row: Tensor) -> Tensor:
    return row.max() - row.min()


def _probes() -> list[Probe]:
    normal = normals(75)

    def probe(name: str, A: int, S: int, lost=(), junk=0.0, strided=False, dtype=torch.float32) -> Probe:
        finished = torch.ones(A, S, dtype=torch.bool)
        for a, s in lost:
            finished[a, s] = False
        scores = normal(A, S, dtype=dtype).sigmoid().masked_fill(~finished, junk)
        return Probe(name, {"scores": scores, "finished": finished}, strided)

    return [
        probe("three arms, five seeds", 3, 5),
        probe("as many arms as seeds", 5, 5),
        probe("one arm, two seeds", 1, 2),
        probe("lost runs, their scores zero", 3, 7, [(0, 1), (0, 6), (2, 0)]),
        probe("lost runs, their scores something else", 2, 5, [(0, 0), (1, 2), (1, 3), (1, 4)], junk=7.0),
        probe("double precision", 2, 3, dtype=torch.float64),
        probe("numbers with gaps in memory", 3, 5, strided=True),
    ]


def _shifted(run: Run) -> tuple[Tensor, Tensor]:
    """Three times the scores plus two."""
    probe = _probes()[0]
    moved = run(probe.having("law", scores=3 * probe.args["scores"] + 2)).tensor
    return moved, 3 * run(probe).tensor + torch.tensor([2.0, 0.0])


def _mean_distance(row: Tensor) -> Tensor:
    return (row - row.mean()).abs().mean()


def _by_places(scores, finished) -> Tensor:
    """The right mean; the squares divided by the number of all places less one."""
    whole = _written()(scores, finished)
    shrink = ((finished.sum(1) - 1) / (scores.shape[1] - 1)).sqrt().to(scores)
    return torch.stack((whole[:, 0], whole[:, 1] * shrink), dim=1)


def _all_arms_together(scores, finished) -> Tensor:
    whole = _written()(scores, finished)
    return torch.stack((whole[:, 0], scores[finished].std().expand(len(scores))), dim=1)


def _over_arms(scores, finished) -> Tensor:
    return _written()(scores.T, finished.T)


def _zeros_divided_right(scores, finished) -> Tensor:
    """The right mean; the lost runs, as zeros, in the sum of squares."""
    n = finished.sum(1)
    mean = (scores * finished).sum(1) / n
    squares = (scores * finished - mean[:, None]).square().sum(1)
    return torch.stack((mean, (squares / (n - 1)).sqrt()), dim=1)


LOST = (
    "lost runs are counted",
    "What stands where a run was lost is no score: leave those places out before anything is computed.",
)
BEST = (
    "the best run is reported",
    "The best of several seeds is luck, and better the more one tries: the mean.",
)
MISTAKES = (
    Mistake(
        "divided by n, not by n - 1",
        "The mean is taken from the same runs and lies too near to them: divide by n - 1 (Bessel).",
        _written(width=_population),
    ),
    Mistake(
        "the standard error instead of the deviation",
        "Divided by √n it says how well the mean is known; asked is how far two runs lie apart.",
        _written(width=_standard_error),
    ),
    Mistake(
        "the variance instead of the deviation",
        "The deviation is its root, in the unit of the scores.",
        _written(width=Tensor.var),
    ),
    Mistake(
        "the range instead of the deviation",
        "The range grows with the number of runs; the deviation settles.",
        _written(width=_range),
    ),
    Mistake(*BEST, _written(Tensor.max)),
    Mistake(
        "the median instead of the mean",
        "What is asked is the mean: published tables print it, and intervals are about it.",
        _written(Tensor.median),
    ),
    Mistake(*LOST, _written(keep=lambda row, done: row)),
    Mistake(*LOST, _written(keep=lambda row, done: row * done)),
    Mistake(*LOST, _zeros_divided_right),
    Mistake(
        "divided by the places, not by the finished runs",
        "n counts the finished runs of the arm; the places of lost ones do not count.",
        _by_places,
    ),
    Mistake(
        "the mean distance instead of the deviation",
        "The deviation is the root of the mean square: far runs weigh more.",
        _written(width=_mean_distance),
    ),
    Mistake(
        "one deviation for all arms",
        "Every arm has its own: some train more evenly than others.",
        _all_arms_together,
    ),
    Mistake(
        "means over arms, not over seeds",
        "Axis 0 counts arms, axis 1 seeds: there is a row for each arm.",
        _over_arms,
    ),
)

EXERCISES = (
    Exercise(
        key="7.5",
        name="summary",
        parameters=("scores", "finished"),
        points=6,
        section="sec-variations",
        equation="",
        reference=_written(),
        probes=_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "mean and deviation follow the unit",
                "Scores three times as large and two higher have a mean three times as large and two higher, "
                "and a deviation three times as large.",
                _shifted,
            ),
        ),
        refuse=FUSED | READY,
    ),
)

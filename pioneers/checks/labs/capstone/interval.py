"""Exercise 7.6: an interval for the difference of two arms, paired by seed.

``a`` (n,) has the scores of the runs with ``a_seeds`` (n,), ``b`` (m,) those with ``b_seeds`` (m,);
``quantiles[k]`` is the 97.5 % quantile of Student's t with k degrees of freedom.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run
from pioneers.checks.labs.translation.symptoms import NO_TENSOR

QUANTILES = [
    0.0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
]  # fmt: skip
Pairs = tuple[Tensor, Tensor]


def _by_seed(a: Tensor, a_seeds: Tensor, b: Tensor, b_seeds: Tensor) -> Pairs:
    i, j = (a_seeds[:, None] == b_seeds).nonzero(as_tuple=True)
    return a[i], b[j]


def _by_place(a: Tensor, a_seeds: Tensor, b: Tensor, b_seeds: Tensor) -> Pairs:
    n = min(len(a), len(b))
    return a[:n], b[:n]


def _sorted(a: Tensor, a_seeds: Tensor, b: Tensor, b_seeds: Tensor) -> Pairs:
    return _by_place(a[a_seeds.argsort()], a_seeds, b[b_seeds.argsort()], b_seeds)


def _ranked(a: Tensor, a_seeds: Tensor, b: Tensor, b_seeds: Tensor) -> Pairs:
    x, y = _by_seed(a, a_seeds, b, b_seeds)
    return x.sort().values, y.sort().values


def _error(d: Tensor) -> Tensor:
    return d.std() / len(d) ** 0.5


def _interval(
    pair: Callable[..., Pairs] = _by_seed,
    error: Callable[[Tensor], Tensor] = _error,
    freedom: Callable[[int], int] = lambda n: n - 1,
    middle: Callable[[Tensor], Tensor] = Tensor.mean,
    factor: float = 1.0,
) -> Callable[..., Tensor]:
    """The interval with one of its parts made otherwise; the defaults give the reference."""

    def paired_interval(a, a_seeds, b, b_seeds, quantiles) -> Tensor:
        x, y = pair(a, a_seeds, b, b_seeds)
        d = x - y
        half = factor * quantiles[freedom(len(d))] * error(d)
        return torch.stack((middle(d) - half, middle(d) + half))

    return paired_interval


def _probes() -> list[Probe]:
    normal = normals(76)

    def probe(name: str, a_seeds, b_seeds, common=1.0, strided=False, dtype=torch.float32) -> Probe:
        luck = common * normal(100, dtype=torch.float64)  # what a seed does to every arm
        seeds = torch.tensor(a_seeds), torch.tensor(b_seeds)
        a, b = (luck[s] + normal(len(s), dtype=torch.float64) / 4 for s in seeds)
        args = {"a": (a + 0.5).to(dtype), "a_seeds": seeds[0], "b": b.to(dtype), "b_seeds": seeds[1]}
        return Probe(name, {**args, "quantiles": torch.tensor(QUANTILES, dtype=dtype)}, strided)

    return [
        probe("five seeds", [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]),
        probe("seven seeds in another order", [5, 3, 17, 2, 11, 7, 13], [2, 17, 13, 5, 7, 3, 11]),
        probe("a seed that only one arm has", [1, 2, 3, 5, 8], [3, 1, 9, 2, 8, 7], common=3.0),
        probe("two common seeds", [4, 6], [6, 4, 1]),
        probe("double precision", [0, 2, 3], [3, 0, 2], dtype=torch.float64),
        probe("numbers with gaps in memory", [1, 3, 4, 6], [6, 3, 4, 1], strided=True),
    ]


def _exchanged(run: Run) -> tuple[Tensor, Tensor]:
    probe = _probes()[2]
    g = probe.args
    turned = probe.having("law", a=g["b"], a_seeds=g["b_seeds"], b=g["a"], b_seeds=g["a_seeds"])
    return run(turned).tensor, -run(probe).tensor.flip(0)


def _unpaired(a, a_seeds, b, b_seeds, quantiles) -> Tensor:
    """Welch's error, as if the runs of the two arms had nothing in common."""
    x, y = _by_seed(a, a_seeds, b, b_seeds)
    half = quantiles[len(x) - 1] * ((x.var() + y.var()) / len(x)).sqrt()
    return torch.stack((x.mean() - y.mean() - half, x.mean() - y.mean() + half))


def _pooled(a, a_seeds, b, b_seeds, quantiles) -> Tensor:
    x, y = _by_seed(a, a_seeds, b, b_seeds)
    half = quantiles[2 * len(x) - 2] * ((x.var() + y.var()) / len(x)).sqrt()
    return torch.stack((x.mean() - y.mean() - half, x.mean() - y.mean() + half))


def _all_runs(a, a_seeds, b, b_seeds, quantiles) -> Tensor:
    """Welch's error again, with every run of each arm."""
    n = len(_by_seed(a, a_seeds, b, b_seeds)[0])
    half = quantiles[n - 1] * (a.var() / len(a) + b.var() / len(b)).sqrt()
    return torch.stack((a.mean() - b.mean() - half, a.mean() - b.mean() + half))


def _b_minus_a(a, a_seeds, b, b_seeds, quantiles) -> Tensor:
    return _interval()(b, b_seeds, a, a_seeds, quantiles)


def _middle_and_half(a, a_seeds, b, b_seeds, quantiles) -> Tensor:
    low, high = _interval()(a, a_seeds, b, b_seeds, quantiles)
    return torch.stack(((low + high) / 2, (high - low) / 2))


UNPAIRED = (
    "unpaired",
    "A seed gives both arms the same luck, which cancels in the difference of the pair: take that first.",
)
PLACE = (
    "paired by place, not by seed",
    "The two lists have their own order, and not all seeds: look for the same seed in both.",
)
MISTAKES = (
    NO_TENSOR,
    Mistake(*PLACE, _interval(_by_place)),
    Mistake(*PLACE, _interval(_sorted)),
    Mistake(
        "paired by rank",
        "Sorted scores pair the best run with the best: a pair is two runs of one seed.",
        _interval(_ranked),
    ),
    Mistake(*UNPAIRED, _unpaired),
    Mistake(*UNPAIRED, _pooled),
    Mistake(*UNPAIRED, _all_runs),
    Mistake(
        "the deviation in the place of the error",
        "The mean of n differences is known √n times better than one of them: divide by √n.",
        _interval(error=Tensor.std),
    ),
    Mistake(
        "divided by n, not by n - 1",
        "The sample deviation divides by n - 1 (Bessel), and the more so the fewer seeds there are.",
        _interval(error=lambda d: d.std(correction=0) / len(d) ** 0.5),
    ),
    Mistake(
        "the root taken twice",
        "The error is s / √n: the variance is divided by n, the deviation by √n.",
        _interval(error=lambda d: d.std() / len(d)),
    ),
    Mistake(
        "n - 1 under the root as well",
        "The deviation has its n - 1 already; the error of a mean of n differences divides by √n.",
        _interval(error=lambda d: d.std() / (len(d) - 1) ** 0.5),
    ),
    Mistake(
        "the upper end first",
        "An interval is written from its lower end to its upper end.",
        _interval(factor=-1.0),
    ),
    Mistake(
        "n degrees of freedom",
        "The mean has used up one: n differences leave n - 1.",
        _interval(freedom=lambda n: n),
    ),
    Mistake(
        "a normal instead of Student's t",
        "1.96 holds for many seeds; with five it makes the interval a third too short: use the quantiles.",
        lambda a, a_seeds, b, b_seeds, quantiles: _interval()(
            a, a_seeds, b, b_seeds, torch.full_like(quantiles, 1.96)
        ),
    ),
    Mistake(
        "half of the interval",
        "quantile times error goes to either side of the mean.",
        _interval(factor=0.5),
    ),
    Mistake(
        "b minus a",
        "The difference asked for is a - b: its sign says which arm leads.",
        _b_minus_a,
    ),
    Mistake(
        "middle and half width",
        "Return the two ends, the lower one first.",
        _middle_and_half,
    ),
    Mistake(
        "the largest difference in the middle",
        "The best seed is luck: in the middle stands the mean of the differences.",
        _interval(middle=Tensor.max),
    ),
)

EXERCISES = (
    Exercise(
        key="7.6",
        name="paired_interval",
        parameters=("a", "a_seeds", "b", "b_seeds", "quantiles"),
        points=10,
        section="sec-variations",
        equation="",
        reference=_interval(),
        probes=_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "with the arms exchanged the interval changes its sign",
                "b - a lies between -high and -low.",
                _exchanged,
            ),
        ),
    ),
)

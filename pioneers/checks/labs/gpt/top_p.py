"""Exercise 4.5: top-p, or nucleus: from logits (..., V) to the distribution that is drawn from."""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run

Nucleus = Callable[[Tensor, float], Tensor]


def _distribution(z: Tensor, kept: Tensor) -> Tensor:
    return z.masked_fill(~kept, -torch.inf).softmax(-1)


def _ranked(
    rule: Callable[[Tensor, float], Tensor] = lambda ranked, p: ranked.cumsum(-1) - ranked < p,
    *,
    descending: bool = True,
    of: Callable[[Tensor], Tensor] = lambda z: z.softmax(-1),
    rest: Callable[[Tensor, Tensor], Tensor] = _distribution,
) -> Nucleus:
    """Top-p from a rule that keeps places in the ranking, given the ranked probabilities."""

    def distribution(logits: Tensor, p: float) -> Tensor:
        ranked, order = of(logits).sort(-1, descending=descending)
        kept = rule(ranked, p)
        return rest(logits, kept.scatter(-1, order, kept))

    return distribution


top_p = _ranked()


def _top_p_probes() -> list[Probe]:
    normal = normals(451)

    def probe(name: str, *shape: int, p: float, factor=1.5, strided=False, dtype=torch.float32) -> Probe:
        return Probe(name, {"logits": factor * normal(*shape, dtype=dtype), "p": p}, strided)

    filtered = probe("some tokens excluded before", 2, 7, p=0.8)
    filtered.args["logits"][:, [1, 4, 6]] = -torch.inf
    return [
        probe("the most likely tokens up to 0.6", 3, 7, p=0.6),
        probe("three axes", 2, 3, 5, p=0.75),
        probe("a sure model", 3, 11, p=0.4, factor=8),
        probe("an open model", 2, 13, p=0.9, factor=0.3),
        probe("one distribution, no batch", 11, p=0.7),
        probe("p = 1", 2, 5, p=1.0),
        probe("a very small p", 2, 5, p=1e-4),
        filtered,
        probe("double precision", 3, 7, p=0.55, dtype=torch.float64),
        probe("numbers with gaps in memory", 2, 3, 5, p=0.65, strided=True),
    ]


def _order_of_the_vocabulary(run: Run) -> tuple[Tensor, Tensor]:
    probe = _top_p_probes()[4]
    order = torch.tensor([7, 3, 10, 0, 5, 8, 1, 9, 2, 6, 4])
    return run(probe.having("law", logits=probe.args["logits"][order])).tensor, run(probe).tensor[order]


def _no_sort(logits: Tensor, p: float) -> Tensor:
    probabilities = logits.softmax(-1)
    return _distribution(logits, probabilities.cumsum(-1) - probabilities < p)


def _left_sorted(logits: Tensor, p: float) -> Tensor:
    return top_p(logits, p).sort(-1, descending=True).values


def _mask_left_sorted(logits: Tensor, p: float) -> Tensor:
    ranked = logits.softmax(-1).sort(-1, descending=True).values
    return _distribution(logits, ranked.cumsum(-1) - ranked < p)


def _permuted_twice(logits: Tensor, p: float) -> Tensor:
    ranked, order = logits.softmax(-1).sort(-1, descending=True)
    return _distribution(logits, (ranked.cumsum(-1) - ranked < p).gather(-1, order))


def _with_first(kept: Tensor) -> Tensor:
    return kept | (torch.arange(kept.shape[-1], device=kept.device) == 0)


def _one_more(ranked: Tensor, p: float) -> Tensor:
    kept = ranked.cumsum(-1) - ranked < p
    return torch.cat((kept[..., :1], kept[..., :-1]), dim=-1)


DROPPED = (
    "the token that reaches p is dropped",
    "The set must *reach* p: keep a token while those before it, without itself, have less than p.",
)
ALONE = (
    "each token judged by itself",
    "p is what the kept tokens have together: add up from the most likely one.",
)
MISTAKES = (
    Mistake(*DROPPED, _ranked(lambda ranked, p: ranked.cumsum(-1) <= p)),
    Mistake(*DROPPED, _ranked(lambda ranked, p: ranked.cumsum(-1) < p)),
    Mistake(*DROPPED, _ranked(lambda ranked, p: _with_first(ranked.cumsum(-1) <= p))),
    Mistake(
        "one token too many",
        "The token with which the sum reaches p is the last one: nothing behind it stays.",
        _ranked(_one_more),
    ),
    Mistake(
        "left in the order of likelihood",
        "The result has the order of the vocabulary: bring what you found in the ranking back.",
        _left_sorted,
    ),
    Mistake(
        "places of the ranking used as tokens",
        "The mask belongs to the sorted tokens: scatter it back with the order that sort returns.",
        _mask_left_sorted,
    ),
    Mistake(
        "put back with the wrong permutation",
        "Place i of the ranking belongs to token order[i]: that is scatter; gather goes the other way.",
        _permuted_twice,
    ),
    Mistake(
        "added up in the order of the vocabulary",
        "Sort first: the set is built from the most likely token down.",
        _no_sort,
    ),
    Mistake(
        "from the least likely up",
        "Sort downwards: the set begins with the most likely token.",
        _ranked(descending=False),
    ),
    Mistake(*ALONE, lambda logits, p: _distribution(logits, logits.softmax(-1) >= p)),
    Mistake(*ALONE, lambda logits, p: _distribution(logits, logits.softmax(-1) >= 1 - p)),
    Mistake(
        "logits added up",
        "p is a probability: apply the softmax before you add up.",
        _ranked(of=lambda z: z),
    ),
    Mistake(
        "not renormalised",
        "What remains must sum to one: set the others to -inf before the softmax, not to 0 after it.",
        _ranked(rest=lambda z, kept: z.softmax(-1) * kept),
    ),
    Mistake(
        "logits in place of probabilities",
        "What is asked for is the distribution that the next token is drawn from: a softmax comes last.",
        _ranked(rest=lambda z, kept: z.masked_fill(~kept, -torch.inf)),
    ),
)

EXERCISES = (
    Exercise(
        key="4.5",
        name="top_p_distribution",
        parameters=("logits", "p"),
        points=12,
        section="sec-sampling",
        equation="eq-cross-entropy",
        reference=top_p,
        probes=_top_p_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "the order of the vocabulary does not matter",
                "A token is kept for its probability, not for its number.",
                _order_of_the_vocabulary,
            ),
        ),
    ),
)

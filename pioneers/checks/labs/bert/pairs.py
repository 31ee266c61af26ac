"""Exercise 5.6: pairs for next-sentence prediction. Sentences are numbered through."""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run, Symptom

Ids = list[int]


def _elsewhere(document: Ids, i: int) -> Ids:
    return [j for j, d in enumerate(document) if d != document[i]]


def pair_up(
    follows: Callable[[float], bool] = lambda coin: coin < 0.5,
    candidates: Callable[[Ids, int], Ids] = _elsewhere,
    pick: Callable[[Ids, float], int] = lambda found, draw: found[int(draw * len(found))],
    borders: bool = True,
    label: Callable[[bool], int] = int,
    by_pair: bool = False,
) -> Callable[..., Tensor]:
    """Pairs under another rule for coin, candidates, pick, borders, labels or the numbers of the draws."""

    def sentence_pairs(document: Tensor, coins: Tensor, draws: Tensor) -> Tensor:
        of = document.tolist()
        pairs: list[list[int]] = []
        for i in range(len(of) - 1):
            if borders and of[i] != of[i + 1]:
                continue
            n = len(pairs) if by_pair else i
            true = follows(coins[n].item())
            second = i + 1 if true else pick(candidates(of, i), draws[n].item())
            pairs.append([i, second, label(not true)])
        return torch.tensor(pairs)

    return sentence_pairs


def _pair_probes() -> list[Probe]:
    def probe(name: str, document: Ids, coins: list[float], draws: list[float]) -> Probe:
        numbers = {"coins": torch.tensor(coins), "draws": torch.tensor(draws)}
        return Probe(name, {"document": torch.tensor(document), **numbers})

    document = [4, 4, 4, 1, 1, 7, 2, 2, 2, 2]
    coins = [0.7, 0.3, 0.6, 0.9, 0.1, 0.8, 0.2, 0.95, 0.55, 0.4]
    draws = [0.31, 0.77, 0.05, 0.96, 0.42, 0.88, 0.63, 0.92, 0.12, 0.5]
    return [
        probe("four documents, one of a single sentence", document, coins, draws),
        probe("all pairs from elsewhere", document, [0.9] * 10, draws),
        probe("all pairs true", document, [0.1] * 10, draws),
        probe("the same draws downwards", document, coins[::-1], draws[::-1]),
        probe("coins of exactly one half", [0, 0, 5, 5, 5], [0.5] * 5, [0.0, 0.9, 0.0, 0.0, 0.4]),
    ]  # fmt: skip


def _all_foreign(run: Run) -> tuple[Tensor, Tensor]:
    probe = _pair_probes()[0]
    document = probe.args["document"]
    pairs = run(probe.having("law", coins=torch.ones(10))).tensor
    same = document[pairs[:, 0]] == document[pairs[:, 1]]
    return same.long(), torch.zeros_like(pairs[:, 2])


def _everywhere(document: Ids, i: int) -> Ids:
    return list(range(len(document)))


def _last_ones_too(document: Tensor, coins: Tensor, draws: Tensor) -> Tensor:
    of, pairs = document.tolist(), []
    for i in range(len(of)):
        true = i + 1 < len(of) and of[i] == of[i + 1] and coins[i].item() < 0.5
        found = _elsewhere(of, i)
        pairs.append([i, i + 1 if true else found[int(draws[i] * len(found))], int(not true)])
    return torch.tensor(pairs)


def _other_sentences(symptom: Symptom) -> bool:
    """Every A and every label is right, and every foreign B from another document, but not the one drawn."""
    if symptom.stage != "value":
        return False
    for case in symptom.cases:
        got, want, of = case.outcome.tensor, case.expected.tensor, case.probe.args["document"]
        same = torch.equal(got[:, ::2], want[:, ::2]) and bool(((got >= 0) & (got < len(of))).all())
        if not same or not torch.equal(of[got[:, 0]] != of[got[:, 1]], want[:, 2] == 1):
            return False
    return True


INSIDE = (
    "a foreign sentence from the same document",
    "B must come from *another* document: from the same one it is about the same thing and may even follow.",
)
MISTAKES = (
    Mistake(
        "pairs across the border of two documents",
        "The first sentence of a document does not follow the last one of another: there is no pair there.",
        pair_up(borders=False),
    ),
    Mistake(
        "a pair for every sentence",
        "The last sentence of a document has no successor and begins no pair.",
        _last_ones_too,
    ),
    Mistake(*INSIDE, pair_up(candidates=_everywhere)),
    Mistake(*INSIDE, pair_up(candidates=lambda of, i: [j for j in range(len(of)) if j != i + 1])),
    Mistake(*INSIDE, pair_up(candidates=lambda of, i: [j for j in range(len(of)) if j not in (i, i + 1)])),
    Mistake(
        "1 means follows",
        "As in BERT: the label is 0 when B follows and 1 when it does not.",
        pair_up(label=lambda foreign: int(not foreign)),
    ),
    Mistake(
        "the coin is read the other way",
        "A coin below one half keeps the true successor.",
        pair_up(follows=lambda coin: coin >= 0.5),
    ),
    Mistake(
        "the coin is read the other way",
        "A coin below one half keeps the true successor.",
        pair_up(follows=lambda coin: coin > 0.5),
    ),
    Mistake(
        "a coin of exactly one half",
        "A coin below one half keeps the successor; one half itself does not.",
        pair_up(follows=lambda coin: coin <= 0.5),
    ),
    Mistake(
        "a place in the list of candidates, not a sentence",
        "The draw picks a place among the candidates; the sentence is what stands at that place.",
        pair_up(pick=lambda found, draw: int(draw * len(found))),
    ),
    Mistake(
        "rounded, not rounded down",
        "Rounding gives the first and the last candidate half their share; int or floor treats all alike.",
        pair_up(pick=lambda found, draw: found[min(len(found) - 1, round(draw * len(found)))]),
    ),
    Mistake(
        "the last candidate is never drawn",
        "A draw lies in [0, 1), so int(draw * n) reaches n - 1 and never n: multiply by n.",
        pair_up(pick=lambda found, draw: found[int(draw * (len(found) - 1))]),
    ),
    Mistake(
        "draws counted by pairs",
        "Sentence i has the coin and the draw number i, whether or not those before it made a pair.",
        pair_up(by_pair=True),
    ),
    Mistake(
        "another foreign sentence than the one drawn",
        "Place int(n * draw) among all n sentences of other documents, before A and after; no other dice.",
        shows=_other_sentences,
    ),
)

EXERCISES = (
    Exercise(
        key="5.6",
        name="sentence_pairs",
        parameters=("document", "coins", "draws"),
        points=11,
        section="sec-nsp",
        equation="eq-nsp",
        reference=pair_up(),
        probes=_pair_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "a foreign sentence never comes from the same document",
                "Otherwise the label would be wrong now and then.",
                _all_foreign,
            ),
        ),
    ),
)

"""Exercise 3.8: beam search with a length penalty, for one sentence, as in the lecture."""

from itertools import product

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run, Symptom
from pioneers.checks.labs.translation.greedy import greedy, tables
from pioneers.checks.labs.translation.searching import Rule, never_stopping, of_full_length, searching
from pioneers.checks.labs.translation.symptoms import NO_TENSOR
from pioneers.generation import length_penalty

START, STOP, PAD = 0, 1, 2
beam_search = searching()


def tree() -> Tensor:
    """The tree of the lecture as a table (9, 9): start, stop, pad, A, B, a spare one, x, y, z."""
    probs = torch.linspace(1e-6, 2e-6, 81).view(9, 9)
    probs[0, 3], probs[0, 4] = 0.6, 0.4
    probs[3, 6], probs[3, 7], probs[3, 8] = 0.4, 0.35, 0.25
    probs[4, 6], probs[4, 7] = 0.9, 0.1
    probs[6:, 1] = probs[1, 1] = 1.0
    return probs.log()


def _probe(name: str, table: Tensor, num_beams: int, alpha: float, most: int, *ids: int) -> Probe:
    start_id, stop_id, pad_id = ids or (START, STOP, PAD)
    args = {"log_probs": table, "num_beams": num_beams, "alpha": alpha, "start_id": start_id}
    return Probe(name, args | {"stop_id": stop_id, "pad_id": pad_id, "max_new_tokens": most})


def _random(seed: int, V: int) -> Tensor:
    return tables(seed, 1, V, (START, PAD))[0]


def _probes() -> list[Probe]:
    return [
        _probe("the tree of the lecture, one beam", tree(), 1, 0.0, 4),
        _probe("the tree of the lecture, two beams", tree(), 2, 0.0, 4),
        _probe("a random table, three beams", _random(659, 6), 3, 1.5, 6),
        _probe("a random table, four beams", _random(672, 7), 4, 0.6, 6),
        _probe("another random table, three beams", _random(421, 6), 3, 1.5, 6),
        _probe("another random table, four beams", _random(635, 7), 4, 0.6, 6),
        _probe("a third random table, three beams", _random(403, 6), 3, 1.5, 6),
        _probe("more beams than tokens", _random(386, 5), 7, 0.6, 4),
        _probe("a single step", _random(387, 5), 2, 0.6, 1),
        _probe("other ids for start, stop and padding", tables(388, 1, 7, (6, 4))[0], 3, 0.6, 5, 6, 3, 4),
    ]


def _finds_the_best(run: Run) -> tuple[Tensor, Tensor]:
    """As many beams as there are beginnings, against every text there is."""
    table, longest = tables(389, 1, 4, ())[0], 4
    ends = [text for n in range(1, longest + 1) for text in product(range(4), repeat=n)
            if STOP not in text[:-1] and (text[-1] == STOP or n == longest)]  # fmt: skip

    def score(text: tuple[int, ...]) -> float:
        log_p = sum(table[last, token].item() for last, token in zip((START, *text), text, strict=False))
        return log_p / length_penalty(len(text), 0.9)

    best = max(ends, key=score)
    found = run(_probe("law", table, 4**3, 0.9, longest)).tensor
    return found, torch.tensor([*best, *[PAD] * (longest - len(best))])


def _one_beam_is_greedy(run: Run) -> tuple[Tensor, Tensor]:
    both = [
        (run(_probe("law", _random(seed, 7), 1, 0.6, 5)).tensor, _random(seed, 7)) for seed in (391, 392, 393)
    ]
    tables = torch.stack([table for _, table in both])
    return torch.stack([found for found, _ in both]), greedy(tables, START, STOP, PAD, 5)


def _takes_too_many(symptom: Symptom) -> bool:
    return symptom.stage == "runs" and "selected index k" in symptom.case.outcome.error


NO_TOPK = (
    "more candidates asked for than there are",
    "The first step has V candidates only: take the best min(num_beams, number of candidates).",
)
LENGTH = (
    "the length is counted otherwise",
    "|y| counts the tokens of the text with its stop token and without the start token.",
)
PENALTY = (
    "another penalty",
    "The divisor is ((5 + |y|) / 6) to the power of alpha, and |y| counts the stop token too.",
)
STOPS = (
    "a stop that is not among the best k",
    "Only the best num_beams candidates are asked whether they end: a stop behind them is no finished text.",
)
MISTAKES = (
    NO_TENSOR,
    Mistake(*NO_TOPK, shows=_takes_too_many),
    Mistake(
        "alpha is ignored",
        "Every further token lowers log p: without the penalty short texts win.",
        searching(Rule(penalty=lambda length, alpha: 1.0)),
        section="sec-length-penalty",
        equation="eq-length-penalty",
    ),
    Mistake(
        *LENGTH,
        searching(Rule(penalty=lambda n, alpha: length_penalty(n - 1, alpha))),
        section="sec-length-penalty",
        equation="eq-length-penalty",
    ),
    Mistake(
        *LENGTH,
        searching(Rule(penalty=lambda n, alpha: length_penalty(n + 1, alpha))),
        section="sec-length-penalty",
        equation="eq-length-penalty",
    ),
    Mistake(
        *PENALTY,
        searching(Rule(penalty=lambda n, alpha: n**alpha)),
        section="sec-length-penalty",
        equation="eq-length-penalty",
    ),
    Mistake(
        *PENALTY,
        searching(Rule(penalty=lambda n, alpha: length_penalty(n, 1.0))),
        section="sec-length-penalty",
        equation="eq-length-penalty",
    ),
    Mistake(
        "multiplied by the penalty",
        "log p is negative and is divided: multiplied, long texts pay twice.",
        searching(Rule(penalty=lambda n, alpha: 1 / length_penalty(n, alpha))),
        section="sec-length-penalty",
        equation="eq-length-penalty",
    ),
    Mistake(
        "the search is greedy",
        "This is what one beam finds: num_beams is not used, or all beams begin alike and stay so.",
        lambda log_probs, num_beams, alpha, *rest: greedy(log_probs[None], *rest)[0],
    ),
    Mistake(
        "each beginning keeps its own best token",
        "All extensions of all beginnings compete: the best num_beams of them may have one parent.",
        searching(Rule(one_each=True)),
    ),
    Mistake(
        "scores are not added up",
        "The score of a text is the sum of the log-probabilities of all its tokens.",
        searching(Rule(add=False)),
        section="sec-decoding",
        equation="eq-search",
    ),
    Mistake(
        "a finished text is continued",
        "A text that ends with the stop token is finished: it is kept aside and not extended.",
        never_stopping(beam_search),
    ),
    Mistake(
        "finished texts are forgotten",
        "The answer is the best of all finished texts, also of those that ended steps ago.",
        searching(Rule(patience=1000), of_full_length),
    ),
    Mistake(
        "the first finished text wins",
        "Beams that are still open may end in a better text.",
        searching(choose=lambda done: done[0]),
    ),
    Mistake(
        "the last finished text wins",
        "The answer is the best of all finished texts: compare their scores.",
        searching(choose=lambda done: done[-1]),
    ),
    Mistake(
        "the search does not end when k have stopped",
        "When num_beams texts have stopped the search is over; one beam is then greedy decoding.",
        searching(Rule(patience=1000)),
    ),
    Mistake(
        "a finished text keeps its place in the beam",
        "A text that stops leaves the beam, and the next best open one takes its place.",
        searching(Rule(room=False)),
    ),
    Mistake(
        "a finished text leaves a gap in the beam",
        "The gap is filled in the same step: the best num_beams candidates that do not stop go on.",
        searching(Rule(gap=True)),
    ),
    Mistake(*STOPS, searching(Rule(reach=1000))),
    Mistake(*STOPS, searching(Rule(reach=1000, patience=1000))),
    Mistake(
        "read along the wrong axis",
        "log_probs[last] is the row of the last token; the next token is chosen along its last axis.",
        lambda log_probs, *rest: beam_search(log_probs.mT, *rest),
    ),
)

EXERCISES = (
    Exercise(
        key="3.8",
        name="beam_search",
        parameters=("log_probs", "num_beams", "alpha", "start_id", "stop_id", "pad_id", "max_new_tokens"),
        points=13,
        section="sec-beam",
        equation="eq-search",
        reference=beam_search,
        probes=_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "a beam that drops nothing finds the best of all texts",
                "With as many beams as beginnings every text is looked at.",
                _finds_the_best,
            ),
            Property(
                "one beam is greedy decoding",
                "One beam takes the best token at each step and ends with the first stop.",
                _one_beam_is_greedy,
                section="sec-greedy",
            ),
        ),
    ),
)

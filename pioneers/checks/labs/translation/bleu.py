"""Exercise 3.9: BLEU of a corpus with one reference each, words as ids, no smoothing; float32."""

import math
from collections import Counter
from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run, Symptom
from pioneers.checks.labs.translation.symptoms import NO_TENSOR, NOT_FLOAT32

Sentence = tuple[int, ...]
Corpus = tuple[Sentence, ...]
Counts = list[Counter[Sentence]]
Hits = Callable[[Counts, Counts], int]


def _ngrams(words: Sentence, n: int) -> Counter[Sentence]:
    return Counter(words[i : i + n] for i in range(len(words) - n + 1))


def _clipped(found: Counts, wanted: Counts) -> int:
    return sum((ours & theirs).total() for ours, theirs in zip(found, wanted, strict=True))


def _unclipped(found: Counts, wanted: Counts) -> int:
    pairs = zip(found, wanted, strict=True)
    return sum(n for ours, theirs in pairs for gram, n in ours.items() if gram in theirs)


def _different(found: Counts, wanted: Counts) -> int:
    return sum(len(ours.keys() & theirs.keys()) for ours, theirs in zip(found, wanted, strict=True))


def _in_one_bag(found: Counts, wanted: Counts) -> int:
    ours, theirs = (sum(counts, Counter[Sentence]()) for counts in (found, wanted))
    return (ours & theirs).total()


def _per_ngram(found: Counts, wanted: Counts, words: Corpus, n: int) -> int:
    return sum(ours.total() for ours in found)


def _brevity(c: int, r: int) -> float:
    return min(1.0, math.exp(1 - r / c))


def _scoring(
    *,
    hits: Hits = _clipped,
    total: Callable[[Counts, Counts, Corpus, int], int] = _per_ngram,
    orders: tuple[int, ...] = (1, 2, 3, 4),
    mean: Callable[[list[float]], float] = lambda p: math.prod(p) ** (1 / len(p)),
    brevity: Callable[[int, int], float] = _brevity,
    percent: float = 100.0,
) -> Callable[[Corpus, Corpus], Tensor]:
    """BLEU with one of its steps made otherwise."""

    def bleu(found: Corpus, wanted: Corpus) -> Tensor:
        precisions = []
        for n in orders:
            ours, theirs = [_ngrams(x, n) for x in found], [_ngrams(x, n) for x in wanted]
            count = total(ours, theirs, found, n)
            precisions.append(hits(ours, theirs) / count if count else 0.0)
        c, r = sum(map(len, found)), sum(map(len, wanted))
        return torch.tensor(percent * brevity(c, r) * mean(precisions))

    return bleu


bleu = _scoring()


def _probes() -> list[Probe]:
    def probe(name: str, found: Corpus, wanted: Corpus) -> Probe:
        return Probe(name, {"found": found, "wanted": wanted})

    book = (1, 2, 3, 4, 1, 1, 5), (1, 2, 3, 4, 1, 5, 6, 7, 8)
    return [
        probe("the translation worked by hand in the lecture", book[:1], book[1:]),
        probe("two sentences, one shorter and one longer than its reference",
              (book[0], (9, 8, 7, 6, 5, 4, 3)), (book[1], (9, 8, 7, 6, 5))),
        probe("a translation longer than its reference", ((5, 1, 2, 3, 4, 6, 6, 6),), ((1, 2, 3, 4, 6),)),
        probe("the right words in the other sentence",
              ((1, 2, 3, 4, 5), (6, 7, 8, 9)), ((1, 2, 3, 4, 8), (6, 7, 8, 9, 5, 5))),
        probe("a sentence too short for a run of four",
              ((1, 2, 3, 4, 5), (6, 7)), ((1, 2, 3, 4, 6), (6, 7))),
        probe("no run of four words is right", ((1, 2, 3, 5, 4),), ((1, 2, 3, 4, 5),)),
        probe("word for word", ((1, 2, 3, 4), (5, 6, 7, 8, 9)), ((1, 2, 3, 4), (5, 6, 7, 8, 9))),
        probe("half of every sentence", ((1, 2, 3, 4, 5), (6, 7, 8, 9, 10)),
              ((1, 2, 3, 4, 5, 1, 1, 1, 1, 1), (6, 7, 8, 9, 10, 2, 2, 2, 2, 2))),
    ]  # fmt: skip


def _any_order(run: Run) -> tuple[Tensor, Tensor]:
    probe = _probes()[1]
    turned = {name: corpus[::-1] for name, corpus in probe.args.items()}
    return run(probe.having("law", **turned)).tensor, run(probe).tensor


def _one_by_one(found: Corpus, wanted: Corpus) -> Tensor:
    scores = [bleu((ours,), (theirs,)) for ours, theirs in zip(found, wanted, strict=True)]
    return torch.stack(scores).mean()


def _penalty_each(found: Corpus, wanted: Corpus) -> Tensor:
    each = [_brevity(len(ours), len(theirs)) for ours, theirs in zip(found, wanted, strict=True)]
    return _scoring(brevity=lambda c, r: sum(each) / len(each))(found, wanted)


def _of_the_reference(found: Counts, wanted: Counts, words: Corpus, n: int) -> int:
    return sum(theirs.total() for theirs in wanted)


def _by_formula(found: Counts, wanted: Counts, words: Corpus, n: int) -> int:
    return sum(len(sentence) - n + 1 for sentence in words)


def _different_in_all(found: Counts, wanted: Counts, words: Corpus, n: int) -> int:
    return sum(len(ours) for ours in found)


def _logarithm_of_nothing(symptom: Symptom) -> bool:
    return symptom.stage == "runs" and "math domain error" in symptom.case.outcome.error


UNCLIPPED = (
    "precision without clipping",
    "An n-gram counts at most as often as the reference has it, or “the the the the” would be perfect.",
)
MISTAKES = (
    NO_TENSOR,
    NOT_FLOAT32,
    Mistake(
        "the logarithm of zero",
        "A precision may be 0, and then BLEU is 0: return that before taking a logarithm.",
        shows=_logarithm_of_nothing,
    ),
    Mistake(*UNCLIPPED, _scoring(hits=_unclipped), equation="eq-bleu-precision"),
    Mistake(
        "each n-gram counted once",
        "Counts are clipped at the reference's, not at one: a run that both have twice counts twice.",
        _scoring(hits=_different, total=_different_in_all),
        equation="eq-bleu-precision",
    ),
    Mistake(
        "each n-gram counted once",
        "Counts are clipped at the reference's, not at one: a run that both have twice counts twice.",
        _scoring(hits=_different),
        equation="eq-bleu-precision",
    ),
    Mistake(
        "all sentences in one bag",
        "Counts are clipped sentence by sentence and then summed: a word of another sentence is no hit.",
        _scoring(hits=_in_one_bag),
        equation="eq-bleu-precision",
    ),
    Mistake(
        "recall instead of precision",
        "The hits are divided by the n-grams of the translation, not by those of the reference.",
        _scoring(total=_of_the_reference),
        equation="eq-bleu-precision",
    ),
    Mistake(
        "a negative number of n-grams",
        "A sentence of fewer than n words has no n-grams: it must not be subtracted from the others.",
        _scoring(total=_by_formula),
        equation="eq-bleu-precision",
    ),
    Mistake(
        "the mean of sentence scores",
        "Hits and lengths are summed over the corpus and then divided: BLEU is a number for a test set.",
        _one_by_one,
    ),
    Mistake(
        "a penalty for each sentence",
        "c and r are the words of the whole corpus: what one sentence lacks another may have too many.",
        _penalty_each,
    ),
    Mistake(
        "the arithmetic mean",
        "The mean of the precisions is geometric: one precision of zero makes BLEU zero.",
        _scoring(mean=lambda p: sum(p) / len(p)),
    ),
    Mistake(
        "the product without its root",
        "The mean of four precisions is the fourth root of their product.",
        _scoring(mean=math.prod),
    ),
    Mistake(
        "no brevity penalty",
        "Precision does not notice what is missing: a short translation pays e^(1 - r/c).",
        _scoring(brevity=lambda c, r: 1.0),
    ),
    Mistake(
        "length is rewarded",
        "The penalty is at most 1: a translation longer than its reference pays by its precision already.",
        _scoring(brevity=lambda c, r: math.exp(1 - r / c)),
    ),
    Mistake(
        "c and r exchanged",
        "c counts the words of the translation: it is the short translation, with r > c, that pays.",
        _scoring(brevity=lambda c, r: min(1.0, math.exp(1 - c / r))),
    ),
    Mistake(
        "the penalty is the ratio of the lengths",
        "Half the words do not cost half the score: the penalty is e^(1 - r/c).",
        _scoring(brevity=lambda c, r: min(1.0, c / r)),
    ),
    Mistake(
        "a share instead of a percentage",
        "BLEU runs from 0 to 100.",
        _scoring(percent=1.0),
    ),
    Mistake(
        "runs of up to three words", "n goes from 1 to 4: range(1, 4) ends at 3.", _scoring(orders=(1, 2, 3))
    ),
)

EXERCISES = (
    Exercise(
        key="3.9",
        name="bleu",
        parameters=("found", "wanted"),
        points=8,
        section="sec-bleu",
        equation="eq-bleu",
        reference=bleu,
        probes=_probes,
        mistakes=MISTAKES,
        properties=(
            Property("the order of the sentences does not matter", "The counts are sums.", _any_order),
        ),
    ),
)

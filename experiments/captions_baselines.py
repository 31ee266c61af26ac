"""Two simple translators for the captions of ``multi30k``, from before neural networks.

    PIONEERS_DATA=folder make experiments NAME=captions_baselines

The first learns a dictionary from the 29,000 pairs (Brown et al. 1993, model 1, by expectation maximisation)
and replaces each English word by its most probable German one. The second looks for the training caption that
shares the most telling words with the new one, and copies its translation. Neither draws a random number.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sacrebleu

from experiments.common import run
from pioneers.data import multi30k

CASES = {"word by word": {"method": "words"}, "nearest caption": {"method": "nearest"}}
CONFIG = {"iterations": 5}
WORD = re.compile(r"\w+|[^\w\s]")
Words = list[str]


def split(text: str) -> Words:
    """The words and signs of a text."""
    return WORD.findall(text)


def dictionary(pairs: Sequence[tuple[Words, Words]], iterations: int) -> dict[str, str]:
    """The most probable translation of each source word, by model 1 of Brown et al. 1993.

    Every target word comes from one source word of its pair, or from none, and all are equally likely before
    the words are seen. Each iteration distributes every target word over the source words of its pair, in
    proportion to the current probabilities, and counts.
    """
    sources, source_words = _numbered([["", *source] for source, _ in pairs])  # "" stands for none
    targets, target_words = _numbered([target for _, target in pairs])
    first = np.cumsum([0, *map(len, targets)])
    meetings = np.concatenate(
        [np.add.outer(s * len(target_words), t).ravel() for s, t in zip(sources, targets, strict=True)]
    )
    place = np.concatenate(
        [
            np.tile(first[i] + np.arange(len(t)), len(s))
            for i, (s, t) in enumerate(zip(sources, targets, strict=True))
        ]
    )
    kinds, kind = np.unique(meetings, return_inverse=True)
    source, target = np.divmod(kinds, len(target_words))
    probability = np.ones(len(kinds))
    for _ in range(iterations):
        share = probability[kind]
        share /= np.bincount(place, share)[place]
        count = np.bincount(kind, share)
        probability = count / np.bincount(source, count)[source]
    best = np.argsort(probability, kind="stable")  # the last of each source word is its best
    return {source_words[source[i]]: target_words[target[i]] for i in best}


def _numbered(rows: Sequence[Words]) -> tuple[list[np.ndarray], Words]:
    numbers: dict[str, int] = {}
    found = [np.array([numbers.setdefault(word, len(numbers)) for word in row]) for row in rows]
    return found, list(numbers)


class Nearest:
    """Find the source that shares the most telling words with a new one: the cosine of their tf-idf vectors.

    Args:
        sources: the words of each.
    """

    def __init__(self, sources: Sequence[Words]) -> None:
        bags = [{word.lower() for word in source} for source in sources]
        seen = Counter(word for bag in bags for word in bag)
        self.weight = {word: np.log(len(bags) / count) ** 2 for word, count in seen.items()}
        rows = defaultdict(list)
        for i, bag in enumerate(bags):
            for word in bag:
                rows[word].append(i)
        self.rows = {word: np.array(found) for word, found in rows.items()}
        self.length = np.array([sum(self.weight[word] for word in bag) for bag in bags]) ** 0.5 + 1e-9

    def __call__(self, source: Words) -> int:
        """The place of the nearest source."""
        shared = np.zeros(len(self.length))
        for word in {word.lower() for word in source} & self.weight.keys():
            shared[self.rows[word]] += self.weight[word]
        return int((shared / self.length).argmax())


def one_case(*, seed: int, method: str, iterations: int) -> dict[str, Any]:
    """BLEU on the test captions; ``seed`` changes nothing."""
    texts, test = multi30k("train"), multi30k("test")
    pairs = [(split(source), split(target)) for source, target in texts]
    if method == "words":
        best = dictionary(pairs, iterations)
        found = [" ".join(best.get(word, word) for word in split(source)) for source, _ in test]
    else:
        nearest = Nearest([source for source, _ in pairs])
        found = [texts[nearest(split(source))][1] for source, _ in test]
    metric = sacrebleu.BLEU(
        force=True
    )  # force: the signs of a text word by word are apart, as the metric cuts
    bleu = metric.corpus_score(found, [[target for _, target in test]])
    return {
        "bleu": bleu.score,
        "length": bleu.sys_len / bleu.ref_len,
        "signature": str(metric.get_signature()),
        "examples": [[*pair, text] for pair, text in zip(test[:5], found[:5], strict=True)],
    }


def main() -> Path:
    """Run both and write ``pioneers/results/captions_baselines.json``; returns its path."""
    return run("captions_baselines", CASES, one_case, config=CONFIG, seeds=[0])


if __name__ == "__main__":
    main()

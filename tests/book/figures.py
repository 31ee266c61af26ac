"""Small data for each interactive figure, computed without the book's scripts."""

import itertools
from collections import Counter

import torch

from pioneers.analysis import attention_rollout

PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="
WIDTHS, PLACES, TOKENS = [4, 64, 1024], 11, ["[CLS]", "the", "cat", "sat", "[SEP]"]
TREE = {
    "": {"A": 0.6, "B": 0.4},
    "A": {"x": 0.4, "y": 0.35, "z": 0.25},
    "B": {"x": 0.9, "y": 0.1},
    "Bx": {"!": 0.9, "z": 0.1},  # one beam never comes here, and ends a step earlier
}
TIMES = {"low": 5, "lower": 2, "newest": 6, "widest": 3}


def softmax():
    torch.manual_seed(0)
    draws = [torch.randn(9, width) for width in WIDTHS]
    return {"widths": WIDTHS, "scores": [draw[1:] @ draw[0] for draw in draws]}


def attention():
    torch.manual_seed(0)
    return {"tokens": TOKENS, "maps": (2 * torch.randn(2, 3, 5, 5)).softmax(-1), "start": [0, 1, 2]}


def positions():
    torch.manual_seed(1)
    query, key = torch.randn(2, 8)
    return {"query": query, "key": key, "places": PLACES, "distances": 7, "base": 10000}


def count_pairs(words):
    counts = Counter()
    for word, times in zip(words, TIMES.values(), strict=True):
        for pair in itertools.pairwise(word):
            counts[pair] += times
    return counts


def join(word, pair):
    joined = []
    for piece in word:
        if joined and (joined[-1], piece) == pair:
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined


def bpe():
    words, merges = [list(word) for word in TIMES], []
    letters = sorted(set("".join(TIMES)))
    place, steps = {letter: i for i, letter in enumerate(letters)}, [words]
    while counts := count_pairs(words):
        pair = max(counts, key=lambda p: (counts[p], -place[p[0]], -place[p[1]]))
        words = [join(word, pair) for word in words]
        place["".join(pair)] = len(place)
        merges.append(pair)
        steps.append(words)
    return {"times": list(TIMES.values()), "letters": letters, "merges": merges, "steps": steps}


def cache():
    return {"tokens": [*"abcdefghij"], "prompt": 4, "layers": 3, "width": 96, "bytes": 2}


def following(text):
    return [*TREE.get(text, {"!": 1.0}).items()]


def search(beams):
    """Beam search on the tree: its steps and what it finds."""
    beginnings, steps, best = [("", 1.0)], [], (0.0, "")
    while beginnings:
        steps.append([{"text": [*text], "after": following(text)} for text, _ in beginnings])
        every = [(text + token, p * q) for text, p in beginnings for token, q in following(text)]
        every.sort(key=lambda one: -one[1])
        best = max([best, *((p, text) for text, p in every[:beams] if text[-1] == "!")])
        beginnings = [one for one in every if one[0][-1] != "!"][:beams]
    return steps, {"text": [*best[1]], "p": best[0]}


def beam():
    found = {beams: search(beams) for beams in (1, 2)}
    return {
        "source": "a tree",
        "stop": "!",
        "searches": {beams: steps for beams, (steps, _) in found.items()},
        "found": {beams: best for beams, (_, best) in found.items()},
    }


def block():
    return {"placements": {"post": [1.0, 2.0], "pre": [1.5, 3.0], "sandwich": [1.25, 4.0]}}


def rollout():
    torch.manual_seed(0)
    maps = [(2 * torch.randn(1, 2, 5, 5)).softmax(-1) for _ in range(2)]
    one = {
        "label": 7,
        "pixels": torch.rand(4, 4),
        "layers": [weights[0].mean(0) for weights in maps],
        "rollout": attention_rollout(maps)[0],
    }
    return {"side": 2, "images": [one, one | {"label": 3}]}


def patches():
    return {"photo": PIXEL, "side": 32, "channels": 3, "sizes": [4, 8, 16]}


MAKERS = (softmax, attention, positions, bpe, cache, beam, block, rollout, patches)
DATA = {maker.__name__: maker() for maker in MAKERS}

"""Small data for each interactive figure, computed without the book's scripts."""

import base64
import io
import itertools
from collections import Counter

import matplotlib.pyplot as plt
import torch

from pioneers.analysis import attention_rollout
from pioneers.models import MAE, MAEConfig

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
    maps, others = (2 * torch.randn(2, 2, 3, 5, 5)).softmax(-1)
    other = {"label": "Third word", "place": 3, "token": "ran", "maps": others}
    return {"tokens": TOKENS, "maps": maps, "start": [0, 1, 2], "other": other}


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
    return {"placements": {"post": [1.0, 1.5, 2.0], "pre": [1.0, 1.75, 3.0], "sandwich": [1.0, 1.25, 4.0]}}


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


def in_context():
    torch.manual_seed(0)
    prompts = [
        {"w": w, "x": torch.randn(4), "y": torch.randn(4), "model": torch.randn(4, 5)} for w in (0.5, -2.0)
    ]
    return {"points": [-3.0, -1.5, 0.0, 1.5, 3.0], "prompts": prompts, "noise": 0.5, "width": 0.7}


def preferences():
    pairs = [
        {
            "prompt": f"Describe os.name_{i}:",
            "answers": ["A short one.", "Another answer, which is longer and wraps."],
            "before": [-12.31, -30.5 + 9 * i],
            "after": [-11.0 + i, -34.75],
            "reader": i % 2,
        }
        for i in range(3)
    ]
    return {"pairs": pairs}


def grpo():
    answers = ["(15,7,7)775.", "765.", "(15,7,6)675.", "775."] * 2
    return {
        "groups": [
            {"problem": "417+358=", "answers": answers, "rewards": [1, 0, 0, 1, 1, 0, 0, 1]},
            {"problem": "904+271=", "answers": ["1175."] * 8, "rewards": [1] * 8},
        ]
    }


def lora():
    torch.manual_seed(0)
    difference = torch.randn(6, 6)
    u, s, vh = torch.linalg.svd(difference)
    return {
        "shown": difference[:4, :4], "u": u[:4], "v": vh.T[:4], "s": s, "size": 6,
        "ranks": [1, 2, 4], "exact": [0.25, 0.5, 0.75], "whole": 0.9, "start": 1,
    }  # fmt: skip


def swin_windows():
    row = torch.arange(6)
    places = [(row + 3 - shift) // 3 for shift in range(3)]  # in windows of 3, the first ones cut off
    return {"side": 6, "start": 14, "regions": [(3 * p[:, None] + p).flatten() for p in places]}


def photograph(pixels):
    """A picture of 0 and 1, as the URL of a PNG."""
    png = io.BytesIO()
    plt.imsave(png, pixels.numpy(), cmap="gray", vmin=0, vmax=1, format="png")
    return "data:image/png;base64," + base64.b64encode(png.getvalue()).decode()


def augmentations():
    photo = torch.zeros(32, 32)
    photo[:8, :8] = 1  # one white patch of sixteen
    return {
        "photos": [photograph(photo), photograph(torch.ones(32, 32))],
        "names": ["corner", "snow"],
        "side": 32,
        "patch": 8,
    }


def detections():
    torch.manual_seed(0)
    scenes = []
    for digits, surest in ((1, 0.9), (2, 0.4)):
        look = torch.randint(1, 99, (4, 9))
        places = torch.rand(4, 4) * 0.3 + 0.3
        p = [surest, 0.3, 0.55, 0.02]
        rows = zip([7, 2, 7, 0], p, places, look, strict=True)
        queries = [{"label": n, "p": q, "box": box, "look": cells} for n, q, box, cells in rows]
        scenes.append({"photo": PIXEL, "digits": digits, "queries": queries})
    return {"cells": 3, "start": 0, "scenes": scenes}


def corruption():
    return {"words": ["Thank", "you", "for", "inviting", "me"], "hidden": [2, 3]}


def tiny_mae():
    """A random MAE whose weights are whole multiples of a step, and what the figure reads of it."""
    torch.manual_seed(0)
    model = MAE(
        MAEConfig(
            image_size=6, patch_size=2, in_channels=1, d_model=12, num_layers=2, num_heads=3,
            decoder_d_model=8, decoder_layers=1, decoder_heads=2,
        )
    ).eval()  # fmt: skip
    state = {name: torch.randint(-60, 61, tensor.shape) for name, tensor in model.state_dict().items()}
    model.load_state_dict({name: 0.01 * numbers for name, numbers in state.items()})
    tensors = {
        name: {
            "shape": list(numbers.shape),
            "step": 0.01,
            "numbers": base64.b64encode(numbers.to(torch.int8).numpy().tobytes()).decode(),
        }
        for name, numbers in state.items()
    }
    return model, tensors


def mae_masks():
    torch.manual_seed(1)
    return {
        "side": 3,
        "patch": 2,
        "heads": 3,
        "decoderHeads": 2,
        "tensors": tiny_mae()[1],
        "names": ["4", "7"],
        "levels": 16,
        "images": torch.randint(0, 17, (2, 36)),
        "mean": [0.25] * 36,
        "start": [0, 2, 3, 5, 6, 7],
    }


def clip_matrix():
    torch.manual_seed(0)
    return {
        "languages": ["German", "Dutch"],
        "left_out": 1,
        "words": [["null", "eins", "zwei"], ["nul", "één", "twee"]],
        "pixels": torch.randint(17, (2, 3, 16)),
        "cosines": 2 * torch.rand(2, 2, 3, 3) - 1,
        "temperatures": [0.01, 0.07, 1.0],
        "start": 1,
    }


def attention_patterns():
    return {"width": 8, "bytes": 4, "pattern": 2, "tokens": 16, "window": 3}


def experts():
    torch.manual_seed(3)
    texts = ["the first text, a longer one", "second text"]
    return {
        "factors": [1, 1.25, None],
        "sentences": [
            {"characters": list(text), "probabilities": torch.randn(len(text), 5).softmax(-1)}
            for text in texts
        ],
    }


def memory():
    size = [
        [
            [[(1 + i) * 2e9 / gpus, 4e9 / gpus, 8e9 / gpus, (30 - 25 * j) * 1e9] for gpus in (1, 8)]
            for j in range(2)
        ]
        for i in range(2)
    ]
    large = [[[[10 * part for part in parts] for parts in some] for some in sizes] for sizes in size]
    models = [
        {"name": "small", "length": 512, "bytes": size},
        {"name": "large", "length": 2048, "bytes": large},
    ]
    return {"models": models, "gpus": [1, 8], "cards": [24e9, 80e9], "batch": 4, "start": 1}


def scaling():
    return {
        "parameters": [10_000, 20_000, 50_000, 120_000],
        "bits": [3.4, 3.0, 2.6, 2.4],
        "larger": {"parameters": 460_000, "bits": 2.1},
        "start": {"floor": 0.0, "exponent": 0.1},
    }


def task_shapes():
    first, second, third = (
        ["It", " was", " late", "."],
        [" He", " left", "."],
        [" She", " stayed", " in", "."],
    )
    pair = [
        {"asks": "Does the second follow?", "texts": [first, second]},
        {"asks": "And here?", "texts": [third, first]},
    ]
    one = [{"asks": "Which?", "texts": [first]}, {"asks": "And this?", "texts": [third]}]
    several = [{"asks": f"Which answer, {n}?", "texts": [first, second, third]} for n in range(2)]
    names = {"classification": one, "entailment": pair, "similarity": pair, "multiple choice": several}
    return {"shapes": [{"name": name, "examples": rows} for name, rows in names.items()], "longest": 14}


def vit():
    def picture(label, *strokes):
        image = torch.zeros(28, 28)
        for top, bottom, left, right in strokes:
            image[top:bottom, left:right] = 1
        return {"label": label, "picture": "".join("0f"[int(value)] for value in image.flatten())}

    seven = picture(7, (5, 8, 8, 20), (5, 24, 17, 20))
    first = "The model is loaded when you come near."
    return {"digits": [picture(1, (4, 24, 12, 15)), seven], "start": 1, "first": first}


def dates():
    return {
        "dates": ["27 May 2035", "Saturday, 06 May 1967"],
        "languages": [["fr", "French"], ["ja", "Japanese"]],
        "pattern": r" ?[A-Za-zÀ-ÿ]+| ?\d{1,2}|.",
        "start": [1, 2],
        "first": "The model is loaded when you come near.",
    }


def gaps():
    return {
        "sentences": ["Return the number of bytes written to the file.", "It can be read only once."],
        "views": ["both sides", "left only", "right only"],
        "start": [0, 2],
        "first": "The model is loaded when you come near.",
    }


def reach():
    kinds = {"RNN": (0.5, True), "LSTM": (0.7, True), "attention": (1.0, False)}
    return {
        "kinds": [
            {"name": name, "shares": [share**k for k in range(31)], "chain": chain}
            for name, (share, chain) in kinds.items()
        ],
        "start": 6,
    }


def sign_flips():
    found = {"A": (2.0, 1.5, 3.5, 0.5, 2.5), "B": (1.25, -0.75, 2.5, -1.5, 0.25)}
    return {"comparisons": [{"name": name, "differences": row} for name, row in found.items()]}


def three_attentions():
    return {
        "source": ["A", "cat", "sleeps", "<pad>"],
        "target": ["<start>", "Un", "chat", "dort"],
        "next": ["Un", "chat", "dort", "<stop>"],
        "pad": 1,
        "asks": [1, 2],
    }


def two_heads():
    torch.manual_seed(2)
    weights = (3 * torch.randn(2, 3, 5, 5)).tril().exp().tril()
    shares = (100 * weights / weights.sum(-1, keepdim=True)).round().int().tolist()
    maps = [[[row[: t + 1] for t, row in enumerate(head)] for head in block] for block in shares]
    return {"tokens": ["\n", "The", " cat", " s", "at"], "maps": maps, "start": [[0, 1], [1, 2], 3]}


def online_softmax():
    torch.manual_seed(3)
    scores, values = 2 * torch.randn(11), torch.randn(11)
    tokens = [f" w{j}" for j in range(11)]
    return {"tokens": tokens, "scores": scores, "values": values, "tiles": [1, 3, 9], "start": 2}


def objectives():
    one = {
        "name": "next token",
        "tokens": ["a", "cat", "sat"],
        "seen": [[1, 0, 0], [1, 1, 0], [1, 1, 1]],
        "answers": ["cat", "sat", "down"],
        "split": 3,
    }
    two = {
        "name": "spans",
        "tokens": ["a", "X", "down", "start", "X"],
        "seen": [[1, 1, 1, 0, 0]] * 3 + [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]],
        "answers": ["", "", "", "X", "cat"],
        "split": 3,
    }
    return {"objectives": [one, two]}


MAKERS = (
    two_heads, online_softmax,
    sign_flips,
    softmax, attention, positions, bpe, cache, beam, block, rollout, patches, in_context,
    swin_windows, detections, corruption, augmentations, mae_masks, clip_matrix,
    preferences,
    grpo, attention_patterns, experts, memory, scaling, lora, task_shapes,
    gaps, vit, dates,
    reach, objectives,
    three_attentions,
)  # fmt: skip
DATA = {maker.__name__: maker() for maker in MAKERS}

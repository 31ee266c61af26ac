"""Exercises 1.7 and 1.8: splitting the width into heads, and putting them back side by side."""

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run


def split(x: Tensor, num_heads: int) -> Tensor:
    """(B, T, H·K) → (B, H, T, K)."""
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def merge(x: Tensor) -> Tensor:
    """(B, H, T, K) → (B, T, H·K)."""
    return x.transpose(1, 2).flatten(2)


def _split_probes() -> list[Probe]:
    normal = normals(71)
    return [
        Probe("3 heads of width 7", {"x": normal(2, 5, 21), "num_heads": 3}),
        Probe("a single head", {"x": normal(2, 3, 5), "num_heads": 1}),
        Probe("heads of width 1", {"x": normal(3, 2, 5), "num_heads": 5}),
        Probe(
            "a batch of one, double precision", {"x": normal(1, 3, 10, dtype=torch.float64), "num_heads": 2}
        ),
        Probe("numbers with gaps in memory", {"x": normal(2, 3, 10), "num_heads": 5}, strided=True),
    ]


SPLIT_MISTAKES = (
    Mistake(
        "reshaped without a transpose",
        "The shape is right but tokens and heads are mixed: split the last axis first, then swap axes.",
        lambda x, num_heads: x.reshape(x.shape[0], num_heads, x.shape[1], -1),
    ),
    Mistake(
        "the width dealt out in turn",
        "Head h owns the h-th block of neighbouring numbers, not every num_heads-th number.",
        lambda x, num_heads: x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2),
    ),
    Mistake(
        "heads left behind the tokens",
        "The head axis must come before the tokens, (B, H, T, K), so that each head multiplies T by T.",
        lambda x, num_heads: x.unflatten(-1, (num_heads, -1)),
    ),
    Mistake(
        "heads folded into the batch",
        "Keep heads and batch apart, (B, H, T, K), so that masks can tell them apart.",
        lambda x, num_heads: split(x, num_heads).flatten(0, 1),
    ),
    Mistake(
        "number of heads taken for their width",
        "num_heads counts the heads; each is d_model / num_heads wide.",
        lambda x, num_heads: x.unflatten(-1, (-1, num_heads)).transpose(1, 2),
    ),
    Mistake(
        "transposed before the split",
        "Once tokens and width are swapped, a reshape cuts across tokens: split the last axis first.",
        lambda x, num_heads: x.transpose(1, 2).reshape(x.shape[0], num_heads, x.shape[1], -1),
    ),
)


def _merge_probes() -> list[Probe]:
    normal = normals(81)
    return [
        Probe("3 heads of width 7", {"x": normal(2, 3, 5, 7)}),
        Probe("a single head", {"x": normal(2, 1, 3, 5)}),
        Probe("heads of width 1", {"x": normal(3, 5, 2, 1)}),
        Probe("a batch of one, double precision", {"x": normal(1, 2, 3, 5, dtype=torch.float64)}),
        Probe("numbers with gaps in memory", {"x": normal(2, 5, 3, 2)}, strided=True),
    ]


def _undoes_split(run: Run) -> tuple[Tensor, Tensor]:
    x = normals(82)(2, 5, 21)
    return run(Probe("law", {"x": split(x, 3)})).tensor, x


MERGE_MISTAKES = (
    Mistake(
        "reshaped without a transpose",
        "The shape is right but tokens and heads are mixed: bring the head axis next to the width first.",
        lambda x: x.reshape(x.shape[0], x.shape[2], -1),
    ),
    Mistake(
        "the heads shuffled together",
        "The heads stand side by side: first all numbers of head 0, then all of head 1.",
        lambda x: x.permute(0, 2, 3, 1).flatten(2),
    ),
    Mistake(
        "the heads averaged",
        "Concatenate the heads; averaging throws away what sets them apart.",
        lambda x: x.mean(1),
    ),
    Mistake(
        "the heads added up", "Concatenate the heads; W^O does the mixing afterwards.", lambda x: x.sum(1)
    ),
    Mistake(
        "the tokens merged into the width",
        "It is heads and width that merge, (B, T, H·K); the tokens stay apart.",
        lambda x: x.flatten(2),
    ),
    Mistake(
        "not merged yet",
        "After the swap of axes the last two still have to become one.",
        lambda x: x.transpose(1, 2),
    ),
)

EXERCISES = (
    Exercise(
        key="1.7",
        name="split_heads",
        parameters=("x", "num_heads"),
        points=6,
        section="sec-multihead-preview",
        equation="eq-multihead",
        reference=split,
        probes=_split_probes,
        mistakes=SPLIT_MISTAKES,
    ),
    Exercise(
        key="1.8",
        name="merge_heads",
        parameters=("x",),
        points=5,
        section="sec-multihead-preview",
        equation="eq-multihead",
        reference=merge,
        probes=_merge_probes,
        mistakes=MERGE_MISTAKES,
        properties=(
            Property("merging undoes splitting", "The two are each other's inverse.", _undoes_split),
        ),
    ),
)

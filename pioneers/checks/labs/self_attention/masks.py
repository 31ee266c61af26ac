"""Exercises 1.4 and 1.6: the causal mask and the padding mask. True = may attend."""

import torch

from pioneers import layers
from pioneers.checks.exercise import Exercise, Mistake, Probe


def _causal_probes() -> list[Probe]:
    return [
        Probe(name, {"num_queries": T, "num_keys": S})
        for name, T, S in (
            ("as many queries as keys", 5, 5),
            ("3 new queries after 4 earlier keys", 3, 7),
            ("one new query", 1, 5),
            ("a single token", 1, 1),
        )
    ]


CAUSAL_MISTAKES = (
    Mistake(
        "True means hidden",
        "In this book, as in PyTorch's fused kernel, True means that the query may attend.",
        lambda T, S: ~layers.causal_mask(T, S),
    ),
    Mistake(
        "aligned top left",
        "Fewer queries than keys means the last tokens: shift the diagonal by num_keys - num_queries.",
        lambda T, S: torch.ones(T, S).tril() > 0,
    ),
    Mistake(
        "a token may not see itself",
        "The diagonal belongs to the mask: without it the first token has nothing to attend to.",
        lambda T, S: torch.ones(T, S).tril(S - T - 1) > 0,
    ),
    Mistake(
        "only the future is visible",
        "The upper triangle lets each token see what comes after it, which is what must be hidden.",
        lambda T, S: torch.ones(T, S).triu(S - T) > 0,
    ),
    Mistake(
        "rows are keys",
        "Rows belong to the queries, columns to the keys: the shape is (T, S).",
        lambda T, S: layers.causal_mask(T, S).T,
    ),
    Mistake(
        "always square",
        "Keys kept from earlier steps make the mask wider than it is high.",
        lambda T, S: layers.causal_mask(T, T),
    ),
)


def _padding_probes() -> list[Probe]:
    return [
        Probe(name, {"lengths": torch.tensor(lengths, dtype=dtype), "max_len": max_len})
        for name, lengths, max_len, dtype in (
            ("three sequences, the longest shorter than max_len", [2, 5, 3], 7, torch.int64),
            ("the longest fills the row", [3, 1], 3, torch.int64),
            ("an empty sequence", [0, 2, 5], 5, torch.int64),
            ("a batch of one, 32-bit lengths", [3], 5, torch.int32),
        )
    ]


PADDING_MISTAKES = (
    Mistake(
        "True means hidden",
        "In this book True means that the token may be attended to: real tokens are True, padding False.",
        lambda lengths, max_len: ~layers.padding_mask(lengths, max_len),
    ),
    Mistake(
        "one token too many",
        "Positions count from 0, so the real ones are those with position < length.",
        lambda lengths, max_len: layers.padding_mask(lengths + 1, max_len + 1)[..., :max_len],
    ),
    Mistake(
        "one token too few",
        "Positions count from 0, so the last real token is at length - 1 and belongs to the sequence.",
        lambda lengths, max_len: layers.padding_mask((lengths - 1).clamp(min=0), max_len),
    ),
    Mistake(
        "no axes for heads and queries",
        "Scores are (B, H, T, S): a mask (B, S) would be paired with the wrong axes; make it (B, 1, 1, S).",
        lambda lengths, max_len: layers.padding_mask(lengths, max_len).flatten(1),
    ),
    Mistake(
        "max_len is ignored",
        "Batches are often padded further than their longest sequence: the mask must be max_len wide.",
        lambda lengths, max_len: layers.padding_mask(lengths),
    ),
    Mistake(
        "padding in front",
        "The padding stands behind the real tokens here, not before them.",
        lambda lengths, max_len: layers.padding_mask(lengths, max_len).flip(-1),
    ),
)

EXERCISES = (
    Exercise(
        key="1.4",
        name="causal_mask",
        parameters=("num_queries", "num_keys"),
        points=8,
        section="sec-causal",
        equation="eq-mask",
        reference=layers.causal_mask,
        probes=_causal_probes,
        mistakes=CAUSAL_MISTAKES,
    ),
    Exercise(
        key="1.6",
        name="padding_mask",
        parameters=("lengths", "max_len"),
        points=7,
        section="sec-padding",
        equation="eq-mask",
        reference=layers.padding_mask,
        probes=_padding_probes,
        mistakes=PADDING_MISTAKES,
    ),
)

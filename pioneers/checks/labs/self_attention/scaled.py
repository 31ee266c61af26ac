"""Exercise 1.3: scaled dot-product attention as matrix products.

Axes: T queries, S keys, K width of queries and keys, V width of values. Sizes are distinct primes.
"""

import math

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run
from pioneers.layers import attention_weights


def _attention_probes() -> list[Probe]:
    normal = normals(31)

    def probe(
        name: str, lead: tuple[int, ...], T: int, S: int, K: int, V: int, factor=1.0, strided=False, **how
    ) -> Probe:
        q, k, v = normal(*lead, T, K, **how), normal(*lead, S, K, **how), normal(*lead, S, V, **how)
        return Probe(name, {"q": factor * q, "k": k, "v": v}, strided)

    return [
        probe("d_k differs from d_v", (2,), 5, 11, 7, 3),
        probe("no batch axis", (), 5, 3, 7, 2),
        probe("batch and heads in front", (2, 3), 5, 7, 11, 13),
        probe("a batch of one", (1,), 3, 7, 5, 2),
        probe("very large scores", (2,), 3, 5, 7, 2, factor=300),
        probe("double precision", (2,), 3, 5, 7, 2, dtype=torch.float64),
        probe("bfloat16", (2,), 3, 5, 7, 2, dtype=torch.bfloat16),
        probe("numbers with gaps in memory", (2,), 3, 5, 7, 2, strided=True),
    ]


def _permuted(run: Run) -> tuple[Tensor, Tensor]:
    normal = normals(32)
    x, order = normal(1, 7, 5), torch.tensor([3, 0, 6, 1, 5, 2, 4])
    plain = run(Probe("law", {"q": x, "k": x, "v": x})).tensor
    y = x[:, order]
    return plain[:, order], run(Probe("law", {"q": y, "k": y, "v": y})).tensor


def _weights_sum_to_one(run: Run) -> tuple[Tensor, Tensor]:
    normal = normals(33)
    rows = run(
        Probe("law", {"q": normal(2, 3, 7), "k": normal(2, 5, 7), "v": torch.eye(5).expand(2, 5, 5)})
    ).tensor.sum(-1)
    return rows, torch.ones_like(rows)


def _attend(q: Tensor, k: Tensor, v: Tensor, factor: float, dim: int = -1) -> Tensor:
    return (q @ k.transpose(-2, -1) * factor).softmax(dim) @ v


WRONG_TRANSPOSE = (
    "the wrong axes are transposed",
    "Swap the last two axes of k, transpose(-2, -1), so that any axes in front stay where they are.",
)
ATTENTION_MISTAKES = (
    Mistake(
        "not scaled",
        "The variance of a dot product grows with d_k; undivided, the softmax saturates.",
        lambda q, k, v: _attend(q, k, v, 1.0),
        section="sec-scaling",
        equation="eq-scaled",
    ),
    Mistake(
        "scaled by the width of the values",
        "The variance that must be undone is that of q·k, a sum over d_k terms; d_v has no part in it.",
        lambda q, k, v: _attend(q, k, v, v.shape[-1] ** -0.5),
        section="sec-scaling",
        equation="eq-scaled",
    ),
    Mistake(
        "divided by d_k instead of its root",
        "The standard deviation of q·k is √d_k; dividing by d_k makes every row nearly uniform.",
        lambda q, k, v: _attend(q, k, v, 1 / q.shape[-1]),
        section="sec-scaling",
        equation="eq-scaled",
    ),
    Mistake(
        "scaled after the softmax",
        "Once the softmax has saturated a division cannot help, and the weights no longer sum to one.",
        lambda q, k, v: _attend(q, k, v, 1.0) / math.sqrt(q.shape[-1]),
        section="sec-scaling",
        equation="eq-scaled",
    ),
    Mistake(
        "softmax over the queries",
        "Each query shares out its attention over the keys, the last axis of the scores.",
        lambda q, k, v: _attend(q, k, v, q.shape[-1] ** -0.5, dim=-2),
        equation="eq-softmax",
    ),
    Mistake(
        "keys not transposed",
        "q is (T, K) and k is (S, K): their product needs k with its last two axes swapped, (K, S).",
        lambda q, k, v: (q @ k / math.sqrt(q.shape[-1])).softmax(-1) @ v,
    ),
    Mistake(
        *WRONG_TRANSPOSE, lambda q, k, v: (q @ k.transpose(0, 1) / math.sqrt(q.shape[-1])).softmax(-1) @ v
    ),
    Mistake(
        *WRONG_TRANSPOSE, lambda q, k, v: (q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])).softmax(-1) @ v
    ),
    Mistake(
        "no softmax",
        "Without the softmax the rows of weights neither stay positive nor sum to one.",
        lambda q, k, v: (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])) @ v,
        equation="eq-softmax",
    ),
)

EXERCISES = (
    Exercise(
        key="1.3",
        name="attention",
        parameters=("q", "k", "v"),
        points=12,
        section="sec-loop-to-matrix",
        equation="eq-attention",
        reference=lambda q, k, v: attention_weights(q, k) @ v,
        probes=_attention_probes,
        mistakes=ATTENTION_MISTAKES,
        properties=(
            Property(
                "permuting the tokens permutes the output",
                "Attention has no sense of order: every token is treated alike.",
                _permuted,
                section="sec-equivariance",
            ),
            Property(
                "the weights of a query sum to one", "The softmax shares out exactly 1.", _weights_sum_to_one
            ),
        ),
    ),
)

"""Exercise 1.9: multi-head attention from four weight matrices.

``x`` is (B, T, D); ``w_q``, ``w_k`` and ``w_v`` are (D, H·K), ``w_o`` is (H·K, D), each used as ``x @ w``.
"""

from typing import Any

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run
from pioneers.checks.labs.self_attention.heads import merge, split
from pioneers.layers import attention_weights, causal_mask, padding_mask


def multi_head(x, w_q, w_k, w_v, w_o, num_heads, mask=None, scale=None) -> Tensor:
    """The reference: project, split, attend, merge, project."""
    q, k, v = (split(x @ w, num_heads) for w in (w_q, w_k, w_v))
    return merge(attention_weights(q, k, mask=mask, scale=scale) @ v) @ w_o


def _multi_head_probes() -> list[Probe]:
    normal = normals(91)

    def probe(name: str, B: int, T: int, D: int, H: int, K: int, mask=None, strided=False, **how) -> Probe:
        args: dict[str, Any] = {"x": normal(B, T, D, **how)}
        args |= {w: (normal(D, H * K) / D**0.5).to(**how) for w in ("w_q", "w_k", "w_v")}
        args |= {"w_o": (normal(H * K, D) / (H * K) ** 0.5).to(**how), "num_heads": H}
        return Probe(name, args if mask is None else args | {"mask": mask}, strided)

    lengths = torch.tensor([5, 2])
    single = {"dtype": torch.float32}
    return [
        probe("2 heads of width 3", 2, 5, 6, 2, 3, **single),
        probe("heads that together are wider than the model", 2, 5, 7, 3, 5, **single),
        probe("a causal mask", 2, 5, 10, 5, 2, causal_mask(5, 5), **single),
        probe("a padding mask", 2, 5, 6, 3, 2, padding_mask(lengths, 5), **single),
        probe("one head, a batch of one", 1, 3, 5, 1, 5, **single),
        probe("double precision", 1, 3, 6, 3, 2, dtype=torch.float64),
        probe("numbers with gaps in memory", 2, 3, 10, 2, 5, strided=True, **single),
    ]


def _batch_rows(run: Run) -> tuple[Tensor, Tensor]:
    probe = _multi_head_probes()[0]
    alone = [run(probe.having("law", x=row[None])).tensor for row in probe.args["x"]]
    return run(probe).tensor, torch.cat(alone)


def _no_output(x, w_q, w_k, w_v, w_o, num_heads, mask=None) -> Tensor:
    q, k, v = (split(x @ w, num_heads) for w in (w_q, w_k, w_v))
    return merge(attention_weights(q, k, mask=mask) @ v)


def _wide_scale(x, w_q, w_k, w_v, w_o, num_heads, mask=None) -> Tensor:
    return multi_head(x, w_q, w_k, w_v, w_o, num_heads, mask, scale=w_q.shape[1] ** -0.5)


def _model_scale(x, w_q, w_k, w_v, w_o, num_heads, mask=None) -> Tensor:
    return multi_head(x, w_q, w_k, w_v, w_o, num_heads, mask, scale=x.shape[-1] ** -0.5)


def _one_head(x, w_q, w_k, w_v, w_o, num_heads, mask=None) -> Tensor:
    return multi_head(x, w_q, w_k, w_v, w_o, 1, mask)


def _no_mask(x, w_q, w_k, w_v, w_o, num_heads, mask=None) -> Tensor:
    return multi_head(x, w_q, w_k, w_v, w_o, num_heads)


def _scrambled_merge(x, w_q, w_k, w_v, w_o, num_heads, mask=None) -> Tensor:
    q, k, v = (split(x @ w, num_heads) for w in (w_q, w_k, w_v))
    return (attention_weights(q, k, mask=mask) @ v).reshape(*x.shape[:2], -1) @ w_o


def _scrambled_split(x, w_q, w_k, w_v, w_o, num_heads, mask=None) -> Tensor:
    q, k, v = ((x @ w).reshape(x.shape[0], num_heads, x.shape[1], -1) for w in (w_q, w_k, w_v))
    return merge(attention_weights(q, k, mask=mask) @ v) @ w_o


def _keys_as_values(x, w_q, w_k, w_v, w_o, num_heads, mask=None) -> Tensor:
    return multi_head(x, w_q, w_k, w_k, w_o, num_heads, mask)


def _unscaled(x, w_q, w_k, w_v, w_o, num_heads, mask=None) -> Tensor:
    return multi_head(x, w_q, w_k, w_v, w_o, num_heads, mask, scale=1.0)


MISTAKES = (
    Mistake(
        "output projection forgotten",
        "Concatenated heads do not meet until W^O mixes them: multiply by w_o at the end.",
        _no_output,
    ),
    Mistake(
        "a single head",
        "num_heads is not used: one wide head has one set of weights per query, several heads have several.",
        _one_head,
    ),
    Mistake(
        "the mask is ignored",
        "When a mask is given, hidden keys must get weight zero.",
        _no_mask,
        section="sec-padding",
    ),
    Mistake(
        "scaled by the full width",
        "Each head multiplies vectors of its own width, so divide by √head_dim.",
        _wide_scale,
        section="sec-scaling",
        equation="eq-scaled",
    ),
    Mistake(
        "scaled by the full width",
        "Each head multiplies vectors of its own width, so divide by √head_dim.",
        _model_scale,
        section="sec-scaling",
        equation="eq-scaled",
    ),
    Mistake(
        "not scaled",
        "Divide the scores of each head by √head_dim.",
        _unscaled,
        section="sec-scaling",
        equation="eq-scaled",
    ),
    Mistake(
        "heads merged without a transpose",
        "Before (B, H, T, K) becomes (B, T, H·K) the head axis must move next to K.",
        _scrambled_merge,
    ),
    Mistake(
        "heads split without a transpose",
        "Go from (B, T, D) to (B, T, H, K) to (B, H, T, K): a single reshape mixes tokens and heads.",
        _scrambled_split,
    ),
    Mistake("keys used as values", "The values have a projection of their own, w_v.", _keys_as_values),
)

EXERCISES = (
    Exercise(
        key="1.9",
        name="multi_head_attention",
        parameters=("x", "w_q", "w_k", "w_v", "w_o", "num_heads", "mask=None"),
        points=14,
        section="sec-multihead-preview",
        equation="eq-multihead",
        reference=multi_head,
        probes=_multi_head_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "each sequence is treated by itself",
                "A batch is a convenience: a sequence must come out the same alone and among others.",
                _batch_rows,
            ),
        ),
    ),
)

"""Exercise 3.4: cross-attention of one head, with the padding of the source hidden.

``x`` (B, T, D) is what the decoder has, ``memory`` (B, S, D) what the encoder made, ``lengths`` (B,) its real
tokens. ``w_q`` and ``w_k`` are (D, K), ``w_v`` is (D, Kv): values may be wider or narrower than keys.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pioneers import layers
from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run

NAMES = ("x", "memory", "w_q", "w_k", "w_v", "lengths")


def _attending(
    *,
    queries: Callable[[Tensor, Tensor], Tensor] = lambda x, memory: x,
    keys: Callable[[Tensor, Tensor], Tensor] = lambda x, memory: memory,
    values: Callable[[Tensor, Tensor], Tensor] = lambda x, memory: memory,
    width: Callable[[Tensor, Tensor, Tensor], int] = lambda x, k, v: k.shape[-1],
    hide: Callable[[Tensor, Tensor], Tensor] = lambda scores, real: scores.masked_fill(~real, -math.inf),
    axis: int = -1,
    exact: bool = True,
) -> Callable[..., Tensor]:
    """Cross-attention with one of its steps made otherwise."""

    def answer(x: Tensor, memory: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, lengths: Tensor) -> Tensor:
        q, k, v = queries(x, memory) @ w_q, keys(x, memory) @ w_k, values(x, memory) @ w_v
        scores = q @ k.mT / math.sqrt(width(x, k, v))
        place = torch.arange(scores.shape[-1], device=lengths.device)
        real = place < lengths[:, None, None] if exact else place <= lengths[:, None, None]
        return hide(scores, real).softmax(dim=axis) @ v

    return answer


def cross_attention(
    x: Tensor, memory: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, lengths: Tensor
) -> Tensor:
    """The reference of 3.4."""
    mask = layers.padding_mask(lengths, memory.shape[1])[:, 0]
    return layers.attention(x @ w_q, memory @ w_k, memory @ w_v, mask=mask)


def _probes() -> list[Probe]:
    normal = normals(341)

    def probe(
        name: str,
        B: int,
        T: int,
        S: int,
        lengths: list[int],
        strided: bool = False,
        dtype: Any = torch.float32,
    ) -> Probe:
        D, K, Kv = 7, 3, 5
        args = {"x": 2 * normal(B, T, D), "memory": 2 * normal(B, S, D), "w_q": normal(D, K)}
        args |= {"w_k": normal(D, K), "w_v": normal(D, Kv)}
        args = {name: x.to(dtype) for name, x in args.items()}
        return Probe(name, args | {"lengths": torch.tensor(lengths)}, strided)

    return [
        probe("three target tokens, five source tokens", 2, 3, 5, [5, 2]),
        probe("a target longer than its source", 2, 7, 3, [1, 3]),
        probe("as many target tokens as source tokens", 3, 5, 5, [4, 5, 1]),
        probe("no padding, a batch of one, one target token", 1, 1, 4, [4]),
        probe("double precision", 2, 3, 5, [3, 5], dtype=torch.float64),
        probe("numbers with gaps in memory", 2, 3, 5, [4, 2], strided=True),
    ]


def _shuffled(run: Run) -> tuple[Tensor, Tensor]:
    probe = _probes()[1].having("law", lengths=torch.tensor([3, 3]))
    order = torch.tensor([2, 0, 1])
    return run(probe.having("law", memory=probe.args["memory"][:, order])).tensor, run(probe).tensor


def _other_padding(run: Run) -> tuple[Tensor, Tensor]:
    probe = _probes()[0]
    padding = torch.arange(5) >= probe.args["lengths"][:, None]
    louder = probe.args["memory"] + 30 * padding[..., None]
    return run(probe.having("law", memory=louder)).tensor, run(probe).tensor


def _from_the_target(x: Tensor, memory: Tensor) -> Tensor:
    return x


def _from_the_source(x: Tensor, memory: Tensor) -> Tensor:
    return memory


def _causal_too(scores: Tensor, real: Tensor) -> Tensor:
    causal = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    return scores.masked_fill(~(real & causal), -math.inf)


def _masked_after(
    x: Tensor, memory: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, lengths: Tensor
) -> Tensor:
    scores = x @ w_q @ (memory @ w_k).mT / math.sqrt(w_k.shape[1])
    real = torch.arange(memory.shape[1]) < lengths[:, None, None]
    return (scores.softmax(-1) * real) @ (memory @ w_v)


OTHER_WAY = (
    "queries and keys exchanged",
    "The decoder asks, the source answers: the result has one row for each target token.",
)
SCALE = (
    "scaled by the wrong width",
    "The scores are sums over K terms: divide by √K, the width of the keys.",
)
MISTAKES = (
    Mistake(*OTHER_WAY, _attending(queries=_from_the_source, keys=_from_the_target, values=_from_the_target)),
    Mistake(*OTHER_WAY, _attending(queries=_from_the_source, keys=_from_the_target)),
    Mistake(
        "the memory is never read",
        "Keys and values come from the memory; made from x this is self-attention, blind to the source.",
        _attending(keys=_from_the_target, values=_from_the_target),
    ),
    Mistake(
        "values from the decoder",
        "What is fetched are the source's values: made from x, there are T of them for S weights.",
        _attending(values=_from_the_target),
    ),
    Mistake(
        "the decoder asks nothing",
        "Queries made from the memory are self-attention in the encoder: the target has no say.",
        _attending(queries=_from_the_source),
    ),
    Mistake(
        "the padding of the source is seen",
        "Behind its length a source holds padding, and no target token may attend to it.",
        _attending(hide=lambda scores, real: scores),
        section="sec-three-attentions",
    ),
    Mistake(
        "the mask is inverted",
        "True means may attend: fill with -inf where a token is not real.",
        _attending(hide=lambda scores, real: scores.masked_fill(real, -math.inf)),
        section="sec-three-attentions",
    ),
    Mistake(
        "one padding token too many",
        "lengths counts the real tokens: the places 0 to lengths - 1, so place < lengths.",
        _attending(exact=False),
        section="sec-three-attentions",
    ),
    Mistake(
        "a causal mask across",
        "The whole source is known before the first word is written: nothing in it is hidden by causality.",
        _attending(hide=_causal_too),
        section="sec-three-attentions",
    ),
    Mistake(
        "masked after the softmax",
        "The padding has already taken its share, so the weights that remain no longer sum to one.",
        _masked_after,
        section="sec-three-attentions",
    ),
    Mistake(
        "score zero instead of -inf",
        "A score of 0 is a score like any other: exp(0) = 1. Hidden keys need -inf before the softmax.",
        _attending(hide=lambda scores, real: scores * real),
        section="sec-three-attentions",
    ),
    Mistake(*SCALE, _attending(width=lambda x, k, v: v.shape[-1])),
    Mistake(*SCALE, _attending(width=lambda x, k, v: x.shape[-1])),
    Mistake(
        "not scaled",
        "The scores are divided by √K before the softmax.",
        _attending(width=lambda x, k, v: 1),
    ),
    Mistake(
        "softmax over the queries",
        "Each target token shares out its attention among the source tokens: the softmax runs over the keys.",
        _attending(axis=-2),
    ),
)

EXERCISES = (
    Exercise(
        key="3.4",
        name="cross_attention",
        parameters=NAMES,
        points=12,
        section="sec-cross-attention",
        equation="eq-cross",
        reference=cross_attention,
        probes=_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "cross-attention does not see the order of the memory",
                "A sum does not care about the order of its terms.",
                _shuffled,
            ),
            Property(
                "what stands in the padding changes nothing",
                "Padding moves no answer.",
                _other_padding,
                section="sec-three-attentions",
            ),
        ),
    ),
)

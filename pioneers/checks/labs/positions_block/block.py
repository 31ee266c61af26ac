"""Exercise 2.9: the wiring of a block, pre- and post-norm.

``x`` is (B, T, D). Attention is given by its weights ``mix`` (T, T) and a matrix ``w_value`` (D, D), the
feed-forward network by ``w_up`` (D, F) and ``w_down`` (F, D), the two norms by their gains (D,).
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run

Layer = Callable[[Tensor], Tensor]
Wiring = Callable[[Tensor, Layer, Layer, Layer, Layer, bool], Tensor]


def wired(wiring: Wiring, activation: Layer = F.relu) -> Callable[..., Tensor]:
    """A block from a way to connect x, attention, feed-forward network and their two norms."""

    def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True) -> Tensor:
        def norm(gain: Tensor) -> Layer:
            return lambda h: F.layer_norm(h, gain.shape, gain)

        return wiring(
            x,
            lambda h: mix @ (h @ w_value),
            lambda h: activation(h @ w_up) @ w_down,
            norm(gain_attn),
            norm(gain_ffn),
            norm_first,
        )

    return block


def _pre(x: Tensor, attn: Layer, ffn: Layer, norm1: Layer, norm2: Layer, first: bool) -> Tensor:
    x = x + attn(norm1(x))
    return x + ffn(norm2(x))


def _post(x: Tensor, attn: Layer, ffn: Layer, norm1: Layer, norm2: Layer, first: bool) -> Tensor:
    x = norm1(x + attn(x))
    return norm2(x + ffn(x))


def _right(x: Tensor, attn: Layer, ffn: Layer, norm1: Layer, norm2: Layer, first: bool) -> Tensor:
    return (_pre if first else _post)(x, attn, ffn, norm1, norm2, first)


block = wired(_right)


def _block_probes() -> list[Probe]:
    normal = normals(291)

    def probe(
        name: str, B: int, T: int, D: int, F: int, strided=False, dtype=torch.float32, **more: Any
    ) -> Probe:
        args = {"x": 2 * normal(B, T, D) + 1, "mix": normal(T, T).softmax(-1).tril(), "w_value": normal(D, D)}
        args |= {"w_up": normal(D, F), "w_down": normal(F, D)}
        args |= {"gain_attn": normal(D) + 1, "gain_ffn": normal(D) - 1}
        return Probe(name, {name: x.to(dtype) for name, x in args.items()} | more, strided)

    return [
        probe("pre-norm", 2, 3, 7, 11),
        probe("post-norm", 2, 3, 7, 11, norm_first=False),
        probe("pre-norm, a batch of one, one token", 1, 1, 5, 3, norm_first=True),
        probe("post-norm, hidden units narrower than the stream", 2, 5, 7, 3, norm_first=False),
        probe("double precision", 2, 5, 3, 7, dtype=torch.float64),
        probe("numbers with gaps in memory", 2, 3, 5, 7, strided=True, norm_first=False),
    ]


def _nothing_added(run: Run) -> tuple[Tensor, Tensor]:
    probe = _block_probes()[0]
    silent = {name: torch.zeros_like(probe.args[name]) for name in ("w_value", "w_down")}
    return run(probe.having("law", **silent)).tensor, probe.args["x"]


def _mean_zero(run: Run) -> tuple[Tensor, Tensor]:
    probe = _block_probes()[1]
    mean = run(probe.having("law", gain_ffn=torch.ones(7))).tensor.mean(-1)
    return mean, torch.zeros_like(mean)


def _swapped(x, attn, ffn, norm1, norm2, first) -> Tensor:
    return _right(x, attn, ffn, norm1, norm2, not first)


def _no_sum(x, attn, ffn, norm1, norm2, first) -> Tensor:
    if first:
        return ffn(norm2(attn(norm1(x))))
    return norm2(ffn(norm1(attn(x))))


def _one_sum(x, attn, ffn, norm1, norm2, first) -> Tensor:
    if first:
        return x + ffn(norm2(attn(norm1(x))))
    return norm2(x + ffn(norm1(attn(x))))


def _normalised_stream(x, attn, ffn, norm1, norm2, first) -> Tensor:
    if not first:
        return _post(x, attn, ffn, norm1, norm2, first)
    h = norm1(x)
    h = norm2(h + attn(h))
    return h + ffn(h)


def _outside(x, attn, ffn, norm1, norm2, first) -> Tensor:
    if first:
        return _pre(x, attn, ffn, norm1, norm2, first)
    x = x + norm1(attn(x))
    return x + norm2(ffn(x))


def _parallel(x, attn, ffn, norm1, norm2, first) -> Tensor:
    if first:
        return x + attn(norm1(x)) + ffn(norm2(x))
    return norm2(norm1(x + attn(x)) + ffn(x))


def _first_input_again(x, attn, ffn, norm1, norm2, first) -> Tensor:
    if first:
        return x + ffn(norm2(x + attn(norm1(x))))
    return norm2(x + ffn(norm1(x + attn(x))))


def _no_gain(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True) -> Tensor:
    one = torch.ones_like(gain_attn)
    return block(x, mix, w_value, w_up, w_down, one, one, norm_first)


IGNORED = (
    "norm_first is ignored",
    "The block must be pre-norm when norm_first is True, post-norm otherwise.",
)
PARAMETERS = ("x", "mix", "w_value", "w_up", "w_down", "gain_attn", "gain_ffn", "norm_first=True")
MISTAKES = (
    Mistake(*IGNORED, wired(_pre)),
    Mistake(*IGNORED, wired(_post)),
    Mistake(
        "pre and post swapped",
        "Pre-norm normalises what a layer reads; post-norm normalises the sum.",
        wired(_swapped),
    ),
    Mistake(
        "no residual connection",
        "A layer changes its input, it does not replace it: add what comes out to what went in.",
        wired(_no_sum),
        section="sec-residual",
        equation="eq-residual",
    ),
    Mistake(
        "one sum for both layers",
        "Each of the two layers has a residual connection of its own.",
        wired(_one_sum),
        section="sec-residual",
        equation="eq-residual",
    ),
    Mistake(
        "the normalised stream goes on",
        "In pre-norm the layer reads a normalised copy; what the sum carries on is x itself.",
        wired(_normalised_stream),
    ),
    Mistake(
        "the norm stands before the sum",
        "Post-norm normalises the whole sum, what came in and what the layer adds.",
        wired(_outside),
    ),
    Mistake(
        "both layers read the block's input",
        "The feed-forward network reads what attention has added, and comes after it.",
        wired(_parallel),
        section="sec-block",
        equation="eq-placements",
    ),
    Mistake(
        "what attention added is lost",
        "The second sum starts from the result of the first, not from the block's input.",
        wired(_first_input_again),
        section="sec-residual",
        equation="eq-residual",
    ),
    Mistake(
        "the two gains swapped",
        "gain_attn belongs to the norm of attention, gain_ffn to that of the feed-forward network.",
        wired(lambda x, attn, ffn, norm1, norm2, first: _right(x, attn, ffn, norm2, norm1, first)),
    ),
    Mistake(
        "one norm used twice",
        "Each sublayer has a norm of its own, with a gain of its own.",
        wired(lambda x, attn, ffn, norm, _, first: _right(x, attn, ffn, norm, norm, first)),
    ),
    Mistake(
        "the gains are ignored",
        "Each norm multiplies by its learned gain: pass it to layer_norm.",
        _no_gain,
        section="sec-layernorm",
        equation="eq-layernorm",
    ),
    Mistake(
        "attention weights transposed",
        "Row t of mix holds the weights of query t: mix @ values, without a transpose.",
        lambda x, mix, *rest: block(x, mix.T, *rest),
        section="sec-loop-to-matrix",
        equation="eq-attention",
    ),
    Mistake(
        "no activation",
        "Without the ReLU the two matrices are one, and the network cannot compute.",
        wired(_right, activation=lambda h: h),
        section="sec-ffn",
        equation="eq-ffn",
    ),
)

EXERCISES = (
    Exercise(
        key="2.9",
        name="block",
        parameters=PARAMETERS,
        points=12,
        section="sec-norm-placement",
        equation="eq-placements",
        reference=block,
        probes=_block_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "layers that add nothing leave a pre-norm stream alone",
                "The direct path of the sum has no norm in it.",
                _nothing_added,
                section="sec-residual",
                equation="eq-paths",
            ),
            Property(
                "with gain 1 what leaves a post-norm block has mean zero",
                "The last thing that happens to it is the norm.",
                _mean_zero,
            ),
        ),
    ),
)

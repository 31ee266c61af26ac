"""Exercise 6.9: attention rollout, from the class token back to the patches.

``weights`` is (L, B, H, T, T), first layer first, T = 1 + N with the class token first.
"""

from collections.abc import Callable, Iterable
from functools import reduce

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run

Layers = Iterable[Tensor]


def _identity(weights: Tensor) -> Tensor:
    return torch.eye(weights.shape[-1]).to(weights)


def _mixed(weights: Tensor, residual: float) -> Tensor:
    """What each layer makes of the tokens, (L, B, T, T)."""
    return residual * _identity(weights) + (1 - residual) * weights.mean(2)


def _last_on_the_left(mixed: Layers) -> Tensor:
    return reduce(lambda rollout, layer: layer @ rollout, mixed)


def _first_on_the_left(mixed: Layers) -> Tensor:
    return reduce(lambda rollout, layer: rollout @ layer, mixed)


def _patches(rollout: Tensor) -> Tensor:
    shares = rollout[:, 0, 1:]
    return shares / shares.sum(-1, keepdim=True)


def _rollout(
    mix: Callable[[Tensor, float], Tensor] = _mixed,
    multiply: Callable[[Tensor], Tensor] = _last_on_the_left,
    read: Callable[[Tensor], Tensor] = _patches,
) -> Callable[..., Tensor]:
    """Rollout with another step; the defaults give the reference."""
    return lambda weights, residual=0.5: read(multiply(mix(weights, residual)))


def _maps() -> list[Probe]:
    normal = normals(69)

    def probe(name: str, *sizes: int, sharp=2.0, strided=False, dtype=torch.float32, **more) -> Probe:
        L, B, H, N = sizes
        weights = (sharp * normal(L, B, H, 1 + N, 1 + N, dtype=torch.float64)).softmax(-1)
        return Probe(name, {"weights": weights.to(dtype), **more}, strided)

    return [
        probe("three layers", 3, 2, 5, 7),
        probe("two layers, much kept", 2, 3, 2, 5, residual=0.8),
        probe("four layers, nothing kept", 4, 2, 3, 5, residual=0.0),
        probe("one layer, one image, one head", 1, 1, 1, 3),
        probe("one patch", 2, 3, 2, 1),
        probe("sharp weights", 3, 2, 3, 11, sharp=5.0),
        probe("double precision", 3, 2, 2, 5, dtype=torch.float64),
        probe("numbers with gaps in memory", 2, 2, 3, 5, strided=True),
    ]


def _shares_sum_to_one(run: Run) -> tuple[Tensor, Tensor]:
    shares = run(_maps()[0]).tensor
    return shares.sum(-1), torch.ones(len(shares))


def _a_silent_layer(run: Run) -> tuple[Tensor, Tensor]:
    probe = _maps()[0]
    weights = probe.args["weights"]
    idle = torch.eye(weights.shape[-1]).expand_as(weights[:1])
    longer = torch.cat([weights[:2], idle, weights[2:]])
    return run(probe.having("law", weights=longer)).tensor, run(probe).tensor


def _summed(mixed: Tensor) -> Tensor:
    return mixed.sum(0)


def _largest_head(weights: Tensor, residual: float) -> Tensor:
    return residual * _identity(weights) + (1 - residual) * weights.amax(2)


def _each_head_alone(weights: Tensor, residual: float = 0.5) -> Tensor:
    mixed = residual * _identity(weights) + (1 - residual) * weights
    return _patches(_last_on_the_left(mixed).mean(1))


def _column(rollout: Tensor) -> Tensor:
    return _patches(rollout.transpose(1, 2))


def _mean_row(rollout: Tensor) -> Tensor:
    shares = rollout[:, :, 1:].mean(1)
    return shares / shares.sum(-1, keepdim=True)


MISTAKES = (
    Mistake(
        "the first layer on the left",
        "A later layer acts on what the earlier ones made: its matrix stands on the left.",
        _rollout(multiply=_first_on_the_left),
    ),
    Mistake(
        "the residual forgotten",
        "A layer adds to the stream: a share of each token stays where it was.",
        _rollout(lambda weights, residual: weights.mean(2)),
    ),
    Mistake(
        "kept and brought mixed up",
        "residual is the share of the identity; attention has the rest.",
        _rollout(lambda weights, residual: _mixed(weights, 1 - residual)),
    ),
    Mistake(
        "residual is ignored",
        "One half is only the default: use the parameter residual.",
        _rollout(lambda weights, residual: _mixed(weights, 0.5)),
    ),
    Mistake(
        "the identity in full",
        "Only the share residual of it: the rows of each layer's matrix sum to one.",
        _rollout(lambda weights, residual: _identity(weights) + (1 - residual) * weights.mean(2)),
    ),
    Mistake(
        "the last layer only",
        "Tokens of the last layer are mixtures already: multiply all layers.",
        _rollout(multiply=lambda mixed: mixed[-1]),
    ),
    Mistake(
        "layers added, not multiplied",
        "Each layer mixes what the one before has mixed: a product of matrices.",
        _rollout(multiply=_summed),
    ),
    Mistake(
        "layers multiplied entry by entry",
        "Layers follow one another as matrices do: @, not *.",
        _rollout(multiply=lambda mixed: mixed.prod(0)),
    ),
    Mistake(
        "the largest head instead of the mean",
        "The heads are averaged, so that the rows still sum to one.",
        _rollout(_largest_head),
    ),
    Mistake(
        "heads summed",
        "The mean of the heads has rows that sum to one; their sum outweighs what the stream keeps.",
        _rollout(lambda weights, residual: residual * _identity(weights) + (1 - residual) * weights.sum(2)),
    ),
    Mistake(
        "each head rolled out by itself",
        "The next layer reads the sum of all heads: average the heads in each layer, then multiply.",
        _each_head_alone,
    ),
    Mistake(
        "a column instead of the row",
        "Row 0 says what the class token is made of; column 0 says where the class token went.",
        _rollout(read=_column),
    ),
    Mistake(
        "every token asked",
        "The head reads the class token alone: row 0, not the mean of all rows.",
        _rollout(read=_mean_row),
    ),
    Mistake(
        "the class token's own share kept",
        "The result has an entry for each patch: leave out column 0.",
        _rollout(read=lambda rollout: rollout[:, 0]),
    ),
    Mistake(
        "shares that do not sum to one",
        "Without the class token's own share the rest sums to less than one: divide by the sum.",
        _rollout(read=lambda rollout: rollout[:, 0, 1:]),
    ),
    Mistake(
        "a softmax of shares",
        "Shares are made to sum to one by dividing: a softmax would make them nearly equal.",
        _rollout(read=lambda rollout: rollout[:, 0, 1:].softmax(-1)),
    ),
)

EXERCISES = (
    Exercise(
        key="6.9",
        name="rollout",
        parameters=("weights", "residual=0.5"),
        points=11,
        section="sec-vit-rollout",
        equation="eq-rollout",
        reference=_rollout(),
        probes=_maps,
        mistakes=MISTAKES,
        properties=(
            Property(
                "the shares sum to one", "They say where all of the picture came from.", _shares_sum_to_one
            ),
            Property(
                "a layer in which every token looks at itself changes nothing",
                "Its matrix is the identity.",
                _a_silent_layer,
            ),
        ),
    ),
)

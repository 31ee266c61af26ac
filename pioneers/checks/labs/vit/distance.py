"""Exercise 6.8: the attention distance of each head, in pixels.

``weights`` is (B, H, 1 + N, 1 + N), the class token first; every query gives some weight to patches.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run


def _shares(weights: Tensor) -> Tensor:
    patches = weights[:, :, 1:, 1:]
    return patches / patches.sum(-1, keepdim=True)


def _straight(steps: Tensor) -> Tensor:
    return steps.square().sum(-1).sqrt()


def _places(num_patches: int, columns: int) -> Tensor:
    return torch.cartesian_prod(torch.arange(num_patches // columns), torch.arange(columns))


def _distance(
    shares: Callable[[Tensor], Tensor] = _shares,
    length: Callable[[Tensor], Tensor] = _straight,
    places: Callable[[int, int], Tensor] = _places,
    mean: Callable[[Tensor], Tensor] = lambda x: x.sum(-1).mean(dim=(0, 2)),
) -> Callable[[Tensor, int, int], Tensor]:
    """The distance with another step; the defaults give the reference."""

    def distance(weights: Tensor, columns: int, patch_size: int) -> Tensor:
        given = shares(weights)
        centres = patch_size * places(given.shape[-1], columns).to(given)
        return mean(given * length(centres[:, None] - centres))

    return distance


def _in_patches(weights: Tensor, columns: int, patch_size: int) -> Tensor:
    return _distance()(weights, columns, 1)


def _weight_probes() -> list[Probe]:
    normal = normals(68)

    def probe(name: str, sizes: tuple[int, ...], P: int, *, sharp=1.0, strided=False):
        B, H, rows, columns = sizes
        T = 1 + rows * columns
        weights = (sharp * normal(B, H, T, T, dtype=torch.float64)).softmax(-1).float()
        return Probe(name, {"weights": weights, "columns": columns, "patch_size": P}, strided)

    return [
        probe("a wide grid", (2, 3, 2, 5), 7),
        probe("a tall grid", (3, 2, 5, 3), 2),
        probe("a square grid", (2, 5, 3, 3), 16),
        probe("one image, one head", (1, 1, 2, 3), 5),
        probe("one row of patches", (2, 3, 1, 7), 3),
        probe("sharp weights, patches of one pixel", (2, 3, 3, 2), 1, sharp=4.0),
        probe("numbers with gaps in memory", (2, 3, 2, 3), 5, strided=True),
    ]


def _blind_to_class_token(run: Run) -> tuple[Tensor, Tensor]:
    probe = _weight_probes()[0]
    weights = probe.args["weights"].clone()
    weights[..., 0], weights[:, :, 1:, 1:] = 0.5, 0.3 * weights[:, :, 1:, 1:]
    return run(probe.having("law", weights=weights)).tensor, run(probe).tensor


def _own_patch(run: Run) -> tuple[Tensor, Tensor]:
    weights = torch.eye(7).expand(2, 3, 7, 7)
    return run(Probe("law", {"weights": weights, "columns": 2, "patch_size": 11})).tensor, torch.zeros(3)


def _by_columns(num_patches: int, columns: int) -> Tensor:
    return torch.cartesian_prod(torch.arange(columns), torch.arange(num_patches // columns)).flip(1)


def _class_token_last(weights: Tensor) -> Tensor:
    return _shares(weights.roll((1, 1), (2, 3)))


def _over_queries(weights: Tensor) -> Tensor:
    patches = weights[:, :, 1:, 1:]
    return patches / patches.sum(-2, keepdim=True)


def _with_class_token(weights: Tensor) -> Tensor:
    return weights[:, :, 1:, 1:]


MISTAKES = (
    Mistake(
        "shares that do not sum to one",
        "Without the class token a row sums to less than one: divide it by its sum.",
        _distance(_with_class_token),
    ),
    Mistake(
        "normalised over the queries",
        "Each query's weights sum to one: divide by the sum over the last axis, the keys.",
        _distance(_over_queries),
    ),
    Mistake(
        "a second softmax",
        "The weights are shares already: divide them by their sum.",
        _distance(lambda weights: weights[:, :, 1:, 1:].softmax(-1)),
    ),
    Mistake(
        "the class token taken for the last one",
        "It stands in front: leave out row 0 and column 0.",
        _distance(_class_token_last),
    ),
    Mistake(
        "counted in patches",
        "The distance is asked for in pixels: neighbouring centres are patch_size apart.",
        _in_patches,
    ),
    Mistake(
        "steps along rows and columns",
        "The straight line between two centres: the root of the sum of squares.",
        _distance(length=lambda steps: steps.abs().sum(-1)),
    ),
    Mistake(
        "the root forgotten",
        "The distance is the root of the sum of squares: squared, far keys count far too much.",
        _distance(length=lambda steps: steps.square().sum(-1)),
    ),
    Mistake(
        "distance along the reading order",
        "Patches n and n + 1 may stand at opposite ends of the grid: find row and column of each.",
        _distance(places=lambda num, columns: torch.arange(num)[:, None]),
        section="sec-vit-patchify",
    ),
    Mistake(
        "patches numbered column by column",
        "Patches come in reading order: patch n is in row n // columns and column n % columns.",
        _distance(places=_by_columns),
        section="sec-vit-patchify",
    ),
    Mistake(
        "summed over the queries",
        "The distance of a head is a mean over its queries and images.",
        _distance(mean=lambda x: x.sum((-1, -2)).mean(0)),
    ),
    Mistake(
        "the mean over the keys",
        "The shares are the weights of the mean over keys: sum their products, do not divide by N again.",
        _distance(mean=lambda x: x.mean(dim=(0, 2, 3))),
    ),
    Mistake(
        "one number for all heads",
        "Heads differ, and that is what is to be seen: one distance for each.",
        _distance(mean=lambda x: x.sum(-1).mean()),
    ),
    Mistake(
        "one number for each image",
        "The mean is over images as well: the result is (H,).",
        _distance(mean=lambda x: x.sum(-1).mean(-1)),
    ),
)

EXERCISES = (
    Exercise(
        key="6.8",
        name="attention_distance",
        parameters=("weights", "columns", "patch_size"),
        points=10,
        section="sec-vit-distance",
        equation="eq-attention-distance",
        reference=_distance(),
        probes=_weight_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "what the class token gets changes nothing",
                "The distance is that among patches.",
                _blind_to_class_token,
            ),
            Property(
                "a head that looks at its own patch only has distance 0", "It goes nowhere.", _own_patch
            ),
        ),
    ),
)

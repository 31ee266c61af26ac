"""Exercise 6.4: the class token in front, positions added.

``patches`` is (B, N, D), ``cls_token`` (D,) and ``table`` (1 + N, D).
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run


def _front(patches: Tensor, cls_token: Tensor) -> Tensor:
    return torch.cat([cls_token.expand(len(patches), 1, -1), patches], dim=1)


def _behind(patches: Tensor, cls_token: Tensor) -> Tensor:
    return torch.cat([patches, cls_token.expand(len(patches), 1, -1)], dim=1)


def _tokens(
    join: Callable[[Tensor, Tensor], Tensor] = _front,
    places: Callable[[Tensor], Tensor] = lambda table: table,
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Tokens joined otherwise, or with other positions; the defaults give the reference."""
    return lambda patches, cls_token, table: join(patches, cls_token) + places(table)


def _token_probes() -> list[Probe]:
    normal = normals(64)

    def probe(name: str, B: int, N: int, D: int, strided=False, dtype=torch.float32) -> Probe:
        args = {"patches": normal(B, N, D), "cls_token": normal(D), "table": normal(1 + N, D)}
        return Probe(name, {name: x.to(dtype) for name, x in args.items()}, strided)

    return [
        probe("three images", 3, 5, 7),
        probe("one image", 1, 11, 5),
        probe("one patch", 2, 1, 3),
        probe("as many images as patches", 5, 5, 3),
        probe("double precision", 2, 3, 7, dtype=torch.float64),
        probe("bfloat16", 2, 5, 3, dtype=torch.bfloat16),
        probe("numbers with gaps in memory", 2, 3, 5, strided=True),
    ]


def _same_class_token(run: Run) -> tuple[Tensor, Tensor]:
    first = run(_token_probes()[0]).tensor[:, 0]
    return first, first[:1].expand_as(first)


def _without_own_place(table: Tensor) -> Tensor:
    return torch.cat([torch.zeros_like(table[:1]), table[1:]])


def _first_image_only(patches: Tensor, cls_token: Tensor, table: Tensor) -> Tensor:
    first = torch.zeros_like(patches[:, :1])
    first[0] = cls_token
    return torch.cat([first, patches], dim=1) + table


MISTAKES = (
    Mistake(
        "the class token behind the patches",
        "It stands in front: row 0 is where the head will read, whatever the number of patches.",
        _tokens(_behind),
    ),
    Mistake(
        "the class token has no position",
        "The table has 1 + N rows: row 0 is added to the class token.",
        _tokens(places=_without_own_place),
    ),
    Mistake(
        "the positions are one place off",
        "Row 0 of the table belongs to the class token, row n to the n-th patch.",
        _tokens(places=lambda table: table.roll(1, 0)),
    ),
    Mistake(
        "no positions",
        "Without the table the model sees a bag of patches.",
        _tokens(places=torch.zeros_like),
        section="sec-vit-no-positions",
        equation="eq-vit-bag",
    ),
    Mistake(
        "the class token added, not put in front",
        "It is a token of its own: the sequence grows by one, to 1 + N.",
        lambda patches, cls_token, table: patches + cls_token + table[1:],
    ),
    Mistake(
        "the class token added to every token",
        "Only row 0 holds it; the patches keep their own vectors.",
        lambda patches, cls_token, table: _front(patches + cls_token, cls_token) + table,
    ),
    Mistake(
        "a class token in the first image only",
        "Every image of the batch gets the same learned vector.",
        _first_image_only,
    ),
)

EXERCISES = (
    Exercise(
        key="6.4",
        name="to_tokens",
        parameters=("patches", "cls_token", "table"),
        points=8,
        section="sec-vit-architecture",
        equation="eq-vit",
        reference=_tokens(),
        probes=_token_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "row 0 is the same for every image",
                "The class token carries no picture of its own.",
                _same_class_token,
            ),
        ),
    ),
)

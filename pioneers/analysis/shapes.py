"""The colours and the parts of schematic pictures.

Each colour of ``PALETTE`` has one meaning throughout the book. Letters take the colour of the text around
them and shapes are only tinted, so that a picture is readable on light and dark pages.
"""

import html
import re
from collections.abc import Sequence
from typing import NamedTuple

PALETTE = {
    "plain": "#7b8591",
    "input": "#8a8f2a",
    "query": "#2f80d0",
    "key": "#d9731a",
    "value": "#2c9c56",
    "weights": "#a05bd6",
    "mask": "#8d7f78",
    "norm": "#c0871a",
    "residual": "#d8487c",
    "ffn": "#199a9f",
    "output": "#5f6fe0",
}
LETTER = 13
Point = tuple[float, float]


class Place(NamedTuple):
    """Where a shape is. Arrows begin and end at its sides.

    Attributes:
        x: its left side.
        y: its upper side.
        width: its width.
        height: its height.
    """

    x: float
    y: float
    width: float
    height: float

    @property
    def left(self) -> Point:
        """The middle of the left side."""
        return self.x, self.y + self.height / 2

    @property
    def right(self) -> Point:
        """The middle of the right side."""
        return self.x + self.width, self.y + self.height / 2

    @property
    def top(self) -> Point:
        """The middle of the upper side."""
        return self.x + self.width / 2, self.y

    @property
    def bottom(self) -> Point:
        """The middle of the lower side."""
        return self.x + self.width / 2, self.y + self.height


def rectangle(place: Place, kind: str, strength: float, radius: float = 0) -> str:
    """A rectangle as SVG.

    Args:
        place: where it is.
        kind: the entry of the palette that colours it.
        strength: of its tint, from 0 to 1.
        radius: of its corners.
    """
    x, y, width, height = place
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius:g}" '
        f'fill="{PALETTE[kind]}" fill-opacity="{strength:.2g}" stroke="{PALETTE[kind]}"/>'
    )


def line(points: Sequence[Point], kind: str) -> str:
    """A line through points as SVG.

    Args:
        points: where it goes.
        kind: the entry of the palette that colours it.
    """
    return f'<path d="{_outline(points)}" fill="none" stroke="{PALETTE[kind]}" stroke-width="1.6"/>'


def area(points: Sequence[Point], kind: str) -> str:
    """A filled polygon as SVG.

    Args:
        points: its corners.
        kind: the entry of the palette that colours it.
    """
    return f'<path d="{_outline(points)}Z" fill="{PALETTE[kind]}"/>'


def texts(middle: Point, label: str, anchor: str = "middle") -> list[str]:
    """A label as SVG, line by line; ``_{...}`` and ``^{...}`` are below and above the line.

    Args:
        middle: where it is; vertically, its middle.
        label: the words.
        anchor: what of the label is there, horizontally: its ``"start"``, ``"middle"`` or ``"end"``.
    """
    x, y = middle
    rows = label.split("\n")
    bases = [y + 0.35 * LETTER + 1.25 * LETTER * (i - (len(rows) - 1) / 2) for i in range(len(rows))]
    return [
        f'<text x="{x:g}" y="{base:g}" text-anchor="{anchor}" font-size="{LETTER}" fill="currentColor">'
        f"{re.sub(r'([_^]){(.*?)}', _shifted, html.escape(row))}</text>"
        for base, row in zip(bases, rows, strict=True)
    ]


def _outline(points: Sequence[Point]) -> str:
    return "M" + "L".join(f"{x:g},{y:g}" for x, y in points)


def _shifted(match: re.Match[str]) -> str:
    down = 3 if match[1] == "_" else -5
    return f'<tspan dy="{down}" font-size="11">{match[2]}</tspan><tspan dy="{-down}">&#8203;</tspan>'

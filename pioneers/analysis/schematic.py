"""Schematic pictures of models: boxes, matrices and arrows in one visual language, as SVG."""

import html
import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pioneers.analysis.shapes import Place, Point, area, line, rectangle, texts

WIDEST = 380  # units: with letters of 13, at least 11 pixels on a telephone of 360


@dataclass
class Schematic:
    """A picture to which shapes are added one after the other; a notebook shows it at the end of a cell.

    Labels may contain line breaks and ``_{below}`` and ``^{above}`` for letters below and above the line.

    Attributes:
        width: of the picture, in units of about a pixel; at most 380, so that it can be read on a telephone.
        height: of the picture, in the same units.
        alt: what the picture shows, in words.
        parts: the shapes so far, as SVG.

    Raises:
        ValueError: ``alt`` is empty, or the picture is wider than 380 units.

    Example:
        >>> picture = Schematic(200, 60, alt="A word vector becomes a query.")
        >>> word = picture.box(10, 20, 50, 30, "x", kind="input")
        >>> query = picture.box(140, 20, 50, 30, "q", kind="query")
        >>> picture.arrow(word.right, query.left, "W_{Q}")
        >>> "Picture: A word vector" in picture._repr_mimebundle_()["text/plain"]
        True
    """

    width: float
    height: float
    alt: str
    parts: list[str] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.alt.strip():
            raise ValueError("a schematic needs alt text for readers who cannot see it: alt is empty")
        if self.width > WIDEST:
            raise ValueError(
                f"a schematic {self.width:g} units wide cannot be read on a telephone: at most {WIDEST}"
            )

    def text(self, x: float, y: float, label: str, *, anchor: str = "middle") -> None:
        """Write a label.

        Args:
            x: where the label is, horizontally.
            y: the middle of the label, vertically.
            label: the words.
            anchor: what of the label is at ``x``: its ``"start"``, ``"middle"`` or ``"end"``.
        """
        self.parts += texts((x, y), label, anchor)

    def box(
        self, x: float, y: float, width: float, height: float, label: str = "", *, kind: str = "plain"
    ) -> Place:
        """Draw a box with rounded corners: a layer, a vector, a token.

        Args:
            x: its left side.
            y: its upper side.
            width: its width.
            height: its height.
            label: the words in it.
            kind: an entry of ``PALETTE``.
        """
        place = Place(x, y, width, height)
        self.parts += [rectangle(place, kind, 0.16, 5), *texts((x + width / 2, y + height / 2), label)]
        return place

    def node(self, x: float, y: float, label: str, *, kind: str = "plain") -> Place:
        """Draw an operation around a point: a circle for a sign, a capsule for a name.

        Args:
            x: its middle, horizontally.
            y: its middle, vertically.
            label: the sign, such as +, or the name, such as softmax.
            kind: an entry of ``PALETTE``.
        """
        wide = 24 if len(label) == 1 else 18 + 7.2 * len(re.sub(r"[_^{}]", "", label))
        place = Place(x - wide / 2, y - 12, wide, 24)
        self.parts += [rectangle(place, kind, 0.16, 12), *texts((x, y), label)]
        return place

    def matrix(
        self,
        x: float,
        y: float,
        rows: int,
        columns: int,
        *,
        cell: float = 14,
        kind: str = "plain",
        heat: Sequence[Sequence[float | None]] | None = None,
        values: Sequence[Sequence[str]] | None = None,
        label: str = "",
        row_labels: Sequence[str] = (),
        column_labels: Sequence[str] = (),
    ) -> Place:
        """Draw a matrix as a grid of cells, with its name above or, if its columns have names, below.

        Args:
            x: its left side, without the names of its rows.
            y: its upper side.
            rows: how many rows it has.
            columns: how many columns it has.
            cell: width and height of a cell.
            kind: an entry of ``PALETTE``.
            heat: how strongly each cell is coloured, from 0 to 1; None is a masked cell.
            values: what is written in each cell; such a cell should be at least 28 wide.
            label: the name of the matrix.
            row_labels: names to the left of the rows.
            column_labels: names above the columns, which are turned if there are many letters.
        """
        for i, j in itertools.product(range(rows), range(columns)):
            share = 0.3 if heat is None else heat[i][j]
            left, top = x + j * cell, y + i * cell
            hue, strength = ("mask", 0.0) if share is None else (kind, 0.9 * share)
            self.parts.append(rectangle(Place(left, top, cell, cell), hue, strength))
            if share is None:
                self.parts.append(line([(left + 3, top + cell - 3), (left + cell - 3, top + 3)], "mask"))
            if values is not None:
                self.text(left + cell / 2, top + cell / 2, values[i][j])
        for i, name in enumerate(row_labels):
            self.text(x - 6, y + (i + 0.5) * cell, name, anchor="end")
        turn = -50 if any(len(name) * 7 > cell for name in column_labels) else 0
        for j, name in enumerate(column_labels):
            self.parts.append(f'<g transform="translate({x + (j + 0.5) * cell:g},{y - 8:g}) rotate({turn})">')
            self.text(0, -2, name, anchor="start" if turn else "middle")
            self.parts.append("</g>")
        if label:
            below = y + rows * cell + 12 if column_labels else y - 11
            self.text(x + columns * cell / 2, below, label)
        return Place(x, y, columns * cell, rows * cell)

    def arrow(
        self, start: Point, end: Point, label: str = "", *, kind: str = "plain", via: Sequence[Point] = ()
    ) -> None:
        """Draw an arrow, straight or around corners, with a label beside its middle.

        Args:
            start: where it begins.
            end: where its head is.
            label: its name or, more often, the shape of what flows along it.
            kind: an entry of ``PALETTE``.
            via: the corners on its way.
        """
        points = [start, *via, end]
        (x, y), (tip_x, tip_y) = points[-2:]
        length = math.hypot(tip_x - x, tip_y - y) or 1.0
        back_x, back_y = (tip_x - x) / length, (tip_y - y) / length
        base = (tip_x - 8 * back_x, tip_y - 8 * back_y)
        self.parts.append(line([*points[:-1], base], kind))
        corners = [(base[0] + side * 4 * back_y, base[1] - side * 4 * back_x) for side in (1, -1)]
        self.parts.append(area([*corners, end], kind))
        if label:
            (x0, y0), (x1, y1) = max(itertools.pairwise(points), key=lambda leg: math.dist(*leg))
            if abs(y1 - y0) > abs(x1 - x0):
                self.text((x0 + x1) / 2 + 7, (y0 + y1) / 2, label, anchor="start")
            else:
                self.text((x0 + x1) / 2, min(y0, y1) - 9 - 8 * label.count("\n"), label)

    def residual(self, start: Point, end: Point, out: float, label: str = "") -> None:
        """Draw a residual path: an arrow that leaves sideways, passes a layer and returns.

        Args:
            start: where it leaves.
            end: where it returns, such as the side of a ``+``.
            out: how far to the side it runs; to the left if negative.
            label: its name.
        """
        side = start[0] + out
        self.arrow(start, end, label, kind="residual", via=[(side, start[1]), (side, end[1])])

    def brace(self, start: Point, end: Point, label: str) -> None:
        """Draw a curly brace and a label at its tip.

        Args:
            start: its left or upper end.
            end: its right end, for a label below, or its lower end, for a label to the right.
            label: the name of what it spans.
        """
        down = end[1] - start[1] > end[0] - start[0]
        length = math.dist(start, end)
        half, turn = length / 2, "rotate(90) scale(1,-1)" if down else ""
        self.parts.append(
            f'<path transform="translate({start[0]:g},{start[1]:g}){turn}" fill="none" stroke="currentColor" '
            f'd="M0,0Q0,6 6,6H{half - 6:g}Q{half:g},6 {half:g},12Q{half:g},6 {half + 6:g},6H{length - 6:g}'
            f'Q{length:g},6 {length:g},0"/>'
        )
        if down:
            self.text(start[0] + 17, start[1] + half, label, anchor="start")
        else:
            self.text(start[0] + half, start[1] + 22, label)

    def svg(self) -> str:
        """The picture as SVG, to be put in a page as it is."""
        return (
            f'<svg class="schematic" role="img" aria-label="{html.escape(self.alt)}" '
            f'viewBox="0 0 {self.width:g} {self.height:g}" width="{1.25 * self.width:g}" '
            'xmlns="http://www.w3.org/2000/svg" style="max-width:100%;height:auto" '
            f'font-family="system-ui,sans-serif">{"".join(self.parts)}</svg>'
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": f"Picture: {self.alt}", "text/html": self.svg()}


@dataclass(frozen=True)
class SideBySide:
    """Schematics beside each other, or below each other where there is no room.

    Attributes:
        pictures: the schematics.
    """

    pictures: Sequence[Schematic]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        style = "display:flex;flex-wrap:wrap;gap:1rem;justify-content:center;align-items:center"
        inner = "".join(
            f'<div style="flex:1 1 300px;max-width:370px">{picture.svg()}</div>' for picture in self.pictures
        )
        return {
            "text/plain": "\n".join(f"Picture: {picture.alt}" for picture in self.pictures),
            "text/html": f'<div style="{style}">{inner}</div>',
        }

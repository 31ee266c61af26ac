"""Interactive figures: a picture that a script of the book makes interactive."""

import base64
import html
import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
from torch import Tensor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LARGEST = 60_000  # characters of data: pages must stay small


@dataclass(frozen=True)
class InteractiveFigure:
    """An interactive figure: a notebook shows its picture, a page of the book the script's figure.

    Attributes:
        name: of the script in ``book/_static/interactive``.
        data: the script's input, as JSON.
        picture: the figure at one setting, as PNG, for print and wherever scripts do not run.
        size: width and height of the picture on the page, in pixels.
        alt: what the picture shows, in words.
    """

    name: str
    data: str
    picture: bytes = field(repr=False)
    size: tuple[int, int]
    alt: str

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        source = "data:image/png;base64," + base64.b64encode(self.picture).decode()
        width, height = self.size
        return {
            "text/plain": f"Interactive figure {self.name!r}: {self.alt}",
            "text/html": f'<div class="interactive" data-name="{self.name}">'
            f'<script type="application/json">{self.data}</script>'
            f'<img src="{source}" alt="{html.escape(self.alt)}" width="{width}" height="{height}"></div>',
        }


def interactive(name: str, data: dict[str, Any], figure: "Figure", alt: str) -> InteractiveFigure:
    """Make a figure that readers of the book can change, with a picture of it for everywhere else.

    Args:
        name: of the script ``book/_static/interactive/NAME.js`` that draws it.
        data: the script's input: dictionaries, lists, tensors, strings and numbers. Fractions are rounded to
            four significant digits.
        figure: the figure at one setting; it will be closed.
        alt: what the picture shows, in words.

    Raises:
        ValueError: the data contain NaN or infinity, or exceed 60,000 characters, or ``alt`` is empty.
        TypeError: the data contain something that JSON cannot represent.

    Example:
        >>> figure, ax = plt.subplots()
        >>> interactive("softmax", {"scores": [2 / 3, 1.0]}, figure, "Two bars, the second higher.").data
        '{"scores":[0.6667,1.0]}'
    """
    if not alt.strip():
        raise ValueError(f"figure {name!r} needs alt text for readers who cannot see it: alt is empty")
    try:
        text = json.dumps(_plain(data), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    except ValueError as error:
        raise ValueError(
            f"the data of figure {name!r} contain NaN or infinity, which JSON cannot represent"
        ) from error
    if len(text) > LARGEST:
        raise ValueError(f"the data of figure {name!r} have {len(text):,} characters; at most {LARGEST:,}")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=2 * figure.dpi)
    plt.close(figure)
    width, height = (round(inches * figure.dpi) for inches in figure.get_size_inches())
    return InteractiveFigure(name, text.replace("<", r"\u003c"), picture.getvalue(), (width, height), alt)


def _plain(value: Any) -> Any:
    """Convert tensors to lists and round fractions."""
    if isinstance(value, Tensor):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value

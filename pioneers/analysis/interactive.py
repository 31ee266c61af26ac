"""Figures to try out: a picture that the book's scripts turn into something to play with."""

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

LARGEST = 60_000  # characters of data: a page must stay light


@dataclass(frozen=True)
class InteractiveFigure:
    """What :func:`interactive` returns; a notebook shows the picture, a page of the book the script's figure.

    Attributes:
        name: of the script in ``book/_static/interactive``.
        data: what the script gets, as JSON.
        picture: the same at one setting, as PNG, for where no script runs and for print.
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
    """A figure that readers of the book can change, and a picture of it for everybody else.

    Args:
        name: of the script ``book/_static/interactive/NAME.js`` that draws it.
        data: what the script draws: dictionaries, lists, tensors, texts and numbers. Fractions are rounded to
            four significant digits.
        figure: the same at one setting; it is closed.
        alt: what the picture shows, in words.

    Raises:
        ValueError: the data hold NaN or infinity, or are longer than 60,000 characters; or ``alt`` is empty.
        TypeError: the data hold something that JSON does not know.

    Example:
        >>> figure, ax = plt.subplots()
        >>> interactive("softmax", {"scores": [2 / 3, 1.0]}, figure, "Two bars, the second higher.").data
        '{"scores":[0.6667,1.0]}'
    """
    if not alt.strip():
        raise ValueError(f"figure {name!r} needs words for those who cannot see it: alt is empty")
    try:
        text = json.dumps(_plain(data), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    except ValueError as error:
        raise ValueError(
            f"the data of figure {name!r} hold NaN or infinity, which JSON cannot say"
        ) from error
    if len(text) > LARGEST:
        raise ValueError(f"the data of figure {name!r} have {len(text):,} characters; at most {LARGEST:,}")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=2 * figure.dpi)
    plt.close(figure)
    width, height = (round(inches * figure.dpi) for inches in figure.get_size_inches())
    return InteractiveFigure(name, text.replace("<", r"\u003c"), picture.getvalue(), (width, height), alt)


def _plain(value: Any) -> Any:
    """Tensors as lists, fractions rounded."""
    if isinstance(value, Tensor):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value

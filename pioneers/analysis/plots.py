"""The style of the book's figures, readable on white and, inverted, on dark pages."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
from matplotlib.rcsetup import cycler
from torch import Tensor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

STYLE: dict[str, Any] = {
    "figure.figsize": (7.0, 3.4),
    "figure.dpi": 96,
    "figure.constrained_layout.use": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "axes.prop_cycle": cycler(color=["#0063b2", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#475569"]),
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "font.size": 10.0,
}


def use_book_style() -> None:
    """Set matplotlib's defaults for the figures of the book.

    Example:
        >>> with plt.rc_context():
        ...     use_book_style()
        ...     plt.rcParams["axes.spines.top"]
        False
    """
    plt.style.use(STYLE)


def plot_history(ax: "Axes", history: Sequence[Mapping[str, float]], *names: str) -> None:
    """Plot numbers of a training run against its steps.

    Args:
        ax: the axes to draw on.
        history: what :func:`pioneers.training.fit` returns or ``read_metrics`` reads.
        names: of the numbers; the loss by default.

    Raises:
        ValueError: no row has a number of that name.
    """
    for name in names or ("loss",):
        rows = [row for row in history if name in row]
        if not rows:
            known = sorted({key for row in history for key in row} - {"step"})
            raise ValueError(
                f"no row of the history has {name!r}; there are: {', '.join(known) or 'no rows'}"
            )
        ax.plot([row["step"] for row in rows], [row[name] for row in rows], label=name)
    ax.set_xlabel("step")
    ax.legend()


def heatmap(
    ax: "Axes",
    values: Tensor,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    numbers: bool = False,
    vmin: float = 0.0,
    vmax: float | None = None,
) -> "AxesImage":
    """Draw a matrix ``(T, S)``, such as attention weights: light is small, dark is large.

    Args:
        ax: the axes to draw on.
        values: the matrix.
        rows: labels of the queries.
        columns: labels of the keys.
        numbers: also write each value, to two digits, in its cell.
        vmin: value of the lightest colour.
        vmax: value of the darkest; by default the largest in the matrix.

    Example:
        >>> import torch
        >>> fig, ax = plt.subplots()
        >>> heatmap(ax, torch.eye(3), rows=["a", "b", "c"]).get_array().shape
        (3, 3)
        >>> plt.close(fig)
    """
    matrix = values.detach().float().cpu().numpy()
    top = float(matrix.max()) if vmax is None else vmax
    image = ax.imshow(matrix, cmap="Blues", vmin=vmin, vmax=top, aspect="auto")
    if rows is not None:
        ax.set_yticks(range(len(rows)), rows)
    if columns is not None:
        ax.set_xticks(range(len(columns)), columns, rotation=45 if len(columns) > 6 else 0)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    if numbers:
        for (i, j), value in [((i, j), v) for i, row in enumerate(matrix) for j, v in enumerate(row)]:
            dark = value - vmin > 0.6 * (top - vmin)
            ax.text(j, i, f"{value:.2f}", ha="center", va="center", color="white" if dark else "black")
    return image

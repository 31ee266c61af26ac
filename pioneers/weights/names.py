"""The names of a model's parameters here and in another library, side by side."""

from collections.abc import Iterable

from torch import nn

from pioneers.weights.registry import layout_of
from pioneers.weights.state_dict import Rename


def name_table(model: nn.Module) -> str:
    """Write a Markdown table of a model's parameters: our names, the other library's, and how the two differ.

    ``i`` is the number of a block. A layer with weight and bias is one row.

    Args:
        model: any model that :func:`~pioneers.weights.save_huggingface` can write.

    Raises:
        ValueError: no other library has this model.

    Example:
        >>> from pioneers.models import GPT, GPTConfig
        >>> print(name_table(GPT(GPTConfig.preset("mini"))).splitlines()[2])
        | `embed.token.weight` | `transformer.wte.weight` |  |
    """
    layout = layout_of(model)
    if layout is None:
        raise ValueError(f"no other library that is read here has a {type(model).__name__}")
    return table_of_names(layout.tensors, layout.architecture)


def table_of_names(tensors: Iterable[Rename], architecture: str) -> str:
    """Write the same table from the rows of a model whose other half, such as a backbone, is not in them.

    Args:
        tensors: a row for each tensor.
        architecture: the class of the other library.

    Example:
        >>> from pioneers.weights.detr import TENSORS
        >>> print(table_of_names(TENSORS, "DetrForObjectDetection").splitlines()[3])
        | `proj` | `model.input_projection` |  |
    """
    layers: dict[tuple[str, ...], list[Rename]] = {}
    for row in tensors:
        layers.setdefault(_without((row.theirs, *filter(None, row.ours))), []).append(row)
    lines = [f"| here | in `{architecture}` | what differs |", "|---|---|---|"]
    for names, rows in layers.items():
        theirs, *ours = names if len(rows) > 1 else (rows[0].theirs, *filter(None, rows[0].ours))
        lines.append(f"| {'<br>'.join(map(_shown, ours))} | {_shown(theirs)} | {_difference(rows[0])} |")
    return "\n".join(lines)


def _without(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the layers whose weights or biases these are, or of the tensors themselves."""
    for last in (".weight", ".bias"):
        if all(name.endswith(last) for name in names):
            return tuple(name.removesuffix(last) for name in names)
    return names


def _shown(name: str) -> str:
    return f"`{name.replace('{}', 'i')}`"


def _difference(row: Rename) -> str:
    """How two tensors that hold the same numbers differ, in words."""
    several = sum(1 for name in row.ours if name) > 1
    found = {
        "theirs is transposed": row.transpose,
        "theirs has all of them, one head after the other": several and row.by_head,
        "theirs has all of them, one after the other": several and not row.by_head,
        "theirs has more axes": row.leading_ones > 0 or row.head_axis,
        f"theirs has {row.extra_rows} more rows, which it never uses": row.extra_rows > 0,
    }
    return "; ".join(words for words, applies in found.items() if applies)

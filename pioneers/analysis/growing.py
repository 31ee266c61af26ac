"""The table of the one language model that grows from chapter to chapter."""

import html
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any, NamedTuple

from pioneers.analysis.results import experiment

STAGES = {
    "bigram": "bigrams (chapter 1)",
    "attention": "with attention (chapter 2)",
    "block": "with a whole block (chapter 5)",
    "GPT": "GPT: four blocks (chapter 9)",
}
SHOWN = 60  # characters of a sample


class Stage(NamedTuple):
    """One row of the table.

    Attributes:
        name: of the model, and its chapter.
        parameters: how many it has.
        bits: mean and standard deviation over the seeds of the bits per character of held-out text.
        sample: the prompt as the model with the first seed continues it.
        current: whether it is the model of the page.
    """

    name: str
    parameters: int
    bits: tuple[float, float]
    sample: str
    current: bool


@dataclass(frozen=True)
class GrowingModel:
    """The stages of the language model; a notebook shows them as a table.

    Attributes:
        stages: from the first chapter on.
        prompt: what each of them continues.
    """

    stages: tuple[Stage, ...]
    prompt: str

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        plain, rows = [], []
        for name, parameters, (middle, spread), sample, current in self.stages:
            size, bits = f"{parameters:,}", f"{middle:.2f} ± {spread:.2f}"
            goes_on = sample.removeprefix(self.prompt)[:SHOWN]
            arrow, sample = "→" if current else " ", self.prompt + goes_on
            plain.append(f"{arrow} {name:31s} {size:>9s} {bits}   {sample!r}")
            written = f"<i>{html.escape(self.prompt)}</i>{html.escape(goes_on)}"
            cells = (html.escape(name), size, bits, written)
            if current:
                cells = (f"<strong>→ {cells[0]}</strong>", size, f"<strong>{bits}</strong>", written)
            rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        names = ("model", "parameters", "bits per character", "what it writes")
        head = "".join(f"<th>{name}</th>" for name in names)
        table = f'<table class="table"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
        return {
            "text/plain": "\n".join(plain),
            "text/html": f'<div style="overflow-x:auto">{table}</div>',
        }


def growing_model(current: str) -> GrowingModel:
    """The one language model of the book as it grows, with the same text and the same budget at each stage.

    The numbers are those of ``make experiments NAME=growing_model``.

    Args:
        current: the stage to be highlighted: ``"bigram"``, ``"attention"``, ``"block"`` or ``"GPT"``.

    Raises:
        ValueError: there is no such stage.

    Example:
        >>> [stage.name for stage in growing_model("block").stages if stage.current]
        ['with a whole block (chapter 5)']
    """
    if current not in STAGES:
        raise ValueError(f"the stages are {', '.join(STAGES)}, not {current!r}")
    found = experiment("growing_model")
    stages = []
    for kind, name in STAGES.items():
        if rows := [row for row in found["rows"] if row["case"] == kind]:
            bits = [row["bits_per_character"] for row in rows]
            first, spread = rows[0], (mean(bits), stdev(bits))
            stages.append(Stage(name, first["parameters"], spread, first["sample"], kind == current))
    return GrowingModel(tuple(stages), found["config"]["prompt"])

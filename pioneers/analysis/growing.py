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


class Stage(NamedTuple):
    """One row of the table.

    Attributes:
        name: of the model, and its chapter.
        bits: mean and standard deviation over the seeds of the bits per character of held-out text.
        sample: the prompt as the model with the first seed continues it.
        current: whether it is the model of the page.
    """

    name: str
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
        for name, (middle, spread), sample, current in self.stages:
            bits, goes_on = f"{middle:.2f} ± {spread:.2f}", sample.removeprefix(self.prompt)
            plain.append(f"{'→' if current else ' '} {name:31s} {bits}   {sample!r}")
            cells = (html.escape(name), bits, f"<i>{html.escape(self.prompt)}</i>{html.escape(goes_on)}")
            if current:
                cells = (f"<strong>→ {cells[0]}</strong>", f"<strong>{bits}</strong>", cells[2])
            rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        head = "".join(f"<th>{name}</th>" for name in ("model", "bits per character", "what it writes"))
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
            stages.append(Stage(name, (mean(bits), stdev(bits)), rows[0]["sample"], kind == current))
    return GrowingModel(tuple(stages), found["config"]["prompt"])

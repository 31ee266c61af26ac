"""A GPT nearly four times as large as the largest of ``scaling_law``: its loss is predicted, then measured.

    make experiments NAME=scaling_held_out

The prediction is computed from the results of ``scaling_law`` before training begins. The learning rate
follows the rule of ``scaling_law``, which has not seen this size either.
"""

from collections.abc import Sequence
from typing import Any

import torch

from experiments import scaling_law
from experiments.common import run
from experiments.gpt_documents import stored_texts
from experiments.scaling_law import TOKENS, parameters_of
from pioneers.analysis import experiment, fit_power_law

CASES: dict[str, dict[str, Any]] = {"4 x 96": {"layers": 4, "width": 96, "tokens": TOKENS}}


def predict(rows: Sequence[dict[str, Any]], parameters: int) -> dict[str, float]:
    """The bits per character that smaller runs let us expect, with a 90% interval."""
    law = fit_power_law([row["parameters"] for row in rows], [row["bits"] for row in rows])
    low, high = law.interval(parameters)
    return {"low": float(low), "middle": float(law(parameters)), "high": float(high)}


def one_case(*, seed: int, layers: int, width: int, tokens: int, **shared: Any) -> dict[str, Any]:
    """Predict the loss of the run, then train it."""
    predicted = predict(experiment("scaling_law")["rows"], parameters_of(layers, width))
    found = scaling_law.one_case(seed=seed, layers=layers, width=width, tokens=tokens, **shared)
    return {**found, "predicted": predicted}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # as the smaller models
    stored_texts()
    run("scaling_held_out", CASES, one_case, config=scaling_law.CONFIG, seeds=[0])


if __name__ == "__main__":
    main()

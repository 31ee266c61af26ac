"""The learning rate of four sizes of ``scaling_law``: the same three rates for each, trained as long.

make experiments NAME=scaling_rates
"""

from typing import Any

import torch

from experiments import scaling_law
from experiments.common import run
from experiments.gpt_documents import stored_texts

SIZES = ("2 x 16", "2 x 24", "2 x 32", "3 x 56")
RATES = (4e-3, 8e-3, 1.6e-2)
CASES: dict[str, dict[str, Any]] = {
    f"{name}, {lr}": {**scaling_law.CASES[name], "lr": lr} for name in SIZES for lr in RATES
}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    stored_texts()  # before several processes want them
    run("scaling_rates", CASES, scaling_law.one_case, config=scaling_law.CONFIG, seeds=[0])


if __name__ == "__main__":
    main()

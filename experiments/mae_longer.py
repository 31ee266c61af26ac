"""MAE's encoder by the length of its pretraining, with three quarters of the patches hidden.

    PIONEERS_DATA=folder make experiments NAME=mae_longer

The model, the data and the judges of :mod:`experiments.mae`, with batches twice as large. A GPU helps: the
longest of the runs sees two million digits.
"""

from typing import Any

import torch

from experiments import mae
from experiments.common import run

CONFIG: dict[str, Any] = {**mae.CONFIG, "batch_size": 256}
CASES: dict[str, dict[str, Any]] = {
    f"{steps:,} steps": {**mae.CASES["75% hidden"], "steps": steps} for steps in (2000, 8000)
}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)
    run("mae_longer", CASES, mae.one_case, config=CONFIG)


if __name__ == "__main__":
    main()

"""The same computation spent on models of several sizes, for three budgets; and a text read again and again.

    make experiments NAME=scaling_budgets

Models and learning rates are those of ``scaling_law``. With a given number of operations a smaller model
reads more text. In the second part the number of tokens stays the same, and fewer of them are different.
"""

from typing import Any

import torch

from experiments import scaling_law
from experiments.common import run
from experiments.gpt_documents import stored_texts
from experiments.scaling_law import TOKENS, config_of
from pioneers.analysis import training_operations

BUDGETS = {  # operations → the sizes they are spent on: blocks, width
    1e10: ((1, 8), (1, 12), (1, 16), (2, 16), (2, 24)),
    3e10: ((1, 12), (1, 16), (2, 16), (2, 24), (2, 32), (3, 40)),
    9e10: ((2, 16), (2, 24), (2, 32), (3, 40), (3, 56)),
}
REPEATED, TIMES = (2, 32), (4, 16, 64)


def _spent(layers: int, width: int, operations: float) -> dict[str, Any]:
    tokens = int(operations / training_operations(config_of(layers, width), 1))
    return {"layers": layers, "width": width, "tokens": tokens}


CASES: dict[str, dict[str, Any]] = {
    f"{operations:.2e}: {layers} x {width}": _spent(layers, width, operations)
    for operations, sizes in BUDGETS.items()
    for layers, width in sizes
}
CASES |= {
    f"read {times} times": {
        "layers": REPEATED[0], "width": REPEATED[1], "tokens": TOKENS, "distinct": TOKENS // times,
    }
    for times in TIMES
}  # fmt: skip


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    stored_texts()  # before several processes want them
    run("scaling_budgets", CASES, scaling_law.one_case, config=scaling_law.CONFIG, seeds=[0])


if __name__ == "__main__":
    main()

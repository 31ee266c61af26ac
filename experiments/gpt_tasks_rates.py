"""The learning rate of ``gpt_tasks``: the same three for each start and place to read, on validation data.

make experiments NAME=gpt_tasks_rates
"""

from typing import Any

import torch

from experiments.common import run
from experiments.text.shapes import CONFIG, READ, one_case

CASES: dict[str, dict[str, Any]] = {
    f"{way}, {read}, {lr}": {"task": "finished", "read": read, "way": way, "lr": lr}
    for way in ("pretrained", "from scratch")
    for read in READ
    for lr in (3e-4, 1e-3, 3e-3)
}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("gpt_tasks_rates", CASES, one_case, config=CONFIG | {"judged_on": "validation"}, seeds=[0])


if __name__ == "__main__":
    main()

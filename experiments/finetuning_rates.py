"""The learning rates of fine-tuning and of training from scratch, chosen on validation data.

    make experiments NAME=finetuning_rates

The examples are others than those that the models of the other experiments are judged by.
"""

from typing import Any

import torch

from experiments.common import run
from experiments.text.finetuning import start
from experiments.text.tasks import ONE_TEXT
from experiments.text.tokens import finetune_task

RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
SHAPES = ("finished first", "finished choice")
BERTS = (*ONE_TEXT, "modules", "finished first", "punctuation", "run-on")
TRIED = {
    ("bert", "fine-tuned"): BERTS,
    ("bert", "longer"): BERTS,
    ("bert", "from scratch"): BERTS,
    ("gpt", "fine-tuned"): (*ONE_TEXT, "modules", *SHAPES),
    ("gpt", "adapted"): ("packages", "modules"),
    ("gpt", "shuffled"): ("packages", "modules"),
    ("gpt", "from scratch"): (*ONE_TEXT, "modules", *SHAPES),
    ("lstm", "fine-tuned"): (*ONE_TEXT, *SHAPES),
}
CASES = {
    f"{task}, {kind}, {way}, lr {lr:g}": {"task": task, "kind": kind, "way": way, "lr": lr}
    for (kind, way), tasks in TRIED.items()
    for task in tasks
    for lr in RATES
}


def one_case(*, seed: int, task: str, kind: str, way: str, num_labels: int, lr: float) -> dict[str, Any]:
    """The marks on the validation split."""
    model = start(kind, way, seed)
    return finetune_task(model, task, seed, num_labels=num_labels, lr=lr, judged_on="validation")


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("finetuning_rates", CASES, one_case, config={"num_labels": 1000}, seeds=[0])


if __name__ == "__main__":
    main()

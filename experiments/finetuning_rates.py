"""The learning rates of fine-tuning and of training from scratch, chosen on validation data.

    make experiments NAME=finetuning_rates

The examples are others than those that the models of the other experiments are judged by.
"""

from typing import Any

import torch

from experiments.common import run
from experiments.text.finetuning import WAYS, finetune
from experiments.text.pretraining import build, pretrain
from pioneers.device import best_device

RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
CASES = {
    f"{task}, {kind}, {way}, lr {lr:g}": {
        "task": task,
        "kind": kind,
        "pretrained": way == "fine-tuned",
        "lr": lr,
    }
    for task in ("sst2", "finished", "packages", "finished first", "finished choice")
    for kind, way in WAYS
    for lr in RATES
    if kind != "bert" or task in ("sst2", "finished", "packages")
}


def one_case(
    *, seed: int, task: str, kind: str, pretrained: bool, num_labels: int, lr: float
) -> dict[str, Any]:
    """Accuracy on the validation split."""
    torch.manual_seed(seed)
    model = pretrain(kind, seed) if pretrained else build(kind).to(best_device())
    return finetune(model, task, seed, num_labels=num_labels, lr=lr, judged_on="validation")


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("finetuning_rates", CASES, one_case, config={"num_labels": 1000}, seeds=[0])


if __name__ == "__main__":
    main()

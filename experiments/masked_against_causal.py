"""Masked against left-to-right pretraining, by the number of steps: Devlin et al. 2019, figure 5.

    make experiments NAME=masked_against_causal

A BERT and a GPT of the same size, each fine-tuned from what it was at several steps of its pretraining.
"""

from typing import Any

import torch

from experiments.common import run
from experiments.text.finetuning import RECIPES, finetune
from experiments.text.pretraining import SNAPSHOTS, STEPS, pretrain

CASES = {
    f"{task}, {kind}, step {at}": {"task": task, "kind": kind, "at": at}
    for task in ("sst2", "packages")
    for kind in ("bert", "gpt")
    for at in (*SNAPSHOTS, STEPS)
}


def one_case(*, seed: int, task: str, kind: str, at: int, num_labels: int) -> dict[str, Any]:
    """Accuracy on the test split, and Matthews' correlation."""
    model = pretrain(kind, seed, at=at)
    return finetune(model, task, seed, num_labels=num_labels, **RECIPES[kind, "fine-tuned"])


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("masked_against_causal", CASES, one_case, config={"num_labels": 1000})


if __name__ == "__main__":
    main()

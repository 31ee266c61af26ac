"""Masked against left-to-right pretraining, by the number of steps: Devlin et al. 2019, figure 5.

    make experiments NAME=masked_against_causal

The same BERT without next-sentence prediction, and under the causal mask; fine-tuned from what each was at
several steps of its pretraining.
"""

from typing import Any

import torch

from experiments.common import run
from experiments.text.finetuning import recipe
from experiments.text.pretraining import LEFT, SNAPSHOTS, STEPS, pretrain
from experiments.text.tokens import finetune_task

CASES = {
    f"{task}, {name}, step {at}": {"task": task, "kind": kind, "at": at, **recipe("bert", "fine-tuned", task)}
    for task in ("packages", "code words")
    for name, kind in (("masked", "bert"), ("left to right", LEFT))
    for at in (*SNAPSHOTS, STEPS["bert"])
}


def one_case(*, seed: int, task: str, kind: str, at: int, lr: float) -> dict[str, Any]:
    """The marks of the task on the test split."""
    model = pretrain(kind, seed, at=at, next_sentence=False)
    return finetune_task(model, task, seed, lr=lr)


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("masked_against_causal", CASES, one_case, config={})


if __name__ == "__main__":
    main()

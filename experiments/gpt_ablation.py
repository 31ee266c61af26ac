"""Ablation of pretraining, the auxiliary loss and the transformer: Radford et al. 2018, table 5.

    make experiments NAME=gpt_ablation

Four variants on five tasks with all their labels. The LSTM is pretrained and fine-tuned like the GPT.
"""

from typing import Any

import torch

from experiments.common import run
from experiments.text.finetuning import finetune, recipe, start

VARIANTS: dict[str, dict[str, Any]] = {
    "full": {"kind": "gpt", "pretrained": True, "lm_weight": 0.5},
    "no pretraining": {"kind": "gpt", "pretrained": False, "lm_weight": 0.5},
    "no auxiliary loss": {"kind": "gpt", "pretrained": True, "lm_weight": 0.0},
    "LSTM": {"kind": "lstm", "pretrained": True, "lm_weight": 0.5},
}
TASKS = ("sst2", "mrpc", "finished", "finished first", "finished choice")
CASES = {
    f"{task}, {name}": {
        "task": task,
        **variant,
        **recipe(variant["kind"], "fine-tuned" if variant["pretrained"] else "from scratch", task),
    }
    for name, variant in VARIANTS.items()
    for task in TASKS
}


def one_case(
    *, seed: int, task: str, kind: str, pretrained: bool, lm_weight: float, lr: float
) -> dict[str, Any]:
    """Accuracy on the test split, Matthews' correlation, and F1 of two classes."""
    model = start(kind, "fine-tuned" if pretrained else "from scratch", seed)
    return finetune(model, task, seed, lm_weight=lm_weight, lr=lr)


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("gpt_ablation", CASES, one_case, config={})


if __name__ == "__main__":
    main()

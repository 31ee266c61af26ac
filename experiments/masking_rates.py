"""What becomes of the chosen tokens, masked, kept or replaced: Devlin et al. 2019, table 8.

    make experiments NAME=masking_rates

Six ways to pretrain, each judged by two tasks after fine-tuning and by one with its features as they are.
"""

from typing import Any

import torch

from experiments.common import run
from experiments.text.finetuning import recipe
from experiments.text.pretraining import pretrain
from experiments.text.tokens import finetune_bert, probe_tags

SHARES = (
    (0.8, 0.1, 0.1),
    (1.0, 0.0, 0.0),
    (0.8, 0.2, 0.0),
    (0.8, 0.0, 0.2),
    (0.0, 0.8, 0.2),
    (0.0, 1.0, 0.0),
)
JUDGES: dict[str, dict[str, Any]] = {
    f"{task}, fine-tuned": {"task": task, **recipe("bert", "fine-tuned", task)}
    for task in ("packages", "code words")
} | {"code words, features": {"task": "code words", "lr": None}}
CASES = {
    f"{judge}, mask {mask:.0%} random {random:.0%} same {same:.0%}": {
        "shares": (mask, random, same),
        **how,
    }
    for mask, random, same in SHARES
    for judge, how in JUDGES.items()
}


def one_case(*, seed: int, shares: tuple[float, float, float], task: str, lr: float | None) -> dict[str, Any]:
    """The marks of the task on the test split."""
    model = pretrain("bert", seed, shares=shares)
    return probe_tags(model, task) if lr is None else finetune_bert(model, task, seed, lr=lr)


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("masking_rates", CASES, one_case, config={})


if __name__ == "__main__":
    main()

"""What becomes of the chosen tokens, masked, kept or replaced: Devlin et al. 2019, table 8.

    make experiments NAME=masking_rates

Six ways to pretrain, each judged by two tasks after fine-tuning and by one with its features as they are.
"""

from typing import Any

import torch

from experiments.common import run
from experiments.text.finetuning import RECIPES
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
JUDGES = ("packages, fine-tuned", "code words, fine-tuned", "code words, features")
CASES = {
    f"{judge}, mask {mask:.0%} random {random:.0%} same {same:.0%}": {
        "judge": judge,
        "shares": (mask, random, same),
    }
    for mask, random, same in SHARES
    for judge in JUDGES
}


def one_case(*, seed: int, judge: str, shares: tuple[float, float, float]) -> dict[str, Any]:
    """The marks of the task on the test split."""
    task, how = judge.split(", ")
    model = pretrain("bert", seed, shares=shares)
    if how == "features":
        return probe_tags(model, task)
    return finetune_bert(model, task, seed, **RECIPES["bert", "fine-tuned"])


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("masking_rates", CASES, one_case, config={})


if __name__ == "__main__":
    main()

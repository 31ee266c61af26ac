"""Both objectives, no next-sentence prediction, and reading from left to right: Devlin et al. 2019, table 5.

    make experiments NAME=bert_ablation

The model that reads from left to right is the same BERT under the causal mask, asked for the next token.
"""

from typing import Any

import torch

from experiments.common import run
from experiments.text.finetuning import recipe
from experiments.text.pretraining import LEFT, pretrain
from experiments.text.tokens import finetune_task

VARIANTS: dict[str, dict[str, Any]] = {
    "BERT": {"kind": "bert", "next_sentence": True},
    "no NSP": {"kind": "bert", "next_sentence": False},
    "left to right, no NSP": {"kind": LEFT, "next_sentence": False},
}
TASKS = ("packages", "following", "code words", "cloze", "run-on")
CASES = {
    f"{task}, {name}": {"task": task, **variant, **recipe("bert", "fine-tuned", task)}
    for name, variant in VARIANTS.items()
    for task in TASKS
}


def one_case(*, seed: int, task: str, kind: str, next_sentence: bool, lr: float) -> dict[str, Any]:
    """The marks of the task on the test split."""
    model = pretrain(kind, seed, next_sentence=next_sentence)
    return finetune_task(model, task, seed, lr=lr)


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("bert_ablation", CASES, one_case, config={})


if __name__ == "__main__":
    main()

"""Both objectives, no next-sentence prediction, and reading from left to right: Devlin et al. 2019, table 5.

    make experiments NAME=bert_ablation

The model that reads from left to right is a GPT of the same size, pretrained on the same texts.
"""

from typing import Any

import torch

from experiments.common import run
from experiments.text.finetuning import RECIPES, finetune
from experiments.text.pretraining import pretrain

VARIANTS: dict[str, dict[str, Any]] = {
    "BERT": {"kind": "bert", "next_sentence": True},
    "no NSP": {"kind": "bert", "next_sentence": False},
    "left to right, no NSP": {"kind": "gpt", "next_sentence": False},
}
CASES = {
    f"{task}, {name}": {"task": task, **variant}
    for name, variant in VARIANTS.items()
    for task in ("sst2", "mrpc", "packages", "following")
}


def one_case(*, seed: int, task: str, kind: str, next_sentence: bool) -> dict[str, Any]:
    """Accuracy on the test split, Matthews' correlation, and F1 of two classes."""
    model = pretrain(kind, seed, next_sentence=next_sentence)
    return finetune(model, task, seed, num_labels=None, **RECIPES[kind, "fine-tuned"])


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("bert_ablation", CASES, one_case, config={})


if __name__ == "__main__":
    main()

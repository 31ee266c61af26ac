"""Frozen features, fine-tuning and training from scratch, by the number of labelled examples.

    make experiments NAME=pretraining_labels

One small GPT per seed, pretrained without labels, or adapted besides: it has then read the texts of the task
once more, in the order of their files or shuffled. The sentiment of film reviews; where a docstring stands,
in one of 8 packages or of 31 modules; and whether a sentence is finished: asked of one text, of two, and of
four choices.
"""

from itertools import product
from typing import Any

import torch

from experiments.common import run
from experiments.text.finetuning import ORDERS, count_words, finetune, probe, recipe, start
from experiments.text.pretraining import pretrain

LABELS = (100, 1000, None)
TRAINED = ("fine-tuned", "from scratch")
WAYS = ("frozen", *TRAINED, "words")
TOPICS = ("packages", "modules")
CASES = {
    f"{task}, {num_labels or 'all'} labels, {way}": {
        "task": task,
        "num_labels": num_labels,
        "way": way,
        "lr": recipe("gpt", way, task)["lr"] if way in (*TRAINED, *ORDERS) else None,
    }
    for task, num_labels, way in (
        *product(("sst2", "finished", *TOPICS), LABELS, WAYS),
        *product(TOPICS, LABELS, ("adapted",)),
        *product(TOPICS, LABELS[:2], ("shuffled",)),
        *product(("finished first", "finished choice"), LABELS[:2], TRAINED),
    )
}


def one_case(*, seed: int, task: str, num_labels: int | None, way: str, lr: float | None) -> dict[str, Any]:
    """The marks of the task on the test split."""
    if way == "words":
        return count_words(task, seed, num_labels=num_labels)
    if way == "frozen":
        return probe(pretrain("gpt", seed), task, seed, num_labels=num_labels)
    return finetune(start("gpt", way, seed), task, seed, num_labels=num_labels, lr=lr)


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("pretraining_labels", CASES, one_case, config={})


if __name__ == "__main__":
    main()

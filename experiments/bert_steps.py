"""Longer pretraining of a BERT: the effect on its tasks, with 100 and with 1,000 labels.

    make experiments NAME=bert_steps

Pretrained for 3,000 steps, as in the other experiments, for 12,000, and not at all. And how well it does, on
held-out texts, what it was pretrained for: to fill gaps, and to tell whether one sentence follows another.
"""

from typing import Any

import torch
from torch import nn

from experiments.bert_documents import hide, losses, pairs, sentences
from experiments.common import run
from experiments.text.finetuning import recipe, start
from experiments.text.pretraining import SEQ_LEN, vocabulary
from experiments.text.tokens import TAGGING, finetune_task
from pioneers.device import best_device

WAYS = ("longer", "fine-tuned", "from scratch")
TASKS = ("sst2", "finished", "finished first", *TAGGING, "run-on", "packages", "modules", "following")
CASES: dict[str, dict[str, Any]] = {
    f"{task}, {num_labels} labels, {way}": {
        "task": task,
        "num_labels": num_labels,
        "way": way,
        **recipe("bert", way, "punctuation" if task in TAGGING else task),
    }
    for task in TASKS
    for num_labels in (100, 1000)
    for way in WAYS
} | {f"pretraining, {way}": {"way": way} for way in WAYS}


def one_case(*, seed: int, way: str, task: str | None = None, **how: Any) -> dict[str, Any]:
    """The marks of the task on the test split; without a task, the losses of pretraining there."""
    model = start("bert", way, seed)
    if task is None:
        return held_out(model, seed)
    return finetune_task(model, task, seed, **how)


@torch.inference_mode()
def held_out(model: nn.Module, seed: int) -> dict[str, float]:
    """Nats per hidden token and per pair of sentences."""
    tokenizer = vocabulary("bert")
    inputs, labels = pairs(sentences("test"), tokenizer, SEQ_LEN, seed)
    ids, targets = hide(inputs.input_ids, tokenizer, torch.Generator().manual_seed(seed))
    batch = (ids, inputs.segment_ids, inputs.lengths, targets, labels)
    masked_lm, next_sentence = losses(model.eval(), tuple(part.to(best_device()) for part in batch))
    return {"masked_lm": masked_lm.item(), "next_sentence": next_sentence.item()}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("bert_steps", CASES, one_case, config={})


if __name__ == "__main__":
    main()

"""Transfer of pretrained blocks, by their number: Radford et al. 2018, figure 2, left.

    make experiments NAME=layers_transferred

The embeddings and the first k blocks come from a pretrained GPT, the others start afresh; -1 takes
nothing at all.
"""

from typing import Any

import torch

from experiments.common import run
from experiments.text.finetuning import finetune, recipe
from experiments.text.pretraining import SIZES, build, pretrain
from pioneers.device import best_device

CASES = {
    f"{task}, {'nothing' if kept < 0 else f'{kept} blocks'}": {
        "task": task,
        "kept": kept,
        **recipe("gpt", "fine-tuned" if kept >= 0 else "from scratch", task),
    }
    for task in ("sst2", "finished")
    for kept in range(-1, SIZES["num_layers"] + 1)
}


def one_case(*, seed: int, task: str, kept: int, num_labels: int, lr: float) -> dict[str, Any]:
    """Accuracy on the test split, and Matthews' correlation."""
    torch.manual_seed(seed)
    model = build("gpt").to(best_device())
    wanted = ("embed.", "lm_head.", *(f"stack.blocks.{i}." for i in range(kept)))
    if kept == SIZES["num_layers"]:
        wanted += ("stack.norm.",)
    theirs = pretrain("gpt", seed).state_dict() if kept >= 0 else {}
    model.load_state_dict({n: w for n, w in theirs.items() if n.startswith(wanted)}, strict=False)
    return finetune(model, task, seed, num_labels=num_labels, lr=lr)


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("layers_transferred", CASES, one_case, config={"num_labels": 1000})


if __name__ == "__main__":
    main()

"""The stored GPT fine-tuned, the answer read at the extract token or at the last token of the text.

    make experiments NAME=gpt_tasks

Three of the four shapes of a task, each beside the same model from scratch. Every model sees as many labelled
examples, in batches of its own; the learning rates are those that did best in ``gpt_tasks_rates``.
"""

from typing import Any

import torch

from experiments.common import run
from experiments.text.shapes import CONFIG, one_case
from pioneers.analysis import experiment

BATCH = {"finished choice": 8}  # each example is four rows
ASKED = [(task, "extract") for task in ("finished", "finished first", "finished choice")]


def rate(way: str, read: str) -> float:
    """The learning rate that did best on validation data, among as many for each."""
    rows = experiment("gpt_tasks_rates")["rows"]
    prefix = f"{way}, {read}, "
    tried = {row["case"]: row["accuracy"] for row in rows if row["case"].startswith(prefix)}
    return float(max(tried, key=lambda case: tried[case]).removeprefix(prefix))


CASES: dict[str, dict[str, Any]] = {
    f"{task}, {read}, {way}": {"task": task, "read": read, "way": way, "lr": rate(way, read)}
    | ({"batch_size": BATCH[task]} if task in BATCH else {})
    for task, read in (*ASKED, ("finished", "last"))
    for way in ("pretrained", "from scratch")
}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("gpt_tasks", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

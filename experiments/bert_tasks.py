"""Public tasks in the three shapes of BERT, pretrained and from scratch: Devlin et al. 2019, section 4.

    make experiments NAME=bert_tasks

Sentiment (SST-2), paraphrase (MRPC), tags (English Web Treebank, trained with its validation split) and
questions (the part of SQuAD that ``squad2("sample")`` reads), the embedded counterparts of each, and
three more embedded tasks.
"""

from typing import Any

import torch

from experiments.common import run
from experiments.text.finetuning import recipe, start
from experiments.text.tokens import finetune_task

PUBLIC = ("sst2", "mrpc", "ewt", "squad")
EMBEDDED = (
    *("finished", "finished first", "punctuation", "run-on", "cloze"),
    *("packages", "following", "code words"),
)
CASES = {
    f"{task}, {way}": {"task": task, "way": way, **recipe("bert", way, task)}
    for task in (*PUBLIC, *EMBEDDED)
    for way in ("fine-tuned", "from scratch")
}


def one_case(*, seed: int, task: str, way: str, lr: float) -> dict[str, Any]:
    """The marks of the task on the test split."""
    return finetune_task(start("bert", way, seed), task, seed, lr=lr)


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("bert_tasks", CASES, one_case, config={})


if __name__ == "__main__":
    main()

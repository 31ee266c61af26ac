"""Shares of masked, kept and replaced tokens: Devlin et al. 2019, table 8.

    make experiments NAME=masking_rates

Six ways to pretrain, each judged by two tasks after fine-tuning, by one with its features as they are, and by
what is left in the last states of the tokens they stand on.
"""

from typing import Any

import torch

from experiments.common import run
from experiments.text.finetuning import on_device, recipe
from experiments.text.pretraining import SEQ_LEN, pretrain, vocabulary
from experiments.text.tokens import finetune_task, probe_tags
from pioneers.data import documents
from pioneers.models import BERTForPretraining
from pioneers.objectives import text_inputs

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
} | {
    "code words, features": {"task": "code words", "lr": None},
    "given back": {"task": "given back", "lr": None},
}
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
    if task == "given back":
        return given_back(model)
    return probe_tags(model, task) if lr is None else finetune_task(model, task, seed, lr=lr)


@torch.inference_mode()
def given_back(model: BERTForPretraining) -> dict[str, float]:
    """The share of tokens, none of them hidden, that the masked-LM head names at their own places."""
    texts = [" ".join(document.sentences) for document in documents("test")]
    right = []
    for start in range(0, len(texts), 64):
        inputs = on_device(text_inputs(texts[start : start + 64], vocabulary("bert"), max_seq_len=SEQ_LEN))
        places = torch.arange(inputs.input_ids.shape[1], device=inputs.lengths.device)
        text = (places > 0) & (places < inputs.lengths[:, None] - 1)  # without [CLS] and [SEP]
        named = model(inputs.input_ids, mask=inputs.mask, predict_mask=text).masked_lm.argmax(-1)
        right.append(named == inputs.input_ids[text])
    return {"accuracy": torch.cat(right).float().mean().item()}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("masking_rates", CASES, one_case, config={})


if __name__ == "__main__":
    main()

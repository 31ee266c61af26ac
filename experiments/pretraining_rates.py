"""The learning rate of pretraining, for a GPT and for an LSTM: four rates and as many steps for both.

    make experiments NAME=pretraining_rates

Each is judged by the next token of held-out texts, of Python's documents and of film reviews; and so are both
after all their steps.
"""

from typing import Any

import torch

from experiments.common import run
from experiments.text.pretraining import LR, SEQ_LEN, STEPS, pretrain, vocabulary
from pioneers.analysis import negative_log_likelihood
from pioneers.data import sst2
from pioneers.data.tasks import documents
from pioneers.device import best_device

RATES = {"gpt": (1e-3, 2e-3, 4e-3, 8e-3), "lstm": (4e-3, 8e-3, 1.6e-2, 3.2e-2)}
CASES: dict[str, dict[str, Any]] = {
    f"{kind}, {lr}": {"kind": kind, "lr": lr, "steps": 1000} for kind, rates in RATES.items() for lr in rates
} | {f"{kind}, in full": {"kind": kind, "lr": LR[kind], "steps": STEPS[kind]} for kind in RATES}


def held_out() -> torch.Tensor:
    """Sentences of both kinds as one row of ids."""
    texts = [" ".join(document.sentences) for document in documents("test")]
    texts += [review for review, _ in sst2("test")]
    tokenizer = vocabulary("gpt")
    end = tokenizer.special_ids["[SEP]"]
    ids = [i for text in texts for i in (*tokenizer.encode(text), end)]
    return torch.tensor(ids, device=best_device())


def one_case(*, seed: int, kind: str, lr: float, steps: int) -> dict[str, float]:
    """Nats per held-out token."""
    model = pretrain(kind, seed, steps=steps, lr=lr)
    tokens = held_out()
    nats = negative_log_likelihood(model, tokens, seq_len=SEQ_LEN, stride=SEQ_LEN)
    return {"nats": nats / (len(tokens) - 1)}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("pretraining_rates", CASES, one_case, config={}, seeds=[0])


if __name__ == "__main__":
    main()

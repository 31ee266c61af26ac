"""Fine-tune the stored GPT on the shapes of a task; the answer is read at the extract token or before it."""

import functools
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import torch
from torch import nn

from experiments.text.finetuning import judge, on_device
from experiments.text.tasks import TASKS, Row, examples, labels_of
from pioneers import from_pretrained
from pioneers.device import autocast, best_device, seed_everything
from pioneers.models import GPT, GPTTaskModel
from pioneers.objectives import (
    TaskInputs,
    TaskTokens,
    classification_inputs,
    classification_loss,
    entailment_inputs,
    multiple_choice_inputs,
)
from pioneers.training import TrainConfig, fit
from pioneers.weights import load_tokenizer

FOLDER = files("pioneers") / "weights" / "gpt_documents"
READ = {"extract": 0, "last": 1}  # tokens before the extract token
CONFIG = {"steps": 150, "batch_size": 16, "max_seq_len": 64}


@functools.cache
def encode(text: str) -> list[int]:
    """The ids of a text, by the stored GPT's tokenizer."""
    return _tokenizer().encode(text)


@functools.cache
def _tokenizer() -> Any:
    return load_tokenizer(FOLDER)


def start(way: str) -> GPT:
    """The stored GPT with three more tokens, or a model of its size that has read nothing."""
    stored = from_pretrained(FOLDER)
    size = stored.config.vocab_size
    wider = GPT(stored.config.replace(vocab_size=size + 3))
    if way == "pretrained":
        weights, drawn = stored.state_dict(), wider.state_dict()
        for name in ("embed.token.weight", "lm_head.weight"):  # one table under two names
            weights[name] = torch.cat([weights[name].float(), drawn[name][size:]])
        wider.load_state_dict(weights)
    return wider.to(best_device())


def inputs(task: str, rows: Sequence[Row], back: int, max_seq_len: int) -> TaskInputs:
    """Examples as Radford et al. 2018 put them, to be read ``back`` tokens before the extract token."""
    size = _tokenizer().vocab_size
    tokens = TaskTokens(size, size + 1, size + 2)
    first, *more = ([encode(text) for text in column] for column in zip(*(r[:-1] for r in rows), strict=True))
    if TASKS[task].kind == "choice":
        ids, extract = multiple_choice_inputs(
            first, list(zip(*more, strict=True)), tokens, max_seq_len=max_seq_len
        )
    elif TASKS[task].kind == "pair":
        ids, extract = entailment_inputs(first, *more, tokens, max_seq_len=max_seq_len)
    else:
        ids, extract = classification_inputs(first, tokens, max_seq_len=max_seq_len)
    return on_device(TaskInputs(ids, extract - back))


def one_case(
    *,
    seed: int,
    task: str,
    read: str,
    way: str,
    lr: float,
    steps: int,
    batch_size: int,
    max_seq_len: int,
    judged_on: str = "test",
) -> dict[str, Any]:
    """Accuracy and Matthews' correlation after some steps."""
    seed_everything(seed)
    choices = TASKS[task].kind == "choice"
    model = GPTTaskModel(start(way), None if choices else TASKS[task].num_classes).to(best_device())
    rows = examples(task, "train")

    def batch(step: int) -> list[Row]:
        return [rows[i] for i in np.random.default_rng((seed, step)).integers(len(rows), size=batch_size)]

    def logits(model: nn.Module, rows: Sequence[Row]) -> torch.Tensor:
        return model(*inputs(task, rows, READ[read], max_seq_len)).logits

    def loss_fn(model: nn.Module, rows: Sequence[Row]) -> torch.Tensor:
        return classification_loss(logits(model, rows), labels_of(rows).to(best_device()))

    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 10, schedule="linear", weight_decay=0.01,
        betas=(0.9, 0.98), log_every=steps, seed=seed,
    )  # fmt: skip
    fit(model, loss_fn, batch, recipe, count=len)
    with autocast(best_device()):
        return {"labels": len(rows), **judge(task, lambda rows: logits(model, rows).argmax(-1), judged_on)}

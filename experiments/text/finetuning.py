"""Fine-tune a pretrained model on a task, or train it from scratch; judge it on held-out data."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef
from torch import Tensor, nn

from experiments.text.pretraining import SEQ_LEN, pad, vocabulary
from pioneers.data import mrpc, sst2
from pioneers.data.tasks import PACKAGES, continuations, docstring_packages, following_sentences
from pioneers.device import autocast, best_device
from pioneers.layers import padding_mask
from pioneers.models import BERTClassifier, BERTForPretraining, GPTTaskModel
from pioneers.objectives import (
    TaskTokens,
    classification_inputs,
    classification_loss,
    entailment_inputs,
    multiple_choice_inputs,
    similarity_inputs,
)
from pioneers.training import TrainConfig, fit

BATCH = 16
STEPS = {100: 150, 1000: 300, None: 600}  # by number of labels
RECIPES = {  # chosen on validation data: make experiments NAME=finetuning_rates
    ("bert", "fine-tuned"): {"lr": 1e-3},
    ("bert", "from scratch"): {"lr": 1e-3},
    ("gpt", "fine-tuned"): {"lr": 1e-3},
    ("gpt", "from scratch"): {"lr": 1e-3},
    ("lstm", "fine-tuned"): {"lr": 1e-3},
    ("lstm", "from scratch"): {"lr": 1e-3},
}


class Task(NamedTuple):
    """A task with labels.

    Attributes:
        kind: ``"text"``, ``"pair"`` (the order matters), ``"similarity"`` (it does not) or ``"choice"``.
        num_classes: number of labels; of choices, where the kind is ``"choice"``.
        read: split → examples ``(texts, label)``; the splits are ``"train"`` and ``"test"``.
    """

    kind: str
    num_classes: int
    read: Callable[[str], list[tuple[tuple[str, ...], int]]]


def _of_pairs(load: Callable[[str], Sequence[Any]]) -> Callable[[str], list[tuple[tuple[str, ...], int]]]:
    return lambda split: [((pair.first, pair.second), pair.label) for pair in load(split)]


def _of_texts(load: Callable[[str], Sequence[Any]]) -> Callable[[str], list[tuple[tuple[str, ...], int]]]:
    return lambda split: [((text.text,), text.label) for text in load(split)]


TASKS = {
    "sst2": Task("text", 2, _of_texts(sst2)),
    "mrpc": Task("similarity", 2, _of_pairs(mrpc)),
    "packages": Task("text", len(PACKAGES), _of_texts(docstring_packages)),
    "following": Task("pair", 2, _of_pairs(following_sentences)),
    "continuation": Task(
        "choice", 4, lambda split: [((c.context, *c.choices), c.label) for c in continuations(split)]
    ),
}


class Example(NamedTuple):
    """Token ids of the texts of an example, and its label."""

    texts: tuple[list[int], ...]
    label: int


@functools.cache
def examples(task: str, split: str) -> tuple[Example, ...]:
    """The examples of a task in random order; ``"validation"`` is a tenth of those published for training."""
    rows = TASKS[task].read("test" if split == "test" else "train")
    order = np.random.default_rng(0).permutation(len(rows))
    tenth = len(rows) // 10
    chosen = {"test": order, "train": order[tenth:], "validation": order[:tenth]}[split]
    encode = vocabulary().encode
    return tuple(Example(tuple(encode(text) for text in rows[i][0]), rows[i][1]) for i in chosen)


def gpt_inputs(task: str, rows: Sequence[Example]) -> tuple[Any, Tensor]:
    """The inputs that Radford et al. 2018 give a task of this kind, and the labels."""
    ids = vocabulary().special_ids
    tokens = TaskTokens(ids["[CLS]"], ids["[SEP]"], ids["[MASK]"])
    make = {
        "text": lambda texts: classification_inputs(texts[0], tokens, max_seq_len=SEQ_LEN),
        "pair": lambda texts: entailment_inputs(*texts, tokens, max_seq_len=SEQ_LEN),
        "similarity": lambda texts: similarity_inputs(*texts, tokens, max_seq_len=SEQ_LEN),
        "choice": lambda texts: multiple_choice_inputs(
            texts[0], list(zip(*texts[1:], strict=True)), tokens, max_seq_len=SEQ_LEN
        ),
    }[TASKS[task].kind]
    inputs = make(list(zip(*(row.texts for row in rows), strict=True)))
    labels = torch.tensor([row.label for row in rows], device=best_device())
    return type(inputs)(*(part.to(best_device()) for part in inputs)), labels


def bert_inputs(rows: Sequence[Example]) -> tuple[dict[str, Tensor], Tensor]:
    """Ids, segments and mask by name, of one or two texts, the longer one cut until there is room."""
    assembled = []
    for row in rows:
        texts = [list(text) for text in row.texts]
        while sum(map(len, texts)) > SEQ_LEN - 1 - len(texts):
            max(texts, key=len).pop()
        assembled.append(vocabulary().assemble(*texts))
    ids = pad([a.input_ids for a in assembled])
    lengths = torch.tensor([len(a.input_ids) for a in assembled], device=ids.device)
    inputs = {
        "input_ids": ids,
        "segment_ids": pad([a.segment_ids for a in assembled]),
        "mask": padding_mask(lengths, ids.shape[1]),
    }
    return inputs, torch.tensor([row.label for row in rows], device=ids.device)


def finetune(
    model: nn.Module,
    task: str,
    seed: int,
    *,
    num_labels: int | None,
    lr: float,
    lm_weight: float = 0.0,
    judged_on: str = "test",
) -> dict[str, float]:
    """Train ``model`` (of :func:`experiments.text.pretraining.build`) on a task; returns its marks.

    Args:
        model: pretrained or not; it is changed.
        task: one of ``TASKS``.
        seed: of the choice of labels, the batches, the new head and dropout.
        num_labels: how many labelled examples there are: 100, 1,000, or all when None.
        lr: highest learning rate.
        lm_weight: of the auxiliary language-model loss; for a GPT or an LSTM.
        judged_on: ``"test"``, or ``"validation"`` to choose a recipe by.
    """
    train = labelled(task, num_labels, seed)
    torch.manual_seed(seed)
    is_bert = isinstance(model, BERTForPretraining)
    classes = None if TASKS[task].kind == "choice" else TASKS[task].num_classes
    head = BERTClassifier(model.bert, classes) if is_bert else GPTTaskModel(model, classes)
    head = head.to(best_device())

    def batches(step: int) -> Any:
        rng = np.random.default_rng((seed, step))
        rows = [train[i] for i in rng.integers(len(train), size=BATCH)]
        return bert_inputs(rows) if is_bert else gpt_inputs(task, rows)

    def loss_fn(head: nn.Module, batch: Any) -> Tensor:
        inputs, labels = batch
        if is_bert:
            return classification_loss(head(**inputs), labels)
        logits, hidden = head(*inputs)
        if not lm_weight:
            return classification_loss(logits, labels)
        lm = {"lm_logits": model.lm_head(hidden), "lm_targets": inputs.lm_targets(), "lm_weight": lm_weight}
        return classification_loss(logits, labels, **lm)

    steps = STEPS[num_labels]
    config = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 10, schedule="linear", weight_decay=0.01,
        betas=(0.9, 0.98), log_every=steps, seed=seed,
    )  # fmt: skip
    fit(head, loss_fn, batches, config, count=lambda batch: len(batch[1]))

    def predict(rows: Sequence[Example]) -> Tensor:
        inputs, _ = bert_inputs(rows) if is_bert else gpt_inputs(task, rows)
        logits = head(**inputs) if is_bert else head(*inputs).logits
        return logits.argmax(-1)

    return judge(task, predict, judged_on)


def labelled(task: str, num_labels: int | None, seed: int) -> list[Example]:
    """The labelled examples that a seed gets to see."""
    rows = examples(task, "train")
    order = np.random.default_rng((1, seed)).permutation(len(rows))[:num_labels]
    return [rows[i] for i in order]


@torch.inference_mode()
def judge(task: str, predict: Callable[[Sequence[Example]], Tensor], split: str = "test") -> dict[str, float]:
    """Accuracy, F1 and Matthews' correlation on a split."""
    rows = sorted(examples(task, split), key=lambda row: sum(map(len, row.texts)))
    with autocast(best_device()):
        found = torch.cat([predict(rows[i : i + 64]) for i in range(0, len(rows), 64)]).cpu().numpy()
    truth = [row.label for row in rows]
    marks = {"accuracy": accuracy_score(truth, found), "matthews": matthews_corrcoef(truth, found)}
    return marks | ({"f1": f1_score(truth, found)} if TASKS[task].num_classes == 2 else {})


@torch.inference_mode()
def probe(model: nn.Module, task: str, seed: int, *, num_labels: int | None) -> dict[str, float]:
    """Frozen features: logistic regression on the mean of the last hidden states; for tasks with one text."""

    def features(rows: Sequence[Example]) -> np.ndarray:
        inputs, _ = bert_inputs(rows)
        if isinstance(model, BERTForPretraining):
            hidden = model.bert(**inputs)
        else:
            hidden = model.hidden_states(inputs["input_ids"])
        real = inputs["mask"][:, 0, 0, :, None]
        return ((hidden * real).sum(1) / real.sum(1)).float().cpu().numpy()

    def batched(rows: Sequence[Example]) -> np.ndarray:
        return np.concatenate([features(rows[i : i + 64]) for i in range(0, len(rows), 64)])

    train = labelled(task, num_labels, seed)
    found = LogisticRegression(max_iter=2000).fit(batched(train), [row.label for row in train])
    return judge(task, lambda rows: torch.from_numpy(found.predict(features(rows))))

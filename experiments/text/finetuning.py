"""Fine-tune a pretrained model on a task, or train it from scratch; judge it on held-out data."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef
from torch import Tensor, nn

from experiments.text.pretraining import LONGER, SEQ_LEN, build, pretrain, vocabulary
from experiments.text.tasks import ONE_TEXT, TASKS, Row, examples, labelled, labels_of
from pioneers.analysis import experiment
from pioneers.device import best_device
from pioneers.models import BERTForPretraining
from pioneers.models.heads import ClassificationHead
from pioneers.objectives import (
    BERTInputs,
    TaskInputs,
    TaskTokens,
    classification_inputs,
    classification_loss,
    entailment_inputs,
    multiple_choice_inputs,
    pair_inputs,
    similarity_inputs,
    text_inputs,
)
from pioneers.training import TrainConfig, fit

BATCH = 16
ORDERS = {"adapted": "in order", "shuffled": "shuffled"}  # way to begin: how a pretrained GPT has read on
STEPS = {100: 150, 1000: 300, None: 450}  # by number of labels
MARK = {"punctuation": "matthews", "run-on": "f1"}  # that chooses a rate, where it is not accuracy


def start(kind: str, way: str, seed: int) -> nn.Module:
    """The model that training begins with.

    Args:
        kind: of :func:`experiments.text.pretraining.build`.
        way: ``"from scratch"``, ``"fine-tuned"``, one of ``ORDERS`` for a GPT, or ``"longer"`` for a BERT.
        seed: of the model.
    """
    torch.manual_seed(seed)
    if way == "from scratch":
        return build(kind).to(best_device())
    return pretrain(kind, seed, adapted=ORDERS.get(way), **(LONGER if way == "longer" else {}))


def recipe(kind: str, way: str, task: str) -> dict[str, float]:
    """The learning rate that was best on validation data: ``make experiments NAME=finetuning_rates``.

    On those of the task; where it was not among the tasks that were tried, on average of the three in
    ``ONE_TEXT``. *Punctuation*, whose words mostly have none behind them, goes by Matthews' correlation,
    *run-on*, whose answers may be right in part, by F1.
    """
    tried = experiment("finetuning_rates")
    rows = [tried["cases"][row["case"]] | row for row in tried["rows"]]
    rows = [row for row in rows if (row["kind"], row["way"]) == (kind, way)]
    of_task = [row for row in rows if row["task"] == task]
    rows = of_task or [row for row in rows if row["task"] in ONE_TEXT]
    mark = MARK.get(task, "accuracy")
    scores = {rate: [row[mark] for row in rows if row["lr"] == rate] for rate in {r["lr"] for r in rows}}
    return {"lr": max(scores, key=lambda rate: np.mean(scores[rate]))}


class Classifier(nn.Module):
    """A linear map of the mean of a model's last states, or of that of the last token of the text.

    Radford et al. and Devlin et al. read the state of a token made for it. It takes more labels than ours, or
    more pretraining, until such a token has gathered what the others know. What says best whether a sentence
    is finished is its last token; what says best what a text is about, or thinks of it, is all of them.

    Args:
        model: of :func:`experiments.text.pretraining.build`.
        task: one of ``TASKS``.
    """

    def __init__(self, model: nn.Module, task: str) -> None:
        super().__init__()
        self.body, self.task = body_of(model), task
        kind, num_classes, self.state, _ = TASKS[task]
        width = self.body.lm_head.in_features if is_causal(self.body) else self.body.config.d_model
        self.choose = kind == "choice"
        self.head = ClassificationHead(width, 1 if self.choose else num_classes, dropout=0.1)

    def forward(self, rows: Sequence[Row]) -> tuple[Tensor, Tensor, BERTInputs | TaskInputs]:
        """Examples → logits ``(B, C)``, the states of all rows ``(rows, T, D)``, and the inputs."""
        inputs = make_inputs(self.body, self.task, rows)
        hidden, read = states(self.body, inputs, self.state)
        if isinstance(inputs, TaskInputs):
            read = read.unflatten(0, inputs.extract.shape)
        if self.choose:
            return self.head(read).squeeze(-1), hidden, inputs
        return self.head(read.sum(dim=1) if read.ndim == 3 else read), hidden, inputs


def body_of(model: nn.Module) -> nn.Module:
    """A model without its heads."""
    return model.bert if isinstance(model, BERTForPretraining) else model


def is_causal(body: nn.Module) -> bool:
    """True for models that read from left to right: a GPT or an LSTM."""
    return hasattr(body, "lm_head")


def states(body: nn.Module, inputs: BERTInputs | TaskInputs, which: str) -> tuple[Tensor, Tensor]:
    """The last states ``(rows, T, D)``, and of each row their mean or the last token's, ``(rows, D)``."""
    if isinstance(inputs, BERTInputs):
        hidden = body(inputs.input_ids, segment_ids=inputs.segment_ids, mask=inputs.mask)
        lengths = inputs.lengths
    else:
        hidden = body.hidden_states(inputs.input_ids.flatten(0, -2))
        lengths = inputs.extract.flatten() + 1
    if which == "last":
        return hidden, hidden[torch.arange(len(hidden), device=hidden.device), lengths - 2]
    real = (torch.arange(hidden.shape[1], device=hidden.device) < lengths[:, None])[..., None]
    return hidden, (hidden * real).sum(1) / lengths[:, None]


def gpt_inputs(kind: str, texts: Sequence[Sequence[str]]) -> TaskInputs:
    """Each example as Radford et al. 2018 put a task of its kind."""
    tokenizer = vocabulary("gpt")
    ids = tokenizer.special_ids
    tokens = TaskTokens(ids["[CLS]"], ids["[SEP]"], ids["[MASK]"])
    first, *more = ([tokenizer.encode(text) for text in column] for column in zip(*texts, strict=True))
    if kind == "choice":
        return multiple_choice_inputs(first, list(zip(*more, strict=True)), tokens, max_seq_len=SEQ_LEN)
    make = {"text": classification_inputs, "pair": entailment_inputs, "similarity": similarity_inputs}[kind]
    return make(first, *more, tokens, max_seq_len=SEQ_LEN)


def bert_inputs(texts: Sequence[Sequence[str]]) -> BERTInputs:
    """One or two texts an example, as Devlin et al. 2019 put them."""
    make = text_inputs if len(texts[0]) == 1 else pair_inputs
    return make(*zip(*texts, strict=True), vocabulary("bert"), max_seq_len=SEQ_LEN)


def make_inputs(body: nn.Module, task: str, rows: Sequence[Row]) -> BERTInputs | TaskInputs:
    """Examples as a model gets them."""
    texts = [row[:-1] for row in rows]
    return on_device(gpt_inputs(TASKS[task].kind, texts) if is_causal(body) else bert_inputs(texts))


def on_device(batch: Any) -> Any:
    """A batch where the model is."""
    if isinstance(batch, Tensor):
        return batch.to(best_device())
    return type(batch)(*map(on_device, batch))


def finetune(
    model: nn.Module,
    task: str,
    seed: int,
    *,
    lr: float,
    num_labels: int | None = None,
    lm_weight: float = 0.0,
    judged_on: str = "test",
) -> dict[str, float]:
    """Train ``model`` (of :func:`experiments.text.pretraining.build`) on a task; returns its marks.

    Args:
        model: pretrained or not; it is changed.
        task: one of ``TASKS``.
        seed: of the choice of labels, the batches, the new head and dropout.
        lr: highest learning rate.
        num_labels: how many labelled examples there are: 100, 1,000, or all when None.
        lm_weight: of the auxiliary language-model loss; for a GPT or an LSTM.
        judged_on: ``"test"``, or ``"validation"`` to choose a recipe by.
    """
    torch.manual_seed(seed)
    classifier = Classifier(model, task)

    def loss_fn(classifier: Classifier, rows: Sequence[Row]) -> Tensor:
        logits, hidden, inputs = classifier(rows)
        lm: dict[str, Any] = {}
        if lm_weight:
            lm = {"lm_logits": model.lm_head(hidden), "lm_targets": inputs.lm_targets()}
        return classification_loss(logits, labels_of(rows).to(logits.device), **lm, lm_weight=lm_weight)

    train(classifier, loss_fn, labelled(task, num_labels, seed), seed, lr=lr, steps=STEPS[num_labels])
    return judge(task, lambda rows: classifier(rows)[0].argmax(-1), judged_on)


def train(
    model: nn.Module,
    loss_fn: Callable[[Any, Sequence[Row]], Tensor],
    rows: Sequence[Row],
    seed: int,
    *,
    lr: float,
    steps: int,
) -> None:
    """The one recipe of fine-tuning: batches of 16 examples, a warm-up over a tenth of the steps, decay."""

    def batches(step: int) -> list[Row]:
        return [rows[i] for i in np.random.default_rng((seed, step)).integers(len(rows), size=BATCH)]

    config = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 10, schedule="linear", weight_decay=0.01,
        betas=(0.9, 0.98), log_every=steps, seed=seed,
    )  # fmt: skip
    fit(model.to(best_device()), loss_fn, batches, config, count=len)


@torch.inference_mode()
def judge(task: str, predict: Callable[[Sequence[Row]], Tensor], split: str = "test") -> dict[str, float]:
    """Accuracy, Matthews' correlation, and F1 of two classes."""
    rows = sorted(examples(task, split), key=lambda row: sum(map(len, row[:-1])))
    found = torch.cat([predict(rows[i : i + 64]) for i in range(0, len(rows), 64)]).cpu()
    return marks(labels_of(rows), found)


def marks(truth: Tensor, found: Tensor) -> dict[str, float]:
    """Compute the papers' measures: accuracy, Matthews' correlation and, for two classes, F1."""
    scores = {"accuracy": accuracy_score(truth, found), "matthews": matthews_corrcoef(truth, found)}
    return scores | ({"f1": f1_score(truth, found)} if set(truth.tolist()) == {0, 1} else {})


@torch.inference_mode()
def probe(model: nn.Module, task: str, seed: int, *, num_labels: int | None) -> dict[str, float]:
    """Frozen features: logistic regression on the mean of the last states."""
    body = body_of(model)

    def features(rows: Sequence[Row]) -> np.ndarray:
        parts = (make_inputs(body, task, rows[i : i + 64]) for i in range(0, len(rows), 64))
        return np.concatenate(
            [states(body, part, TASKS[task].state)[1].float().cpu().numpy() for part in parts]
        )

    train = labelled(task, num_labels, seed)
    seen = features(train)
    centre, scale = seen.mean(0), seen.std(0)
    found = LogisticRegression(C=0.1, max_iter=2000).fit((seen - centre) / scale, labels_of(train).numpy())
    return judge(task, lambda rows: torch.from_numpy(found.predict((features(rows) - centre) / scale)))


def count_words(task: str, seed: int, *, num_labels: int | None) -> dict[str, float]:
    """No network: logistic regression on the weighted counts of words."""
    train = labelled(task, num_labels, seed)
    counts = TfidfVectorizer(sublinear_tf=True)

    def texts(rows: Sequence[Row]) -> list[str]:
        return [" ".join(row[:-1]) for row in rows]

    model = LogisticRegression(C=10, max_iter=1000).fit(counts.fit_transform(texts(train)), labels_of(train))
    return judge(task, lambda rows: torch.from_numpy(model.predict(counts.transform(texts(rows)))))

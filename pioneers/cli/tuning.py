"""The tasks of ``pioneers finetune``: from a trained model to batches, loss and validation."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from torch import Tensor, nn

from pioneers.cli.batches import asked, classified, drawn, in_turn, moved, run_encoder, tagged
from pioneers.cli.origin import Origin, adapt, keeper
from pioneers.cli.pairs import PairSet
from pioneers.cli.run_context import RunContext
from pioneers.cli.tasks import Task, next_token_task, pair_task
from pioneers.data import Corpus, ImageSet, RandomRows
from pioneers.models import BERTClassifier, BERTReader, BERTTagger
from pioneers.objectives import classification_loss, span_loss, tagging_loss


class Plan(NamedTuple):
    """What fine-tuning starts from, and what the options say about it.

    Attributes:
        origin: the model.
        lora: rank of the adapters, None for none.
        seq_len: longest sequence in tokens, None for the model's own.
    """

    origin: Origin
    lora: int | None
    seq_len: int | None

    @property
    def length(self) -> int:
        """The longest sequence.

        Raises:
            ValueError: it is longer than the model can read.
        """
        model = self.origin.model
        most = int(getattr(model, "bert", model).config.max_seq_len)
        if self.seq_len is not None and self.seq_len > most:
            raise ValueError(
                f"--seq-len {self.seq_len} is more than {self.origin.name} reads: give at most {most}"
            )
        return self.seq_len or most


class Rows(NamedTuple):
    """Examples for training and validation, and the names of their labels."""

    train: Sequence[Any]
    test: Sequence[Any]
    labels: tuple[str, ...] = ()


def _ready(model: nn.Module, plan: Plan, context: RunContext) -> nn.Module:
    """Put adapters on a model where they are asked for, and move it, after checking the disk."""
    context.folder.check_room(sum(p.numel() * p.element_size() for p in model.parameters()))
    adapt(model, plan.lora)
    return model if context.shard else model.to(context.device)


def _encoder_task(
    model: nn.Module,
    rows: Rows,
    make: Callable[[list[Any]], Any],
    plan: Plan,
    context: RunContext,
    what: str,
    **more: Any,
) -> Task:
    batch = lambda chosen: moved(make(chosen), context.device)  # noqa: E731
    return Task(
        model=_ready(model, plan, context),
        batches=drawn(rows.train, batch, context.batch_size, context.seed),
        val_batches=[batch(part) for part in in_turn(rows.test, context.batch_size)],
        size_text=f"{len(rows.train):,} {what}",
        save=keeper(plan.origin.tokenizer),
        **more,
    )


def text_classifier(rows: Rows, plan: Plan, context: RunContext) -> Task:
    """Fine-tune a BERT to classify texts or pairs of texts."""
    bert = plan.origin.encoder("only a BERT becomes a classifier")
    model, before = plan.origin.model, getattr(plan.origin.model, "labels", ())
    if not (isinstance(model, BERTClassifier) and before == rows.labels):
        model = BERTClassifier(bert, len(rows.labels), labels=rows.labels)
    return _encoder_task(
        model,
        rows,
        lambda chosen: classified(chosen, rows.labels, plan.origin.tokenizer, plan.length),
        plan,
        context,
        "examples",
        loss_fn=lambda model, batch: classification_loss(run_encoder(model, batch[0]), batch[1]),
        accuracy=lambda model, batch: _share(run_encoder(model, batch[0]).argmax(-1) == batch[1]),
    )


def word_tagger(rows: Rows, plan: Plan, context: RunContext) -> Task:
    """Fine-tune a BERT to tag words."""
    bert = plan.origin.encoder("only a BERT becomes a tagger")
    model, before = plan.origin.model, getattr(plan.origin.model, "labels", ())
    if not (isinstance(model, BERTTagger) and before == rows.labels):
        model = BERTTagger(bert, len(rows.labels), labels=rows.labels)

    def right(model: nn.Module, batch: Any) -> float:
        known = batch[1] >= 0
        return _share((run_encoder(model, batch[0]).argmax(-1) == batch[1])[known])

    return _encoder_task(
        model,
        rows,
        lambda chosen: tagged(chosen, rows.labels, plan.origin.tokenizer, plan.length),
        plan,
        context,
        "sentences",
        loss_fn=lambda model, batch: tagging_loss(run_encoder(model, batch[0]), batch[1]),
        count=lambda batch: int((batch[1] != -100).sum()),
        accuracy=right,
    )


def question_reader(rows: Rows, plan: Plan, context: RunContext) -> Task:
    """Fine-tune a BERT to find answers in texts."""
    bert = plan.origin.encoder("only a BERT becomes a reader")
    model = plan.origin.model if isinstance(plan.origin.model, BERTReader) else BERTReader(bert)

    def logits(model: nn.Module, batch: Any) -> Tensor:
        return run_encoder(model, batch.inputs, allowed=batch.allowed)

    def right(model: nn.Module, batch: Any) -> float:
        starts, ends = logits(model, batch).argmax(dim=1).unbind(-1)
        return _share((starts == batch.starts) & (ends == batch.ends))

    return _encoder_task(
        model,
        rows,
        lambda chosen: asked(chosen, plan.origin.tokenizer, plan.length),
        plan,
        context,
        "questions",
        loss_fn=lambda model, batch: span_loss(logits(model, batch), batch.starts, batch.ends),
        accuracy=right,
    )


def image_classifier(
    data: tuple[ImageSet, ImageSet, tuple[str, ...]], plan: Plan, context: RunContext
) -> Task:
    """Fine-tune a ViT to classify images; another set of classes gets a new head."""
    *parts, labels = data
    model, config = plan.origin.model, plan.origin.model.config
    train, test = (ImageSet(*(tensor.to(context.device) for tensor in part)) for part in parts)
    if config.labels != labels or config.num_classes != len(labels):
        fresh = type(model)(config.replace(num_classes=len(labels), labels=labels))
        kept = {name: t for name, t in model.state_dict().items() if not name.startswith("head.")}
        fresh.load_state_dict(kept, strict=False)
        model = fresh
    val_parts = [part.split(context.batch_size) for part in test]
    return Task(
        model=_ready(model, plan, context),
        loss_fn=lambda model, batch: classification_loss(model(batch[0]), batch[1]),
        batches=RandomRows(*train, batch_size=context.batch_size, seed=context.seed),
        val_batches=list(zip(*val_parts, strict=True)),
        size_text=f"{len(train.labels):,} images",
        accuracy=lambda model, batch: _share(model(batch[0]).argmax(-1) == batch[1]),
        save=keeper(None),
    )


def language_model(corpus: Corpus, plan: Plan, context: RunContext) -> Task:
    """Go on training a GPT on another text."""
    make = lambda: _ready(plan.origin.model, plan, context)  # noqa: E731
    task = next_token_task(corpus, plan.origin.tokenizer, plan.length, make, context)
    return replace(task, tokenizer=None, save=keeper(plan.origin.tokenizer))


def translator(pairs: PairSet, plan: Plan, context: RunContext) -> Task:
    """Go on training a Transformer on other pairs."""
    tokenizer = plan.origin.tokenizer
    task = pair_task(pairs, tokenizer, plan.length, lambda: _ready(plan.origin.model, plan, context), context)
    return replace(task, tokenizer=None, save=keeper(tokenizer))


def _share(right: Tensor) -> float:
    return right.float().mean().item()


def fingerprint(data: Any, origin: str) -> str:
    """Hash the data and the hash of the model that fine-tuning starts from."""
    whole = hashlib.sha256(origin.encode())
    for part in data:
        for item in part if isinstance(part, tuple | list) else [part]:
            whole.update(item.numpy().tobytes() if isinstance(item, Tensor) else repr(item).encode())
    return whole.hexdigest()

"""The training tasks: batches, loss and validation of each model. The loop is the same for all."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pioneers.cli.pairs import PairSet, fitting
from pioneers.cli.run_context import RunContext
from pioneers.cli.sources import Pictures
from pioneers.cli.texts import describe
from pioneers.data import Corpus, ImageSet, PairBatch, RandomPairs, RandomRows
from pioneers.models import (
    GPT,
    BERTConfig,
    BERTForPretraining,
    GPTConfig,
    Transformer,
    TransformerConfig,
    ViT,
    ViTConfig,
)
from pioneers.objectives import (
    causal_lm,
    causal_lm_loss,
    classification_loss,
    masked_lm,
    masked_lm_loss,
    seq2seq_loss,
)
from pioneers.tokenizers import FastBPE, WordPiece
from pioneers.training.train_step import count_rows
from pioneers.weights import save_pretrained

PAD, START, STOP = SPECIAL = ("<pad>", "<s>", "</s>")
VAL_BATCHES = 4  # enough to find the best step
VAL_IMAGES = 1024


@dataclass(frozen=True, kw_only=True)
class Task:
    """Everything the training loop needs.

    Attributes:
        val_batches: held-out batches; the model does not learn from them.
        size_text: the size of the training data, in words.
        count: see :func:`pioneers.training.fit`.
        left_out: numbers of the lines that are not learned from, by the reason.
        accuracy: model and batch → share of rows that are right, if that is defined; for a Transformer, those
            whose target greedy decoding reproduces exactly.
        save: writes the model to the folder.
    """

    model: nn.Module
    loss_fn: Callable[[nn.Module, Any], Tensor]
    batches: Callable[[int], Any]
    val_batches: Sequence[Any]
    size_text: str
    tokenizer: FastBPE | WordPiece | None = None
    count: Callable[[Any], int] = count_rows
    left_out: dict[str, list[int]] = field(default_factory=dict)
    accuracy: Callable[[nn.Module, Any], float] | None = None
    save: Callable[[nn.Module, Path], None] = save_pretrained

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Compute the loss, and the accuracy if there is one, on the validation batches."""
        numbers = {"val_loss": _mean(lambda b: self.loss_fn(model, b).item(), self.val_batches, self.count)}
        if self.accuracy is not None:
            right = self.accuracy
            numbers["accuracy"] = _mean(lambda batch: right(model, batch), self.val_batches, count_rows)
        return numbers


def language_modelling(corpus: Corpus, config: GPTConfig, context: RunContext) -> Task:
    """Train a GPT to predict the next token of a text."""
    tokenizer = context.text_tokenizer(corpus, FastBPE, config.vocab_size)
    sized = config.replace(vocab_size=tokenizer.vocab_size)
    task = next_token_task(
        corpus, tokenizer, sized.max_seq_len, lambda: context.build(lambda: GPT(sized)), context
    )
    return replace(task, size_text=describe(corpus, learned=context.tokenizer is None))


def next_token_task(
    corpus: Corpus, tokenizer: Any, seq_len: int, make: Callable[[], nn.Module], context: RunContext
) -> Task:
    """Teach a decoder the next token in windows of T tokens; ``make`` gives the model."""
    batches, val_batch = context.windows(corpus, tokenizer, seq_len, f"--seq-len {seq_len}")

    def loss_fn(model: nn.Module, batch: Tensor) -> Tensor:
        input_ids, targets = causal_lm(batch)
        return causal_lm_loss(model(input_ids), targets)

    return Task(
        model=make(),
        loss_fn=loss_fn,
        batches=batches,
        val_batches=[val_batch(step) for step in range(VAL_BATCHES)],
        size_text=describe(corpus, learned=False),
        tokenizer=tokenizer,
    )


def masked_modelling(corpus: Corpus, config: BERTConfig, context: RunContext) -> Task:
    """Train a BERT to predict hidden tokens of a text; its next-sentence head is not trained."""
    tokenizer = context.text_tokenizer(corpus, WordPiece, config.vocab_size)
    config = config.replace(vocab_size=tokenizer.vocab_size)
    seq_len = config.max_seq_len
    if seq_len < 4:
        raise ValueError(f"--seq-len {seq_len} leaves no room between [CLS] and [SEP]; give at least 4")

    train, test = context.windows(corpus, tokenizer, seq_len - 3, f"--seq-len {seq_len}")

    def loss_fn(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        input_ids, targets = batch
        return masked_lm_loss(model(input_ids, predict_mask=targets != -100).masked_lm, targets)

    return Task(
        model=context.build(lambda: BERTForPretraining(config)),
        loss_fn=loss_fn,
        batches=lambda step: _mask(train(step), tokenizer, context.seed, step),
        val_batches=[_mask(test(step), tokenizer, context.seed + 1, step) for step in range(VAL_BATCHES)],
        size_text=describe(corpus, learned=context.tokenizer is None),
        tokenizer=tokenizer,
        count=lambda batch: int((batch[1] != -100).sum()),
    )


def translation(data: PairSet, config: TransformerConfig, context: RunContext) -> Task:
    """Train a Transformer to translate; both sides share one vocabulary."""

    def learn() -> FastBPE:
        text = "\n".join(side for pair in data.train for side in pair)
        return FastBPE(FastBPE.train(text, config.vocab_size - len(SPECIAL)).merges, SPECIAL)

    tokenizer = context.folder.tokenizer(learn)
    sized = config.replace(vocab_size=tokenizer.vocab_size)
    return pair_task(
        data, tokenizer, sized.max_seq_len, lambda: context.build(lambda: Transformer(sized)), context
    )


def pair_task(
    data: PairSet, tokenizer: Any, longest: int, make: Callable[[], nn.Module], context: RunContext
) -> Task:
    """Teach a Transformer pairs with sides of at most ``longest`` tokens; ``make`` gives the model."""
    pad_id, start_id, stop_id = (tokenizer.special_ids[name] for name in SPECIAL)
    ids = [[(tokenizer.encode(s), tokenizer.encode(t)) for s, t in pairs] for pairs in data[:2]]
    ids, long = fitting(ids, data, longest, drop_long=bool(context.drop_long))
    how = {"pad_id": pad_id, "start_id": start_id, "stop_id": stop_id, "seed": context.seed}
    batches, val_batch = (
        RandomPairs(pairs, batch_size=context.batch_size, device=context.device, **how) for pairs in ids
    )

    def loss_fn(model: nn.Module, batch: PairBatch) -> Tensor:
        logits = model(batch.source_ids, batch.input_ids, mask=batch.mask)
        return seq2seq_loss(logits, batch.targets, label_smoothing=0.1 if model.training else 0.0)

    def written_right(model: nn.Module, batch: PairBatch) -> float:
        best = model(batch.source_ids, batch.input_ids, mask=batch.mask).argmax(-1)
        return ((best == batch.targets) | (batch.targets == -100)).all(dim=1).float().mean().item()

    return Task(
        model=make(),
        loss_fn=loss_fn,
        batches=batches,
        val_batches=[val_batch(step) for step in range(VAL_BATCHES)],
        size_text=f"{len(ids[0]):,} pair{'s' * (len(ids[0]) != 1)}",
        tokenizer=tokenizer,
        count=lambda batch: int((batch.targets != -100).sum()),
        accuracy=written_right,
        left_out={"long": long, "broken": list(data.broken)},
    )


def image_classification(data: Pictures, config: ViTConfig, context: RunContext) -> Task:
    """Train a ViT to classify images."""
    train, test = (ImageSet(*(part.to(context.device) for part in some)) for some in data[:2])
    val_parts = [part[:VAL_IMAGES].split(context.batch_size) for part in test]
    return Task(
        model=context.build(lambda: ViT(config)),
        loss_fn=lambda model, batch: classification_loss(model(batch[0]), batch[1]),
        batches=RandomRows(*train, batch_size=context.batch_size, seed=context.seed),
        val_batches=list(zip(*val_parts, strict=True)),
        size_text=f"{len(train.labels):,} images",
        accuracy=lambda model, batch: (model(batch[0]).argmax(-1) == batch[1]).float().mean().item(),
    )


def _mean(value: Callable[[Any], float], batches: Sequence[Any], count: Callable[[Any], int]) -> float:
    return float(np.average([value(batch) for batch in batches], weights=[count(batch) for batch in batches]))


def _mask(windows: Tensor, tokenizer: WordPiece, seed: int, step: int) -> tuple[Tensor, Tensor]:
    """Add [CLS] and [SEP] to windows and hide some tokens, which are the targets; fixed by seed and step."""
    ids = tokenizer.special_ids
    ends = [windows.new_full((len(windows), 1), ids[name]) for name in ("[CLS]", "[SEP]")]
    draw = int(np.random.default_rng((seed, step)).integers(2**62))
    return masked_lm(
        torch.cat([ends[0], windows, ends[1]], dim=1),
        mask_id=ids["[MASK]"],
        vocab_size=tokenizer.vocab_size,
        special_ids=ids.values(),
        generator=torch.Generator(device=windows.device).manual_seed(draw),
    )

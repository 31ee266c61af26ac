"""Pretrain the small BERT that the pages on BERT look into and fine-tune.

    make experiments NAME=bert_documents

Less than half an hour on one core. It saves itself as it goes and continues where it stopped. Its weights, in
bfloat16, and its vocabulary go to ``pioneers/weights/bert_documents``, the losses on held-out text to the
result file.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.common import FINISHED, ROOT, run
from pioneers.data import documents
from pioneers.device import best_device, seed_everything
from pioneers.layers import padding_mask
from pioneers.models import BERTConfig, BERTForPretraining
from pioneers.objectives import BERTInputs, masked_lm, masked_lm_loss, next_sentence, pair_inputs
from pioneers.tokenizers import WordPiece
from pioneers.tokenizers.wordpiece import frequency
from pioneers.training import TrainConfig, fit
from pioneers.weights import save_pretrained, save_tokenizer

FOLDER = ROOT / "pioneers" / "weights" / "bert_documents"
CONFIG = {
    "vocab_size": 2048,
    "sizes": {"d_model": 128, "num_layers": 3, "num_heads": 4, "dropout": 0.0},
    "steps": 6000,
    "tokens": 1536,
    "short": 24,
    "long": 64,
    "lr": 1.5e-3,
}
LOG_EVERY = 500


def sentences(split: str) -> list[tuple[str, ...]]:
    """The documents of a split, each in sentences."""
    return [document.sentences for document in documents(split)]


def pairs(
    texts: Sequence[Sequence[str]], tokenizer: WordPiece, max_seq_len: int, seed: int
) -> tuple[BERTInputs, Tensor]:
    """Pairs of sentences of texts, and for each 0 if the second follows the first, 1 if it does not."""
    drawn = next_sentence(texts, seed=seed)
    first, second, follows = zip(*drawn, strict=True)
    return pair_inputs(first, second, tokenizer, max_seq_len=max_seq_len), 1 - torch.tensor(follows).long()


class Batches:
    """Step → ids with gaps, segments, lengths, targets, labels; short rows at first, long ones at the end."""

    def __init__(
        self,
        texts: Sequence[Sequence[str]],
        tokenizer: WordPiece,
        *,
        steps: int,
        tokens: int,
        short: int,
        long: int,
        seed: int,
        shares: tuple[float, float, float] = (0.8, 0.1, 0.1),
    ) -> None:
        self.texts, self.tokenizer, self.shares = texts, tokenizer, shares
        self.steps, self.tokens, self.seed = steps, tokens, seed
        self.short, self.long = short, long
        self.pairs = lru_cache(maxsize=1)(self._pairs)

    def _pairs(self, max_seq_len: int, epoch: int) -> tuple[BERTInputs, Tensor]:
        return pairs(self.texts, self.tokenizer, max_seq_len, 1000 * self.seed + epoch)

    def __call__(self, step: int) -> tuple[Tensor, ...]:
        """The batch of one step: nine tenths of the steps have short rows."""
        draw = torch.Generator().manual_seed(step + 1_000_003 * self.seed)
        max_seq_len = self.short if step < 0.9 * self.steps else self.long
        inputs, labels = self.pairs(max_seq_len, step // 500)
        rows = torch.randint(len(labels), (self.tokens // max_seq_len,), generator=draw)
        ids, targets = hide(inputs.input_ids[rows], self.tokenizer, draw, self.shares)
        return ids, inputs.segment_ids[rows], inputs.lengths[rows], targets, labels[rows]


def hide(
    input_ids: Tensor,
    tokenizer: WordPiece,
    draw: torch.Generator,
    shares: tuple[float, float, float] = (0.8, 0.1, 0.1),
) -> tuple[Tensor, Tensor]:
    """Ids with gaps, and the targets; ``shares`` are those of masked, random and kept tokens."""
    special = tokenizer.special_ids
    return masked_lm(
        input_ids, mask_id=special["[MASK]"], vocab_size=tokenizer.vocab_size, special_ids=special.values(),
        shares=shares, generator=draw,
    )  # fmt: skip


def losses(model: nn.Module, batch: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """Of masked language modelling and of next-sentence prediction."""
    ids, segments, lengths, targets, labels = batch
    mask = padding_mask(lengths, ids.shape[1])
    logits = model(ids, segment_ids=segments, mask=mask, predict_mask=targets != -100)
    return masked_lm_loss(logits.masked_lm, targets), F.cross_entropy(logits.next_sentence, labels)


def one_case(
    *, seed: int, vocab_size: int, sizes: dict[str, Any], steps: int, lr: float, **rows: int
) -> dict[str, Any]:
    """Pretrain and keep the model: its losses on held-out pairs, step by step."""
    texts = sentences("train")
    text = "\n".join(sentence for one in texts for sentence in one)
    tokenizer = WordPiece.train(text, vocab_size, score=frequency)
    seed_everything(seed)
    model = BERTForPretraining(BERTConfig(vocab_size=vocab_size, max_seq_len=rows["long"], **sizes))
    model = model.to(best_device())
    held_out, labels = pairs(sentences("test"), tokenizer, rows["long"], seed)
    ids, targets = hide(held_out.input_ids, tokenizer, torch.Generator().manual_seed(seed))
    test = (ids, held_out.segment_ids, held_out.lengths, targets, labels)

    def evaluate(model: nn.Module) -> dict[str, float]:
        found = losses(model, test)
        return {"masked_lm": found[0].item(), "next_sentence": found[1].item()}

    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 20, schedule="linear", betas=(0.9, 0.98),
        weight_decay=0.01, log_every=LOG_EVERY, checkpoint_every=LOG_EVERY, seed=seed,
    )  # fmt: skip
    checkpoint = FINISHED / f"bert_documents-{seed}-{steps}.safetensors"
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    batches = Batches(texts, tokenizer, steps=steps, seed=seed, **rows)
    history = fit(
        model, lambda model, batch: sum(losses(model, batch)), batches, recipe, evaluate=evaluate,
        checkpoint=checkpoint, metrics=checkpoint.with_suffix(".jsonl"),
    )  # fmt: skip
    save_pretrained(model.bfloat16(), FOLDER)
    save_tokenizer(tokenizer, FOLDER)
    return {name: [row[name] for row in history] for name in ("step", "masked_lm", "next_sentence")}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(run("bert_documents", {"pretrained": {}}, one_case, config=CONFIG, seeds=[0]))

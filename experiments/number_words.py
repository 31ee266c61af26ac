"""The small task of the translation experiments: English number words into French.

``"two hundred and seventy-seven"`` becomes ``"deux cent soixante-dix-sept"``. The exact translation is known,
no number of the test is among those of the training, and nothing is downloaded.
"""

from typing import Any, NamedTuple

import sacrebleu
import torch
from torch import nn

from pioneers.data import RandomPairs, translation_pairs
from pioneers.generation import translate
from pioneers.objectives import causal_lm_loss, seq2seq_loss
from pioneers.tokenizers import FastBPE
from pioneers.training import TrainConfig, fit

PAD, START, STOP = "<pad>", "<start>", "<stop>"
LONGEST = 40  # tokens of a translation


class Task(NamedTuple):
    """Pairs of texts and of token ids, and the tokenizer between them."""

    tokenizer: FastBPE
    train: list[tuple[list[int], list[int]]]
    test: list[tuple[list[int], list[int]]]
    texts: list[tuple[str, str]]

    def batches(self, pairs: list[tuple[list[int], list[int]]], batch_size: int, seed: int) -> RandomPairs:
        """Batches of pairs; step → batch."""
        ids = self.tokenizer.special_ids
        special = {"start_id": ids[START], "stop_id": ids[STOP], "pad_id": ids[PAD]}
        return RandomPairs(pairs, batch_size=batch_size, seed=seed, **special)


def number_task(train_pairs: int, test_pairs: int, vocab_size: int) -> Task:
    """The task with so many pairs, and one vocabulary of byte pairs for both languages."""
    train = translation_pairs("numbers", target="fr", count=train_pairs)
    test = translation_pairs("numbers", target="fr", count=test_pairs, split="test")
    merges = FastBPE.train("\n".join(text for pair in train for text in pair), vocab_size - 3).merges
    tokenizer = FastBPE(merges, [PAD, START, STOP])
    ids = [[(tokenizer.encode(s), tokenizer.encode(t)) for s, t in pairs] for pairs in (train, test)]
    return Task(tokenizer, *ids, test)


def train_and_score(
    model: nn.Module, task: Task, *, batch_size: int, smoothing: float, recipe: TrainConfig
) -> dict[str, Any]:
    """Train, then measure perplexity per token, BLEU and the share translated without a mistake."""

    def loss(model: nn.Module, batch: Any) -> torch.Tensor:
        logits = model(batch.source_ids, batch.input_ids, mask=batch.mask)
        return seq2seq_loss(logits, batch.targets, label_smoothing=smoothing)

    history = fit(model, loss, task.batches(task.train, batch_size, recipe.seed), recipe)
    numbers = {
        "loss": [row["loss"] for row in history],
        "parameters": sum(p.numel() for p in model.parameters()),
    }
    return numbers | score(model, task)


@torch.no_grad()
def score(model: nn.Module, task: Task) -> dict[str, float]:
    """Perplexity per token, BLEU and exact matches on the test."""
    batch = task.batches(task.test, 1, 0).collate(task.test)
    logits = model(batch.source_ids, batch.input_ids, mask=batch.mask)
    perplexity = causal_lm_loss(logits.float(), batch.targets).exp().item()
    ids = task.tokenizer.special_ids
    special = {"start_id": ids[START], "stop_id": ids[STOP], "pad_id": ids[PAD]}
    found = translate(model, batch.source_ids, LONGEST, mask=batch.mask, **special).tolist()
    texts = [task.tokenizer.decode(i for i in row if i < ids[PAD]) for row in found]
    right = [target for _, target in task.texts]
    return {
        "perplexity": perplexity,
        "bleu": sacrebleu.corpus_bleu(texts, [right]).score,
        "exact": 100 * sum(a == b for a, b in zip(texts, right, strict=True)) / len(right),
    }

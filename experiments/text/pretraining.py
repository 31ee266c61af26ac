"""Pretrain a small GPT, LSTM or BERT on film reviews, news and Python's own texts, and keep its weights."""

import functools
import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from filelock import FileLock
from torch import Tensor, nn

from experiments.common import FINISHED
from pioneers.data import RandomWindows, mrpc, sst2
from pioneers.data.tasks import documents
from pioneers.device import best_device
from pioneers.layers import padding_mask
from pioneers.models import GPT, BERTConfig, BERTForPretraining, GPTConfig
from pioneers.models.baselines import LSTMLanguageModel
from pioneers.objectives import causal_lm, causal_lm_loss, masked_lm, masked_lm_loss
from pioneers.tokenizers import WordPiece
from pioneers.tokenizers.wordpiece import frequency
from pioneers.training import TrainConfig, fit, load_weights, save_weights

FOLDER = FINISHED / "text"
VOCAB_SIZE, SEQ_LEN = 4096, 64
BATCH = {"gpt": 16, "lstm": 16, "bert": 32}  # rows; those of BERT are shorter
SIZES = {"d_model": 128, "num_layers": 4, "num_heads": 4}
LSTM_SIZES = {"d_model": 256, "num_layers": 1}
STEPS = 2000
SNAPSHOTS = (125, 250, 500, 1000)
LR = {"gpt": 2e-3, "lstm": 4e-3, "bert": 2e-3}


@functools.cache
def corpus() -> tuple[str, ...]:
    """The training texts of all tasks, without their labels; what the tasks hold out is not among them."""
    python = [" ".join(document.sentences) for document in documents("train")]
    reviews = [review.text for review in sst2("train")]
    news = [text for pair in mrpc("train") for text in (pair.first, pair.second)]
    return tuple(dict.fromkeys([*python, *reviews, *news]))


@functools.cache
def vocabulary() -> WordPiece:
    """One vocabulary for all models, learned from the corpus once."""
    path = FOLDER / "vocab.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        if not path.exists():
            WordPiece.train("\n".join(corpus()), VOCAB_SIZE, score=frequency).save(path)
    return WordPiece.from_vocab(path)


@functools.cache
def pieces() -> tuple[tuple[int, ...], ...]:
    """The corpus as pieces of 8 to 61 tokens, the shortest first: room for [CLS] and two [SEP]."""
    longest = SEQ_LEN - 3
    ids = [vocabulary().encode(text) for text in corpus()]
    cut = [tuple(text[i : i + longest]) for text in ids for i in range(0, len(text), longest)]
    return tuple(sorted((piece for piece in cut if len(piece) >= 8), key=len))


class Pairs(NamedTuple):
    """A batch of BERT's pretraining: ids and segments ``(B, T)``, lengths ``(B,)``, targets, labels."""

    input_ids: Tensor
    segment_ids: Tensor
    lengths: Tensor
    targets: Tensor
    next_sentence: Tensor


def pad(rows: Sequence[Sequence[int]], value: int = 0) -> Tensor:
    """Rows of different length as one tensor."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[value] * (longest - len(row))] for row in rows], device=best_device())


def pretraining_pairs(seed: int, shares: tuple[float, float, float]) -> Any:
    """Step → :class:`Pairs`: pieces cut in two, every other second half taken from another piece."""
    tokenizer, rows = vocabulary(), pieces()
    special, size = tokenizer.special_ids, BATCH["bert"]

    def batch(step: int) -> Pairs:
        rng = np.random.default_rng((seed, step))
        start = rng.integers(len(rows) - 8 * size)  # rows of about one length, so that little is padding
        chosen = [rows[i] for i in start + rng.choice(8 * size, 2 * size, replace=False)]
        inputs, foreign = [], rng.random(size) < 0.5
        for row, other, is_foreign in zip(chosen[:size], chosen[size:], foreign, strict=True):
            cut, elsewhere = (int(len(r) * rng.uniform(0.3, 0.7)) for r in (row, other))
            second = other[elsewhere:][: SEQ_LEN - 3 - cut] if is_foreign else row[cut:]
            inputs.append(tokenizer.assemble(row[:cut], second))
        ids = pad([i.input_ids for i in inputs])
        draw = torch.Generator(device=ids.device).manual_seed(int(rng.integers(2**31)))
        hidden, targets = masked_lm(
            ids, mask_id=special["[MASK]"], vocab_size=tokenizer.vocab_size,
            special_ids=special.values(), shares=shares, generator=draw,
        )  # fmt: skip
        lengths = torch.tensor([len(i.input_ids) for i in inputs], device=ids.device)
        labels = torch.from_numpy(foreign).long().to(ids.device)
        return Pairs(hidden, pad([i.segment_ids for i in inputs]), lengths, targets, labels)

    return batch


def bert_loss(model: nn.Module, batch: Pairs, *, next_sentence: bool) -> Tensor:
    """Masked language modelling and, if asked for, next-sentence prediction."""
    mask = padding_mask(batch.lengths, batch.input_ids.shape[1])
    where = batch.targets != -100
    logits = model(batch.input_ids, segment_ids=batch.segment_ids, mask=mask, where=where)
    loss = masked_lm_loss(logits.masked_lm, batch.targets)
    return loss + F.cross_entropy(logits.next_sentence, batch.next_sentence) if next_sentence else loss


def next_token_loss(model: nn.Module, windows: Tensor) -> Tensor:
    """Causal language modelling of windows ``(B, T + 1)``."""
    input_ids, targets = causal_lm(windows)
    return causal_lm_loss(model(input_ids), targets)


def build(kind: str) -> nn.Module:
    """A model with random weights: ``"gpt"``, ``"lstm"`` or ``"bert"``."""
    if kind == "lstm":
        return LSTMLanguageModel(VOCAB_SIZE, **LSTM_SIZES, dropout=0.1)
    sizes = {"vocab_size": VOCAB_SIZE, "max_seq_len": SEQ_LEN, "dropout": 0.1, **SIZES}
    return GPT(GPTConfig(**sizes)) if kind == "gpt" else BERTForPretraining(BERTConfig(**sizes))


def pretrain(
    kind: str,
    seed: int,
    *,
    steps: int = STEPS,
    at: int | None = None,
    next_sentence: bool = True,
    shares: tuple[float, float, float] = (0.8, 0.1, 0.1),
) -> nn.Module:
    """A pretrained model, or what it was ``at`` one of the ``SNAPSHOTS``; trained now unless it lies there.

    Args:
        kind: see :func:`build`.
        seed: of weights, batches and dropout.
        steps: of training.
        at: step of a snapshot; the end when left out.
        next_sentence: whether a BERT learns next-sentence prediction too.
        shares: of masked, random and kept tokens, for a BERT.
    """
    sizes = LSTM_SIZES if kind == "lstm" else SIZES
    how: dict[str, Any] = {"kind": kind, "seed": seed, "steps": steps, "lr": LR[kind], "sizes": sizes}
    how["batch"] = BATCH[kind]
    how |= {"next_sentence": next_sentence, "shares": shares} if kind == "bert" else {}
    digest = hashlib.sha256(json.dumps(how, sort_keys=True).encode()).hexdigest()[:8]
    places = {step: FOLDER / f"{kind}-{seed}-{digest}-{step}.safetensors" for step in (*SNAPSHOTS, steps)}
    torch.manual_seed(seed)
    model = build(kind).to(best_device())
    with FileLock(f"{places[steps]}.lock"):
        if not places[steps].exists():
            _train(model, kind, seed, how, places)
    load_weights(places[steps if at is None else at], model)
    return model.eval()


def _train(model: nn.Module, kind: str, seed: int, how: dict[str, Any], places: dict[int, Any]) -> None:
    def keep(model: nn.Module) -> dict[str, float]:
        step = next(steps_seen, None)  # None: the last step, which is logged too
        if step in places:
            save_weights(places[step], model)
        return {}

    steps_seen: Iterator[int] = iter(range(0, how["steps"], 25))
    config = TrainConfig(
        max_steps=how["steps"], lr=how["lr"], warmup_steps=how["steps"] // 10, schedule="linear",
        weight_decay=0.01, betas=(0.9, 0.98), log_every=25, seed=seed,
    )  # fmt: skip
    if kind == "bert":
        batches = pretraining_pairs(seed, how["shares"])
        loss = functools.partial(bert_loss, next_sentence=how["next_sentence"])
    else:
        end = vocabulary().special_ids["[SEP]"]
        stream = torch.tensor([i for piece in _shuffled(seed) for i in (*piece, end)], device=best_device())
        batches = RandomWindows(stream, seq_len=SEQ_LEN, batch_size=BATCH[kind], seed=seed)
        loss = next_token_loss
    fit(model, loss, batches, config, evaluate=keep)
    save_weights(places[how["steps"]], model)


def _shuffled(seed: int) -> list[tuple[int, ...]]:
    order = np.random.default_rng(seed).permutation(len(pieces()))
    return [pieces()[i] for i in order]

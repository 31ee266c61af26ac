"""Pretrain a small GPT or LSTM on reviews, news and Python's own texts, a BERT on the last of them."""

import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from filelock import FileLock
from torch import Tensor, nn

from experiments.bert_documents import Batches, losses
from experiments.common import FINISHED
from pioneers.data import RandomWindows, imdb_reviews, mrpc, sst2, subj
from pioneers.data.tasks import documents
from pioneers.device import best_device
from pioneers.layers import causal_mask, padding_mask
from pioneers.models import GPT, BERTConfig, BERTForPretraining, GPTConfig
from pioneers.models.baselines import LSTMLanguageModel
from pioneers.objectives import causal_lm, causal_lm_loss
from pioneers.tokenizers import WordPiece
from pioneers.tokenizers.wordpiece import frequency
from pioneers.training import TrainConfig, fit, load_weights, save_weights

FOLDER = FINISHED / "text"
SEQ_LEN = 64
LEFT = "left to right"  # a BERT under the causal mask, which predicts the next token
VOCAB_SIZE = {"gpt": 4096, "lstm": 4096, "bert": 2048, LEFT: 2048}
SIZES = {"d_model": 128, "num_layers": 2, "num_heads": 4}
LSTM_SIZES = {"d_model": 192, "num_layers": 1}
STEPS = {"gpt": 9000, "lstm": 9000, "bert": 3000, LEFT: 3000}
BATCH = {"gpt": 16, "lstm": 16, "bert": 48, LEFT: 48}  # rows of 64 tokens; for most of the time 24, if a BERT
BERTS = ("bert", LEFT)
SNAPSHOTS = (250, 500, 1000, 2000)
# A GPT's and an LSTM's are half of what did best over 1,000 steps (pretraining_rates): these runs are longer.
LR = {"gpt": 2e-3, "lstm": 8e-3, "bert": 2e-3, LEFT: 2e-3}
REVIEWS = 12_000  # of the 50,000 without a label
REPEATS = 3  # of the documents, which are few beside the reviews
ADAPTED = {"steps": 2500, "lr": 1e-3}  # how a GPT that is adapted goes on
LONGER: dict[str, Any] = {"steps": 12_000, "lr": 1e-3}  # a BERT's: four times the steps, half the rate


@functools.cache
def films() -> tuple[str, ...]:
    """Texts about films without their labels; the sentences that SST-2 holds out are not among them."""
    held_out = {_bare(text) for split in ("validation", "test") for text, _ in sst2(split)}
    sentences = [text for text, _ in (*sst2("train"), *subj()) if _bare(text) not in held_out]
    return (*sentences, *(re.sub("(<br />)+", " ", review) for review in imdb_reviews(REVIEWS)))


@functools.cache
def python() -> tuple[tuple[str, ...], ...]:
    """The documents of the embedded tasks, in sentences, without those that are held out."""
    return tuple(document.sentences for document in documents("train"))


def news() -> list[str]:
    """The sentences of MRPC's training pairs."""
    return [text for pair in mrpc("train") for text in (pair.first, pair.second)]


def _bare(text: str) -> str:
    return re.sub(r"\W", "", text.lower())


@functools.cache
def vocabulary(kind: str) -> WordPiece:
    """A BERT's is learned from what it reads, that of the other two from a part of it."""
    path = FOLDER / f"vocab-{VOCAB_SIZE[kind]}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        if not path.exists():
            texts = [" ".join(sentences) for sentences in python()]
            texts += [] if kind in BERTS else [*films()[: len(films()) // 2], *news()]
            WordPiece.train("\n".join(texts), VOCAB_SIZE[kind], score=frequency).save(path)
    return WordPiece.from_vocab(path)


@functools.cache
def stream(seed: int) -> Tensor:
    """All texts in random order as one row of ids, [SEP] behind each."""
    texts = [*films(), *dict.fromkeys(news()), *(" ".join(sentences) for sentences in REPEATS * python())]
    return one_row(shuffled(texts, seed))


def shuffled(texts: Sequence[str], seed: int) -> list[str]:
    """The texts in random order."""
    order = torch.randperm(len(texts), generator=torch.Generator().manual_seed(seed)).tolist()
    return [texts[place] for place in order]


def one_row(texts: Iterable[str]) -> Tensor:
    """The ids of all texts, ``(T,)``, [SEP] behind each."""
    tokenizer = vocabulary("gpt")
    end = tokenizer.special_ids["[SEP]"]
    return torch.tensor([i for text in texts for i in (*tokenizer.encode(text), end)])


def documents_in(order: str, seed: int) -> Tensor:
    """Python's documents as one row of ids, ``"in order"`` of its files or ``"shuffled"``."""
    texts = [" ".join(sentences) for sentences in python()]
    return one_row(texts if order == "in order" else shuffled(texts, seed))


def next_token_loss(model: nn.Module, windows: Tensor) -> Tensor:
    """Causal language modelling of windows ``(B, T + 1)``."""
    input_ids, targets = causal_lm(windows)
    return causal_lm_loss(model(input_ids), targets)


def build(kind: str) -> nn.Module:
    """A model with random weights: ``"gpt"``, ``"lstm"``, ``"bert"`` or ``LEFT``."""
    if kind == "lstm":
        return LSTMLanguageModel(VOCAB_SIZE[kind], **LSTM_SIZES, dropout=0.1)
    sizes = {"vocab_size": VOCAB_SIZE[kind], "max_seq_len": SEQ_LEN, **SIZES}
    if kind == "gpt":
        return GPT(GPTConfig(**sizes, dropout=0.1))
    model = BERTForPretraining(BERTConfig(**sizes, dropout=0.0))
    if kind == LEFT:
        model.bert.register_forward_pre_hook(_hide_the_future, with_kwargs=True)
    return model


def _hide_the_future(_: nn.Module, args: tuple[Tensor], options: dict[str, Tensor]) -> Any:
    (input_ids,) = args
    causal = causal_mask(input_ids.shape[1], device=input_ids.device)
    return args, {**options, "mask": options["mask"] & causal}


def pretrain(
    kind: str,
    seed: int,
    *,
    at: int | None = None,
    next_sentence: bool = True,
    shares: tuple[float, float, float] = (0.8, 0.1, 0.1),
    adapted: str | None = None,
    steps: int | None = None,
    lr: float | None = None,
) -> nn.Module:
    """A pretrained model, or what it was ``at`` one of the ``SNAPSHOTS``; trained now unless it lies there.

    Args:
        kind: see :func:`build`.
        seed: of weights, batches and dropout.
        at: step of a snapshot; the end when left out.
        next_sentence: whether a BERT learns next-sentence prediction too.
        shares: of masked, random and kept tokens, for a BERT.
        adapted: how a GPT then reads Python's documents alone, the second of the three phases of Howard &
            Ruder 2018: ``"in order"`` of its files, so that neighbours speak of the same thing, or
            ``"shuffled"``.
        steps: how many; those of ``STEPS`` when left out.
        lr: highest learning rate; that of ``LR`` when left out.
    """
    sizes = LSTM_SIZES if kind == "lstm" else SIZES
    usual = ADAPTED if adapted else {"steps": STEPS[kind], "lr": LR[kind]}
    last = steps or int(usual["steps"])
    how: dict[str, Any] = {"kind": kind, "steps": last, "lr": lr or usual["lr"], "sizes": sizes}
    how |= {"batch": BATCH[kind], "vocab_size": VOCAB_SIZE[kind], "seq_len": SEQ_LEN}
    how |= {} if kind in BERTS else {"reviews": REVIEWS, "repeats": REPEATS}
    how |= {"next_sentence": next_sentence, "shares": shares} if kind == "bert" else {}
    how |= {"shares": (0.0, 0.0, 1.0)} if kind == LEFT else {}
    how |= {"adapted": [adapted, STEPS[kind], LR[kind]]} if adapted else {}
    digest = hashlib.sha256(json.dumps(how, sort_keys=True).encode()).hexdigest()[:8]
    places = {
        step: FOLDER / f"{kind.replace(' ', '_')}-{digest}-{seed}-{step}.safetensors"
        for step in (*SNAPSHOTS, last)
    }
    torch.manual_seed(seed)
    model = (pretrain(kind, seed) if adapted else build(kind)).to(best_device())
    with FileLock(f"{places[last]}.lock"):
        if not places[last].exists():
            _train(model, kind, seed, how, places)
    load_weights(places[last if at is None else at], model)
    return model.eval()


def _train(model: nn.Module, kind: str, seed: int, how: dict[str, Any], places: dict[int, Path]) -> None:
    every = 250

    def keep(model: nn.Module) -> dict[str, float]:
        step = next(steps_seen, None)  # None: the last step, which is logged too
        if step in places:
            save_weights(places[step], model)
        return {}

    steps_seen = iter(range(0, how["steps"], every))
    config = TrainConfig(
        max_steps=how["steps"], lr=how["lr"], warmup_steps=how["steps"] // 20, schedule="linear",
        weight_decay=0.01, betas=(0.9, 0.98), log_every=every, seed=seed,
    )  # fmt: skip
    loss: Callable[[nn.Module, Any], Tensor]
    if kind in BERTS:
        batches: Any = Batches(
            python(), vocabulary(kind), steps=how["steps"], tokens=24 * BATCH[kind], short=24, long=SEQ_LEN,
            seed=seed, shares=how["shares"],
        )  # fmt: skip
        loss = left_to_right_loss if kind == LEFT else bert_loss if how["next_sentence"] else masked_only
    else:
        ids = documents_in(how["adapted"][0], seed) if "adapted" in how else stream(seed)
        batches = RandomWindows(ids.to(best_device()), seq_len=SEQ_LEN, batch_size=BATCH[kind], seed=seed)
        loss = next_token_loss
    metrics = places[how["steps"]].with_suffix(".jsonl")
    fit(model, loss, batches, config, evaluate=keep, metrics=metrics)
    save_weights(places[how["steps"]], model)


def bert_loss(model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
    """Masked language modelling and next-sentence prediction."""
    return sum(losses(model, batch), torch.zeros(()))


def masked_only(model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
    """Masked language modelling alone."""
    return losses(model, batch)[0]


def left_to_right_loss(model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
    """The next token at every place but the last of a row."""
    ids, segments, lengths, *_ = batch
    mask = padding_mask(lengths, ids.shape[1])
    where = torch.arange(ids.shape[1] - 1, device=ids.device) < lengths[:, None] - 1
    hidden = model.bert(ids, segment_ids=segments, mask=mask)[:, :-1][where]
    return F.cross_entropy(model.masked_lm(hidden), ids[:, 1:][where])

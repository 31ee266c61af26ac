"""Train the Transformer that translates dates in its page: ``book/_static/live/dates.js``.

    make experiments NAME=live_dates

The model of the page on translation, trained for seven times as many steps. The result file says how many
dates that were held out it translates without a mistake, with the rounded weights of the browser, and which
head looks most often at the number that it writes.
"""

import copy
import re
from typing import Any

import torch
from torch import Tensor, nn

from experiments.common import run
from experiments.live_models import LIVE
from experiments.text.live import export_script, quantize
from pioneers.analysis import record_attention
from pioneers.data import RandomPairs, translation_pairs
from pioneers.device import seed_everything
from pioneers.generation import translate
from pioneers.models import Transformer, TransformerConfig
from pioneers.objectives import seq2seq_loss
from pioneers.training import TrainConfig, fit

LANGUAGES = ("fr", "de", "ja")
PIECE = re.compile(r" ?[A-Za-zÀ-ÿ]+| ?\d{1,2}|.")
SPECIAL = ["<pad>", "<start>", "<stop>", *(f"<{lang}>" for lang in LANGUAGES)]
IDS = {"pad_id": 0, "start_id": 1, "stop_id": 2}
CONFIG: dict[str, Any] = {
    "sizes": {"max_seq_len": 16, "d_model": 64, "d_ff": 256, "num_layers": 2, "num_heads": 4},
    "dates": 10_000,
    "test": 1000,
    "steps": 1500,
    "batch_size": 64,
    "lr": 3e-3,
}
CASES: dict[str, dict[str, Any]] = {"stored": {}}
Pair = tuple[list[int], list[int]]


def pairs_of(lang: str, count: int, split: str, ids: dict[str, int]) -> list[Pair]:
    """Ids of (source, target); the source begins with its language."""
    return [
        ([ids[f"<{lang}>"], *(ids[piece] for piece in PIECE.findall(english))],
         [ids[piece] for piece in PIECE.findall(other)])
        for english, other in translation_pairs("dates", target=lang, count=count, split=split)
    ]  # fmt: skip


def vocabulary(count: int) -> list[str]:
    """The special tokens and all pieces of the training dates."""
    pieces: set[str] = set()
    for lang in LANGUAGES:
        for texts in translation_pairs("dates", target=lang, count=count):
            pieces.update(*map(PIECE.findall, texts))
    return [*SPECIAL, *sorted(pieces)]


def rounded(model: Transformer) -> Transformer:
    """A copy with the weights that a browser reads."""
    model = copy.deepcopy(model).eval()
    for weights in model.parameters():
        if weights.ndim > 1:
            rows, scale = quantize(weights.data)
            weights.data = rows.float() * scale[:, None]
    return model


def best_head(model: Transformer, pairs: list[Pair], numbers: set[int]) -> tuple[int, int]:
    """The decoder's block and head that most often look at the number that is written, from zero."""
    batch = RandomPairs(pairs, batch_size=1, **IDS).collate(pairs)
    with record_attention(model) as maps, torch.no_grad():
        model(batch.source_ids, batch.input_ids, mask=batch.mask)
    cross = torch.stack(maps[model.config.num_layers + 1 :: 2])  # (blocks, B, H, T, S): self, cross, self …
    largest, hits = cross.argmax(-1), []
    for row, (source, target) in enumerate(pairs):
        for t, written in enumerate(target):
            if written in numbers and source.count(written) == 1:
                hits.append(largest[:, row, :, t] == source.index(written))
    share = torch.stack(hits).float().mean(0)  # (blocks, H)
    block, head = divmod(int(share.argmax()), share.shape[1])
    return block, head


def one_case(
    *, seed: int, sizes: dict[str, int], dates: int, test: int, steps: int, batch_size: int, lr: float
) -> dict[str, Any]:
    """Train, write the script, and count the dates that are right."""
    tokens = vocabulary(dates)
    ids = {token: i for i, token in enumerate(tokens)}
    seed_everything(seed)
    model = Transformer(TransformerConfig(vocab_size=len(tokens), dropout=0.0, norm_placement="pre", **sizes))
    training = {lang: pairs_of(lang, dates, "train", ids) for lang in LANGUAGES}
    everything = [pair for pairs in training.values() for pair in pairs]
    batches = RandomPairs(everything, batch_size=batch_size, **IDS)

    def loss(model: nn.Module, batch: Any) -> Tensor:
        logits = model(batch.source_ids, batch.input_ids, mask=batch.mask)
        return seq2seq_loss(logits, batch.targets, label_smoothing=0.0)

    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=100, schedule="linear", betas=(0.9, 0.98), weight_decay=0.0,
        precision="fp32", log_every=steps, seed=seed,
    )  # fmt: skip
    fit(model, loss, batches, recipe)
    model = rounded(model)
    numbers = {i for token, i in ids.items() if token.strip().isdigit()}
    block, head = best_head(model, training["fr"][:200], numbers)
    export_script(model, LIVE / "dates.js", tokens=tokens)
    right = {}
    for lang in LANGUAGES:
        pairs = pairs_of(lang, test, "test", ids)
        batch = batches.collate(pairs)
        found = translate(model, batch.source_ids, 14, mask=batch.mask, **IDS).tolist()
        ends = [row[: row.index(2)] if 2 in row else row for row in found]
        right[lang] = sum(a == target for a, (_, target) in zip(ends, pairs, strict=True)) / test
    return {
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "right": right,
        "block": block,
        "head": head,
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    run("live_dates", CASES, one_case, config=CONFIG, seeds=[0])

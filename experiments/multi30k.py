"""Captions of photographs, English into German: the Transformer on translation as people do it.

    PIONEERS_DATA=folder make experiments NAME=multi30k

About 25 minutes on a quiet core for each of three seeds. It saves itself as it goes and continues where
it stopped. The result holds, for each seed, perplexity on the validation set and the translations of three
captions while it trains, BLEU on ``test_2016_flickr``, greedy and by beam search, and where the
cross-attention of the finished model looks. Seed 0 was run before captions and attention were recorded.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sacrebleu
import torch
from torch import Tensor, nn

from experiments.common import FINISHED, run
from pioneers.analysis import record_attention
from pioneers.data import PairBatch, RandomPairs, multi30k
from pioneers.device import autocast, best_device, seed_everything
from pioneers.generation import translate
from pioneers.models import Transformer, TransformerConfig
from pioneers.objectives import causal_lm_loss, seq2seq_loss
from pioneers.progress import progress
from pioneers.tokenizers import FastBPE
from pioneers.training import TrainConfig, fit

CONFIG = {
    "vocab_size": 8000,
    "sizes": {"d_model": 256, "d_ff": 1024, "num_layers": 3, "num_heads": 4, "dropout": 0.2},
    "steps": 2000,
    "batch_size": 128,
    "lr": 1.5e-3,
    "warmup_steps": 300,
    "smoothing": 0.1,
}
SPECIAL = ("<pad>", "<start>", "<stop>")
LONGEST = 60  # tokens of a translation; max_seq_len is twice as much
POOL = 16  # batches drawn together and sorted by length
SHOWN = (0, 1, 4)  # captions of the test set that are translated while the model trains
WAYS = {
    "greedy": {"num_beams": 1},
    "beam 4, alpha 0": {"num_beams": 4, "alpha": 0.0},
    "beam 4, alpha 0.6": {"num_beams": 4, "alpha": 0.6},
    "beam 4, alpha 1": {"num_beams": 4, "alpha": 1.0},
}
Ids = list[int]


class SortedPairs(RandomPairs):
    """Random pairs, of which those of similar length share a batch, so that little of it is padding."""

    def __call__(self, step: int) -> PairBatch:
        """The batch of one step."""
        pool, place = divmod(step, POOL)
        rng = np.random.default_rng((self.seed, pool))
        rows = rng.integers(len(self.pairs), size=POOL * self.batch_size)
        rows = sorted(rows, key=lambda i: len(self.pairs[i][0]) + len(self.pairs[i][1]))
        first = int(rng.permutation(POOL)[place]) * self.batch_size
        return self.collate([self.pairs[i] for i in rows[first : first + self.batch_size]])


class Watch:
    """What is measured while the model trains, and the processor time of training since the last look."""

    def __init__(self, batches: Sequence[PairBatch], samples: Callable[[nn.Module], list[str]]) -> None:
        self.batches, self.samples, self.since = batches, samples, time.process_time()

    def __call__(self, model: nn.Module) -> dict[str, Any]:
        """Measure perplexity and processor time, and translate the samples; all go into the history."""
        cpu_seconds, total, count = time.process_time() - self.since, 0.0, 0
        for batch in self.batches:
            with autocast(best_device()):
                logits = model(batch.source_ids, batch.input_ids, mask=batch.mask)
            real = int((batch.targets != -100).sum())
            total, count = total + causal_lm_loss(logits.float(), batch.targets).item() * real, count + real
        samples = self.samples(model)  # in evaluation mode, greedy: no random number is drawn
        self.since = time.process_time()
        return {"perplexity": float(np.exp(total / count)), "cpu_seconds": cpu_seconds, "samples": samples}


def one_case(
    *,
    seed: int,
    vocab_size: int,
    sizes: dict[str, Any],
    steps: int,
    batch_size: int,
    lr: float,
    warmup_steps: int,
    smoothing: float,
) -> dict[str, Any]:
    """Train, then translate the test: perplexities, training time, BLEU for each way of decoding."""
    device = best_device()
    texts = {split: multi30k(split) for split in ("train", "validation", "test")}
    merges = FastBPE.train("\n".join(text for pair in texts["train"] for text in pair), vocab_size - 3).merges
    tokenizer = FastBPE(merges, SPECIAL)
    pad, start, stop = tokenizer.special_ids.values()
    ids = {
        split: [(tokenizer.encode(s), tokenizer.encode(t)) for s, t in pairs]
        for split, pairs in texts.items()
    }
    special = {"start_id": start, "stop_id": stop, "pad_id": pad}
    batches = SortedPairs(ids["train"], batch_size=batch_size, seed=seed, device=device, **special)
    seed_everything(seed)
    vocabulary = {"vocab_size": tokenizer.vocab_size, "max_seq_len": 2 * LONGEST}
    model = Transformer(TransformerConfig(**vocabulary, **sizes, norm_placement="pre")).to(device)
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=warmup_steps, schedule="cosine", betas=(0.9, 0.98),
        weight_decay=0.0, log_every=250, checkpoint_every=50, seed=seed,
    )  # fmt: skip

    def loss(model: nn.Module, batch: PairBatch) -> Tensor:
        logits = model(batch.source_ids, batch.input_ids, mask=batch.mask)
        return seq2seq_loss(logits, batch.targets, label_smoothing=smoothing)

    def written(model: nn.Module, sources: list[Ids], how: dict[str, Any]) -> list[str]:
        rows = _translate(model, sources, batches, how)
        return [tokenizer.decode(i for i in row if i < pad) for row in rows]

    def samples(model: nn.Module) -> list[str]:
        return written(model, [ids["test"][i][0] for i in SHOWN], WAYS["greedy"])

    held_out = [batches.collate(part) for part in _parts(ids["validation"])]
    checkpoint = FINISHED / f"multi30k-{seed}-{steps}.safetensors"
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    history = fit(model, loss, batches, recipe, evaluate=Watch(held_out, samples), checkpoint=checkpoint)
    references = [target for _, target in texts["test"]]
    scores, metric = {}, sacrebleu.BLEU()
    for way, how in WAYS.items():
        found = written(model, [source for source, _ in ids["test"]], how)
        bleu = metric.corpus_score(found, [references])
        scores[way] = {"bleu": bleu.score, "length": bleu.sys_len / bleu.ref_len}
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "training_cpu_seconds": sum(row["cpu_seconds"] for row in history),
        "history": [[row["step"], row["loss"], row["perplexity"]] for row in history],
        "scores": scores,
        "signature": str(metric.get_signature()),
        "examples": [[*pair, text] for pair, text in zip(texts["test"][:5], found[:5], strict=True)],
        "samples": [[row["step"], row["samples"]] for row in history],
        "attention": [_attention(model, tokenizer, batches, ids["test"][i][0]) for i in SHOWN],
    }


def _attention(
    model: Transformer, tokenizer: FastBPE, batches: RandomPairs, source: Ids
) -> dict[str, list[Any]]:
    """A greedy translation and the cross-attention of each block, the mean over its heads (blocks, T, S)."""
    (row,) = _translate(model, [source], batches, WAYS["greedy"])
    row = [i for i in row if i < batches.pad_id]
    batch = batches.collate([(source, row)])
    with record_attention(model) as maps, torch.no_grad():
        model(batch.source_ids, batch.input_ids, mask=batch.mask)
    N = model.config.num_layers  # the encoder's blocks first; then self, cross, self, cross, ...
    weights = [
        [[round(w, 3) for w in line] for line in layer[0].mean(0).tolist()] for layer in maps[N + 1 :: 2]
    ]
    pieces = [[tokenizer.decode([i]) for i in ids] for ids in (source, row)]
    return {"source": pieces[0], "written": [*pieces[1], "<stop>"], "weights": weights}


def _parts(rows: Sequence[Any], size: int = 64) -> list[Sequence[Any]]:
    return [rows[i : i + size] for i in range(0, len(rows), size)]


def _translate(model: nn.Module, sources: list[Ids], batches: RandomPairs, how: dict[str, Any]) -> list[Ids]:
    """Translations in the order of the sources, made in the order of their length."""
    special = {"start_id": batches.start_id, "stop_id": batches.stop_id, "pad_id": batches.pad_id}
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    found: dict[int, Ids] = {}
    for part in progress(_parts(order), desc="translating", leave=False):
        batch = batches.collate([(sources[i], []) for i in part])
        rows = translate(model, batch.source_ids, LONGEST, mask=batch.mask, **special, **how)
        found |= dict(zip(part, rows.tolist(), strict=True))
    return [found[i] for i in range(len(sources))]


def main(steps: int = CONFIG["steps"]) -> Path:
    """Train three times and write ``pioneers/results/multi30k.json``; returns its path."""
    return run("multi30k", {"base": {}}, one_case, config=CONFIG | {"steps": steps}, seeds=range(3))


if __name__ == "__main__":
    main()

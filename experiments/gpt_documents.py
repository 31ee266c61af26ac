"""Pretrain the GPT that ships with the package and the one that runs in the browser.

    make experiments NAME=gpt_documents

About an hour and a quarter on two cores, most of it for the first of two models. It saves itself as it goes
and continues where it stopped. The first, in float16, and its vocabulary go to
``pioneers/weights/gpt_documents``; the second, at six points of its training, to ``book/_static/live``. The
result file compares both with counts, compressors and the GPT of the page on GPT.
"""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from experiments.common import FINISHED, ROOT, run
from experiments.text.live import PREFIX, export, export_index, read_live
from experiments.text.prose import Texts, texts
from pioneers.analysis import bits_per_character, compressed_bits, negative_log_likelihood, ngram_bits
from pioneers.data import RandomWindows, documents, language_reference, split_text
from pioneers.device import best_device, seed_everything
from pioneers.models import GPT, GPTConfig
from pioneers.objectives import causal_lm, linear_cross_entropy
from pioneers.tokenizers import ByteLevelBPE, FastBPE
from pioneers.training import TrainConfig, fit, load_weights, save_weights
from pioneers.weights import from_pretrained, save_pretrained, save_tokenizer

FOLDER = ROOT / "pioneers" / "weights" / "gpt_documents"
LIVE = ROOT / "book" / "_static" / "live"
PROMPT = "If the file does not exist,"  # the first of the figure in the book
EXCERPT = 32  # the curves are measured on one in so many parts, of 256 tokens, of the held-out text

# A small GPT like that of lectures/09_gpt.md, which trains for seconds; this one gets a minute.
PAGE = {
    "vocab_size": 1024,
    "sizes": {"max_seq_len": 128, "d_model": 128, "num_layers": 3, "num_heads": 4},
    "batch_size": 8,
    "phases": [{"max_steps": 340, "lr": 4e-3, "warmup_steps": 34, "log_every": 34}],
}


def steady_then_down(lr: float, steady: int, down: int) -> list[dict[str, Any]]:
    """The settings of two phases: steps at one learning rate, then a straight line from it to zero."""
    shared = {"lr": lr, "log_every": 400, "checkpoint_every": 100}
    constant = {"schedule": "cosine", "min_lr_factor": 1.0, "warmup_steps": 200}
    falling = {"schedule": "linear", "warmup_steps": 20}
    return [{"max_steps": steady} | constant | shared, {"max_steps": down} | falling | shared]


CASES: dict[str, dict[str, Any]] = {
    "counts and compressors": {},
    "page": {"corpus": "reference", **PAGE},
    "page, same text": {"corpus": "documents", **PAGE},
    "live": {
        "corpus": "documents",
        "vocab_size": 1024,
        "sizes": {"max_seq_len": 128, "d_model": 176, "num_layers": 4, "num_heads": 4},
        "batch_size": 8,
        "phases": steady_then_down(3e-3, steady=6000, down=3000),
        "keep": [0, 50, 200, 600, 2500],
    },
    "stored": {
        "corpus": "documents",
        "vocab_size": 2048,
        "sizes": {"max_seq_len": 256, "d_model": 256, "num_layers": 4, "num_heads": 8},
        "batch_size": 4,
        "phases": steady_then_down(2e-3, steady=11_000, down=5000),
    },
}  # fmt: skip


def stored_texts() -> Texts:
    """The texts, which take a minute to collect, from a file after the first time."""
    path = FINISHED / "gpt_documents.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(texts()._asdict()))
    return Texts(**json.loads(path.read_text()))


def excerpt() -> str:
    """A few pages that neither model has read, quickly collected: the tests measure both on them."""
    return "\n\n".join(" ".join(document.sentences) for document in documents("test")[::40])


def loss_fn(model: GPT, windows: Tensor) -> Tensor:
    """The mean loss of windows ``(B, T + 1)``."""
    input_ids, targets = causal_lm(windows)
    return linear_cross_entropy(model.hidden_states(input_ids), model.lm_head.weight, targets)


def bits(model: nn.Module, tokenizer: ByteLevelBPE, text: str, every: int = 1) -> float:
    """Bits per character of a text, or of one in ``every`` parts of 256 tokens.

    Each token but the first is predicted from the half window before it, or more.
    """
    ids = torch.tensor(tokenizer.encode(text), device=best_device())
    if every > 1:
        ids = ids[: len(ids) // 256 * 256].view(-1, 256)[::every].flatten()
    seq_len = model.config.max_seq_len
    nats = negative_log_likelihood(model, ids, seq_len=seq_len, stride=seq_len // 2)
    return bits_per_character(nats, tokenizer.decode(ids[1:].tolist()))


def opening(model: GPT, tokenizer: ByteLevelBPE) -> dict[str, Any]:
    """What the figure in the book shows before its model is there: the prompt's tokens and the next.

    ``likely`` has the eight likeliest tokens, each with its probability and the one that it has at
    temperature 0.7 and top-p 0.9, as the figure's sliders are set.
    """
    ids = torch.tensor(tokenizer.encode(PREFIX + PROMPT))
    with torch.inference_mode():
        logits = model(ids[None])[0].cpu()  # (T, V)
    bits = -logits[:-1].log_softmax(-1).gather(1, ids[1:, None])[:, 0] / math.log(2)
    cooled, order = (logits[-1] / 0.7).softmax(-1).sort(descending=True)
    kept = cooled * (cooled.cumsum(0) - cooled < 0.9)
    pairs = zip(order[:8].tolist(), (kept / kept.sum()).tolist(), strict=False)
    p = logits[-1].softmax(-1).tolist()
    return {
        "pieces": [tokenizer.decode([i]) for i in ids.tolist()],
        "bits": [round(x, 3) for x in bits.tolist()],
        "likely": [[tokenizer.decode([i]), round(p[i], 4), round(q, 4)] for i, q in pairs],
    }


def train(
    name: str,
    model: GPT,
    batches: Callable[[int], Tensor],
    phases: Sequence[Mapping[str, Any]],
    keep: Sequence[int],
    evaluate: Callable[[nn.Module], dict[str, float]],
    seed: int,
) -> tuple[list[dict[str, float]], float, dict[int, Path]]:
    """Train phase by phase; return the history, the seconds, and the files of the weights kept, by step."""
    history: list[dict[str, float]] = []
    begun, seconds = 0, 0.0
    files = {step: FINISHED / f"{name}-kept-{step}.safetensors" for step in keep}
    for number, phase in enumerate(phases):

        def batch(step: int, begun: int = begun) -> Tensor:
            if begun + step in files:
                save_weights(files[begun + step], model)
            return batches(begun + step)

        recipe = TrainConfig(seed=seed, **phase)
        checkpoint = FINISHED / f"{name}-{number}.safetensors"
        rows = fit(
            model, loss_fn, batch, recipe, evaluate=evaluate,
            checkpoint=checkpoint, metrics=checkpoint.with_suffix(".jsonl"),
        )  # fmt: skip
        history += [row | {"step": begun + row["step"]} for row in rows]
        begun += recipe.max_steps
        seconds += seconds_of(checkpoint.with_suffix(".jsonl"), batches(0).numel())
    return history, seconds, files


def seconds_of(metrics: Path, tokens: int) -> float:
    """The seconds that the steps in a file of metrics took, of ``tokens`` each, interrupted or not."""
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    steps = [-1, *(row["step"] for row in rows)]
    return sum(
        (end - start) * tokens / row["tokens/s"]
        for row, (start, end) in zip(rows, pairwise(steps), strict=True)
    )


def baselines() -> dict[str, Any]:
    """Bits per character of the held-out text without a network."""
    text = stored_texts()
    return {
        "characters": {name: len(part) for name, part in text._asdict().items()},
        "held_out": {
            "unigrams": ngram_bits(text.train, text.held_out, n=1),
            "bigrams": ngram_bits(text.train, text.held_out, n=2),
            **{name: compressed_bits(name, text.held_out) for name in ("gzip", "bzip2", "xz")},
        },
        "page": {name: compressed_bits(name, text.page) for name in ("gzip", "bzip2", "xz")},
    }


def one_case(
    *,
    seed: int,
    corpus: str = "",
    vocab_size: int = 0,
    sizes: Mapping[str, Any] | None = None,
    batch_size: int = 0,
    phases: Sequence[Mapping[str, Any]] = (),
    keep: Sequence[int] = (),
) -> dict[str, Any]:
    """Train a GPT, or count and compress where there are no sizes: bits per character of what is held out."""
    if sizes is None:
        return baselines()
    begun = time.perf_counter()
    text = stored_texts()
    training = {"documents": text.train, "reference": split_text(language_reference())[0]}[corpus]
    tokenizer = FastBPE.train(training, vocab_size)
    tokens = torch.tensor(tokenizer.encode(training), device=best_device())
    seed_everything(seed)
    model = GPT(GPTConfig(vocab_size=vocab_size, **sizes)).to(best_device())
    seq_len = model.config.max_seq_len

    def evaluate(model: nn.Module) -> dict[str, float]:
        return {"bits": bits(model, tokenizer, text.held_out, EXCERPT)}

    name = f"gpt_documents-{corpus}-{model.config.d_model}-{seed}"
    windows = RandomWindows(tokens, seq_len=seq_len, batch_size=batch_size, seed=seed)
    history, seconds, files = train(name, model, windows, phases, keep, evaluate, seed)
    steps = sum(phase["max_steps"] for phase in phases)
    kept: list[dict[str, Any]] = []
    if keep:
        model, kept = write_live(model, tokenizer, files, steps, batch_size * seq_len, evaluate)
    elif corpus == "documents" and sizes != PAGE["sizes"]:
        model = write_stored(model, tokenizer)
    return {
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "training_tokens": len(tokens),
        "tokens_seen": steps * batch_size * seq_len,
        "step": [row["step"] for row in history],
        "loss": [row["loss"] for row in history],
        "bits": [row["bits"] for row in history],
        "held_out": bits(model, tokenizer, text.held_out),
        "page": bits(model, tokenizer, text.page),
        "excerpt": bits(model, tokenizer, excerpt()),
        "kept": kept,
        "opening": opening(model, tokenizer) if keep else {},
        "training_seconds": seconds,
        "seconds": max(seconds, time.perf_counter() - begun),
    }


def write_stored(model: GPT, tokenizer: ByteLevelBPE) -> nn.Module:
    """Write the model to the package in float16, and read it back."""
    save_pretrained(model.half(), FOLDER)
    save_tokenizer(tokenizer, FOLDER)
    return from_pretrained(FOLDER).to(best_device())


def write_live(
    model: GPT,
    tokenizer: ByteLevelBPE,
    files: Mapping[int, Path],
    steps: int,
    tokens: int,
    evaluate: Callable[[nn.Module], dict[str, float]],
) -> tuple[nn.Module, list[dict[str, Any]]]:
    """Write the model and those kept to the book in int8; return the last one as written, and their list."""
    save_weights(last := FINISHED / "gpt_documents-live.safetensors", model)
    listed = []
    for number, (step, kept) in enumerate((files | {steps: last}).items()):
        load_weights(kept, model)
        path = LIVE / f"checkpoint-{number}.safetensors"
        export(model, path, step=step)
        rounded = read_live(path).to(best_device())
        measured = round(evaluate(rounded)["bits"], 3)
        listed.append(
            {"file": path.name, "step": step, "tokens": step * tokens}
            | {"bits_per_character": measured, "bytes": path.stat().st_size}
        )
    export_index(LIVE, model, tokenizer, listed)
    return rounded, listed


if __name__ == "__main__":
    torch.set_num_threads(1)
    stored_texts()  # before several processes want them
    print(run("gpt_documents", CASES, one_case, config={}, seeds=[0]))

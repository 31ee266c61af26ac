"""Teach the stored GPT to translate dates, with few trained parameters or all; and round its weights.

    make experiments NAME=lora

Every way to fine-tune gets the same pairs in the same order, at the best of three or four learning rates,
which a seed of its own chooses on Dutch validation dates; German gets the rates of Dutch, and an adapter on
4-bit weights that of one on full weights. Rounded models predict held-out documents, others for each seed.
"""

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from time import process_time
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from filelock import FileLock
from torch import Tensor, nn

from experiments.common import FINISHED, run
from experiments.gpt_documents import FOLDER
from pioneers.analysis import bits_per_character, negative_log_likelihood
from pioneers.data import documents, translation_pairs
from pioneers.device import autocast, best_device
from pioneers.layers import SoftPrompt, add_lora, quantize_linears
from pioneers.models import GPT
from pioneers.training import TrainConfig, fit
from pioneers.weights import from_pretrained, load_tokenizer

IGNORED = -100  # a target that the loss leaves out
BLOCKS = "stack.blocks.*"  # every linear layer of every block
TUNING_SEED = 99
CONFIG = {"language": "nl", "steps": 120, "batch_size": 16, "validation": 150, "test": 300}
RATES = {
    "all": (3e-4, 1e-3, 3e-3),
    "last block": (1e-3, 3e-3, 1e-2, 3e-2),
    "biases": (1e-2, 3e-2, 1e-1, 3e-1),
    "prompt": (3e-2, 1e-1, 3e-1, 1.0),
    "lora": (3e-3, 1e-2, 3e-2),
}
LORA = {f"rank {rank}": {"way": "lora", "rank": rank} for rank in (1, 2, 4, 8, 16)}
CASES: dict[str, dict[str, Any]] = {
    "full fine-tuning": {"way": "all"},
    **LORA,
    "last block": {"way": "last block"},
    "biases": {"way": "biases"},
    "soft prompt": {"way": "prompt"},
    "rank 8 on 4 bits": {**LORA["rank 8"], "bits": 4, "group_size": 64},
    "German, full fine-tuning": {"way": "all", "language": "de"},
    "German, rank 8": {**LORA["rank 8"], "language": "de"},
    "32 bits": {"way": "rounded", "bits": None},
    "8 bits, rows": {"way": "rounded", "bits": 8},
    **{
        f"{bits} bits, {'rows' if size is None else f'groups of {size}'}": {
            "way": "rounded",
            "bits": bits,
            "group_size": size,
        }
        for bits in (4, 2)
        for size in (None, 64)
    },
}
PROMPT = 16  # vectors
RANKS = (1, 2, 4, 8, 16, 32, 64)  # to which the difference that full fine-tuning makes is cut
SHOWN, SHOWN_RANKS = 32, 64  # rows and columns of one difference that the page shows, and singular vectors
MATRIX = "stack.blocks.1.attn.q_proj.weight"


class Rows(NamedTuple):
    """Pairs as a language model reads them.

    Attributes:
        input_ids: ``(B, T)``, padded with zeros on the right.
        targets: ``(B, T)``, the next token where it belongs to the translation, ``IGNORED`` elsewhere.
    """

    input_ids: Tensor
    targets: Tensor


@cache
def tokenizer() -> Any:
    """That of the stored GPT."""
    return load_tokenizer(FOLDER)


def rows(pairs: Sequence[tuple[str, str]]) -> Rows:
    """``Friday, 17 March 2079 => vrijdag 17 maart 2079`` and a line break, which ends the translation."""
    asked = [tokenizer().encode(f"{source} =>") for source, _ in pairs]
    wanted = [tokenizer().encode(f" {target}\n") for _, target in pairs]
    longest = max(len(a) + len(w) for a, w in zip(asked, wanted, strict=True))
    ids = torch.zeros(len(pairs), longest, dtype=torch.long)
    targets = torch.full((len(pairs), longest), IGNORED)
    for i, (a, w) in enumerate(zip(asked, wanted, strict=True)):
        ids[i, : len(a) + len(w)] = torch.tensor(a + w)
        targets[i, len(a) : len(a) + len(w)] = torch.tensor(w)
    return Rows(ids[:, :-1].to(best_device()), targets[:, 1:].to(best_device()))


@cache
def dates(language: str, training: int, validation: int, test: int) -> dict[str, list[tuple[str, str]]]:
    """Pairs for training, for choosing a rate, and for the test; no date is in two of the three."""
    drawn = translation_pairs("dates", target=language, count=training)
    known = {target for _, target in drawn}
    others = translation_pairs("dates", target=language, count=2 * validation, seed=1)
    chosen = [pair for pair in others if pair[1] not in known][:validation]
    tested = translation_pairs("dates", target=language, count=test, split="test")
    return {"train": drawn, "validation": chosen, "test": tested}


def logits(model: nn.Module, input_ids: Tensor) -> Tensor:
    """``(B, T)`` → ``(B, T, V)``, without those of a soft prompt, which come first."""
    return model(input_ids)[:, -input_ids.shape[1] :]


def loss_fn(model: nn.Module, batch: Rows) -> Tensor:
    """Cross-entropy of the tokens of the translations."""
    return F.cross_entropy(logits(model, batch.input_ids).flatten(0, 1), batch.targets.flatten())


@torch.inference_mode()
def judge(model: nn.Module, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The loss per token, and which translations are right.

    Greedy decoding writes the right translation exactly if every token of it is the most probable one after
    the right tokens before it, so one forward pass tells.
    """
    nats, right, count = 0.0, [], 0
    for start in range(0, len(pairs), 100):
        batch = rows(pairs[start : start + 100])
        with autocast(best_device()):
            made = logits(model, batch.input_ids).float()
        asked = batch.targets != IGNORED
        nats += F.cross_entropy(made.flatten(0, 1), batch.targets.flatten(), reduction="sum").item()
        count += int(asked.sum())
        right += ((made.argmax(-1) == batch.targets) | ~asked).all(1).tolist()
    return {"loss": nats / count, "exact": sum(right) / len(right), "right": [int(one) for one in right]}


def prepare(way: str, *, rank: int = 0, bits: int | None = None, group_size: int | None = None) -> GPT:
    """The stored GPT, with all that ``way`` does not train frozen."""
    model: GPT = from_pretrained(FOLDER).float().to(best_device())
    if bits is not None:
        quantize_linears(model, bits=bits, group_size=group_size)
    if way == "lora":
        add_lora(model, [BLOCKS], rank=rank)
    elif way == "prompt":
        model.requires_grad_(False)
        some = torch.randint(model.config.vocab_size, (PROMPT,))
        model.embed = SoftPrompt(model.embed, model.embed.token.weight[some])
    elif way != "all":
        last = f"stack.blocks.{model.config.num_layers - 1}.", "stack.norm."
        for name, p in model.named_parameters():
            p.requires_grad_(name.endswith("bias") if way == "biases" else name.startswith(last))
    return model


def train(seed: int, lr: float, *, language: str, steps: int, batch_size: int, **how: Any) -> nn.Module:
    """Fine-tune one way at one rate; each pair is read once."""
    torch.manual_seed(seed)
    model = prepare(**how)
    pairs = dates(language, steps * batch_size, 1, 1)["train"]
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(seed)).tolist()

    def batches(step: int) -> Rows:
        return rows([pairs[i] for i in order[step * batch_size : (step + 1) * batch_size]])

    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 10, schedule="linear", weight_decay=0.0,
        betas=(0.9, 0.98), log_every=steps, seed=seed,
    )  # fmt: skip
    fit(model, loss_fn, batches, recipe)
    return model


def by_rate(seed: int, way: str, validation: int, **how: Any) -> dict[float, float]:
    """The loss on the validation dates, by learning rate; processes that ask for it share the work."""
    rates = RATES[way]
    order = [rates[(seed + i) % len(rates)] for i in range(len(rates))]
    found = {lr: validation_loss(lr, validation, way=way, **how) for lr in order}
    return {lr: found[lr] for lr in rates}


def validation_loss(lr: float, validation: int, **how: Any) -> float:
    """Measured once and kept in a file."""
    tuned = {"language": CONFIG["language"], **how}
    wanted = json.dumps({"lr": lr, "validation": validation, **tuned}, sort_keys=True)
    path = FINISHED / "lora" / f"{hashlib.sha256(wanted.encode()).hexdigest()[:8]}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        if not path.exists():
            pairs = dates(tuned["language"], how["steps"] * how["batch_size"], validation, 1)["validation"]
            path.write_text(json.dumps(judge(train(TUNING_SEED, lr, **tuned), pairs)["loss"]))
        found: float = json.loads(path.read_text())
    return found


def one_case(*, seed: int, way: str, language: str, validation: int, test: int, **how: Any) -> dict[str, Any]:
    """Fine-tune and translate dates, or round and predict text."""
    if way == "rounded":
        return rounded(seed, how["bits"], how.get("group_size"))
    tuned = {key: value for key, value in how.items() if key in ("steps", "batch_size", "rank")}
    tried = by_rate(seed, way, validation, **tuned)
    lr = min(tried, key=tried.__getitem__)
    begun = process_time()
    model = train(seed, lr, way=way, language=language, **how)
    seconds = process_time() - begun
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    tested = dates(language, 1, 1, test)["test"]
    found = {"lr": lr, "validation": list(tried.values()), "trained": trained, "processor_seconds": seconds}
    cut = differences(model, tested, seed) if way == "all" and language == CONFIG["language"] else {}
    return found | judge(model, tested) | cut


def differences(model: nn.Module, tested: Sequence[tuple[str, str]], seed: int) -> dict[str, Any]:
    """What full fine-tuning changed in the matrices of the blocks, and what remains of it at low ranks."""
    before = prepare("all").state_dict()
    after = {name: p.detach().clone() for name, p in model.named_parameters()}
    names = [name for name, p in after.items() if name.startswith(BLOCKS[:-1]) and p.ndim == 2]
    parts = {name: torch.linalg.svd(after[name] - before[name], full_matrices=False) for name in names}
    kept = {rank: torch.stack([left_over(parts[name].S, rank) for name in names]).mean() for rank in RANKS}
    cut = {}
    for rank in RANKS:
        state = {
            name: before[name] + part.U[:, :rank] * part.S[:rank] @ part.Vh[:rank]
            for name, part in parts.items()
        }
        model.load_state_dict(after | state, strict=False)
        cut[rank] = {"left_over": kept[rank], "exact": judge(model, tested)["exact"]}
    model.load_state_dict(after, strict=False)
    found: dict[str, Any] = {"cut": cut}
    if seed == 0:
        u, s, vh = parts[MATRIX]
        found["matrix"] = {"s": s, "u": u[:SHOWN, :SHOWN_RANKS], "v": vh.T[:SHOWN, :SHOWN_RANKS]}
        found["matrix"]["shown"] = (after[MATRIX] - before[MATRIX])[:SHOWN, :SHOWN]
    return found


def left_over(s: Tensor, rank: int) -> Tensor:
    """The length of what a matrix of singular values ``s`` loses at a rank, as a share of its own length."""
    return s[rank:].square().sum().sqrt() / s.square().sum().sqrt()


def rounded(part: int, bits: int | None, group_size: int | None) -> dict[str, Any]:
    """Bits per character of one in fifty held-out documents, and what the model takes in memory."""
    model = prepare("all", bits=bits, group_size=group_size).eval()
    text = "\n\n".join(" ".join(document.sentences) for document in documents("test")[part::50])
    ids = torch.tensor(tokenizer().encode(text), device=best_device())
    seq_len = model.config.max_seq_len
    nats = negative_log_likelihood(model, ids, seq_len=seq_len, stride=seq_len // 2)
    matrices = [
        tensor
        for name, tensor in model.state_dict().items()
        if name.startswith(BLOCKS[:-1]) and tensor.ndim == 2
    ]
    return {
        "bits_per_character": bits_per_character(nats, tokenizer().decode(ids[1:].tolist())),
        "bytes": sum(tensor.nbytes for tensor in (*model.parameters(), *model.buffers())),
        "matrix_bytes": sum(tensor.nbytes for tensor in matrices),
    }


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("lora", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

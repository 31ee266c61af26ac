"""ELECTRA after a first stage, against masked language modelling at equal operations: Clark et al. 2020.

    make experiments NAME=electra

A small BERT reads the embedded documents, character by character and in lower case, and fills gaps. Then it
goes on for as many operations again: in the same way, or as ELECTRA's discriminator, which is asked about all
tokens or about the gaps alone. The generator is the frequencies of the characters, as in section 3.2 of the
paper. At the end all are frozen, and a linear map from the mean state of the characters of a word tells the
word's tag: which part of speech it is and what it is to the word that it depends on (English Web Treebank),
and whether it is code. The map is also given the embeddings alone, which know nothing of the context, and all
states side by side.
"""

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from experiments.common import FINISHED, run
from experiments.text.characters import characters, corpus, probe
from pioneers.models import BERT, ELECTRAConfig, ELECTRADiscriminator, ELECTRAGenerator
from pioneers.objectives import masked_lm, masked_lm_loss
from pioneers.training import TrainConfig, fit, load_weights, save_weights

CONFIG = {
    "sizes": {"d_model": 64, "num_layers": 2, "num_heads": 4, "dropout": 0.0, "num_segments": 0},
    "seq_len": 16,
    "rows": 32,
    "gigaflop": 300,  # of each of the two stages, unless the case says another number for the second
}
CASES: dict[str, dict[str, Any]] = {
    "before": {"goal": None},
    "masked LM": {"goal": "masked LM"},
    "ELECTRA": {"goal": "all tokens"},
    "gaps only": {"goal": "gaps"},
    # The second stage made longer: does the order change?
    "masked LM, 1000": {"goal": "masked LM", "second": 1000},
    "ELECTRA, 1000": {"goal": "all tokens", "second": 1000},
    "masked LM, 3000": {"goal": "masked LM", "second": 3000},
    "ELECTRA, 3000": {"goal": "all tokens", "second": 3000},
    "masked LM, 10000": {"goal": "masked LM", "second": 10_000},
    "ELECTRA, 10000": {"goal": "all tokens", "second": 10_000},
}
TASKS = ("ewt", "relations", "code words")
LR = 3e-3, 1e-3  # of the first stage and of the second
MASK_ID = 0
HELD_OUT = 100  # batches
Batch = tuple[Tensor, Tensor]


def config(sizes: dict[str, Any], seq_len: int) -> ELECTRAConfig:
    """Of generator and discriminator."""
    return ELECTRAConfig(vocab_size=len(characters()), max_seq_len=seq_len, **sizes)


def batches(split: str, seed: int, rows: int, seq_len: int, masked: bool) -> Callable[[int], Batch]:
    """Step → ids with gaps and targets, ``(B, T)``; where gaps are to be filled, in BERT's three ways."""
    ids = corpus(split)
    shares = (0.8, 0.1, 0.1) if masked else (1.0, 0.0, 0.0)

    def batch(step: int) -> Batch:
        draw = torch.Generator().manual_seed(step + 1_000_003 * seed)
        start = torch.randint(len(ids) - seq_len, (rows, 1), generator=draw)
        return masked_lm(
            ids[start + torch.arange(seq_len)], mask_id=MASK_ID, vocab_size=len(characters()),
            special_ids=[MASK_ID], shares=shares, generator=draw,
        )  # fmt: skip

    return batch


def masked_loss(model: nn.Module, batch: Batch) -> Tensor:
    """BERT's loss at the gaps."""
    ids, targets = batch
    return masked_lm_loss(model(ids, predict_mask=targets != -100), targets)


def corrupt(batch: Batch) -> Batch:
    """The text with characters in its gaps as frequent as everywhere, and which of them are replaced."""
    ids, targets = batch
    gaps = targets != -100
    samples = corpus("train")[torch.randint(len(corpus("train")), (int(gaps.sum()),))]
    corrupted = ids.masked_scatter(gaps, samples)
    return corrupted, gaps & (corrupted != targets)


def electra_loss(model: nn.Module, batch: Batch, *, gaps_only: bool) -> Tensor:
    """The discriminator's loss, in nats."""
    ids, replaced = corrupt(batch)
    asked = batch[1] != -100 if gaps_only else torch.ones_like(replaced)
    return F.binary_cross_entropy_with_logits(model(ids)[asked], replaced[asked].float())


def train(
    model: nn.Module,
    loss_fn: Callable[..., Tensor],
    batch: Callable[[int], Batch],
    gigaflop: float,
    seed: int,
    lr: float,
) -> dict[str, Any]:
    """Train for so many operations; returns how many a step takes, forward and backward, and the steps."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        loss_fn(model, batch(0)).backward()
    model.zero_grad()
    steps = round(gigaflop * 1e9 / counter.get_total_flops())
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 20, schedule="linear", betas=(0.9, 0.98),
        weight_decay=0.01, log_every=steps, seed=seed,
    )  # fmt: skip
    fit(model, loss_fn, batch, recipe)
    return {"flop_per_step": counter.get_total_flops(), "steps": steps}


def first_stage(
    seed: int, sizes: dict[str, Any], seq_len: int, rows: int, gigaflop: float
) -> ELECTRAGenerator:
    """The BERT that all cases begin with; trained now unless it is kept."""
    path = FINISHED / f"electra-{seed}-{seq_len}-{rows}-{gigaflop}.safetensors"
    torch.manual_seed(seed)
    bert = ELECTRAGenerator(config(sizes, seq_len))
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        train(bert, masked_loss, batches("train", 2 * seed, rows, seq_len, True), gigaflop, seed, LR[0])
        save_weights(path, bert)
    load_weights(path, bert)
    return bert


def states(body: BERT, ids: Tensor) -> Tensor:
    """The embeddings and what each block makes of them, side by side, ``(B, T, (L + 1) D)``."""
    found = [body.embed(ids)]
    for block in body.stack.blocks:
        found.append(block(found[-1]))
    return torch.cat(found, dim=-1)


def one_case(
    *,
    seed: int,
    goal: str | None,
    sizes: dict[str, Any],
    seq_len: int,
    rows: int,
    gigaflop: float,
    second: float | None = None,
) -> dict[str, Any]:
    """Go on from the first stage; what the frozen states tell, and the loss on held-out text."""
    model: nn.Module = first_stage(seed, sizes, seq_len, rows, gigaflop)
    masked = goal in (None, "masked LM")
    loss_fn, everywhere = masked_loss, masked_loss
    if not masked:
        first, model = model.bert, ELECTRADiscriminator(config(sizes, seq_len))
        model.bert.load_state_dict(first.state_dict())
        loss_fn = functools.partial(electra_loss, gaps_only=goal == "gaps")
        everywhere = functools.partial(electra_loss, gaps_only=False)
    found: dict[str, Any] = {}
    if goal is not None:
        batch = batches("train", 2 * seed + 1, rows, seq_len, masked)
        found = train(model, loss_fn, batch, second or gigaflop, seed, LR[1])
    test = batches("test", 0, rows, seq_len, masked)
    torch.manual_seed(0)  # the same samples for all
    with torch.inference_mode():
        losses = [everywhere(model.eval(), test(step)).item() for step in range(HELD_OUT)]
        if not masked:
            wrong = [corrupt(test(step))[1].float().mean().item() for step in range(HELD_OUT)]
            found["replaced"] = sum(wrong) / HELD_OUT
    found["held_out"] = sum(losses) / HELD_OUT
    bert = model.bert
    reads = {"": bert, ", embeddings": bert.embed, ", all states": functools.partial(states, bert)}
    return found | {task + kind: probe(read, task, seq_len) for kind, read in reads.items() for task in TASKS}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("electra", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

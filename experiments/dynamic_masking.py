"""Mask a small text once, four times, ten times or anew in every epoch, and read it sixty times.

    make experiments NAME=dynamic_masking

The static maskings are those of BERT's authors, who made ten, and the new one in each epoch is RoBERTa's: Liu
et al. 2019, section 4.1. With k maskings, epoch e reads number e modulo k; nothing else differs. Three
minutes on one core.
"""

from typing import Any

import torch
from torch import Tensor, nn

from experiments.bert_documents import FOLDER, hide, pairs
from experiments.common import run
from experiments.distillation import texts
from pioneers.device import best_device, seed_everything
from pioneers.layers import padding_mask
from pioneers.models import RoBERTaConfig, RoBERTaForMaskedLM
from pioneers.objectives import masked_lm_loss
from pioneers.training import TrainConfig, fit
from pioneers.weights import load_tokenizer

SEQ_LEN = 32
CONFIG = {
    "rows": 160,
    "batch": 16,
    "epochs": 60,
    "lr": 3e-3,
    "sizes": {"d_model": 64, "num_layers": 2, "num_heads": 4, "dropout": 0.0},
}
CASES = {f"{k} masking{'s' * (k > 1)}": {"maskings": k} for k in (1, 4, 10, 60)}
HELD_OUT = 300


class Maskings:
    """Step → ids with gaps, lengths, targets; every epoch reads all rows once, in a new order.

    Args:
        input_ids: ``(N, T)``.
        lengths: ``(N,)``.
        maskings: how many there are.
        batch: rows in a step, which divide N.
        seed: of the maskings and the orders.
    """

    def __init__(self, input_ids: Tensor, lengths: Tensor, *, maskings: int, batch: int, seed: int) -> None:
        self.input_ids, self.lengths, self.maskings = input_ids, lengths, maskings
        self.batch, self.seed, self.tokenizer = batch, seed, load_tokenizer(FOLDER)

    def masked(self, number: int) -> tuple[Tensor, Tensor]:
        """One masking of all rows: ids with gaps and targets, both ``(N, T)``."""
        draw = torch.Generator().manual_seed(1000 * self.seed + number)
        return hide(self.input_ids, self.tokenizer, draw)

    def __call__(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        """The batch of one step."""
        epoch, number = divmod(step * self.batch, len(self.input_ids))
        draw = torch.Generator().manual_seed(1_000_003 * self.seed + epoch)
        rows = torch.randperm(len(self.input_ids), generator=draw)[number : number + self.batch]
        ids, targets = self.masked(epoch % self.maskings)
        return ids[rows], self.lengths[rows], targets[rows]


def loss(model: nn.Module, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """Of masked language modelling."""
    ids, lengths, targets = batch
    logits = model(ids, mask=padding_mask(lengths, ids.shape[1]), predict_mask=targets != -100)
    return masked_lm_loss(logits, targets)


def one_case(
    *, seed: int, maskings: int, rows: int, batch: int, epochs: int, lr: float, sizes: dict[str, Any]
) -> dict[str, Any]:
    """Train on the first rows; the losses on them with a new masking, and on held-out text, step by step."""
    tokenizer = load_tokenizer(FOLDER)
    drawn, _ = pairs(texts("train")[: 3 * rows], tokenizer, SEQ_LEN, seed)
    batches = Maskings(
        drawn.input_ids[:rows], drawn.lengths[:rows], maskings=maskings, batch=batch, seed=seed
    )
    held_out, _ = pairs(texts("test")[:HELD_OUT], tokenizer, SEQ_LEN, seed)
    some = held_out.input_ids[:HELD_OUT]
    ids, targets = hide(some, tokenizer, torch.Generator().manual_seed(seed))
    test = (ids, held_out.lengths[:HELD_OUT], targets)
    new, new_targets = batches.masked(999)

    def evaluate(model: nn.Module) -> dict[str, float]:
        return {
            "held_out": loss(model, test).item(),
            "new_masking": loss(model, (new, batches.lengths, new_targets)).item(),
        }

    seed_everything(seed)
    config = RoBERTaConfig(vocab_size=tokenizer.vocab_size, max_seq_len=SEQ_LEN, **sizes)
    steps = epochs * rows // batch
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 20, schedule="linear", betas=(0.9, 0.98),
        weight_decay=0.01, log_every=steps // 10, seed=seed,
    )  # fmt: skip
    model = RoBERTaForMaskedLM(config).to(best_device())
    history = fit(model, loss, batches, recipe, evaluate=evaluate)
    return {name: [row[name] for row in history] for name in ("step", "loss", "held_out", "new_masking")}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)
    print(run("dynamic_masking", CASES, one_case, config=CONFIG))


if __name__ == "__main__":
    main()

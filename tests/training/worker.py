"""Runs under torchrun for test_distributed.py: trains in several ways, leaves what came of it in a folder."""

import json
import sys
from pathlib import Path

import torch
from torch import nn

from pioneers.models import GPT, GPTConfig
from pioneers.objectives import causal_lm, causal_lm_loss
from pioneers.training import TrainConfig, fit
from pioneers.training.distributed import rank

CONFIG = TrainConfig(max_steps=8, lr=1e-2, log_every=2, checkpoint_every=3, precision="fp32")


class Model(nn.Module):
    """A GPT beside a layer that the loss makes no use of."""

    def __init__(self, dropout=0.0):
        super().__init__()
        torch.manual_seed(rank())  # process 0's weights are what all must begin with
        sizes = {"vocab_size": 13, "max_seq_len": 7, "d_model": 12, "num_layers": 2, "num_heads": 3}
        self.gpt = GPT(GPTConfig(**sizes, dropout=dropout))
        self.unused = nn.Linear(3, 2)

    def forward(self, input_ids):
        return self.gpt(input_ids)


def batches(step):
    """Five rows of tokens, and targets in unequal numbers."""
    generator = torch.Generator().manual_seed(step)
    input_ids, targets = causal_lm(torch.randint(13, (5, 8), generator=generator))
    return input_ids, targets.masked_fill(torch.arange(5)[:, None] * 2 > 2 + torch.arange(7), -100)


def loss_fn(model, batch):
    return causal_lm_loss(model(batch[0]), batch[1])


def loss_by_a_method(model, batch):
    return causal_lm_loss(model.gpt(batch[0]), batch[1])


def count(batch):
    return (batch[1] != -100).sum()


def evaluate(model):
    with torch.no_grad():
        return {"val_loss": loss_fn(model, batches(1000)).item()}


def stop_at_5(step):
    if step == 5:
        raise KeyboardInterrupt
    return batches(step)


def train(folder, name, config=CONFIG, *, loss=loss_fn, source=batches, dropout=0.0):
    paths = {"checkpoint": folder / f"{name}.safetensors", "metrics": folder / f"{name}.jsonl"}
    history = fit(Model(dropout), loss, source, config, evaluate=evaluate, count=count, **paths)
    (folder / f"{name}.{rank()}.json").write_text(json.dumps(history))


def interrupted(folder, name, config, **how):
    try:
        train(folder, name, config, source=stop_at_5, **how)
    except KeyboardInterrupt:
        return
    raise AssertionError("training was not interrupted")


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder = Path(sys.argv[1])
    train(folder, "replicated", loss=loss_by_a_method)
    train(folder, "accumulated", CONFIG.replace(accumulate=2))
    train(folder, "sharded", CONFIG.replace(shard=True, watch="val_loss"))
    train(folder, "dropout", dropout=0.5)
    interrupted(folder, "resumed", CONFIG, dropout=0.5)
    train(folder, "resumed", dropout=0.5)
    interrupted(folder, "begun_together", CONFIG.replace(shard=True))
    train(folder, "begun_alone", CONFIG.replace(shard=True))

"""Runs under torchrun for test_distributed.py: trains in several ways, leaves what came of it in a folder."""

import json
import sys
from pathlib import Path

import torch
from torch import nn

from pioneers.device import autocast
from pioneers.generation import generate
from pioneers.layers import FeedForward, MixtureOfExperts, MultiHeadAttention, Stack, TransformerBlock
from pioneers.layers.routing import TopKRouter
from pioneers.models import GPT, GPTConfig, ViT, ViTConfig
from pioneers.objectives import causal_lm, causal_lm_loss
from pioneers.training import TrainConfig, fit
from pioneers.training.distributed import rank
from pioneers.training.sharding import shard

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


class Experts(nn.Module):
    """A decoder whose tokens each go through two of five networks, beside a layer that it makes no use of."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(rank())
        self.embed, self.lm_head = nn.Embedding(13, 12), nn.Linear(12, 13, bias=False)
        self.stack = Stack([self._block() for _ in range(2)], nn.LayerNorm(12))
        self.unused = nn.Linear(3, 2)

    @staticmethod
    def _block():
        experts = [FeedForward(12, 17) for _ in range(5)]
        return TransformerBlock(MultiHeadAttention(12, 3), MixtureOfExperts(TopKRouter(12, 5, k=2), experts))

    def forward(self, input_ids):
        return self.lm_head(self.stack(self.embed(input_ids), causal=True))


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


def train(folder, name, config=CONFIG, *, make=Model, loss=loss_fn, source=batches):
    paths = {"checkpoint": folder / f"{name}.safetensors", "metrics": folder / f"{name}.jsonl"}
    history = fit(make(), loss, source, config, evaluate=evaluate, count=count, **paths)
    (folder / f"{name}.{rank()}.json").write_text(json.dumps(history))


def interrupted(folder, name, config, **how):
    try:
        train(folder, name, config, source=stop_at_5, **how)
    except KeyboardInterrupt:
        return
    raise AssertionError("training was not interrupted")


def weights_kept(precision):
    """How many numbers of complete block weights the backward pass of a sharded model keeps in memory."""
    model, kept = Model(), {}
    shapes = {p.shape for p in model.gpt.stack.parameters() if p.ndim == 2}
    shard(model, torch.device("cpu"), precision)

    def pack(tensor):
        if tensor.ndim == 2 and {tensor.shape, tensor.mT.shape} & shapes:
            kept[id(tensor.untyped_storage())] = tensor
        return tensor

    hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
    with hooks, autocast(torch.device("cpu"), precision):
        loss = loss_fn(model, batches(0))
    count = sum(tensor.numel() for tensor in kept.values() if tensor.untyped_storage().size())
    loss.backward()
    return count


def continuation(divided):
    """What a new GPT writes behind three tokens, sharded or whole."""
    gpt = Model().gpt.eval()
    if divided:
        shard(gpt, torch.device("cpu"))
    return generate(gpt, torch.tensor([[7, 11, 3]]), 4, top_k=1).tolist()


def class_scores(divided):
    """What a ViT says in training mode, in which it need not call its last block, sharded or whole."""
    torch.manual_seed(0)
    vit = ViT(ViTConfig.preset("digits", dropout=0.0))
    if divided:
        shard(vit, torch.device("cpu"))
    return vit(torch.linspace(0, 1, 64).view(1, 1, 8, 8)).tolist()


def dropping():
    return Model(dropout=0.5)


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder = Path(sys.argv[1])
    train(folder, "replicated", loss=loss_by_a_method)
    train(folder, "all_used", make=lambda: Model().gpt)
    train(folder, "accumulated", CONFIG.replace(accumulate=2))
    train(folder, "sharded", CONFIG.replace(shard=True, watch="val_loss"))
    train(folder, "dropout", make=dropping)
    interrupted(folder, "resumed", CONFIG, make=dropping)
    train(folder, "resumed", make=dropping)
    interrupted(folder, "begun_together", CONFIG.replace(shard=True))
    train(folder, "begun_alone", CONFIG.replace(shard=True))
    train(folder, "experts_replicated", make=Experts)
    train(folder, "experts_sharded", CONFIG.replace(shard=True), make=Experts)
    train(folder, "bf16_replicated", CONFIG.replace(precision="bf16"), make=Experts)
    train(folder, "bf16_sharded", CONFIG.replace(precision="bf16", shard=True), make=Experts)
    kept = {precision: weights_kept(precision) for precision in ("fp32", "bf16")}
    (folder / f"kept.{rank()}.json").write_text(json.dumps(kept))
    (folder / f"written.{rank()}.json").write_text(json.dumps(continuation(True)))
    (folder / f"seen.{rank()}.json").write_text(json.dumps(class_scores(True)))

"""This package in the benchmarks, as its training loop and its lectures use it."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pioneers.generation import generate
from pioneers.models import BERT, GPT, BERTConfig, GPTConfig, MaskedLMHead, ViT, ViTConfig
from pioneers.objectives import linear_cross_entropy, masked_lm_loss

Work = tuple[nn.Module, Callable[[], Tensor]]


def gpt(config: GPTConfig, ids: Tensor, device: torch.device) -> Work:
    """A GPT and its loss."""
    model, ids = GPT(config).to(device), ids.to(device)

    def loss() -> Tensor:
        return linear_cross_entropy(model.hidden_states(ids[:, :-1]), model.lm_head.weight, ids[:, 1:])

    return model, loss


def bert(config: BERTConfig, inputs: Tensor, targets: Tensor, device: torch.device) -> Work:
    """A BERT and its masked LM loss: logits only where there are targets."""
    encoder = BERT(config)
    model = nn.ModuleDict({"bert": encoder, "head": MaskedLMHead(encoder)}).to(device)
    del encoder.pooler  # nothing is pooled
    inputs, targets = inputs.to(device), targets.to(device)

    def loss() -> Tensor:
        return masked_lm_loss(model["head"](model["bert"](inputs)[targets != -100]), targets)

    return model, loss


def vit(config: ViTConfig, images: Tensor, labels: Tensor, device: torch.device) -> Work:
    """A ViT and its loss."""
    model, images, labels = ViT(config).to(device), images.to(device), labels.to(device)
    return model, lambda: F.cross_entropy(model(images), labels)


def generation(config: GPTConfig, ids: Tensor, new_tokens: int, device: torch.device) -> Work:
    """A GPT and its continuation of a prompt."""
    model, ids = GPT(config).to(device).eval(), ids.to(device)
    return model, lambda: generate(model, ids, new_tokens, top_k=1)

"""What is measured: each contest is one piece of work, given to every library that can do it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from pioneers.bench import ours, peers
from pioneers.models import BERT, GPT, BERTConfig, GPTConfig, MaskedLMHead, ViT, ViTConfig
from pioneers.objectives import masked_lm

Train = Callable[[], Tensor]
Work = tuple[nn.Module, Train]

VOCABULARY = 8192  # a byte-level vocabulary of a size that goes with the width
SIZES: dict[str, Any] = {
    "num_layers": 6,
    "d_model": 256,
    "num_heads": 8,
    "max_seq_len": 256,
    "vocab_size": VOCABULARY,
}
PROMPT, NEW_TOKENS = 8, 200


@dataclass(frozen=True, kw_only=True)
class Contest:
    """One piece of work and who competes in it.

    Attributes:
        title: the work and its sizes, in words.
        unit: what ``amount`` counts: tokens or images.
        amount: how many of them one step works through.
        entrants: library → makes its model and the function that is timed, on a device.
        flops: number of floating-point operations of the textbook form of one step, whoever does it; a
            backward pass costs two forward passes.
        trains: whether a step is a training step (loss, gradient, AdamW), or only the function itself.
    """

    title: str
    unit: str
    amount: int
    entrants: Mapping[str, Callable[[torch.device], Work]]
    flops: Callable[[], int]
    trains: bool = True


def contests(*, gpt2: bool = False) -> dict[str, Contest]:
    """All contests by name; GPT-2 of 124M only if asked for, because it wants a GPU."""
    gpt, bert = GPTConfig(**SIZES), BERTConfig(**SIZES, dropout=0.0)
    vit = ViTConfig(image_size=64, patch_size=8, num_classes=10, d_model=192, num_layers=6, num_heads=3)
    found = {
        "gpt": gpt_contest(gpt, batch_size=8),
        "bert": bert_contest(bert, batch_size=8),
        "vit": vit_contest(vit, batch_size=16),
        "generate": generate_contest(gpt, PROMPT, NEW_TOKENS),
    }
    if gpt2:
        full = GPTConfig.preset("gpt2", dropout=0.0)
        found["gpt2"] = gpt_contest(full, batch_size=8, only=("pioneers", "transformers"))
    return found


def gpt_contest(config: GPTConfig, *, batch_size: int, only: tuple[str, ...] | None = None) -> Contest:
    """A training step of a GPT."""
    ids = _random(config.vocab_size, (batch_size, config.max_seq_len + 1))
    makers = {
        "pioneers": ours.gpt,
        "transformers": peers.gpt_transformers,
        "x-transformers": peers.gpt_x_transformers,
        "torch.nn": peers.gpt_torch,
    }
    return Contest(
        title=f"GPT, training step: {_sizes(config)}, {batch_size} × {config.max_seq_len} tokens",
        unit="tokens",
        amount=batch_size * config.max_seq_len,
        entrants={name: partial(makers[name], config, ids) for name in only or makers},
        flops=lambda: 3 * _forward_flops(lambda: GPT(config)(ids[:, :-1].to("meta"))),
    )


def bert_contest(config: BERTConfig, *, batch_size: int) -> Contest:
    """A training step of masked language modelling; 15% of the tokens are predicted."""
    ids = _random(config.vocab_size, (batch_size, config.max_seq_len))
    generator = torch.Generator().manual_seed(0)
    inputs, targets = masked_lm(ids, mask_id=0, vocab_size=config.vocab_size, generator=generator)
    makers = {"pioneers": ours.bert, "transformers": peers.bert_transformers}

    def forward() -> None:
        bert = BERT(config)
        hidden = bert(inputs.to("meta")).flatten(0, 1)
        MaskedLMHead(bert)(hidden[: int((targets != -100).sum())])

    return Contest(
        title=f"BERT, masked LM step: {_sizes(config)}, {batch_size} × {config.max_seq_len} tokens",
        unit="tokens",
        amount=ids.numel(),
        entrants={name: partial(make, config, inputs, targets) for name, make in makers.items()},
        flops=lambda: 3 * _forward_flops(forward),
    )


def vit_contest(config: ViTConfig, *, batch_size: int) -> Contest:
    """A training step of image classification."""
    size = (batch_size, config.in_channels, config.image_size, config.image_size)
    images = torch.randn(size, generator=torch.Generator().manual_seed(0))
    labels = _random(config.num_classes, (batch_size,))
    makers = {
        "pioneers": ours.vit,
        "timm": peers.vit_timm,
        "torchvision": peers.vit_torchvision,
        "transformers": peers.vit_transformers,
        "vit-pytorch": peers.vit_pytorch,
    }
    return Contest(
        title=f"ViT, training step: {_sizes(config)}, {batch_size} images of {config.image_size} pixels, "
        f"patches of {config.patch_size}",
        unit="images",
        amount=batch_size,
        entrants={name: partial(make, config, images, labels) for name, make in makers.items()},
        flops=lambda: 3 * _forward_flops(lambda: ViT(config).hidden_states(images.to("meta"))),
    )


def generate_contest(config: GPTConfig, prompt: int, new_tokens: int) -> Contest:
    """Greedy generation for one prompt."""
    ids = _random(config.vocab_size, (1, prompt))
    whole = torch.zeros(1, prompt + new_tokens - 1, dtype=torch.long, device="meta")
    makers = {"pioneers": ours.generation, "transformers": peers.generation_transformers}
    return Contest(
        title=f"GPT, greedy generation: {_sizes(config)}, 1 prompt, {new_tokens} new tokens",
        unit="tokens",
        amount=new_tokens,
        entrants={name: partial(make, config, ids, new_tokens) for name, make in makers.items()},
        flops=lambda: _forward_flops(lambda: GPT(config)(whole)),
        trains=False,
    )


def _random(high: int, shape: tuple[int, ...]) -> Tensor:
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(0))


def _sizes(config: GPTConfig | BERTConfig | ViTConfig) -> str:
    return f"{config.num_layers} layers, width {config.d_model}, {config.num_heads} heads"


def _forward_flops(forward: Callable[[], object]) -> int:
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        forward()
    return counter.get_total_flops()

"""Dense feed-forward networks against experts at equal operations per token: five seeds of each.

    make experiments NAME=experts

A small decoder reads bytes of two kinds: in half of the rows the documentation of Python, in the others
numbers written as words in seven languages. The experts are as wide as makes a token's multiplications those
of the dense network, with the router's counted. Every model reads the same bytes in the same order, at the
better of two learning rates, which the first seed chooses by a validation text. One more dense model is eight
times as wide: it has about as many parameters as eight experts, and a token goes through all of them.
"""

import math
from functools import cache, partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from experiments.common import run
from pioneers.data import RandomWindows, language_reference, split_text, translation_pairs
from pioneers.device import best_device, seed_everything
from pioneers.layers import (
    FeedForward,
    GPTEmbedding,
    MixtureOfExperts,
    MultiHeadAttention,
    Routing,
    Stack,
    TopKRouter,
    TransformerBlock,
    init_weights,
    initial_std,
    routing,
)
from pioneers.objectives import balance_loss, causal_lm, causal_lm_loss
from pioneers.training import TrainConfig, fit

BYTES = 256
LANGUAGES = ("de", "fr", "fi", "pl", "tr", "hu", "id")
KINDS = ("documentation", *LANGUAGES)
TRAIN_NUMBERS, TEST_NUMBERS = 6000, 600  # of each language
CONFIG = {
    "d_model": 64,
    "num_heads": 4,
    "num_layers": 2,
    "seq_len": 64,
    "batch_size": 16,
    "steps": 800,
    "rates": (8e-3, 1.6e-2),
    "entries": 132,  # hidden units of the dense network: what a token's multiplications are worth
}
CASES: dict[str, dict[str, Any]] = {
    "dense": {},
    "4 experts, top 1": {"num_experts": 4},
    "8 experts, top 1": {"num_experts": 8},
    "8 experts, top 2": {"num_experts": 8, "k": 2},
    "without balance loss": {"num_experts": 8, "balance": 0.0},
    "dense, 8x as wide": {"entries": 8 * 132},
}
SENTENCES = (
    "The animal didn't cross the street because it was too tired.",
    "A function definition defines a user-defined function object.",
    "neunhundertsiebenundvierzig, huit cent douze, seratus dua",
)


class Texts(NamedTuple):
    """Bytes of each kind of text, in the order of ``KINDS``: to train, to choose a rate, and to test with."""

    train: list[Tensor]
    validation: list[Tensor]
    test: list[Tensor]


def as_bytes(text: str) -> Tensor:
    """The bytes of a text, ``(L,)``."""
    return torch.tensor(list(text.encode()), device=best_device())


@cache
def texts() -> Texts:
    """The documentation, and numbers in words, one a line; no number of the first part is in the others."""
    rest, test = split_text(language_reference())
    parts = [[as_bytes(text)] for text in (*split_text(rest), test)]
    for language in LANGUAGES:
        draw = partial(translation_pairs, "numbers", target=language)
        train = [words for _, words in draw(count=TRAIN_NUMBERS)]
        unseen = list(dict.fromkeys(words for _, words in draw(count=TEST_NUMBERS, split="test")))
        half = len(unseen) // 2
        for part, words in zip(parts, (train, unseen[:half], unseen[half:]), strict=True):
            part.append(as_bytes("\n".join(words)))
    return Texts(*parts)


class Decoder(nn.Module):
    """A GPT of bytes whose feed-forward networks are dense or experts.

    Args:
        num_experts: E; with 1, a dense network.
        k: experts per token.
        entries: hidden units of a dense network with as many multiplications per token.
        d_model: D.
        num_heads: H.
        num_layers: number of blocks.
        seq_len: longest sequence.
    """

    def __init__(
        self,
        *,
        num_experts: int = 1,
        k: int = 1,
        entries: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        seq_len: int,
    ) -> None:
        super().__init__()

        def feed_forward() -> nn.Module:
            if num_experts == 1:
                return FeedForward(d_model, entries)
            width = (entries - num_experts // 2) // k  # the router's D E are those of E / 2 hidden units
            router = TopKRouter(d_model, num_experts, k=k)
            return MixtureOfExperts(router, [FeedForward(d_model, width) for _ in range(num_experts)])

        self.embed = GPTEmbedding(BYTES, d_model, max_seq_len=seq_len)
        parts = [(MultiHeadAttention(d_model, num_heads), feed_forward()) for _ in range(num_layers)]
        self.stack = Stack([TransformerBlock(*pair) for pair in parts], nn.LayerNorm(d_model))
        self.lm_head = nn.Linear(d_model, BYTES, bias=False)
        init_weights(self, std=initial_std(d_model))

    def forward(self, input_ids: Tensor) -> Tensor:
        """Bytes ``(B, T)`` → logits of the next one ``(B, T, 256)``."""
        return self.lm_head(self.stack(self.embed(input_ids), causal=True))


def multiplications(ffn: nn.Module) -> int:
    """How many a token needs in a feed-forward part."""
    matrices = {name: p.numel() for name, p in ffn.named_parameters() if p.ndim == 2}
    if not isinstance(ffn, MixtureOfExperts):
        return sum(matrices.values())
    of_experts = sum(count for name, count in matrices.items() if name.startswith("experts."))
    router = sum(matrices.values()) - of_experts
    return router + of_experts * ffn.router.k // ffn.router.num_experts


def loss_fn(model: nn.Module, windows: Tensor, *, k: int, balance: float) -> Tensor:
    """The loss of next bytes in windows ``(B, T + 1)``, plus that of balance in every block with experts."""
    input_ids, targets = causal_lm(windows)
    if not any(isinstance(module, TopKRouter) for module in model.modules()):
        return causal_lm_loss(model(input_ids), targets)
    with routing(model) as seen:
        loss = causal_lm_loss(model(input_ids), targets)
    return loss + balance * torch.stack([balance_loss(made.logits, k=k) for made in seen]).sum()


@cache  # the first seed has already been trained at the rate that is chosen
def train(
    seed: int, lr: float, *, batch_size: int, steps: int, k: int = 1, balance: float = 0.01, **sizes: Any
) -> nn.Module:
    """Train one model at one learning rate."""
    seed_everything(seed)
    model = Decoder(k=k, **sizes).to(best_device())
    documentation, *numbers = texts().train
    half = {"seq_len": sizes["seq_len"], "batch_size": batch_size // 2, "seed": seed}
    streams = [RandomWindows(stream, **half) for stream in (documentation, torch.cat(numbers))]
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 10, precision="fp32", log_every=steps, seed=seed
    )
    loss = partial(loss_fn, k=k, balance=balance)
    fit(model, loss, lambda step: torch.cat([draw(step) for draw in streams]), recipe)
    return model.eval()


def in_windows(stream: Tensor, seq_len: int) -> Tensor:
    """The text in rows of T bytes beside each other, ``(rows, T)``; what is left over is dropped."""
    return stream[: len(stream) // seq_len * seq_len].view(-1, seq_len)


@torch.inference_mode()
def bits_per_byte(model: nn.Module, stream: Tensor, seq_len: int) -> float:
    """Bits per byte of a text, read in windows beside each other."""
    loss = causal_lm_loss(model(in_windows(stream[:-1], seq_len)), in_windows(stream[1:], seq_len))
    return loss.item() / math.log(2)


def score(model: nn.Module, streams: list[Tensor], seq_len: int) -> dict[str, float]:
    """Bits per byte of the documentation, and of the number words on average over the languages."""
    documentation, *numbers = [bits_per_byte(model, stream, seq_len) for stream in streams]
    return {"documentation": documentation, "numbers": sum(numbers) / len(numbers)}


def favourites(rows: Tensor, made: Routing, count: int = 5) -> list[list[list[Any]]]:
    """The most frequent characters of each expert, each with its share of the expert's tokens."""
    experts = made.experts[..., 0].flatten()
    found = []
    for expert in range(made.logits.shape[-1]):
        mine = rows.flatten()[experts == expert]
        most = mine.bincount(minlength=BYTES).topk(count)
        pairs = zip(most.indices.tolist(), most.values.tolist(), strict=True)
        found.append([[chr(byte), times / max(1, len(mine))] for byte, times in pairs])
    return found


@torch.inference_mode()
def routes(model: nn.Module, streams: list[Tensor], seq_len: int) -> dict[str, Any]:
    """What the routers do with the test texts: loads by block and by kind of text, and dropped choices."""
    by_kind: list[list[Routing]] = []
    for stream in streams:
        with routing(model) as seen:
            model(in_windows(stream, seq_len))
        by_kind.append(seen)
    loads = [[made.loads() for made in seen] for seen in by_kind]
    weight = torch.tensor([0.5, *[0.5 / len(LANGUAGES)] * len(LANGUAGES)])  # as in training
    dropped = torch.tensor([sum(made.dropped() for made in seen) / len(seen) for seen in by_kind])
    with routing(model) as seen:
        for sentence in SENTENCES:
            model(as_bytes(sentence)[None])
    L = len(loads[0])
    return {
        "loads": [
            sum(w * of_kind[block] for w, of_kind in zip(weight, loads, strict=True)) for block in range(L)
        ],
        "by_kind": [of_kind[-1] for of_kind in loads],
        "dropped": (weight * dropped).sum().item(),
        "favourites": [favourites(in_windows(streams[0], seq_len), made) for made in by_kind[0]],
        "sentences": [made.logits[0].softmax(-1) for made in seen[L - 1 :: L]],  # of the last block
    }


def one_case(*, seed: int, rates: tuple[float, ...], **how: Any) -> dict[str, Any]:
    """Train one model; bits per byte of the held-out texts, and what the routers do with them."""
    T = how["seq_len"]
    found = {lr: sum(score(train(0, lr, **how), texts().validation, T).values()) for lr in rates}
    lr = min(rates, key=found.__getitem__)
    model = train(seed, lr, **how)
    watched = routes(model, texts().test, T) if how.get("num_experts", 1) > 1 else {}
    if seed:  # one model is enough to look at
        watched = {name: seen for name, seen in watched.items() if name not in ("favourites", "sentences")}
    return {
        **score(model, texts().test, T),
        "lr": lr,
        "parameters": sum(p.numel() for p in model.parameters()),
        "multiplications": sum(multiplications(block.ffn) for block in model.stack.blocks),
        **watched,
    }


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("experts", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

"""One small GPT, one text, vocabularies of many sizes: how well is the held-out text predicted?

    make experiments NAME=vocabularies

Every model reads the same number of tokens, so its blocks do the same work. A larger vocabulary packs more
text into a token, and has more parameters. Bits per character can be compared, whatever the tokens are.
"""

from typing import Any

import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
from torch import Tensor, nn

from experiments.common import run
from pioneers.analysis import bits_per_character, negative_log_likelihood
from pioneers.data import RandomWindows, language_reference, split_text
from pioneers.device import best_device, seed_everything
from pioneers.models import GPT, GPTConfig
from pioneers.objectives import causal_lm, causal_lm_loss
from pioneers.tokenizers.bpe import CHUNK
from pioneers.training import TrainConfig, fit

CONFIG = {
    "d_model": 96,
    "num_layers": 3,
    "num_heads": 3,
    "seq_len": 64,
    "batch_size": 16,
    "steps": 400,
    "lr": 4e-3,
}
CHUNKS = {"words": CHUNK.pattern, "lines": r"[^\n]*\n|[^\n]+"}  # what no token may reach beyond
SIZES = {"words": (256, 512, 1024, 2048, 4096, 8192), "lines": (2048,)}
CASES = {
    f"{chunks} {size}": {"chunks": chunks, "vocab_size": size} for chunks in SIZES for size in SIZES[chunks]
}


def train_bpe(text: str, vocab_size: int, chunks: str) -> Tokenizer:
    """The library's byte-level BPE, its merges kept within words or within lines."""
    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(CHUNKS[chunks]), behavior="isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, to_bytes])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([text], trainer)
    return tokenizer


def loss_fn(model: nn.Module, windows: Tensor) -> Tensor:
    """The loss of next tokens in windows ``(B, T + 1)``."""
    input_ids, targets = causal_lm(windows)
    return causal_lm_loss(model(input_ids), targets)


def one_case(
    *,
    chunks: str,
    vocab_size: int,
    d_model: int,
    num_layers: int,
    num_heads: int,
    seq_len: int,
    batch_size: int,
    steps: int,
    lr: float,
    seed: int,
) -> dict[str, Any]:
    """Train one model; bits per character of the held-out text, and what they were bought with."""
    train_text, test_text = split_text(language_reference())
    tokenizer, device = train_bpe(train_text, vocab_size, chunks), best_device()
    train, test = (
        torch.tensor(tokenizer.encode(text).ids, device=device) for text in (train_text, test_text)
    )
    seed_everything(seed)
    model = GPT(
        GPTConfig(
            vocab_size=vocab_size,
            max_seq_len=seq_len,
            d_model=d_model,
            num_layers=num_layers,
            num_heads=num_heads,
        )
    ).to(device)
    recipe = TrainConfig(max_steps=steps, lr=lr, warmup_steps=steps // 10, log_every=steps, seed=seed)
    fit(model, loss_fn, RandomWindows(train, seq_len=seq_len, batch_size=batch_size, seed=seed), recipe)
    model.eval()
    stream = torch.cat([train[-1:], test])  # so that every held-out token is predicted
    nats = negative_log_likelihood(model, stream, seq_len=seq_len, stride=seq_len // 2)
    return {
        "bits_per_character": bits_per_character(nats, test_text),
        "nats_per_token": nats / len(test),
        "characters_per_token": len(test_text) / len(test),
        "times_read": steps * batch_size * seq_len / len(train),
        "parameters": sum(p.numel() for p in model.parameters()),
    }


def main() -> None:
    """Run all cases."""
    run("vocabularies", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

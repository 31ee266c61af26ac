"""One change at a time: the Transformer's heads, keys, depth, width, dropout, smoothing and positions.

    make experiments NAME=variations

Vaswani et al. 2017, table 3, at a small size: the same rows, on the translation of number words. Parts that
replace others start as the Transformer's do, with Xavier's weights, so that a row changes one thing.
"""

from typing import Any

from torch import nn

from experiments.common import run
from experiments.number_words import number_task, train_and_score
from pioneers.device import seed_everything
from pioneers.layers import LearnedPositions, MultiHeadAttention
from pioneers.models import Transformer, TransformerConfig
from pioneers.training import TrainConfig

CONFIG = {
    "train_pairs": 1000,
    "test_pairs": 500,
    "vocab_size": 320,
    "steps": 500,
    "batch_size": 32,
    "lr": 3e-3,
    "base": {"num_layers": 2, "d_model": 64, "d_ff": 256, "num_heads": 4, "dropout": 0.1},
}
CASES: dict[str, dict[str, Any]] = {
    "base": {},
    "A: 1 head": {"num_heads": 1},
    "A: 2 heads": {"num_heads": 2},
    "A: 8 heads": {"num_heads": 8},
    "A: 16 heads": {"num_heads": 16},
    "B: keys of width 4": {"key_dim": 4},
    "B: keys of width 8": {"key_dim": 8},
    "C: 1 block": {"num_layers": 1},
    "C: 4 blocks": {"num_layers": 4},
    "C: width 32": {"d_model": 32, "d_ff": 128},
    "C: width 128": {"d_model": 128, "d_ff": 512},
    "C: inner width 128": {"d_ff": 128},
    "C: inner width 512": {"d_ff": 512},
    "D: no dropout": {"dropout": 0.0},
    "D: dropout 0.2": {"dropout": 0.2},
    "D: no smoothing": {"smoothing": 0.0},
    "D: smoothing 0.2": {"smoothing": 0.2},
    "E: learned positions": {"learned_positions": True},
}


class NarrowKeys(MultiHeadAttention):
    """Multi-head attention whose queries and keys are narrower than its values.

    Args:
        d_model: D.
        num_heads: H.
        key_dim: width of queries and keys; the values keep D / H.
        dropout: share of the attention weights dropped in training.
    """

    def __init__(self, d_model: int, num_heads: int, *, key_dim: int, dropout: float) -> None:
        super().__init__(d_model, num_heads, dropout=dropout)
        self.q_proj = nn.Linear(d_model, num_heads * key_dim)
        self.k_proj = nn.Linear(d_model, num_heads * key_dim)

    def _split(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)


def replace_parts(model: Transformer, *, key_dim: int | None, learned_positions: bool) -> None:
    """Narrow the keys, or learn the positions, and draw the new matrices as those of the model are drawn."""
    new: list[nn.Module] = []
    if key_dim is not None:
        sizes = (model.config.d_model, model.config.num_heads)
        for block in (*model.encoder.blocks, *model.decoder.blocks):
            for name, module in list(block.named_children()):
                if isinstance(module, MultiHeadAttention):
                    new.append(NarrowKeys(*sizes, key_dim=key_dim, dropout=model.config.dropout))
                    setattr(block, name, new[-1])
    if learned_positions:
        new.append(LearnedPositions(model.config.max_seq_len, model.config.d_model))
        model.embed.position = new[-1]
    for weights in (p for part in new for p in part.parameters() if p.ndim >= 2):
        nn.init.xavier_uniform_(weights)


def one_case(
    *,
    seed: int,
    train_pairs: int,
    test_pairs: int,
    vocab_size: int,
    steps: int,
    batch_size: int,
    lr: float,
    base: dict[str, Any],
    smoothing: float = 0.1,
    key_dim: int | None = None,
    learned_positions: bool = False,
    **changes: Any,
) -> dict[str, Any]:
    """One row of the table with one seed: perplexity per token, BLEU, exact matches, parameters."""
    task = number_task(train_pairs, test_pairs, vocab_size)
    seed_everything(seed)
    sizes = {"vocab_size": task.tokenizer.vocab_size, "max_seq_len": 64, "norm_placement": "pre"}
    model = Transformer(TransformerConfig(**{**sizes, **base, **changes}))
    replace_parts(model, key_dim=key_dim, learned_positions=learned_positions)
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 5, schedule="inverse_sqrt", betas=(0.9, 0.98),
        weight_decay=0.0, precision="fp32", log_every=steps // 10, seed=seed,
    )  # fmt: skip
    return train_and_score(model, task, batch_size=batch_size, smoothing=smoothing, recipe=recipe)


def main() -> None:
    """Train every case with every seed and write ``pioneers/results/variations.json``."""
    run("variations", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

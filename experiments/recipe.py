"""The training recipe of the Transformer, with one part switched off at a time.

    make experiments NAME=recipe

Vaswani et al. 2017, sections 5.3 and 5.4, in small: post-norm, on the translation of number words.
"""

from typing import Any

from experiments.common import run
from experiments.number_words import number_task, train_and_score
from pioneers.device import seed_everything
from pioneers.models import Transformer, TransformerConfig
from pioneers.training import TrainConfig

CONFIG = {
    "train_pairs": 1000,
    "test_pairs": 500,
    "vocab_size": 320,
    "steps": 300,
    "warmup_steps": 60,
    "batch_size": 32,
    "lr": 5e-3,
}
CASES: dict[str, dict[str, Any]] = {
    "the whole recipe": {},
    "no dropout": {"dropout": 0.0},
    "no label smoothing": {"smoothing": 0.0},
    "Adam's usual β₂ = 0.999": {"beta2": 0.999},
    "no warm-up": {"rate": "no warm-up"},
    "no decay": {"rate": "no decay"},
}


class Rate(TrainConfig):
    """A recipe whose learning rate lacks the warm-up or the decay."""

    rate: str

    def lr_at(self, step: int) -> float:
        """The learning rate of a step; the first is step 0."""
        rising, falling = (step + 1) / self.warmup_steps, (self.warmup_steps / (step + 1)) ** 0.5
        parts = {"no warm-up": falling, "no decay": rising}
        return self.lr * min(1.0, parts[self.rate])


def one_case(
    *,
    seed: int,
    train_pairs: int,
    test_pairs: int,
    vocab_size: int,
    steps: int,
    warmup_steps: int,
    batch_size: int,
    lr: float,
    dropout: float = 0.1,
    smoothing: float = 0.1,
    beta2: float = 0.98,
    rate: str | None = None,
) -> dict[str, Any]:
    """One training with one seed: losses on the way, then perplexity per token, BLEU, exact matches."""
    task = number_task(train_pairs, test_pairs, vocab_size)
    seed_everything(seed)
    sizes = {"d_model": 64, "d_ff": 256, "num_layers": 2, "num_heads": 4, "max_seq_len": 64}
    model = Transformer(TransformerConfig(vocab_size=task.tokenizer.vocab_size, dropout=dropout, **sizes))
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=warmup_steps, schedule="inverse_sqrt", betas=(0.9, beta2),
        weight_decay=0.0, precision="fp32", log_every=steps // 20, seed=seed,
    )  # fmt: skip
    if rate is not None:
        recipe = Rate(**vars(recipe))
        object.__setattr__(recipe, "rate", rate)
    return train_and_score(model, task, batch_size=batch_size, smoothing=smoothing, recipe=recipe)


def main() -> None:
    """Train every case with every seed and write ``pioneers/results/recipe.json``."""
    run("recipe", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

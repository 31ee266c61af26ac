"""Absolute positions: vectors added to the embeddings so that order is not lost."""

import torch
from torch import Tensor, nn


def sinusoidal_table(num_positions: int, d_model: int, *, base: float = 10000.0) -> Tensor:
    """The table ``(num_positions, D)`` of sines and cosines of Vaswani et al. 2017, section 3.5.

    Column 2i is ``sin(pos / base^(2i/D))`` and column 2i+1 the cosine of the same angle.

    Raises:
        ValueError: ``d_model`` is odd.
    """
    if d_model % 2:
        raise ValueError(f"sinusoids come in pairs of sine and cosine: d_model={d_model} must be even")
    positions = torch.arange(num_positions, dtype=torch.float64)
    frequencies = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = positions[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()


class SinusoidalPositions(nn.Module):
    """Fixed sinusoidal positions; nothing to learn.

    Args:
        max_seq_len: longest sequence.
        d_model: D, even.
    """

    table: Tensor

    def __init__(self, max_seq_len: int, d_model: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoidal_table(max_seq_len, d_model), persistent=False)

    def forward(self, length: int, start: int = 0) -> Tensor:
        """The vectors ``(length, D)`` of positions ``start … start + length - 1``.

        Raises:
            ValueError: a position lies beyond ``max_seq_len``.
        """
        _check_range(start + length, len(self.table))
        return self.table[start : start + length]


class LearnedPositions(nn.Module):
    """One learned vector per position, as in GPT, BERT and ViT.

    Args:
        max_seq_len: longest sequence.
        d_model: D.
    """

    def __init__(self, max_seq_len: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_seq_len, d_model).normal_(std=0.02))

    def forward(self, length: int, start: int = 0) -> Tensor:
        """The vectors ``(length, D)`` of positions ``start … start + length - 1``.

        Raises:
            ValueError: a position lies beyond ``max_seq_len``.
        """
        _check_range(start + length, len(self.table))
        return self.table[start : start + length]


def _check_range(end: int, max_seq_len: int) -> None:
    if end > max_seq_len:
        raise ValueError(
            f"the sequence needs {end} positions and the model has max_seq_len={max_seq_len}: "
            f"shorten the input or build the model with a larger max_seq_len"
        )

"""Absolute positions: vectors added to the embeddings so that order is not lost."""

import torch
from torch import Tensor, nn


def sinusoidal_table(num_positions: int, d_model: int, *, base: float = 10000.0) -> Tensor:
    """The table ``(num_positions, D)`` of sines and cosines of Vaswani et al. 2017, section 3.5.

    Column 2i is ``sin(pos / base^(2i/D))`` and column 2i+1 the cosine of the same angle.

    Raises:
        ValueError: ``d_model`` is odd.

    Example:
        >>> sinusoidal_table(3, 2)
        tensor([[ 0.0000,  1.0000],
                [ 0.8415,  0.5403],
                [ 0.9093, -0.4161]])
    """
    return sinusoids(torch.arange(num_positions, dtype=torch.float64), d_model, base=base).float()


def sinusoids(positions: Tensor, d_model: int, *, base: float = 10000.0) -> Tensor:
    """Sines and cosines ``(…, D)`` of any numbers, as :func:`sinusoidal_table` has of 0, 1, 2, …

    Args:
        positions: ``(…)``.
        d_model: D, even.
        base: as in the table: the slowest angle grows by ``base^(2/D - 1)`` a unit.

    Raises:
        ValueError: ``d_model`` is odd.

    Example:
        >>> sinusoids(torch.tensor([0.5]), 2)
        tensor([[0.4794, 0.8776]])
    """
    if d_model % 2:
        raise ValueError(f"sinusoids come in pairs of sine and cosine: d_model={d_model} must be even")
    halves = torch.arange(0, d_model, 2, dtype=positions.dtype, device=positions.device)
    angles = positions[..., None] * base ** (-halves / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


class SinusoidalPositions(nn.Module):
    """Fixed sinusoidal positions; nothing to learn.

    Args:
        max_seq_len: longest sequence.
        d_model: D, even.

    Example:
        >>> SinusoidalPositions(7, 6)(length=3, start=4).shape
        torch.Size([3, 6])
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

    Example:
        >>> LearnedPositions(7, 6)(length=5).shape
        torch.Size([5, 6])
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


class Rotary(nn.Module):
    """Rotary positions (RoPE): queries and keys are turned by an angle proportional to their position.

    Channel i and channel i + K/2 form a plane that position p turns by ``p / base^(2i/K)``, so that the
    product of a query and a key depends on their distance alone. Su et al. 2024, section 3.2, who pair the
    neighbours 2i and 2i + 1: the same up to the order of the channels.

    Args:
        head_dim: K, even.
        max_seq_len: longest sequence.
        base: the slowest plane turns by one radian in ``base^(1 - 2/K)`` positions.

    Raises:
        ValueError: ``head_dim`` is odd.

    Example:
        >>> rotary = Rotary(2, max_seq_len=7)
        >>> rotary(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
        tensor([[1.0000, 0.0000],
                [0.5403, 0.8415]])
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, head_dim: int, *, max_seq_len: int, base: float = 10000.0) -> None:
        super().__init__()
        waves = sinusoidal_table(max_seq_len, head_dim, base=base)
        self.register_buffer("sin", waves[:, 0::2], persistent=False)
        self.register_buffer("cos", waves[:, 1::2], persistent=False)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Turn ``x (B, H, T, K)``, whose first vector is at position ``start``.

        Raises:
            ValueError: a position lies beyond ``max_seq_len``.
        """
        end = start + x.shape[-2]
        _check_range(end, len(self.cos))
        cos, sin = self.cos[start:end].to(x.dtype), self.sin[start:end].to(x.dtype)
        left, right = x.chunk(2, dim=-1)
        return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1)


def sinusoidal_table_2d(height: int, width: int, d_model: int) -> Tensor:
    """Fixed positions ``(height · width, D)`` of a grid, row by row: half of the channels for y, half for x.

    Each half is the :func:`sinusoidal_table` of one axis: Parmar et al. 2018, section 3.1.

    Raises:
        ValueError: ``d_model`` is not divisible by 4.

    Example:
        >>> sinusoidal_table_2d(2, 3, 8).shape
        torch.Size([6, 8])
    """
    if d_model % 4:
        raise ValueError(f"two axes of sine and cosine need d_model={d_model} to be divisible by 4")
    rows, columns = sinusoidal_table(height, d_model // 2), sinusoidal_table(width, d_model // 2)
    return torch.cat([rows.repeat_interleave(width, 0), columns.repeat(height, 1)], dim=-1)


def _check_range(end: int, max_seq_len: int) -> None:
    if end > max_seq_len:
        raise ValueError(
            f"the sequence needs {end} positions and the model has max_seq_len={max_seq_len}: "
            f"shorten the input or build the model with a larger max_seq_len"
        )

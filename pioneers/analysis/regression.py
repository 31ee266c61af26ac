"""Classical predictions from the examples of a prompt, to compare a model's with."""

import torch
from torch import Tensor


def predict_average(x: Tensor, y: Tensor) -> Tensor:
    """Predict ``y_i`` with ``w`` estimated as the mean of ``y_j x_j`` over the examples j < i; 0 without any.

    The first step of gradient descent from 0, and the cheapest estimate that is right on average when the
    inputs are white: Garg et al. 2022, section 3.1.

    Args:
        x: ``(B, K, d)``.
        y: ``(B, K)``.

    Returns:
        Predictions ``(B, K)``.

    Example:
        >>> predict_average(torch.tensor([[[1.0], [2.0]]]), torch.tensor([[3.0, 6.0]]))
        tensor([[0., 6.]])
    """
    products = _before((y[..., None] * x).cumsum(dim=1))  # (B, K, d)
    counts = torch.arange(x.shape[1], dtype=x.dtype).clamp(min=1)  # (K,)
    return (products * x).sum(-1) / counts


def predict_neighbours(x: Tensor, y: Tensor, *, count: int) -> Tensor:
    """Predict ``y_i`` as the mean value of the examples j < i whose inputs are nearest; 0 without any.

    Args:
        x: ``(B, K, d)``.
        y: ``(B, K)``.
        count: how many of them; all, while there are fewer.

    Returns:
        Predictions ``(B, K)``.

    Raises:
        ValueError: ``count`` is less than 1.

    Example:
        >>> x, y = torch.tensor([[[1.0], [5.0], [2.0]]]), torch.tensor([[3.0, 9.0, 4.0]])
        >>> predict_neighbours(x, y, count=1)
        tensor([[0., 3., 3.]])
    """
    if count < 1:
        raise ValueError(f"count must be at least 1, not {count}")
    length = x.shape[1]
    later = torch.ones(length, length, dtype=torch.bool).triu()
    distances = torch.cdist(x, x).masked_fill(later, torch.inf)  # (B, K, K)
    nearest = distances.topk(min(count, length), largest=False)
    known = nearest.values.isfinite()  # (B, K, count)
    values = y[:, None].expand(-1, length, -1).gather(-1, nearest.indices)
    return (values * known).sum(-1) / known.sum(-1).clamp(min=1)


def predict_ridge(x: Tensor, y: Tensor, *, strength: float) -> Tensor:
    """Predict ``y_i`` by ridge regression on the examples j < i; 0 without any.

    With w from N(0, I) and noise of variance ``strength`` no prediction has a smaller expected squared error.

    Args:
        x: ``(B, K, d)``.
        y: ``(B, K)``.
        strength: the weight λ of the penalty. At 0 this is least squares, and where several fit equally well
            the shortest.

    Returns:
        Predictions ``(B, K)``.

    Raises:
        ValueError: ``strength`` is negative.

    Example:
        >>> x, y = torch.tensor([[[1.0], [2.0]]]), torch.tensor([[4.0, 0.0]])
        >>> predict_ridge(x, y, strength=1.0)
        tensor([[0., 4.]])
        >>> predict_ridge(x, y, strength=0.0)
        tensor([[0., 8.]])
    """
    if strength < 0:
        raise ValueError(f"strength must be at least 0, not {strength}")
    x64, y64 = x.double(), y.double()[..., None]
    gram = _before((x64[..., None] * x64[..., None, :]).cumsum(dim=1))  # (B, K, d, d)
    products = _before((y64 * x64).cumsum(dim=1))[..., None]  # (B, K, d, 1)
    eye = torch.eye(x.shape[-1], dtype=torch.float64)
    inverse = torch.linalg.inv(gram + strength * eye) if strength else torch.linalg.pinv(gram, rtol=1e-10)
    return (x64 * (inverse @ products).squeeze(-1)).sum(-1).to(x.dtype)


def _before(sums: Tensor) -> Tensor:
    """Sums over the examples before each: those up to it, moved on by one."""
    return torch.cat([torch.zeros_like(sums[:, :1]), sums[:, :-1]], dim=1)

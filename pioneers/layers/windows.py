"""A grid of tokens cut into windows, for attention that is local: Swin Transformer.

Axes: B batch, W windows, M side of a window in tokens, D d_model.
"""

import torch
from einops import rearrange
from torch import Tensor


def window_partition(x: Tensor, window_size: int) -> Tensor:
    """Cut a grid into windows, row by row: ``(B, height, width, D)`` → ``(B, W, M · M, D)``.

    Each window is a short sequence of its own, and what works on ``(…, T, D)`` works on all of them at once.
    :func:`window_merge` is the inverse. Liu et al. 2021, section 3.2.

    Args:
        x: the grid.
        window_size: M, which must divide height and width.

    Raises:
        ValueError: it does not.

    Example:
        >>> window_partition(torch.arange(8).view(1, 2, 4, 1), 2)[..., 0].tolist()
        [[[0, 1, 4, 5], [2, 3, 6, 7]]]
    """
    height, width = x.shape[1:3]
    if height % window_size or width % window_size:
        raise ValueError(f"window_size={window_size} must divide the grid of {height} x {width} tokens")
    return rearrange(x, "b (h m) (w n) d -> b (h w) (m n) d", m=window_size, n=window_size)


def window_merge(windows: Tensor, height: int) -> Tensor:
    """Put windows back into their grid: ``(B, W, M · M, D)`` → ``(B, height, width, D)``.

    The inverse of :func:`window_partition`; the width follows from the number of windows.

    Args:
        windows: square ones.
        height: of the grid, in tokens.

    Raises:
        ValueError: the windows are not square, or do not fill a grid of this height.

    Example:
        >>> windows = torch.tensor([[[0, 1, 4, 5], [2, 3, 6, 7]]])
        >>> window_merge(windows[..., None], height=2)[..., 0].tolist()
        [[[0, 1, 2, 3], [4, 5, 6, 7]]]
    """
    side = round(windows.shape[2] ** 0.5)
    rows = height // side
    if side**2 != windows.shape[2] or rows * side != height or not rows or windows.shape[1] % rows:
        raise ValueError(
            f"windows (B, W, M · M, D) = {tuple(windows.shape)} make no grid of {height=}: it must be a "
            f"multiple of M that divides W · M"
        )
    return rearrange(windows, "b (h w) (m n) d -> b (h m) (w n) d", h=rows, m=side)


def cyclic_shift(x: Tensor, shift: int) -> Tensor:
    """Move the grid ``x (B, height, width, D)`` up and to the left; what leaves it comes in opposite.

    A negative ``shift``, in tokens, moves it back. Liu et al. 2021, figure 4.

    Example:
        >>> cyclic_shift(torch.arange(6).view(1, 2, 3, 1), 1)[..., 0].tolist()
        [[[4, 5, 3], [1, 2, 0]]]
    """
    return x.roll((-shift, -shift), dims=(1, 2)) if shift else x


def shifted_window_mask(height: int, width: int, window_size: int, shift: int) -> Tensor:
    """Mask ``(W, M · M, M · M)`` for the windows of a shifted grid; True = may attend.

    After the shift, windows at the lower and right edge hold tokens from opposite sides of the image. Tokens
    see those of their own side only. Liu et al. 2021, section 3.2 and figure 4.

    Args:
        height: of the grid, in tokens.
        width: of the grid, in tokens.
        window_size: M, which must divide height and width.
        shift: how far :func:`cyclic_shift` has moved the grid; at least 0 and less than M.

    Raises:
        ValueError: the window does not divide the grid, or the shift is out of range.

    Example:
        >>> shifted_window_mask(2, 4, 2, 1)[0].int().tolist()  # rows 0 and 1 do not touch in the image
        [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    """
    if not 0 <= shift < window_size:
        raise ValueError(f"shift must be at least 0 and less than window_size={window_size}, not {shift}")
    row, column = (torch.arange(side) >= side - shift for side in (height, width))  # came round the edge
    side_of = 2 * row[:, None] + column  # (height, width): the four sides a token can be from
    regions = window_partition(side_of[None, ..., None], window_size)[0, ..., 0]  # (W, M · M)
    return regions[:, :, None] == regions[:, None, :]

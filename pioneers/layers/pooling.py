"""Attention that shortens the sequence: queries, keys and values are pooled over the grid. MViT.

Axes: B batch, H heads, N tokens of a grid, row by row, K head_dim, D d_model.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pioneers.layers.attention import attention


class TokenPool(nn.Module):
    """Pool the tokens of a grid by a strided convolution of each channel, then normalise.

    The class token, which comes first, is only normalised. All heads share one convolution. Fan et al. 2021,
    section 3.1; Li et al. 2022, section 4.1.

    Args:
        head_dim: K.
        kernel_size: of the convolution, odd.
        stride: how many times smaller height and width become.

    Example:
        >>> TokenPool(4, stride=2)(torch.zeros(3, 2, 1 + 5 * 6, 4), height=5).shape
        torch.Size([3, 2, 10, 4])
    """

    def __init__(self, head_dim: int, *, kernel_size: int = 3, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(
            head_dim, head_dim, kernel_size, stride, kernel_size // 2, groups=head_dim, bias=False
        )
        self.norm = nn.LayerNorm(head_dim)

    def forward(self, x: Tensor, height: int) -> Tensor:
        """``x (B, H, 1 + N, K)`` of a grid of this ``height`` → ``(B, H, 1 + N', K)``.

        Raises:
            ValueError: the tokens do not fill a grid of this height.
        """
        grid = _to_grid(x[:, :, 1:].flatten(0, 1), height)  # (B · H, K, height, width)
        pooled = self.conv(grid).flatten(2).mT.unflatten(0, x.shape[:2])  # (B, H, N', K)
        return self.norm(torch.cat([x[:, :, :1], pooled], dim=2))


class PoolingAttention(nn.Module):
    """Multi-head attention between pooled queries and pooled keys and values.

    The output is as long as the pooled queries, and they are added to it, but for the class token's. Fan et
    al. 2021, section 3.1; the sum is Li et al. 2022, section 4.1.

    Args:
        d_model: D, width of what comes in and goes out.
        num_heads: H.
        q_stride: how many times smaller height and width of the output are.
        kv_stride: how many times smaller those of the keys and values are.
        kernel_size: of the convolutions that pool.
        dropout: share of the attention weights dropped in training.

    Raises:
        ValueError: the heads do not divide the width.

    Example:
        >>> attn = PoolingAttention(12, 3, q_stride=2, kv_stride=4)
        >>> attn(torch.zeros(2, 1 + 8 * 8, 12), height=8).shape
        torch.Size([2, 17, 12])
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        q_stride: int = 1,
        kv_stride: int = 1,
        kernel_size: int = 3,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"num_heads={num_heads} must divide d_model={d_model}")
        self.num_heads, self.dropout = num_heads, dropout
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(d_model, d_model) for _ in range(4))
        self.q_pool, self.k_pool, self.v_pool = (
            TokenPool(d_model // num_heads, kernel_size=kernel_size, stride=stride)
            for stride in (q_stride, kv_stride, kv_stride)
        )

    def forward(self, x: Tensor, height: int) -> Tensor:
        """``x (B, 1 + N, D)``, class token first, of a grid of this ``height`` → ``(B, 1 + N', D)``.

        Raises:
            ValueError: the tokens do not fill a grid of this height.
        """
        q = self.q_pool(self._split(self.q_proj(x)), height)  # (B, H, 1 + N', K)
        k = self.k_pool(self._split(self.k_proj(x)), height)  # (B, H, 1 + N'', K)
        v = self.v_pool(self._split(self.v_proj(x)), height)  # (B, H, 1 + N'', K)
        out = attention(q, k, v, dropout=self.dropout * self.training)  # (B, H, 1 + N', K)
        out = torch.cat([out[:, :, :1], out[:, :, 1:] + q[:, :, 1:]], dim=2)
        return self.o_proj(out.transpose(1, 2).flatten(2))  # (B, 1 + N', D)

    def _split(self, x: Tensor) -> Tensor:
        """(B, T, D) → (B, H, T, K)."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)


class PoolingBlock(nn.Module):
    """A pre-norm block whose attention shortens the sequence; its residual connection takes maxima instead.

    Fan et al. 2021, section 3.2.

    Args:
        attn: the attention, ``(x, height)`` → fewer tokens.
        ffn: what each token goes through alone, for instance a :class:`FeedForward`.
        d_model: D.
        q_stride: that of the attention.

    Example:
        >>> from pioneers.layers import FeedForward
        >>> block = PoolingBlock(PoolingAttention(12, 3, q_stride=2), FeedForward(12), 12, q_stride=2)
        >>> block(torch.zeros(2, 1 + 6 * 7, 12), height=6).shape
        torch.Size([2, 13, 12])
    """

    def __init__(self, attn: PoolingAttention, ffn: nn.Module, d_model: int, *, q_stride: int = 1) -> None:
        super().__init__()
        self.norm_attn, self.norm_ffn = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attn, self.ffn, self.q_stride = attn, ffn, q_stride

    def forward(self, x: Tensor, height: int) -> Tensor:
        """``x (B, 1 + N, D)``, class token first, of a grid of this ``height`` → ``(B, 1 + N', D)``.

        Raises:
            ValueError: the tokens do not fill a grid of this height.
        """
        x = _pooled_by_maximum(x, height, self.q_stride) + self.attn(self.norm_attn(x), height)
        return x + self.ffn(self.norm_ffn(x))


def _pooled_by_maximum(x: Tensor, height: int, stride: int) -> Tensor:
    """(B, 1 + N, D) → (B, 1 + N', D), the class token unchanged."""
    if stride == 1:
        return x
    kernel_size = stride + 1
    grid = F.max_pool2d(_to_grid(x[:, 1:], height), kernel_size, stride, kernel_size // 2)
    return torch.cat([x[:, :1], grid.flatten(2).mT], dim=1)


def _to_grid(tokens: Tensor, height: int) -> Tensor:
    """(B, N, D) → (B, D, height, width)."""
    if tokens.shape[1] % height:
        raise ValueError(f"{tokens.shape[1]} tokens, without the class token, fill no grid of {height=}")
    return tokens.mT.unflatten(2, (height, -1))

"""From token ids and pixels to vectors: one embedding for each pioneer, side by side."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from pioneers.layers.patches import PatchEmbedding
from pioneers.layers.positions import LearnedPositions, SinusoidalPositions
from pioneers.layers.token_table import TokenTable


class TransformerEmbedding(nn.Module):
    """Token vectors times √D plus sinusoids, then dropout: Vaswani et al. 2017, sections 3.4 and 3.5.

    Args:
        vocab_size: V.
        d_model: D, even.
        max_seq_len: longest sequence.
        dropout: share of the sums dropped in training.

    Example:
        >>> embed = TransformerEmbedding(11, 6, max_seq_len=7)
        >>> embed(torch.tensor([[3, 1, 4, 1, 5]])).shape
        torch.Size([1, 5, 6])
    """

    def __init__(self, vocab_size: int, d_model: int, *, max_seq_len: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.token = TokenTable(vocab_size, d_model)
        self.position = SinusoidalPositions(max_seq_len, d_model)
        self.dropout = nn.Dropout(dropout)
        self.scale = math.sqrt(d_model)

    def forward(self, input_ids: Tensor, start: int = 0) -> Tensor:
        """``input_ids (B, T)`` → vectors ``(B, T, D)``; the first id is at position ``start``.

        Raises:
            ValueError: the ids are not a ``(B, T)`` integer tensor, or are longer than ``max_seq_len``.
        """
        _check_ids(input_ids)
        tokens = self.token(input_ids) * self.scale  # (B, T, D)
        return self.dropout(tokens + self.position(input_ids.shape[1], start))


class GPTEmbedding(nn.Module):
    """Token vectors plus learned position vectors, then dropout: Radford et al. 2018, equation (2).

    Args:
        vocab_size: V.
        d_model: D.
        max_seq_len: longest sequence.
        norm: width → normalisation module for the sums, which BART has and GPT has not.
        dropout: share of the sums dropped in training.

    Example:
        >>> embed = GPTEmbedding(11, 6, max_seq_len=7)
        >>> embed(torch.tensor([[3, 1, 4, 1, 5]])).shape
        torch.Size([1, 5, 6])
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        *,
        max_seq_len: int,
        norm: Callable[[int], nn.Module] = nn.Identity,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.token = TokenTable(vocab_size, d_model)
        self.position = LearnedPositions(max_seq_len, d_model)
        self.norm = norm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, input_ids: Tensor, start: int = 0) -> Tensor:
        """``input_ids (B, T)`` → vectors ``(B, T, D)``; the first id is at position ``start``.

        Raises:
            ValueError: the ids are not a ``(B, T)`` integer tensor, or are longer than ``max_seq_len``.
        """
        _check_ids(input_ids)
        total = self.token(input_ids) + self.position(input_ids.shape[1], start)  # (B, T, D)
        return self.dropout(self.norm(total))


class BERTEmbedding(nn.Module):
    """Token, position and segment vectors, summed, normalised, dropped: Devlin et al. 2019, figure 2.

    Args:
        vocab_size: V.
        d_model: D.
        max_seq_len: longest sequence.
        num_segments: kinds of sentences, each with a vector of its own; 0 for no such vectors.
        dropout: share of the normalised sums dropped in training.
        eps: ε of the norm.

    Example:
        >>> embed = BERTEmbedding(11, 6, max_seq_len=7)
        >>> embed(torch.tensor([[3, 1, 4]]), torch.tensor([[0, 0, 1]])).shape
        torch.Size([1, 3, 6])
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        *,
        max_seq_len: int,
        num_segments: int = 2,
        dropout: float = 0.0,
        eps: float = 1e-12,
    ) -> None:
        super().__init__()
        self.token = TokenTable(vocab_size, d_model)
        self.position = LearnedPositions(max_seq_len, d_model)
        self.num_segments = num_segments
        self.segment = nn.Embedding(num_segments, d_model) if num_segments else None
        self.norm = nn.LayerNorm(d_model, eps=eps)
        self.dropout = nn.Dropout(dropout)

    def forward(self, input_ids: Tensor, segment_ids: Tensor | None = None) -> Tensor:
        """``input_ids (B, T)`` and ``segment_ids (B, T)``, all 0 when left out → vectors ``(B, T, D)``.

        Raises:
            ValueError: the ids are not a ``(B, T)`` integer tensor, or are longer than ``max_seq_len``; there
                are segments, and the model has at most one vector for them.
        """
        _check_ids(input_ids)
        if segment_ids is not None and self.num_segments < 2:
            raise ValueError("this model does not tell sentences apart: leave segment_ids out")
        total = self.token(input_ids) + self.position(input_ids.shape[1])  # (B, T, D)
        if self.segment is not None:
            total = total + (self.segment.weight[0] if segment_ids is None else self.segment(segment_ids))
        return self.dropout(self.norm(total))


class TokenEmbedding(nn.Module):
    """Token vectors alone, then dropout, for models that learn of positions elsewhere.

    T5 adds a bias to its scores (Raffel et al. 2020, section 2.1), Llama turns its queries and keys (Touvron
    et al. 2023, section 2.2).

    Args:
        vocab_size: V.
        d_model: D.
        dropout: share of the vectors' numbers dropped in training.

    Example:
        >>> TokenEmbedding(11, 6)(torch.tensor([[3, 1, 4, 1, 5]])).shape
        torch.Size([1, 5, 6])
    """

    def __init__(self, vocab_size: int, d_model: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.token = TokenTable(vocab_size, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, input_ids: Tensor) -> Tensor:
        """``input_ids (B, T)`` → vectors ``(B, T, D)``.

        Raises:
            ValueError: the ids are not a ``(B, T)`` integer tensor.
        """
        _check_ids(input_ids)
        return self.dropout(self.token(input_ids))


class ViTEmbedding(nn.Module):
    """A class token in front of the patches, plus learned position vectors, then dropout.

    Dosovitskiy et al. 2021, section 3.1, equation (1).

    Args:
        image_size: height and width of the square images, in pixels.
        patch_size: P, which must divide it.
        in_channels: C.
        d_model: D.
        patch_bias: whether the map of the patches has a bias, which CLIP's has not.
        norm: width → normalisation module for the sums, which CLIP has and ViT has not.
        dropout: share of the sums dropped in training.

    Raises:
        ValueError: the patch size does not divide the image size.

    Example:
        >>> ViTEmbedding(8, 2, in_channels=1, d_model=6)(torch.zeros(3, 1, 8, 8)).shape
        torch.Size([3, 17, 6])
    """

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        *,
        in_channels: int,
        d_model: int,
        patch_bias: bool = True,
        norm: Callable[[int], nn.Module] = nn.Identity,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.patch = PatchEmbedding(
            image_size, patch_size, in_channels=in_channels, d_model=d_model, bias=patch_bias
        )
        self.cls_token = nn.Parameter(torch.empty(d_model).normal_(std=0.02))
        self.position = LearnedPositions(1 + self.patch.num_patches, d_model)
        self.norm = norm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, images: Tensor) -> Tensor:
        """``images (B, C, height, width)`` → vectors ``(B, 1 + N, D)``, the class token first.

        Raises:
            ValueError: the images do not have the promised shape.
        """
        patches = self.patch(images)  # (B, N, D)
        cls_token = self.cls_token.expand(images.shape[0], 1, -1)  # (B, 1, D)
        tokens = torch.cat([cls_token, patches], dim=1)  # (B, 1 + N, D)
        return self.dropout(self.norm(tokens + self.position(tokens.shape[1])))


def _check_ids(input_ids: Tensor) -> None:
    if input_ids.ndim != 2 or input_ids.is_floating_point():
        raise ValueError(
            f"input_ids must be an integer tensor (B, T), got {input_ids.dtype} of shape "
            f"{tuple(input_ids.shape)}; for one sequence use ids[None]"
        )

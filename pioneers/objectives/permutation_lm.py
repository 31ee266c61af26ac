"""Permutation language modelling: predict tokens one after the other, in a random order."""

from collections.abc import Collection
from typing import NamedTuple

import torch
from torch import Tensor


class PermutedText(NamedTuple):
    """In which order texts are read, and what that means for two streams of attention.

    Attributes:
        order: positions in the order in which they are read, ``(B, T)``.
        content_mask: ``(B, T, T)``, True where position t may see position s: itself and what came before it.
        query_mask: the same without itself; the query stream predicts the token at t. The first of an order
            sees nothing.
        targets: ``(B, T)``, the tokens to predict and -100 elsewhere.
    """

    order: Tensor
    content_mask: Tensor
    query_mask: Tensor
    targets: Tensor


def permutation_lm(
    input_ids: Tensor,
    *,
    special_ids: Collection[int] = (),
    one_in: int = 6,
    generator: torch.Generator | None = None,
) -> PermutedText:
    """Draw a factorisation order for each row of ``input_ids (B, T)``; the text itself stays as it is.

    Only the last tokens of an order are predicted, one in K, as the first would have to be guessed from
    nothing. The loss is :func:`masked_lm_loss` of the query stream's logits. Yang et al. 2019, section 2.3;
    K = 6 in section 3.1.

    Args:
        input_ids: token ids.
        special_ids: ids that are never predicted: padding, [CLS], [SEP]. They come first in every order, so
            that all ordinary tokens may see them; a padding mask hides the padding nonetheless.
        one_in: K; at least one token of a text is predicted.
        generator: source of the random numbers.

    Raises:
        ValueError: ``one_in`` is smaller than 1.

    Example:
        >>> ids, generator = torch.tensor([[5, 6, 7]]), torch.Generator().manual_seed(0)
        >>> text = permutation_lm(ids, one_in=3, generator=generator)
        >>> text.order, text.targets
        (tensor([[2, 0, 1]]), tensor([[-100,    6, -100]]))
        >>> text.query_mask.int()
        tensor([[[0, 0, 1],
                 [1, 0, 1],
                 [0, 0, 0]]], dtype=torch.int32)
    """
    if one_in < 1:
        raise ValueError(f"one_in must be at least 1, which predicts every token, not {one_in}")
    special = torch.tensor(sorted(special_ids), device=input_ids.device)
    ordinary = ~torch.isin(input_ids, special)
    keys = torch.rand(input_ids.shape, generator=generator, device=input_ids.device)
    order = keys.masked_fill(~ordinary, -1.0).argsort(dim=1)  # (B, T)
    rank = order.argsort(dim=1)  # (B, T), when each position is read
    mine, theirs = rank[:, :, None], rank[:, None, :]
    predicted = (ordinary.sum(dim=1) / one_in).round().clamp(min=1)  # (B,)
    last = ordinary & (rank >= input_ids.shape[1] - predicted[:, None])
    return PermutedText(order, theirs <= mine, theirs < mine, input_ids.masked_fill(~last, -100))

"""The noises of a denoising autoencoder: what BART reads; it is to write the original text."""

import torch
from torch import Tensor

from pioneers.objectives.masked_lm import require_probability


def mask_tokens(
    ids: Tensor, *, mask_id: int, mask_prob: float = 0.15, generator: torch.Generator | None = None
) -> Tensor:
    """Replace random tokens of ``ids (T,)`` by a mask. Lewis et al. 2020, section 2.2, "token masking".

    Args:
        ids: token ids of one text.
        mask_id: id of the mask.
        mask_prob: probability of each token.
        generator: source of the random numbers.

    Raises:
        ValueError: ``mask_prob`` is out of range.

    Example:
        >>> mask_tokens(torch.tensor([5, 6, 7]), mask_id=4, mask_prob=1.0)
        tensor([4, 4, 4])
    """
    return ids.masked_fill(_chosen(ids, mask_prob, generator), mask_id)


def delete_tokens(
    ids: Tensor, *, mask_prob: float = 0.15, generator: torch.Generator | None = None
) -> Tensor:
    """Delete random tokens of ``ids (T,)``: where they are missing must be found out, too.

    Lewis et al. 2020, section 2.2, "token deletion". The arguments and errors are those of
    :func:`mask_tokens`.

    Example:
        >>> delete_tokens(torch.arange(7), mask_prob=0.5, generator=torch.Generator().manual_seed(0))
        tensor([1, 5])
    """
    return ids[~_chosen(ids, mask_prob, generator)]


def infill_text(
    ids: Tensor,
    *,
    mask_id: int,
    mask_prob: float = 0.3,
    mean_span_length: float = 3.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Replace random spans of ``ids (T,)`` by one mask each: how many tokens are missing must be found out.

    Lengths of spans are drawn from a Poisson distribution until they cover the share of the text; the last
    one is cut. A span of length zero inserts a mask. All orders of spans and kept tokens are equally likely.
    Lewis et al. 2020, section 2.2, "text infilling"; the share is that of section 5.

    Args:
        ids: token ids of one text.
        mask_id: id of the mask.
        mask_prob: share of the tokens that spans cover.
        mean_span_length: λ of the Poisson distribution.
        generator: source of the random numbers.

    Raises:
        ValueError: ``mask_prob`` is out of range, or the mean length is not positive.

    Example:
        >>> infill_text(torch.tensor([5, 6, 7]), mask_id=4, mask_prob=1.0, mean_span_length=99.0)
        tensor([4])
    """
    require_probability(mask_prob)
    if mean_span_length <= 0:
        raise ValueError(f"mean_span_length must be positive, not {mean_span_length}")
    budget = round(len(ids) * mask_prob)
    lengths = _span_lengths(budget, mean_span_length, generator)  # (n,), they add up to the budget
    order = torch.randperm(len(ids) - budget + len(lengths), generator=generator)
    text, out, position = ids.tolist(), [], 0
    for item in order.tolist():  # the first n numbers are the spans, every other one is a kept token
        is_span = item < len(lengths)
        out.append(mask_id if is_span else text[position])
        position += lengths[item] if is_span else 1
    return ids.new_tensor(out)


def permute_sentences(ids: Tensor, ends: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
    """Shuffle the sentences of ``ids (T,)``. Lewis et al. 2020, section 2.2, "sentence permutation".

    Args:
        ids: token ids of one text.
        ends: boolean ``(T,)``, True at the last token of each sentence, for instance ``ids == full_stop``;
            what comes after the last of them is a sentence, too.
        generator: source of the random numbers.

    Raises:
        ValueError: there is not one entry of ``ends`` per token.

    Example:
        >>> ids = torch.tensor([5, 6, 1, 7, 1])
        >>> permute_sentences(ids, ids == 1, generator=torch.Generator().manual_seed(1))
        tensor([7, 1, 5, 6, 1])
    """
    if ends.shape != ids.shape:
        raise ValueError(f"one end per token: ids are {tuple(ids.shape)}, ends {tuple(ends.shape)}")
    cuts = ends[:-1].nonzero().flatten() + 1
    sentences = ids.tensor_split(cuts.cpu())
    return torch.cat([sentences[i] for i in torch.randperm(len(sentences), generator=generator)])


def rotate_document(ids: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
    """Begin ``ids (T,)`` at a random token, and put what came before it at the end.

    Lewis et al. 2020, section 2.2, "document rotation": the model is to find the beginning. ``generator`` is
    the source of the random number.

    Raises:
        ValueError: the text is empty.

    Example:
        >>> rotate_document(torch.tensor([5, 6, 7, 8]), generator=torch.Generator().manual_seed(0))
        tensor([5, 6, 7, 8])
    """
    if not len(ids):
        raise ValueError("an empty text has no token to begin with")
    return ids.roll(-int(torch.randint(len(ids), (), generator=generator)))


def _chosen(ids: Tensor, mask_prob: float, generator: torch.Generator | None) -> Tensor:
    require_probability(mask_prob)
    return torch.rand(ids.shape, generator=generator, device=ids.device) < mask_prob


def _span_lengths(budget: int, mean: float, generator: torch.Generator | None) -> list[int]:
    """Lengths of spans, some of them zero, that add up to ``budget``."""
    lengths: list[int] = []
    left = budget
    while left > 0:
        lengths.append(min(left, int(torch.poisson(torch.tensor(mean), generator=generator))))
        left -= lengths[-1]
    return lengths

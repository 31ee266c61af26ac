"""Span masking: hide several words in a row, and predict them from the tokens around them as well."""

from collections.abc import Collection
from typing import NamedTuple

import torch
from torch import Tensor

from pioneers.objectives.masked_lm import Shares, hide, require_probability, require_word_ids


class MaskedSpans(NamedTuple):
    """Texts with hidden spans, all ``(B, T)``.

    Attributes:
        input_ids: the corrupted ids.
        targets: the original tokens in the spans and -100 elsewhere.
        left: in a span, the position of the token before it; elsewhere the token's own.
        right: in a span, the position of the token after it; elsewhere the token's own.
    """

    input_ids: Tensor
    targets: Tensor
    left: Tensor
    right: Tensor

    def boundaries(self, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """``hidden (B, T, D)`` → the states before and after the span of each of the M hidden tokens.

        They are ``(M, D)``, in reading order; the third tensor ``(M,)`` is the token's place in its span.

        Example:
            >>> left, right = torch.tensor([[0, 0, 0, 3]]), torch.tensor([[0, 3, 3, 3]])
            >>> spans = MaskedSpans(left, torch.tensor([[-100, 7, 8, -100]]), left, right)
            >>> before, after, place = spans.boundaries(torch.arange(4.0).view(1, 4, 1))
            >>> before.flatten(), after.flatten(), place
            (tensor([0., 0.]), tensor([3., 3.]), tensor([0, 1]))
        """
        row, token = (self.targets != -100).nonzero(as_tuple=True)  # (M,) each
        before, after = self.left[row, token], self.right[row, token]
        return hidden[row, before], hidden[row, after], token - before - 1


def span_masking(
    input_ids: Tensor,
    *,
    mask_id: int,
    vocab_size: int,
    special_ids: Collection[int],
    mask_prob: float = 0.15,
    shares: Shares = (0.8, 0.1, 0.1),
    word_ids: Tensor | None = None,
    max_words: int = 10,
    generator: torch.Generator | None = None,
) -> MaskedSpans:
    """Hide spans of words until they are ``mask_prob`` of ``input_ids (B, T)``.

    The words of a span are a number from 1 to ``max_words``, geometrically distributed with p = 0.2: 3.8 in
    the mean. The last span of a text is cut to what is left of the share. A visible token is kept on either
    side of every span, and all such arrangements of the spans are equally likely. A span is masked, random
    or kept as one. Joshi et al. 2020, section 3.1; the loss is the sum of two :func:`masked_lm_loss`, of
    BERT's head and of :class:`~pioneers.models.SpanBoundaryHead`: section 3.2.

    Args:
        input_ids: each row one text between special tokens: ``[CLS] text [SEP]``, padded.
        mask_id: id of ``[MASK]``.
        vocab_size: V; random tokens are sampled from all of it except the special ones.
        special_ids: ids that are never chosen and never sampled: padding, [CLS], [SEP], [MASK].
        mask_prob: share of the words to hide.
        shares: of masked, random and kept spans.
        word_ids: ``(B, T)``, the number of the word that each token belongs to; if omitted, every token is
            a word.
        max_words: length of the longest span.
        generator: source of the random numbers.

    Raises:
        ValueError: a row is not one text between special tokens, or a number is out of range.

    Example:
        >>> ids = torch.tensor([[2, 7, 8, 9, 3]])
        >>> how = {"mask_id": 4, "vocab_size": 11, "special_ids": [2, 3], "shares": (1.0, 0.0, 0.0)}
        >>> span_masking(ids, mask_prob=0.4, **how, generator=torch.Generator().manual_seed(0))[:2]
        (tensor([[2, 7, 8, 4, 3]]), tensor([[-100, -100, -100,    9, -100]]))
    """
    require_probability(mask_prob)
    if max_words < 1:
        raise ValueError(f"max_words must be at least 1, not {max_words}")
    special = torch.tensor(sorted({*special_ids, mask_id}), device=input_ids.device)
    texts = ~torch.isin(input_ids, special)
    left = torch.arange(input_ids.shape[1], device=input_ids.device).repeat(len(input_ids), 1)  # (B, T)
    right, chosen = left.clone(), torch.zeros_like(texts)
    words = left if word_ids is None else require_word_ids(word_ids, input_ids)
    for row, text in enumerate(texts):
        starts = _word_starts(text, words[row])
        for first, after in _spans_of_words(len(starts) - 1, mask_prob, max_words, generator):
            start, stop = starts[first], starts[after]
            chosen[row, start:stop] = True
            left[row, start:stop], right[row, start:stop] = start - 1, stop
    hidden = hide(
        input_ids,
        chosen,
        special,
        mask_id=mask_id,
        vocab_size=vocab_size,
        shares=shares,
        groups=left,
        generator=generator,
    )
    return MaskedSpans(*hidden, left, right)


def _word_starts(text: Tensor, word_ids: Tensor) -> list[int]:
    """Where each word of a row begins, and where the last one ends; ``text`` is True at ordinary tokens."""
    places = text.nonzero().flatten()
    if not len(places):
        return [0]
    begin, end = int(places[0]), int(places[-1]) + 1
    if begin == 0 or end == len(text) or len(places) < end - begin:
        raise ValueError("span masking needs one text per row, between special tokens: [CLS] text [SEP]")
    new = word_ids[begin + 1 : end] != word_ids[begin : end - 1]
    return [begin, *(new.nonzero().flatten() + begin + 1).tolist(), end]


def _spans_of_words(
    count: int, share: float, max_words: int, generator: torch.Generator | None
) -> list[tuple[int, int]]:
    """Choose spans among ``count`` words: half-open ranges, at least one word between two of them."""
    left, lengths = round(count * share), []
    geometric = 0.2 * 0.8 ** torch.arange(max_words)
    while left > 0:
        drawn = int(geometric.multinomial(1, generator=generator)) + 1
        lengths.append(min(drawn, left))
        left -= lengths[-1]
    kept = count - sum(lengths)
    if len(lengths) > kept + 1:
        raise ValueError(
            f"{len(lengths)} spans in {count} words leave too few visible words between them: lower mask_prob"
        )
    gaps = torch.randperm(kept + 1, generator=generator)[: len(lengths)].sort().values.tolist()
    spans, hidden = [], 0
    for gap, length in zip(gaps, lengths, strict=True):
        spans.append((gap + hidden, gap + hidden + length))
        hidden += length
    return spans

"""Span corruption: cut spans out of a text, and write them down one after the other."""

from collections.abc import Sequence

import torch
from torch import Tensor

Span = tuple[int, int]


def corrupt_spans(ids: Tensor, spans: Sequence[Span], sentinels: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Replace each span of ``ids (T,)`` by a sentinel; returns the inputs and the targets.

    The targets are each sentinel with the tokens that it replaced, then one more sentinel, which says that
    nothing follows; where a text ends with a span, the authors' program has the end-of-text token instead.
    Raffel et al. 2020, section 3.1.4 and figure 2.

    Args:
        ids: token ids of one text.
        spans: half-open ranges from left to right, none empty, at least one token between two of them.
        sentinels: their ids in order, one more than there are spans; T5's count down from the end of its
            vocabulary.

    Raises:
        ValueError: the spans overlap, touch, are empty or leave the text, or the sentinels do not suffice.

    Example:
        >>> text = torch.tensor([10, 11, 12, 13, 14, 15])
        >>> corrupt_spans(text, [(1, 3), (5, 6)], sentinels=[99, 98, 97])
        (tensor([10, 99, 13, 14, 98]), tensor([99, 11, 12, 98, 15, 97]))
    """
    if len(sentinels) <= len(spans):
        raise ValueError(f"{len(spans)} spans need {len(spans) + 1} sentinels, got {len(sentinels)}")
    inputs, targets, end = [], [], 0
    for number, (start, stop) in enumerate(spans):
        if not end + (number > 0) <= start < stop <= len(ids):
            raise ValueError(
                f"span {(start, stop)} after {end} in a text of {len(ids)} tokens: spans must lie in the "
                "text from left to right, with at least one token in each and between two of them"
            )
        mark = ids.new_tensor([sentinels[number]])
        inputs += [ids[end:start], mark]
        targets += [mark, ids[start:stop]]
        end = stop
    return torch.cat([*inputs, ids[end:]]), torch.cat([*targets, ids.new_tensor([sentinels[len(spans)]])])


def join_spans(inputs: Tensor, targets: Tensor, sentinels: Sequence[int]) -> Tensor:
    """Put the spans of ``targets`` back into ``inputs``: the inverse of :func:`corrupt_spans`.

    Args:
        inputs: ids of one text with sentinels.
        targets: each sentinel with its tokens, and perhaps a last one without any.
        sentinels: the ids that are sentinels. No token of the text may be one.

    Raises:
        ValueError: the targets do not begin with a sentinel, or have none for a sentinel of the inputs.

    Example:
        >>> inputs, targets = torch.tensor([10, 99, 13, 98]), torch.tensor([99, 11, 12, 98, 15, 97])
        >>> join_spans(inputs, targets, sentinels=[99, 98, 97])
        tensor([10, 11, 12, 13, 15])
    """
    spans: dict[int, list[int]] = {}
    for token in targets.tolist():
        if token in sentinels:
            spans[token] = current = []
        elif not spans:
            raise ValueError(f"targets must begin with a sentinel, not with the token {token}")
        else:
            current.append(token)
    if missing := [i for i in inputs.tolist() if i in sentinels and i not in spans]:
        raise ValueError(f"the targets have nothing for the sentinels {missing} of the inputs")
    return inputs.new_tensor([token for i in inputs.tolist() for token in spans.get(i, [i])])


def random_spans(
    length: int,
    *,
    noise_density: float = 0.15,
    mean_span_length: float = 3.0,
    generator: torch.Generator | None = None,
) -> list[Span]:
    """Choose spans that cover ``noise_density`` of ``length`` tokens: half-open ranges from left to right.

    How many tokens and spans there are depends on ``length`` only, so that texts of one length stay so. Kept
    and chosen stretches alternate, the first one kept and the last one chosen, and all divisions into such
    stretches are equally likely. Raffel et al. 2020, section 3.1.4; ``random_spans_noise_mask`` in the
    authors' code.

    Args:
        length: number of tokens of the text.
        noise_density: share of the tokens to choose; at least one is chosen and one kept.
        mean_span_length: chosen tokens per span.
        generator: source of the random numbers.

    Raises:
        ValueError: the text has fewer than two tokens, or a number is out of range.

    Example:
        >>> spans = random_spans(20)
        >>> sum(stop - start for start, stop in spans), len(spans), spans[-1][1]
        (3, 1, 20)
    """
    if length < 2:
        raise ValueError(f"span corruption needs at least two tokens, got {length}")
    if not 0 < noise_density < 1 or mean_span_length < 1:
        raise ValueError(
            "noise_density must be in (0, 1) and mean_span_length at least 1, "
            f"not {noise_density} and {mean_span_length}"
        )
    noise = min(max(round(length * noise_density), 1), length - 1)
    count = min(max(round(noise / mean_span_length), 1), length - noise)
    kept = _random_parts(length - noise, count, generator)
    chosen = _random_parts(noise, count, generator)
    ends = torch.stack([kept, chosen], dim=1).flatten().cumsum(0).tolist()
    return list(zip(ends[::2], ends[1::2], strict=True))


def span_corruption(
    input_ids: Tensor,
    *,
    sentinels: Sequence[int],
    noise_density: float = 0.15,
    mean_span_length: float = 3.0,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Corrupt random spans of every row of ``input_ids (B, T)``; returns the inputs and the targets.

    All rows have equally many spans and chosen tokens (:func:`random_spans`), so nothing needs padding: with
    n tokens in k spans the inputs are ``(B, T - n + k)`` and the targets ``(B, n + k + 1)``. The model's
    decoder reads the targets one step behind; the loss is :func:`seq2seq_loss` without smoothing. The errors
    are those of :func:`random_spans`. Raffel et al. 2020, section 3.1.4.

    Args:
        input_ids: token ids, without padding.
        sentinels: as for :func:`corrupt_spans`.
        noise_density: share of the tokens to choose.
        mean_span_length: chosen tokens per span.
        generator: source of the random numbers.

    Example:
        >>> inputs, targets = span_corruption(torch.arange(40).view(2, 20), sentinels=[99, 98])
        >>> inputs.shape, targets.shape
        (torch.Size([2, 18]), torch.Size([2, 5]))
    """
    how = {"noise_density": noise_density, "mean_span_length": mean_span_length}
    rows = [
        corrupt_spans(row, random_spans(len(row), **how, generator=generator), sentinels) for row in input_ids
    ]
    inputs, targets = zip(*rows, strict=True)
    return torch.stack(inputs), torch.stack(targets)


def _random_parts(total: int, count: int, generator: torch.Generator | None) -> Tensor:
    """Divide ``total`` into ``count`` positive parts, ``(count,)``, all divisions equally likely."""
    cuts = torch.randperm(total - 1, generator=generator)[: count - 1].sort().values + 1
    return torch.diff(cuts, prepend=torch.tensor([0]), append=torch.tensor([total]))

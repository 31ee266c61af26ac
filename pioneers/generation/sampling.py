"""From logits to the next token."""

from collections.abc import Callable

import torch
from torch import Tensor


def filter_logits(
    logits: Tensor, *, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """Reshape the distribution given by ``logits (B, V)``; excluded tokens get −∞.

    Args:
        temperature: divides the logits; below 1 sharpens, above 1 flattens.
        top_k: keep only the k most likely tokens, and those just as likely as the last of them (Fan et al.
            2018).
        top_p: then keep the smallest set of tokens whose probability reaches p (Holtzman et al. 2020).
            The most likely token always stays.

    Raises:
        ValueError: a parameter is out of range.

    Example:
        >>> filter_logits(torch.tensor([[1.0, 3.0, 2.0]]), top_k=2)
        tensor([[-inf, 3., 2.]])
    """
    _check(temperature, top_k, top_p)
    logits = logits / temperature
    if top_k is not None and top_k < logits.shape[-1]:
        kth = logits.topk(top_k).values[..., -1:]
        logits = logits.masked_fill(logits < kth, -torch.inf)
    if top_p is not None:
        ranked, order = logits.sort(descending=True, dim=-1)
        before = ranked.softmax(-1).cumsum(-1) - ranked.softmax(-1)
        outside = (before >= top_p).scatter(-1, order, before >= top_p)
        logits = logits.masked_fill(outside, -torch.inf)
    return logits


def sample(logits: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
    """One token id per row of ``logits (B, V)``, drawn from its softmax by ``generator``; returns ``(B, 1)``.

    Example:
        >>> sample(torch.tensor([[0.0, -torch.inf], [-torch.inf, 0.0]]))
        tensor([[0],
                [1]])
    """
    return torch.multinomial(logits.float().softmax(-1), 1, generator=generator)


def sampler(
    *, temperature: float, top_k: int | None, top_p: float | None, seed: int, device: torch.device
) -> Callable[[Tensor], Tensor]:
    """Make a function that draws one token per row, logits ``(B, V)`` → ids ``(B,)``, as ``generate`` asks.

    Raises:
        ValueError: as in :func:`filter_logits`.
    """
    if top_k != 1:
        _check(temperature, top_k, top_p)
    generator = torch.Generator(device=device).manual_seed(seed)

    def draw(logits: Tensor) -> Tensor:
        if top_k == 1:
            return logits.argmax(-1)
        logits = filter_logits(logits, temperature=temperature, top_k=top_k, top_p=top_p)
        return sample(logits, generator=generator)[:, 0]

    return draw


def _check(temperature: float, top_k: int | None, top_p: float | None) -> None:
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, not {temperature}; for greedy decoding use top_k=1")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, not {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must lie in (0, 1], not {top_p}")

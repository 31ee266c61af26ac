"""Skip-gram with negative sampling: tell the tokens around a token from random ones."""

import torch
import torch.nn.functional as F
from torch import Tensor


def subsample(
    tokens: Tensor, counts: Tensor, *, threshold: float = 1e-5, generator: torch.Generator | None = None
) -> Tensor:
    """Leave out frequent tokens at random: of ``tokens (L,)`` each is kept with probability ``√(t / f)``.

    f is the share of the text that a token makes up, and tokens with f below t are all kept. What remains is
    closer together, so that windows reach further. Mikolov et al. 2013, equation (5).

    Args:
        tokens: ids of a long text.
        counts: ``(V,)``, how often each token occurs, for instance ``tokens.bincount(minlength=V)``.
        threshold: t; the paper's suits a billion tokens, and short texts need a larger one.
        generator: source of the random numbers.

    Raises:
        ValueError: the threshold is not positive.

    Example:
        >>> tokens = torch.tensor([0, 0, 0, 1])
        >>> subsample(tokens, tokens.bincount(), threshold=1.0)  # nothing is more frequent than that
        tensor([0, 0, 0, 1])
    """
    if threshold <= 0:
        raise ValueError(f"threshold must be positive, not {threshold}")
    kept = (threshold * counts.sum() / counts).sqrt()  # (V,), infinite for a token that never occurs
    return tokens[torch.rand(tokens.shape, generator=generator, device=tokens.device) < kept[tokens]]


def skip_gram(
    tokens: Tensor,
    counts: Tensor,
    *,
    window: int = 5,
    num_negatives: int = 5,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Pair ``tokens (L,)`` with those around them; returns centers ``(M,)`` and contexts ``(M, 1 + k)``.

    The first context is a true one. The k others are drawn from all tokens, with probabilities proportional
    to ``counts ** 0.75``; each center reaches a random number of tokens to either side, so that near ones
    count more, as in the authors' program. Mikolov et al. 2013, section 2.2.

    Args:
        tokens: ids of a long text, perhaps from :func:`subsample`.
        counts: ``(V,)``, how often each token occurs.
        window: furthest distance of a context.
        num_negatives: k.
        generator: source of the random numbers.

    Raises:
        ValueError: the window or the number of negatives is smaller than 1.

    Example:
        >>> tokens = torch.tensor([3, 4, 5])
        >>> centers, contexts = skip_gram(tokens, tokens.bincount(), window=1, num_negatives=2)
        >>> centers, contexts[:, 0], contexts.shape
        (tensor([3, 4, 4, 5]), tensor([4, 3, 5, 4]), torch.Size([4, 3]))
    """
    if window < 1 or num_negatives < 1:
        raise ValueError(f"window and num_negatives must be at least 1, not {window} and {num_negatives}")
    device = tokens.device
    offsets = torch.arange(-window, window + 1, device=device)  # (2 window + 1,)
    reach = torch.randint(1, window + 1, (len(tokens), 1), generator=generator, device=device)  # (L, 1)
    places = torch.arange(len(tokens), device=device)[:, None] + offsets  # (L, 2 window + 1)
    inside = (places >= 0) & (places < len(tokens)) & (offsets != 0) & (offsets.abs() <= reach)
    center, column = inside.nonzero(as_tuple=True)  # (M,) each
    noise = counts.double() ** 0.75
    shape = (len(center), num_negatives)
    drawn = noise.multinomial(shape[0] * shape[1], replacement=True, generator=generator).view(shape)
    return tokens[center], torch.cat([tokens[places[center, column]][:, None], drawn], dim=1)


def skip_gram_loss(scores: Tensor) -> Tensor:
    """Compute ``-log σ(s_0) - Σ log σ(-s_i)``, averaged over the rows, in nats. Mikolov et al. 2013, eq. (4).

    Args:
        scores: ``(M, 1 + k)``, of each center with its contexts from :func:`skip_gram`: the first is true.

    Example:
        >>> skip_gram_loss(torch.zeros(1, 6))  # six times log 2: no idea
        tensor(4.1589)
    """
    return -(F.logsigmoid(scores[:, 0]) + F.logsigmoid(-scores[:, 1:]).sum(dim=1)).mean()

"""Masked language modelling: hide some tokens, predict them from both sides."""

from collections.abc import Collection

import torch
import torch.nn.functional as F
from torch import Tensor

# Of masked, random and kept tokens among the chosen.
Shares = tuple[float, float, float]


def masked_lm(
    input_ids: Tensor,
    *,
    mask_id: int,
    vocab_size: int,
    special_ids: Collection[int] = (),
    mask_prob: float = 0.15,
    shares: Shares = (0.8, 0.1, 0.1),
    word_ids: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Corrupt ``input_ids (B, T)``; returns the corrupted ids and the targets, both ``(B, T)``.

    Each token is chosen with probability ``mask_prob``. Of the chosen, 80% become ``[MASK]``, 10% a random
    token and 10% stay as they are; all of them must be predicted. Everywhere else the target is -100.
    Devlin et al. 2019, section 3.1 and appendix A.1.

    Called for every batch anew, this is dynamic masking; with a generator that is seeded with the number of
    the epoch modulo 10 it is static masking, in which a text has ten versions: Liu et al. 2019, section 4.1.

    Args:
        mask_id: id of ``[MASK]``.
        vocab_size: V; random tokens are sampled from all of it except the special ones.
        special_ids: ids that are never chosen and never sampled: padding, [CLS], [SEP], [MASK].
        mask_prob: share of tokens chosen.
        shares: of masked, random and kept tokens among the chosen.
        word_ids: ``(B, T)``, the number of the word that each token belongs to, below T. The pieces of a
            word are chosen together, and then become masked, random or kept one by one: the whole-word
            masking of BERT's authors.
        generator: source of the random numbers.

    Raises:
        ValueError: the shares do not sum to 1, a probability is out of range, or there is not one number of
            a word per token.

    Example:
        >>> special = {"mask_id": 4, "special_ids": [2, 3]}
        >>> ids = torch.tensor([[2, 7, 9, 3]])
        >>> masked_lm(ids, **special, vocab_size=11, mask_prob=1.0, shares=(1.0, 0.0, 0.0))
        (tensor([[2, 4, 4, 3]]), tensor([[-100,    7,    9, -100]]))
    """
    require_probability(mask_prob)
    chance = torch.rand(input_ids.shape, generator=generator, device=input_ids.device)
    if word_ids is not None:
        chance = chance.gather(1, require_word_ids(word_ids, input_ids))
    special = torch.tensor(sorted({*special_ids, mask_id}), device=input_ids.device)
    chosen = (chance < mask_prob) & ~torch.isin(input_ids, special)
    return hide(
        input_ids,
        chosen,
        special,
        mask_id=mask_id,
        vocab_size=vocab_size,
        shares=shares,
        generator=generator,
    )


def require_word_ids(word_ids: Tensor, input_ids: Tensor) -> Tensor:
    """Return ``word_ids`` if they give each token of ``input_ids (B, T)`` the number of its word, below T.

    Raises:
        ValueError: they do not.
    """
    last = input_ids.shape[1] - 1
    if word_ids.shape != input_ids.shape or word_ids.min() < 0 or word_ids.max() > last:
        raise ValueError(f"word_ids must give every token the number of its word, from 0 to T - 1 = {last}")
    return word_ids


def require_probability(mask_prob: float) -> None:
    """Check that ``mask_prob`` is a share of tokens.

    Raises:
        ValueError: it is not in (0, 1].
    """
    if not 0 < mask_prob <= 1:
        raise ValueError(f"mask_prob must be in (0, 1], not {mask_prob}")


def hide(
    input_ids: Tensor,
    chosen: Tensor,
    special_ids: Tensor,
    *,
    mask_id: int,
    vocab_size: int,
    shares: Shares,
    groups: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Hide the ``chosen (B, T)`` tokens of ``input_ids (B, T)``; returns the ids and targets of a masked LM.

    ``groups (B, T)`` are numbers below T: tokens with the same number are all masked, all random or all
    kept; without it each token is on its own. The other arguments are those of :func:`masked_lm`.

    Raises:
        ValueError: the shares do not sum to 1.
    """
    if abs(sum(shares) - 1) > 1e-6 or min(shares) < 0:
        raise ValueError(f"the shares of masked, random and kept tokens must sum to 1, got {shares}")
    ordinary = torch.ones(vocab_size, dtype=torch.bool, device=input_ids.device)
    ordinary[special_ids] = False

    def draw() -> Tensor:
        return torch.rand(input_ids.shape, generator=generator, device=input_ids.device)

    fate = draw() if groups is None else draw().gather(1, groups)
    masked = chosen & (fate < shares[0])
    replaced = chosen & (fate >= shares[0]) & (fate < shares[0] + shares[1])
    candidates = ordinary.nonzero().flatten()
    random_ids = candidates[(draw() * len(candidates)).long()]
    hidden = torch.where(replaced, random_ids, input_ids.masked_fill(masked, mask_id))
    return hidden, input_ids.masked_fill(~chosen, -100)


def masked_lm_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Compute the mean negative log-likelihood, in nats, of the chosen tokens; NaN if none was chosen.

    Args:
        logits: ``(M, V)``, one row per chosen token in reading order, so that the vocabulary projection is
            never computed for the other 85%; or all of them, ``(B, T, V)``.
        targets: ``(B, T)`` with -100 where nothing is to be predicted.

    Raises:
        ValueError: there are fewer or more rows of logits than targets.

    Example:
        >>> masked_lm_loss(torch.zeros(2, 8), torch.tensor([[-100, 7, 1]]))
        tensor(2.0794)
    """
    if logits.ndim == 3:
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)
    wanted = targets[targets != -100]
    if len(wanted) != len(logits):
        raise ValueError(f"{len(logits)} rows of logits for {len(wanted)} tokens to predict")
    return F.cross_entropy(logits, wanted)

"""Masked language modelling: hide some tokens, predict them from both sides."""

from collections.abc import Collection

import torch
import torch.nn.functional as F
from torch import Tensor


def masked_lm(
    input_ids: Tensor,
    *,
    mask_id: int,
    vocab_size: int,
    special_ids: Collection[int] = (),
    mask_prob: float = 0.15,
    shares: tuple[float, float, float] = (0.8, 0.1, 0.1),
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Corrupt ``input_ids (B, T)``; returns the corrupted ids and the targets, both ``(B, T)``.

    Each token is chosen with probability ``mask_prob``. Of the chosen, 80% become ``[MASK]``, 10% a random
    token and 10% stay as they are; all of them must be predicted. Everywhere else the target is -100.
    Devlin et al. 2019, section 3.1 and appendix A.1.

    Args:
        mask_id: id of ``[MASK]``.
        vocab_size: V; random tokens are sampled from all of it except the special ones.
        special_ids: ids that are never chosen and never sampled: padding, [CLS], [SEP], [MASK].
        mask_prob: share of tokens chosen.
        shares: of masked, random and kept tokens among the chosen.
        generator: source of the random numbers.

    Raises:
        ValueError: the shares do not sum to 1, or a probability is out of range.

    Example:
        >>> special = {"mask_id": 4, "special_ids": [2, 3]}
        >>> ids = torch.tensor([[2, 7, 9, 3]])
        >>> masked_lm(ids, **special, vocab_size=11, mask_prob=1.0, shares=(1.0, 0.0, 0.0))
        (tensor([[2, 4, 4, 3]]), tensor([[-100,    7,    9, -100]]))
    """
    if abs(sum(shares) - 1) > 1e-6 or min(shares) < 0:
        raise ValueError(f"the shares of masked, random and kept tokens must sum to 1, got {shares}")
    if not 0 < mask_prob <= 1:
        raise ValueError(f"mask_prob must be in (0, 1], not {mask_prob}")
    device = input_ids.device
    special = torch.tensor(sorted({*special_ids, mask_id}), device=device)
    ordinary = torch.ones(vocab_size, dtype=torch.bool, device=device)
    ordinary[special] = False

    def draw() -> Tensor:
        return torch.rand(input_ids.shape, generator=generator, device=device)

    chosen = (draw() < mask_prob) & ~torch.isin(input_ids, special)
    targets = input_ids.masked_fill(~chosen, -100)
    fate = draw()
    masked = chosen & (fate < shares[0])
    replaced = chosen & (fate >= shares[0]) & (fate < shares[0] + shares[1])
    candidates = ordinary.nonzero().flatten()
    random_ids = candidates[(draw() * len(candidates)).long()]
    return torch.where(replaced, random_ids, input_ids.masked_fill(masked, mask_id)), targets


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

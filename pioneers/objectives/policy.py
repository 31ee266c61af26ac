"""Reinforcement learning of a language model by PPO: rewards, advantages and losses, token by token.

All tensors are ``(B, T)``, one number for each position of an answer that the model sampled; ``mask`` is True
at the tokens of the answer and False elsewhere. Nothing here knows a model.
"""

import torch
from torch import Tensor


def clipped_objective(
    log_probs: Tensor, old_log_probs: Tensor, advantages: Tensor, *, clip: float = 0.2
) -> Tensor:
    """Return PPO's objective for each token, which is to be maximised: Schulman et al. 2017, equation (7).

    The smaller of ``r A`` and ``clamp(r, 1 - clip, 1 + clip) A``, where r is the ratio of the probabilities
    now and at the time of sampling. A token that became likelier by more than ``clip`` gets no further
    gradient from a positive advantage, and the reverse.

    Args:
        log_probs: of the sampled tokens now, of any shape.
        old_log_probs: of the same tokens when they were sampled; no gradient flows into them.
        advantages: how much better than expected each token was; no gradient flows into them.
        clip: how far the ratio may usefully move from 1.

    Raises:
        ValueError: ``clip`` is not in (0, 1), or the log-probabilities differ in shape.

    Example:
        >>> now, then = torch.tensor([0.9, 0.1]).log(), torch.tensor([0.5, 0.2]).log()
        >>> clipped_objective(now, then, torch.tensor([1.0, -1.0]))  # min(1.8, 1.2), min(-0.5, -0.8)
        tensor([ 1.2000, -0.8000])
    """
    if not 0 < clip < 1:
        raise ValueError(f"clip must lie between 0 and 1, not {clip}")
    _require_same_shape("log-probabilities now and then", log_probs, old_log_probs)
    ratio = (log_probs - old_log_probs.detach()).exp()
    advantages = advantages.detach()
    return torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Average ``values`` over the positions where ``mask`` is True.

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> masked_mean(torch.tensor([[1.0, 3.0, 50.0]]), torch.tensor([[True, True, False]]))
        tensor(2.)
    """
    _require_same_shape("values and mask", values, mask)
    return values.where(mask, 0).sum() / mask.sum()


def ppo_loss(
    log_probs: Tensor, old_log_probs: Tensor, advantages: Tensor, mask: Tensor, *, clip: float = 0.2
) -> Tensor:
    """Average the negative :func:`clipped_objective` over all tokens of all answers.

    Args:
        log_probs: of the sampled tokens now, ``(B, T)``.
        old_log_probs: of the same tokens when they were sampled.
        advantages: of :func:`generalized_advantages`.
        mask: True at the tokens of the answer.
        clip: how far the ratio may usefully move from 1.

    Raises:
        ValueError: as in :func:`clipped_objective`, or the mask has another shape.

    Example:
        >>> zeros = torch.zeros(1, 2)
        >>> ppo_loss(zeros, zeros, torch.tensor([[1.0, 3.0]]), torch.tensor([[True, True]]))
        tensor(-2.)
    """
    return -masked_mean(clipped_objective(log_probs, old_log_probs, advantages, clip=clip), mask)


def value_loss(values: Tensor, returns: Tensor, mask: Tensor) -> Tensor:
    """Compute half the mean squared error of the values: Schulman et al. 2017, equation (9), halved.

    Args:
        values: what the value model expects from each position on, ``(B, T)``.
        returns: of :func:`generalized_advantages`; no gradient flows into them.
        mask: True at the tokens of the answer.

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> value_loss(torch.tensor([[3.0, 9.0]]), torch.tensor([[1.0, 0.0]]), torch.tensor([[True, False]]))
        tensor(2.)
    """
    _require_same_shape("values and returns", values, returns)
    return masked_mean((values - returns.detach()).square() / 2, mask)


def kl_rewards(
    scores: Tensor, log_probs: Tensor, reference_log_probs: Tensor, mask: Tensor, *, beta: float
) -> Tensor:
    """Return the reward of each token: a penalty for leaving the reference, and at the end the score.

    The penalty is ``beta (log π - log π_ref)`` of the sampled token. Summed over an answer, it is in
    expectation beta times the KL divergence from the reference: Ouyang et al. 2022, equation (2).

    Args:
        scores: of the whole answers, ``(B,)``, from a reward model.
        log_probs: of the sampled tokens when they were sampled, ``(B, T)``.
        reference_log_probs: of the same tokens under the model before training.
        mask: True at the tokens of the answer; each row has at least one.
        beta: the weight of the penalty.

    Returns:
        ``(B, T)``, without gradient and zero outside the mask.

    Raises:
        ValueError: the shapes differ, a row of the mask is empty, or ``beta`` is negative.

    Example:
        >>> mask = torch.tensor([[False, True, True]])
        >>> logs = torch.tensor([[-9.0, -1.0, -2.0]]), torch.tensor([[-7.0, -3.0, -2.0]])
        >>> kl_rewards(torch.tensor([5.0]), *logs, mask, beta=0.5)
        tensor([[ 0., -1.,  5.]])
    """
    _require_same_shape("log-probabilities of policy and reference", log_probs, reference_log_probs)
    _require_same_shape("log-probabilities and mask", log_probs, mask)
    if beta < 0:
        raise ValueError(f"beta must be at least 0, not {beta}: a negative one rewards leaving the reference")
    if not mask.any(dim=1).all():
        raise ValueError("an answer has no token: leave out rows whose mask is empty")
    penalty = beta * (log_probs - reference_log_probs).detach()
    positions = torch.arange(mask.shape[1], device=mask.device)
    last = (positions * mask).argmax(dim=1, keepdim=True)  # (B, 1)
    return (-penalty).where(mask, 0).scatter_add(1, last, scores.detach()[:, None].to(penalty.dtype))


def generalized_advantages(
    rewards: Tensor, values: Tensor, mask: Tensor, *, discount: float = 1.0, smoothing: float = 0.95
) -> tuple[Tensor, Tensor]:
    """Say how much better than expected each token was: Schulman et al. 2016, equations (11) and (16).

    The surprise of one step is ``δ = reward + discount · next value - value``; after the last token of an
    answer the value is 0. An advantage is the sum of the surprises from here on, each step further ahead
    multiplied once more by ``discount · smoothing``. With smoothing 0 it is δ alone, with 1 it is all that
    is still to come, minus the value.

    Args:
        rewards: of each token, ``(B, T)``, as from :func:`kl_rewards`.
        values: expected before each token, of the rest of the answer.
        mask: True at the tokens of the answer, which follow each other without a gap.
        discount: γ, weight of the next step's reward against this one's.
        smoothing: λ, from 0 (trust the values) to 1 (trust the sampled rewards).

    Returns:
        advantages and returns (advantages plus values), both ``(B, T)``, without gradient, zero outside the
        mask.

    Raises:
        ValueError: the shapes differ, or a factor is not in [0, 1].

    Example:
        >>> mask = torch.tensor([[True, True, True]])
        >>> rewards, values = torch.tensor([[0.0, 0.0, 1.0]]), torch.tensor([[0.5, 0.5, 0.5]])
        >>> generalized_advantages(rewards, values, mask, smoothing=0.5)
        (tensor([[0.1250, 0.2500, 0.5000]]), tensor([[0.6250, 0.7500, 1.0000]]))
    """
    _require_same_shape("rewards and values", rewards, values)
    _require_same_shape("rewards and mask", rewards, mask)
    for name, factor in (("discount", discount), ("smoothing", smoothing)):
        if not 0 <= factor <= 1:
            raise ValueError(f"{name} must lie between 0 and 1, not {factor}")
    rewards, values = rewards.detach().where(mask, 0), values.detach().where(mask, 0)
    advantages = torch.zeros_like(values)
    later = next_value = torch.zeros_like(values[:, 0])  # (B,)
    for t in reversed(range(values.shape[1])):
        surprise = rewards[:, t] + discount * next_value - values[:, t]
        later = (surprise + discount * smoothing * later).where(mask[:, t], 0)
        advantages[:, t], next_value = later, values[:, t]
    return advantages, (advantages + values).where(mask, 0)


def _require_same_shape(names: str, first: Tensor, second: Tensor) -> None:
    if first.shape != second.shape:
        raise ValueError(f"{names} differ in shape: {tuple(first.shape)} and {tuple(second.shape)}")

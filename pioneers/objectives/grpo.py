"""GRPO: several answers to one prompt are graded against each other. Shao et al. 2024 (DeepSeekMath).

What PPO needs a value model for, the expected reward, is here the mean reward of the group. Nothing here
knows a model; :func:`~pioneers.objectives.token_log_probs` makes log-probabilities of its logits.
"""

from torch import Tensor

from pioneers.objectives.policy import clipped_objective, masked_mean

AVERAGES = ("answers", "tokens")


def group_advantages(rewards: Tensor, *, scale: bool = True, eps: float = 1e-4) -> Tensor:
    """Say how much better than the others of its group each answer is: Shao et al. 2024, section 4.1.2.

    The reward minus the mean of the group, divided by the group's standard deviation. A group with equal
    rewards gets zeros: it has nothing to teach.

    Args:
        rewards: ``(B, G)``, those of the G answers to each of B prompts.
        scale: whether to divide. Without it: Dr. GRPO, Liu et al. 2025, section 3.2.
        eps: added to the standard deviation.

    Returns:
        ``(B, G)``, without gradient.

    Raises:
        ValueError: the rewards are not a table of groups.

    Example:
        >>> import torch
        >>> group_advantages(torch.tensor([[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]), scale=False)
        tensor([[ 0.7500, -0.2500, -0.2500, -0.2500],
                [ 0.0000,  0.0000,  0.0000,  0.0000]])
    """
    if rewards.ndim != 2 or rewards.numel() == 0:
        raise ValueError(f"rewards are a row of G for each prompt, (B, G), not {tuple(rewards.shape)}")
    rewards = rewards.detach()
    advantages = rewards - rewards.mean(dim=1, keepdim=True)
    if not scale:
        return advantages
    return advantages / (rewards.std(dim=1, keepdim=True, correction=0) + eps)


def kl_estimate(log_probs: Tensor, reference_log_probs: Tensor) -> Tensor:
    """Estimate the KL divergence from the reference at each sampled token: Shao et al. 2024, equation (4).

    With d = log π_ref - log π it is ``exp(d) - d - 1``: never negative, and right on average for tokens
    sampled from π. Schulman (2020) calls it k3.

    Args:
        log_probs: of the sampled tokens under the model π, of any shape.
        reference_log_probs: of the same tokens under the reference; no gradient flows into them.

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> import torch
        >>> kl_estimate(torch.tensor([0.5, 0.2]).log(), torch.tensor([0.5, 0.4]).log())
        tensor([0.0000, 0.3069])
    """
    if log_probs.shape != reference_log_probs.shape:
        raise ValueError(
            f"log-probabilities of model and reference differ in shape: {tuple(log_probs.shape)} and "
            f"{tuple(reference_log_probs.shape)}"
        )
    difference = reference_log_probs.detach() - log_probs
    return difference.exp() - difference - 1


def grpo_loss(
    log_probs: Tensor,
    old_log_probs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    reference_log_probs: Tensor | None = None,
    beta: float = 0.0,
    clip: float = 0.2,
    average: str = "answers",
) -> Tensor:
    """Compute GRPO's loss: the negative of Shao et al. 2024, equation (3).

    Every token of an answer has the advantage of the answer. PPO's clipped objective, minus ``beta`` times
    :func:`kl_estimate`, is averaged over the tokens of each answer and then over the answers.

    Args:
        log_probs: of the sampled tokens now, ``(B, T)``; here B counts answers.
        old_log_probs: of the same tokens when they were sampled; no gradient flows into them.
        advantages: of the answers, ``(B,)``, from :func:`group_advantages`.
        mask: True at the tokens of the answer, its stop token among them, ``(B, T)``.
        reference_log_probs: of the same tokens under the reference; needed where ``beta`` is not 0.
        beta: weight of the penalty for leaving the reference.
        clip: as in :func:`clipped_objective`.
        average: ``"answers"`` weighs all answers alike, as in the paper; ``"tokens"`` weighs all tokens
            alike, so long answers count more (DAPO, Yu et al. 2025, section 3.3).

    Raises:
        ValueError: shapes differ, an answer is empty, the reference is missing, or the average is unknown.

    Example:
        >>> import torch
        >>> mask = torch.tensor([[True, False, False], [True, True, True]])
        >>> logs, advantages = torch.zeros(2, 3), torch.tensor([1.0, -1.0])
        >>> [grpo_loss(logs, logs, advantages, mask, average=name).item() for name in AVERAGES]
        [-0.0, 0.5]
    """
    if advantages.shape != log_probs.shape[:1] or mask.shape != log_probs.shape:
        raise ValueError(
            f"log_probs {tuple(log_probs.shape)} need one advantage per row and a mask of their own shape, "
            f"not {tuple(advantages.shape)} and {tuple(mask.shape)}"
        )
    if average not in AVERAGES:
        raise ValueError(f"average must be one of {', '.join(AVERAGES)}, not {average!r}")
    if not mask.any(dim=1).all():
        raise ValueError("an answer has no token: leave out rows whose mask is empty")
    objective = clipped_objective(
        log_probs, old_log_probs, advantages[:, None].expand_as(log_probs), clip=clip
    )
    if beta:
        if reference_log_probs is None:
            raise ValueError(f"beta={beta} weighs a distance to a reference: give reference_log_probs")
        objective = objective - beta * kl_estimate(log_probs, reference_log_probs)
    if average == "tokens":
        return -masked_mean(objective, mask)
    return -(objective.where(mask, 0).sum(dim=1) / mask.sum(dim=1)).mean()

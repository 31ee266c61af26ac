"""Learning from pairs of answers, of which somebody preferred one: a reward model, or DPO without one."""

import torch.nn.functional as F
from torch import Tensor


def reward_pair_loss(chosen: Tensor, rejected: Tensor) -> Tensor:
    """Average ``-log σ(chosen - rejected)``, the Bradley-Terry model of a choice, in nats.

    Ouyang et al. 2022, equation (1). Only the difference counts: a reward has no zero.

    Args:
        chosen: the reward model's scores of the preferred answers, ``(B,)``.
        rejected: those of the other answers to the same prompts.

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> import torch
        >>> reward_pair_loss(torch.tensor([2.0, 7.0]), torch.tensor([2.0, 7.0]))  # log 2: no idea
        tensor(0.6931)
    """
    _require_same_shape(chosen, rejected)
    return -F.logsigmoid(chosen - rejected).mean()


def answer_mask(prompt_lengths: Tensor, lengths: Tensor, seq_len: int) -> Tensor:
    """Mark the targets that belong to the answer: boolean ``(B, T)`` for rows of ``T + 1`` tokens.

    Target t is token t + 1, so an answer that begins with token p is marked from target p - 1 on.

    Args:
        prompt_lengths: number of tokens of each prompt, ``(B,)``, at least 1.
        lengths: of prompt and answer together, without the padding on the right, ``(B,)``.
        seq_len: T, the number of targets.

    Raises:
        ValueError: a prompt is empty, or a text is longer than ``T + 1`` tokens or shorter than its prompt.

    Example:
        >>> import torch
        >>> answer_mask(torch.tensor([2]), torch.tensor([4]), 5).int()  # tokens 2 and 3
        tensor([[0, 1, 1, 0, 0]], dtype=torch.int32)
    """
    if prompt_lengths.min() < 1 or lengths.max() > seq_len + 1 or (lengths < prompt_lengths).any():
        raise ValueError(
            f"prompts need at least one token and texts at most {seq_len + 1}, of which the prompt is a part"
        )
    token = prompt_lengths.new_tensor(range(1, seq_len + 1))  # (T,)
    return (token >= prompt_lengths[:, None]) & (token < lengths[:, None])


def token_log_probs(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the log-probability of each target, in nats, ``(B, T)``.

    Args:
        logits: ``(B, T, V)``, those at position t for target t.
        targets: ``(B, T)``, as from :func:`causal_lm`.

    Raises:
        ValueError: there are not as many logits as targets.

    Example:
        >>> import torch
        >>> token_log_probs(torch.zeros(1, 2, 8), torch.tensor([[3, 5]]))  # - log 8
        tensor([[-2.0794, -2.0794]])
    """
    if logits.shape[:-1] != targets.shape:
        raise ValueError(
            f"logits {tuple(logits.shape)} do not fit targets {tuple(targets.shape)}: give (B, T, V), (B, T)"
        )
    return -F.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none").view_as(targets)


def sequence_log_probs(logits: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """Return the log-probability of each answer, given its prompt: a sum over its tokens, ``(B,)``, in nats.

    Args:
        logits: ``(B, T, V)``, those at position t for target t.
        targets: ``(B, T)``, the tokens one place to the left, as from :func:`causal_lm`.
        mask: True at the targets that belong to the answer, as from :func:`answer_mask`.

    Raises:
        ValueError: the shapes do not fit.

    Example:
        >>> import torch
        >>> mask = torch.tensor([[False, True, True]])
        >>> sequence_log_probs(torch.zeros(1, 3, 8), torch.tensor([[1, 2, 3]]), mask)  # - 2 log 8
        tensor([-4.1589])
    """
    log_probs = token_log_probs(logits, targets)
    _require_same_shape(log_probs, mask)
    return log_probs.where(mask, 0).sum(dim=-1)


def dpo_loss(
    chosen: Tensor, rejected: Tensor, reference_chosen: Tensor, reference_rejected: Tensor, *, beta: float
) -> Tensor:
    """Average ``-log σ(β (log-ratio of the chosen - log-ratio of the rejected))``, in nats.

    The log-ratio of an answer is its log-probability minus that under the reference, the model before
    training; times β it is the reward that the model implies. Rafailov et al. 2023, equation (7).

    Args:
        chosen: log-probabilities of the preferred answers, ``(B,)``, from :func:`sequence_log_probs`.
        rejected: those of the other answers to the same prompts.
        reference_chosen: of the preferred answers under the reference; no gradient flows into them.
        reference_rejected: of the other answers under the reference.
        beta: β. The larger, the smaller the change that already counts as enough.

    Raises:
        ValueError: the shapes differ, or ``beta`` is not positive.

    Example:
        >>> import torch
        >>> logs = torch.tensor([-40.0]), torch.tensor([-50.0])
        >>> dpo_loss(*logs, *logs, beta=0.1)  # nothing learned yet: log 2
        tensor(0.6931)
    """
    for other in (rejected, reference_chosen, reference_rejected):
        _require_same_shape(chosen, other)
    _require_positive_beta(beta)
    chosen_ratio = chosen - reference_chosen.detach()
    rejected_ratio = rejected - reference_rejected.detach()
    return -F.logsigmoid(beta * (chosen_ratio - rejected_ratio)).mean()


def simpo_loss(
    chosen: Tensor,
    rejected: Tensor,
    chosen_lengths: Tensor,
    rejected_lengths: Tensor,
    *,
    beta: float,
    margin: float = 0.0,
) -> Tensor:
    """Compare log-probabilities per token, without a reference: SimPO, Meng et al. 2024, equation (6).

    The sum in DPO's loss grows with an answer's length; a mean does not.

    Args:
        chosen: log-probabilities of the preferred answers, ``(B,)``, from :func:`sequence_log_probs`.
        rejected: those of the other answers to the same prompts.
        chosen_lengths: number of tokens of each preferred answer, ``(B,)``.
        rejected_lengths: number of tokens of each other answer.
        beta: β, here for means, so larger than in :func:`dpo_loss`; 2 to 2.5 in the paper.
        margin: γ, by how much β times the difference of the means has to exceed 0 for a loss of log 2.

    Raises:
        ValueError: the shapes differ, an answer is empty, or ``beta`` is not positive.

    Example:
        >>> import torch
        >>> lengths = torch.tensor([20]), torch.tensor([25])  # both -2 nats a token: log 2
        >>> simpo_loss(torch.tensor([-40.0]), torch.tensor([-50.0]), *lengths, beta=2.0)
        tensor(0.6931)
    """
    for other in (rejected, chosen_lengths, rejected_lengths):
        _require_same_shape(chosen, other)
    _require_positive_beta(beta)
    if min(chosen_lengths.min(), rejected_lengths.min()) < 1:
        raise ValueError("an answer has no token: leave out such pairs")
    difference = chosen / chosen_lengths - rejected / rejected_lengths
    return -F.logsigmoid(beta * difference - margin).mean()


def _require_positive_beta(beta: float) -> None:
    if beta <= 0:
        raise ValueError(f"beta must be positive, not {beta}")


def _require_same_shape(first: Tensor, second: Tensor) -> None:
    if first.shape != second.shape:
        raise ValueError(f"a pair needs equal shapes, not {tuple(first.shape)} and {tuple(second.shape)}")

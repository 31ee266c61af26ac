"""Distillation: a small student learns from what a large teacher says about every class."""

import torch.nn.functional as F
from torch import Tensor


def soft_target_loss(logits: Tensor, teacher_logits: Tensor, *, temperature: float = 2.0) -> Tensor:
    """Compute ``T² KL(teacher ‖ student)`` at temperature T, in nats, averaged over the rows.

    A temperature above 1 makes the teacher's small probabilities count. The factor T² keeps the size of the
    gradient, which the softmax divides by it. The cross-entropy with the teacher differs from this by the
    teacher's entropy, which the student cannot change. Hinton et al. 2015, section 2; Sanh et al. 2019,
    section 2.

    Args:
        logits: the student's, ``(…, V)``; leave out rows of padding.
        teacher_logits: the same shape; no gradient flows into them.
        temperature: T, by which the logits of both are divided.

    Raises:
        ValueError: the temperature is not positive, or the shapes differ.

    Example:
        >>> import torch
        >>> soft_target_loss(torch.zeros(1, 2), torch.tensor([[9.0, -9]]), temperature=1.0)  # log 2
        tensor(0.6931)
    """
    _require_same_shape(logits, teacher_logits)
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, not {temperature}")
    student = (logits / temperature).flatten(0, -2).log_softmax(dim=-1)
    teacher = (teacher_logits.detach() / temperature).flatten(0, -2).log_softmax(dim=-1)
    return temperature**2 * F.kl_div(student, teacher, reduction="batchmean", log_target=True)


def hidden_cosine_loss(hidden: Tensor, teacher_hidden: Tensor) -> Tensor:
    """Average ``1 - cos`` of the angle between the hidden states of student and teacher.

    Sanh et al. 2019, section 2, where it aligns their directions and is added to the soft targets and the
    masked-LM loss.

    Args:
        hidden: the student's, ``(…, D)``; leave out rows of padding.
        teacher_hidden: the same shape; no gradient flows into them.

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> import torch
        >>> hidden_cosine_loss(torch.tensor([[1.0, 0], [1, 0]]), torch.tensor([[3.0, 0], [0, 2]]))
        tensor(0.5000)
    """
    _require_same_shape(hidden, teacher_hidden)
    return (1 - F.cosine_similarity(hidden, teacher_hidden.detach(), dim=-1)).mean()


def distillation_token_loss(
    logits: Tensor, distilled_logits: Tensor, targets: Tensor, teacher_logits: Tensor
) -> Tensor:
    """Compute half the cross-entropy of the labels and half that of the teacher's choices, in nats.

    Each half has logits of its own: those of the class token learn the labels, those of the distillation
    token the class that the teacher ranks first. Touvron et al. 2021, section 4, equation (3).

    Args:
        logits: of the student's class token, ``(B, C)``.
        distilled_logits: of its distillation token, ``(B, C)``.
        targets: labels ``(B,)``, or probabilities ``(B, C)`` where images or labels are mixed.
        teacher_logits: of the same images, ``(B, C)``; no gradient flows into them.

    Raises:
        ValueError: the logits differ in shape.

    Example:
        >>> import torch
        >>> sure = torch.tensor([[20.0, 0, 0]])
        >>> distillation_token_loss(sure, torch.zeros(1, 3), torch.tensor([0]), sure)  # log 3 / 2
        tensor(0.5493)
    """
    _require_same_shape(logits, teacher_logits)
    _require_same_shape(distilled_logits, teacher_logits)
    teacher_says = teacher_logits.argmax(dim=-1)  # (B,)
    return (F.cross_entropy(logits, targets) + F.cross_entropy(distilled_logits, teacher_says)) / 2


def _require_same_shape(student: Tensor, teacher: Tensor) -> None:
    if student.shape != teacher.shape:
        raise ValueError(f"student and teacher differ: {tuple(student.shape)} and {tuple(teacher.shape)}")

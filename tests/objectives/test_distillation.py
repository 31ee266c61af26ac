import math

import pytest
import torch
import torch.nn.functional as F

from pioneers.objectives import distillation_token_loss, hidden_cosine_loss, soft_target_loss

B, T, V, D = 3, 5, 7, 11


def logits(seed, dtype=torch.float64):
    return torch.randn(B, T, V, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def test_two_classes_have_a_closed_form():
    for temperature in (0.5, 1.0, 3.0):
        a, b = 1.3, -0.4  # differences of the logits of teacher and student
        p, q = (1 / (1 + math.exp(-x / temperature)) for x in (a, b))
        expected = temperature**2 * (p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q)))
        student, teacher = torch.tensor([[0.2 + b, 0.2]]), torch.tensor([[a - 5, -5.0]])
        loss = soft_target_loss(student, teacher, temperature=temperature)
        assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_it_is_the_cross_entropy_of_every_row_without_the_teachers_entropy():
    student, teacher = logits(0), logits(1)
    p, q = (teacher / 3).softmax(-1), (student / 3).softmax(-1)
    rows = [9 * (p[b, t] * (p[b, t] / q[b, t]).log()).sum() for b in range(B) for t in range(T)]
    expected = sum(rows) / (B * T)
    torch.testing.assert_close(soft_target_loss(student, teacher, temperature=3.0), expected)


def test_when_it_is_hot_the_logits_are_matched():
    """Hinton et al. 2015, equation (4): the gradient for logits of mean zero, times T²."""
    student, teacher = (x - x.mean(-1, keepdim=True) for x in (logits(0), logits(1)))
    student.requires_grad_()
    loss = soft_target_loss(student, teacher, temperature=1e4)
    torch.testing.assert_close(loss, F.mse_loss(student, teacher) / 2, rtol=1e-3, atol=0)
    (grad,) = torch.autograd.grad(loss, student)
    torch.testing.assert_close(grad, (student - teacher) / V / (B * T), rtol=1e-2, atol=1e-6)


def test_the_teacher_is_not_trained():
    student, teacher = logits(0).requires_grad_(), logits(1).requires_grad_()
    (soft_target_loss(student, teacher) + hidden_cosine_loss(student, teacher)).backward()
    assert student.grad.any()
    assert teacher.grad is None
    for loss in (soft_target_loss, hidden_cosine_loss):
        torch.testing.assert_close(loss(teacher, teacher).item(), 0.0, atol=1e-9, rtol=0)


def test_cosine_loss_is_one_minus_the_cosine():
    student = torch.randn(B, T, D, generator=torch.Generator().manual_seed(0))
    teacher = torch.randn(B, T, D, generator=torch.Generator().manual_seed(1))
    cosines = [
        (a @ b / math.sqrt((a @ a) * (b @ b))).item()
        for a, b in zip(student.flatten(0, 1), teacher.flatten(0, 1), strict=True)
    ]
    expected = 1 - sum(cosines) / (B * T)
    assert hidden_cosine_loss(student, teacher).item() == pytest.approx(expected, abs=1e-6)
    scaled = hidden_cosine_loss(5 * student, teacher / 3).item()
    assert scaled == pytest.approx(expected, abs=1e-6)
    ones = torch.ones(B * T)
    reference = F.cosine_embedding_loss(student.flatten(0, 1), teacher.flatten(0, 1), ones)
    assert reference.item() == pytest.approx(expected, abs=1e-6)


def test_each_token_learns_from_its_own_source():
    """Touvron et al. 2021, equation (3): one token from the labels, the other from the teacher's choices."""
    student, distilled, teacher = (logits(seed)[0].requires_grad_() for seed in range(3))
    labels = torch.tensor([6, 0, 3, 2, 5])
    loss = distillation_token_loss(student, distilled, labels, teacher)
    rows = [
        student[i].softmax(-1)[labels[i]] * distilled[i].softmax(-1)[teacher[i].argmax()] for i in range(T)
    ]
    torch.testing.assert_close(loss, -torch.stack(rows).log().mean() / 2)
    loss.backward()
    chosen = F.one_hot(teacher.argmax(-1), V)
    torch.testing.assert_close(student.grad, (student.softmax(-1) - F.one_hot(labels, V)) / (2 * T))
    torch.testing.assert_close(distilled.grad, (distilled.softmax(-1) - chosen) / (2 * T))
    assert teacher.grad is None
    hot = distillation_token_loss(student, distilled, F.one_hot(labels, V).double(), teacher)
    torch.testing.assert_close(hot, loss)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"student and teacher differ: \(5, 7\) and \(5, 6\)"):
        distillation_token_loss(logits(0)[0], logits(0)[0], torch.arange(5), logits(1)[0, :, :-1])
    for loss in (soft_target_loss, hidden_cosine_loss):
        with pytest.raises(ValueError, match=r"student and teacher differ: \(3, 5, 7\) and \(3, 5, 6\)"):
            loss(logits(0), logits(1)[..., :-1])
    with pytest.raises(ValueError, match="temperature must be positive, not 0"):
        soft_target_loss(logits(0), logits(1), temperature=0)

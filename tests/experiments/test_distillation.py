"""The students differ in what they are said to differ in, and so do static and dynamic masking."""

import pytest
import torch

from experiments.distillation import frozen_teacher, new_student, student_loss
from experiments.dynamic_masking import Maskings
from pioneers.layers import padding_mask
from pioneers.objectives import masked_lm_loss

B, T = 3, 11


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 2048, (B, T), generator=generator)
    lengths = torch.tensor([T, 7, 5])
    targets = ids.clone()
    targets[:, 2:] = -100
    return ids, torch.zeros_like(ids), lengths, targets, torch.zeros(B)


def test_an_initialised_student_has_the_blocks_that_were_asked_for():
    teacher, _ = frozen_teacher()
    student = new_student((0, 2), initialised=True)
    for own, number in zip(student.bert.stack.blocks, (0, 2), strict=True):
        theirs = teacher.bert.stack.blocks[number]
        assert torch.equal(own.ffn.up.weight, theirs.ffn.up.weight)
    scratch = new_student((0, 2), initialised=False)
    assert len(scratch.bert.stack.blocks) == 2
    first, other = (model.bert.stack.blocks[0].ffn.up.weight for model in (scratch, student))
    assert not torch.equal(first, other)


def test_without_a_temperature_the_teacher_plays_no_part(batch):
    torch.manual_seed(0)
    student = new_student((0, 2), initialised=False).eval()
    ids, _, lengths, targets, _ = batch
    logits = student(ids, mask=padding_mask(lengths, T), predict_mask=targets != -100)
    alone = student_loss(student, batch, None)
    torch.testing.assert_close(alone, masked_lm_loss(logits, targets))
    assert student_loss(student, batch, 2.0) > alone + 0.1


def test_the_whole_teacher_as_a_student_has_nothing_to_learn_from_itself(batch):
    student = new_student((0, 1, 2), initialised=True).eval()
    torch.testing.assert_close(
        student_loss(student, batch, 2.0), student_loss(student, batch, None), atol=1e-4, rtol=0
    )


@pytest.mark.parametrize("maskings", [1, 3])
def test_fixed_maskings_come_back_and_every_epoch_reads_all_rows(maskings):
    ids = torch.arange(5, 5 + 12 * T).view(12, T)
    read = Maskings(ids, torch.arange(12), maskings=maskings, batch=4, seed=0)  # a length names a row

    def epoch(number):
        steps = [read(3 * number + i) for i in range(3)]
        gaps, lengths, targets = (torch.cat(parts) for parts in zip(*steps, strict=True))
        order = lengths.argsort()
        assert lengths[order].tolist() == list(range(12))
        return gaps[order], targets[order]

    first, again = epoch(0), epoch(maskings)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    if maskings > 1:
        assert not torch.equal(first[1], epoch(1)[1])

import pytest
import torch

from pioneers.models import BERTConfig, BERTForMaskedLM, BERTForPretraining, student_from

SIZES = {"vocab_size": 31, "max_seq_len": 11, "d_model": 12, "num_layers": 5, "num_heads": 3, "d_ff": 17}


def teacher(cls=BERTForMaskedLM):
    torch.manual_seed(0)
    model = cls(BERTConfig(**SIZES, norm_eps=1e-3)).eval()
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.5)
    return model


def ids():
    return torch.randint(31, (3, 7), generator=torch.Generator().manual_seed(1))


def test_a_student_with_all_blocks_says_what_its_teacher_says():
    model = teacher()
    student = student_from(model, blocks=range(5)).eval()
    torch.testing.assert_close(student(ids()), model(ids()))
    assert student.masked_lm.lm_head.weight is student.bert.embed.token.weight


@pytest.mark.parametrize(("blocks", "kept"), [(None, [0, 2, 4]), ([4, 1], [4, 1])])
def test_a_student_has_the_blocks_that_were_chosen_and_shares_none(blocks, kept):
    model = teacher(BERTForPretraining)
    student = student_from(model, blocks).eval()
    model.bert.stack.blocks = torch.nn.ModuleList(model.bert.stack.blocks[i] for i in kept)
    expected = model(ids()).masked_lm
    assert student.config.num_layers == len(kept)
    torch.testing.assert_close(student(ids()), expected)
    before = student.state_dict()
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
    assert all(tensor.any() for tensor in before.values())


@pytest.mark.parametrize("blocks", [[], [5], [-1, 2]])
def test_blocks_the_teacher_does_not_have_are_refused(blocks):
    with pytest.raises(ValueError, match="blocks must be some of 0 to 4, which the teacher has, not"):
        student_from(teacher(), blocks)

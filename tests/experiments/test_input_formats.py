"""The formats differ in how a row is filled, not in the number of tokens that a step reads."""

import pytest
import torch

from experiments.input_formats import batches, losses, objective
from experiments.text.stored import FORMATS, PAIRS, SEQ_LEN, formatted, stored, vocabulary

TOKENS = 401


@pytest.mark.parametrize("form", FORMATS)
def test_a_step_reads_the_same_number_of_tokens(form):
    batch = batches(form, "test", TOKENS, seed=2)
    read = [int(batch(step)[0].lengths.sum()) for step in range(60)]
    assert abs(sum(read) / len(read) - TOKENS) < 12
    assert max(abs(tokens - TOKENS) for tokens in read) <= SEQ_LEN


@pytest.mark.parametrize("form", FORMATS)
def test_only_pairs_learn_to_predict_the_next_sentence(form):
    model = stored().eval()
    batch = batches(form, "test", TOKENS, seed=0)(0)
    with torch.inference_mode():
        gaps, following = losses(model, batch)
        trained = objective(form)(model, batch)
    torch.testing.assert_close(trained, gaps + following if form in PAIRS else gaps)


@pytest.mark.parametrize("form", FORMATS)
def test_labels_say_whether_the_second_part_follows(form):
    rows = formatted(form, "test", 0)
    if form in PAIRS:
        assert 0.4 < rows.labels.float().mean() < 0.8  # the rest of a document may be a single sentence
        assert (rows.inputs.segment_ids == 1).any(1).all()
    else:
        assert not rows.labels.any()
        assert not rows.inputs.segment_ids.any()


def test_only_full_sentences_go_beyond_the_end_of_a_document():
    sep = vocabulary().special_ids["[SEP]"]
    ends = {
        form: (formatted(form, "test", 0).inputs.input_ids == sep).sum(1).max().item() for form in FORMATS
    }
    assert ends["one document"] == 1
    assert ends["full sentences"] > 1

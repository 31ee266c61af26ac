"""What is compared differs in what is hidden, and in the boundary objective, and in nothing else."""

import pytest
import torch

from experiments.span_masking import SpanBERT, batches, corrupt, fill, held_out, loss, word_ids
from experiments.text.stored import asked, formatted, some_rows, stored, vocabulary
from pioneers.data import sentence_boundary_qa
from pioneers.objectives import masked_lm_loss

TOKENS = 131


def test_pieces_belong_to_the_word_that_they_go_on_with():
    pieces = vocabulary().encode("Unpickleable names")
    words = word_ids(torch.tensor([pieces]))[0].tolist()
    spelled = [vocabulary().vocab[i] for i in pieces]
    assert len(pieces) > 2
    assert words == [
        sum(not piece.startswith("##") for piece in spelled[1 : i + 1]) for i in range(len(pieces))
    ]


def test_all_cases_read_the_same_rows():
    read = {hidden: batches("test", hidden, TOKENS, seed=3)(5) for hidden in ("tokens", "spans")}
    texts = [torch.where(gaps.targets == -100, gaps.input_ids, gaps.targets) for _, gaps in read.values()]
    assert all(torch.equal(text, texts[0]) for text in texts)
    assert len({gaps.input_ids.numpy().tobytes() for _, gaps in read.values()}) == 2


def test_spans_hide_words_with_all_their_pieces():
    ids = formatted("one document", "test", 0).inputs.input_ids[-40:]
    words = word_ids(ids)
    split = {}
    for hidden in ("tokens", "spans"):
        gap = corrupt(ids, hidden, torch.Generator().manual_seed(0)).targets != -100
        same = (words[:, 2:] == words[:, 1:-1]) & (gap[:, 2:] != gap[:, 1:-1])  # behind [CLS]
        split[hidden] = int(same.sum())
        assert 0.12 < gap.sum() / (ids > 4).sum() < 0.18
    assert split["tokens"] > 0 == split["spans"]


def test_the_boundary_objective_is_one_more_loss_of_the_same_gaps():
    torch.manual_seed(0)
    both, alone = (SpanBERT(stored(), boundary=boundary).eval() for boundary in (True, False))
    _, gaps = batch = batches("test", "spans", TOKENS, seed=0)(0)
    with torch.inference_mode():
        found, states = fill(both, batch)
        more = masked_lm_loss(both.boundary(*gaps.boundaries(states)), gaps.targets)
        torch.testing.assert_close(loss(both, batch), found + more)
        torch.testing.assert_close(loss(alone, batch), found)


@pytest.mark.parametrize("hidden", ["tokens", "spans"])
def test_every_model_is_judged_by_both_kinds_of_gaps(hidden):
    assert held_out(SpanBERT(stored(), boundary=True), hidden, TOKENS) > 1


def test_the_words_that_are_asked_for_are_found_by_the_right_span():
    rows = sentence_boundary_qa("test")[:20]
    batch = asked(rows)
    spans = torch.stack([batch.starts, batch.ends], dim=1)
    given = batch.answers([row.context for row in rows], spans)
    inside = [i for i, start in enumerate(batch.starts.tolist()) if start]
    assert len(inside) > 15
    assert [given[i] for i in inside] == [rows[i].answers[0].text for i in inside]


def test_rows_are_neighbours_by_length():
    rows = formatted("one document", "test", 0)
    found = some_rows(rows, TOKENS, torch.Generator().manual_seed(1)).inputs
    assert abs(int(found.lengths.sum()) - TOKENS) <= 64
    assert found.lengths.sort().values.tolist() == found.lengths.tolist()
    assert found.input_ids.shape[1] == found.lengths.max()

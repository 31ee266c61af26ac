import pytest
import torch

from pioneers.models.heads import ClassificationHead, SpanHead, best_span

B, T, D = 3, 7, 12


def test_classification_reads_one_vector_and_tags_many():
    torch.manual_seed(0)
    head = ClassificationHead(D, 5).eval()
    hidden = torch.randn(B, T, D)
    tags = head(hidden)
    assert tags.shape == (B, T, 5)
    torch.testing.assert_close(head(hidden[:, 0]), tags[:, 0])
    assert not torch.equal(head.train()(hidden), tags)


def test_no_answer_lies_where_none_is_allowed():
    torch.manual_seed(0)
    head, hidden = SpanHead(D), torch.randn(B, T, D)
    allowed = torch.zeros(B, T, dtype=torch.bool)
    allowed[:, 2:5] = True
    logits = head(hidden, allowed=allowed)
    torch.testing.assert_close(logits[:, 2:5], head(hidden)[:, 2:5])
    share = logits.softmax(dim=1)[:, 2:5].sum(dim=1)
    torch.testing.assert_close(share, torch.ones(B, 2))
    half = SpanHead(D).half()(hidden.half(), allowed=allowed)
    assert half.isfinite().all()


@pytest.mark.parametrize("max_length", [1, 3, 99])
def test_best_span_is_the_best_of_all_possible_ones(max_length):
    logits = torch.randn(B, T, 2, generator=torch.Generator().manual_seed(max_length))
    for row, (start, end) in zip(logits, best_span(logits, max_length=max_length).tolist(), strict=True):
        scores = {
            (s, e): (row[s, 0] + row[e, 1]).item() for s in range(T) for e in range(s, min(T, s + max_length))
        }
        assert max(scores, key=scores.get) == (start, end)


def test_an_answer_has_at_least_one_token():
    with pytest.raises(ValueError, match="max_length must be at least 1, not 0"):
        best_span(torch.zeros(1, 3, 2), max_length=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_no_span_reaches_over_tokens_that_are_not_allowed(dtype):
    torch.manual_seed(0)
    head, hidden = SpanHead(D).to(dtype), torch.zeros(2, T, D, dtype=dtype)
    allowed = torch.tensor([True, False, False, True, True, True, False]).expand(2, T)
    logits = head(hidden, allowed=allowed)
    logits[0, 0], logits[0, 5] = torch.tensor([[9.0, 0.0], [0.0, 9.0]], dtype=dtype)  # from [CLS] to token 5
    logits[1, 0] = 9.0
    assert best_span(logits, max_length=T).tolist() == [[0, 0], [0, 0]]
    logits[0, 3, 0] = 1.0
    assert best_span(logits, max_length=T)[0].tolist() == [3, 5]

"""XLNet predicts every token from those before it in the order, whatever the order is."""

import pytest
import torch

from pioneers.models import XLNet, XLNetConfig

V, T = 17, 7
ORDERS = [(0, 1, 2, 3, 4, 5, 6), (3, 6, 0, 5, 1, 4, 2)]


@pytest.fixture
def model():
    torch.manual_seed(0)
    model = XLNet(XLNetConfig(vocab_size=V, d_model=12, num_layers=3, num_heads=3)).eval()
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.4)
    return model


def masks(order):
    rank = torch.empty(T, dtype=torch.long)
    rank[list(order)] = torch.arange(T)
    earlier = (rank[None] < rank[:, None])[None]
    return {"content_mask": earlier | torch.eye(T, dtype=torch.bool), "query_mask": earlier}


@pytest.mark.parametrize("order", ORDERS, ids=["reading order", "another order"])
def test_a_prediction_knows_the_earlier_tokens_and_no_others(model, order):
    ids = torch.arange(1, T + 1)[None]
    expected = model(ids, **masks(order))
    for step, position in enumerate(order):
        other = ids.clone()
        other[0, position] = 0
        changed = (model(other, **masks(order)) != expected).any(-1)[0]
        assert {t for t in range(T) if changed[t]} == set(order[step + 1 :])


def test_the_first_of_an_order_is_predicted_from_its_position_alone(model):
    how = masks(ORDERS[1])
    one, other = (model(torch.full((1, T), token), **how)[0, ORDERS[1][0]] for token in (2, 5))
    assert torch.equal(one, other)


def test_predict_mask_picks_logits_and_both_streams_can_be_had(model):
    ids, how = torch.randint(V, (1, T)), masks(ORDERS[1])
    where = torch.tensor([[False, True, True, False, True, False, False]])
    torch.testing.assert_close(model(ids, **how, predict_mask=where), model(ids, **how)[where])
    streams = model.hidden_states(ids, **how)
    torch.testing.assert_close(model.lm_head(streams.query), model(ids, **how))
    alone = model.hidden_states(ids, content_mask=how["content_mask"])
    assert alone.query is None
    torch.testing.assert_close(alone.content, streams.content)


def test_an_odd_width_is_refused():
    with pytest.raises(ValueError, match="d_model must be even, for pairs of sine and cosine, not 9"):
        XLNetConfig(d_model=9, num_layers=1, num_heads=3)

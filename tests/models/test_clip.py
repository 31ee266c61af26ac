import math

import pytest
import torch

from pioneers.models import CLIP, CLIPConfig
from pioneers.objectives import contrastive_loss

CONFIG = CLIPConfig(
    image_size=15, patch_size=5, in_channels=2, image_d_model=12, image_layers=2, image_heads=3,
    vocab_size=17, max_seq_len=11, text_d_model=8, text_layers=1, text_heads=2, d_embed=5,
)  # fmt: skip
END = 16


@pytest.fixture
def model():
    torch.manual_seed(0)
    return CLIP(CONFIG).eval()


def images(count=3, seed=1):
    return torch.randn(count, 2, 15, 15, generator=torch.Generator().manual_seed(seed))


def texts():
    return torch.tensor([[3, 1, 4, END, 0, 0, 0], [1, 5, END, 0, 0, 0, 0], [9, 2, 6, 5, 3, 5, END]])


def test_logits_are_cosines_times_the_scale(model):
    logits = model(images(), texts()[:2])
    assert logits.shape == (3, 2)
    a, b = model.encode_images(images())[1], model.encode_texts(texts())[0]
    expected = (a @ b) / (a.norm() * b.norm()) / 0.07
    torch.testing.assert_close(logits[1, 0], expected)


def test_what_stands_behind_the_end_of_a_text_changes_nothing(model):
    ids = texts()
    behind = (ids == END).cumsum(1).bool() & (ids != END)
    other = ids.masked_fill(behind, 7)
    torch.testing.assert_close(model.encode_texts(other), model.encode_texts(ids))
    alone = model.encode_texts(ids[1:2, :3])
    torch.testing.assert_close(alone, model.encode_texts(ids)[1:2])
    inside = ids.clone()
    inside[0, 0] = 8
    assert not torch.allclose(model.encode_texts(inside)[0], model.encode_texts(ids)[0])


def test_the_first_end_is_read_where_its_id_is_known(model):
    known = CLIP(CONFIG.replace(end_id=4))
    known.load_state_dict(model.state_dict())
    ids = torch.tensor([[3, 1, 4, 4, END, 4]])
    first = known.text_stack(known.text_embed(ids), causal=True)[:, 2]
    torch.testing.assert_close(known.encode_texts(ids), known.text_proj(first))


def test_the_scale_begins_at_one_over_0_07_and_ends_at_100(model):
    assert model.scale.item() == pytest.approx(1 / 0.07)
    with torch.no_grad():
        model.log_scale.fill_(math.log(250))
    assert model.scale.item() == pytest.approx(100)


def test_it_learns_which_text_belongs_to_which_image():
    torch.manual_seed(0)
    model = CLIP(CONFIG)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(60):
        logits = model(images(), texts())
        loss = contrastive_loss(logits)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.1 < math.log(3)
    assert logits.argmax(1).tolist() == logits.argmax(0).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "count"), [("base32", 151_277_313), ("base16", 149_620_737), ("large14", 427_616_513)]
)
def test_presets_have_the_parameters_of_the_published_models(name, count):
    with torch.device("meta"):
        assert sum(p.numel() for p in CLIP(CLIPConfig.preset(name)).parameters()) == count


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"patch_size": 4}, "patch_size must be a divisor"),
        ({"text_heads": 3}, "num_heads=3 must divide d_model=8"),
        ({"image_heads": 5}, "num_heads=5 must divide d_model=12"),
        ({"activation": "tanh"}, "activation must be one of relu"),
        ({"d_embed": 0}, "d_embed must be a positive integer"),
    ],
)
def test_sizes_that_cannot_be_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        CONFIG.replace(**changes)

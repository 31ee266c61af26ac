"""DETR: shapes, what positions and masks do, and how anchors are moved."""

import math

import pytest
import torch
from torch import nn

from pioneers.layers import sinusoidal_table, sinusoids
from pioneers.models import DETR, AnchorDETR, DETRConfig, grid_positions
from pioneers.models.detr import Detector

B, Q, D, CLASSES = 2, 5, 12, 3
CONFIG = DETRConfig(
    num_classes=CLASSES, num_queries=Q, d_model=D, d_ff=19, num_layers=1, num_decoder_layers=4, num_heads=3,
    backbone_channels=20, in_channels=1, dropout=0.0,
)  # fmt: skip
MODELS = pytest.mark.parametrize("model_class", [DETR, AnchorDETR])


def build(model_class, **changes):
    torch.manual_seed(0)
    return model_class(CONFIG.replace(**changes)).eval()


def images(height=24, width=40):
    return torch.randn(B, 1, height, width, generator=torch.Generator().manual_seed(1))


@MODELS
@pytest.mark.parametrize("norm_placement", ["post", "pre"])
def test_every_layer_gives_a_class_and_a_box_for_every_query(model_class, norm_placement):
    found = build(model_class, norm_placement=norm_placement)(images())
    assert found.logits.shape == (4, B, Q, CLASSES + 1)
    assert found.boxes.shape == (4, B, Q, 4)
    assert ((found.boxes > 0) & (found.boxes < 1)).all()


@MODELS
def test_padding_changes_nothing(model_class):
    """Pixels beyond the mask may hold anything, as far as the backbone does not carry them across."""
    model = build(model_class)
    model.backbone = nn.Conv2d(1, 20, kernel_size=8, stride=8)  # its cells do not overlap
    alone = images()[:1]
    padded, mask = torch.full((1, 1, 32, 56), 9.0), torch.zeros(1, 32, 56, dtype=torch.bool)
    padded[..., :24, :40], mask[:, :24, :40] = alone, True
    for got, expected in zip(model(padded, mask), model(alone), strict=True):
        torch.testing.assert_close(got, expected)


def test_positions_of_cells_are_counted_from_one_and_scaled_to_a_turn():
    cells = torch.ones(1, 2, 3, dtype=torch.bool)
    got = grid_positions(cells, 8).view(2, 3, 8)
    for row, column in ((0, 0), (1, 2)):
        place = torch.tensor([(row + 1) / 2, (column + 1) / 3]) * 2 * math.pi
        torch.testing.assert_close(got[row, column], sinusoids(place, 4).flatten(), atol=1e-5, rtol=0)
    cells[:, :, 2] = False  # the picture is narrower
    narrower = grid_positions(cells, 8).view(2, 3, 8)
    torch.testing.assert_close(narrower[:, :2], grid_positions(cells[..., :2], 8).view(2, 2, 8))


def test_sinusoids_of_whole_numbers_are_the_table():
    torch.testing.assert_close(sinusoids(torch.arange(7.0), 6), sinusoidal_table(7, 6))


@MODELS
def test_without_positions_the_cells_have_no_order(model_class):
    model = build(model_class)
    memory = model.encode(images())
    order = torch.randperm(memory.states.shape[1], generator=torch.Generator().manual_seed(2))
    shuffled = memory._replace(states=memory.states[:, order])
    with_positions = [model.decode(m).boxes for m in (memory, shuffled)]
    without = [model.decode(m._replace(positions=None)).boxes for m in (memory, shuffled)]
    torch.testing.assert_close(*without, atol=1e-5, rtol=1e-5)
    if model_class is DETR:
        assert not torch.allclose(*with_positions, atol=1e-4)


def test_queries_have_no_order_of_their_own():
    model = build(DETR)
    before = model(images())
    order = torch.tensor([3, 0, 4, 1, 2])
    model.queries.weight = nn.Parameter(model.queries.weight[order])
    after = model(images())
    for x, y in zip(before, after, strict=True):
        torch.testing.assert_close(x[:, :, order], y, atol=1e-5, rtol=1e-5)


def test_boxes_begin_as_the_anchors_and_move_from_layer_to_layer():
    model = build(AnchorDETR)
    boxes = model(images()).boxes
    torch.testing.assert_close(boxes, model.anchors.sigmoid().expand_as(boxes))
    nn.init.normal_(model.box_head[-1].bias)
    moved = model(images()).boxes.logit()
    step = model.box_head[-1].bias
    torch.testing.assert_close(moved[3] - moved[2], step.expand_as(moved[0]), atol=1e-4, rtol=1e-4)


def test_heads_begin_by_looking_at_the_sides_of_their_box():
    """The score of a head is highest where it looks: right of, below, left of and above the centre."""
    model = build(AnchorDETR, num_heads=4, d_model=32)
    block, side = model.decoder.blocks[0], 20
    positions = grid_positions(torch.ones(1, side, side, dtype=torch.bool), 32)
    box = torch.tensor([[[0.5, 0.6, 0.4, 0.6]]])
    scores = block.place_scores(box, positions).view(4, side, side)
    rows, columns = scores.amax(2).argmax(1), scores.amax(1).argmax(1)
    places = (torch.stack([columns, rows], 1) + 1) / side
    expected = torch.tensor([[0.7, 0.6], [0.5, 0.9], [0.3, 0.6], [0.5, 0.3]])
    torch.testing.assert_close(places, expected, atol=1.5 / side, rtol=0)


def test_a_layer_gets_the_boxes_of_the_one_before_without_a_gradient():
    model = build(AnchorDETR)
    nn.init.normal_(model.box_head[-1].weight)
    boxes = model(images()).boxes
    (first,) = torch.autograd.grad(boxes[0].sum(), model.anchors, retain_graph=True)
    (second,) = torch.autograd.grad(boxes[1].sum(), model.anchors)
    assert first.any()
    assert second.any()  # through the content of the queries alone
    near = torch.autograd.grad(model(images()).boxes[0].sum(), model.box_head[-1].bias)[0]
    assert near.any()


def test_both_kinds_differ_in_their_queries_and_decoder_alone():
    shared = {name for name, _ in build(Detector).named_parameters()}
    for model_class in (DETR, AnchorDETR):
        names = {name for name, _ in build(model_class).named_parameters()}
        assert shared <= names
        more = {name.split(".")[0] for name in names - shared}
        assert more <= {"queries", "anchors", "position", "decoder"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 6}, "d_model must be divisible by 4"),
        ({"num_queries": 0}, "num_queries must be a positive integer"),
        ({"norm_placement": "both"}, "norm_placement must be one of pre, post, sandwich"),
        ({"num_decoder_layers": 0}, "num_decoder_layers must be a positive integer"),
        ({"labels": ("cat",)}, "3"),
    ],
)
def test_impossible_sizes_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        CONFIG.replace(**changes)

"""DETR beside Hugging Face's, small and random, around their backbone: outputs, gradients, names, losses."""

import pytest
import torch
from torch import nn

from pioneers.models import DETR, DETRConfig
from pioneers.objectives import set_loss
from pioneers.weights import detr, to_ours, to_theirs

B, C, Q, D, CLASSES = 3, 3, 5, 12, 7
BACKBONE = {"num_channels": C, "embedding_size": 6, "hidden_sizes": [6, 10], "depths": [1, 1]}
SIZES = {
    "d_model": D, "num_queries": Q, "num_labels": CLASSES, "encoder_layers": 2, "decoder_layers": 3,
    "encoder_ffn_dim": 19, "decoder_ffn_dim": 19, "encoder_attention_heads": 3, "decoder_attention_heads": 3,
}  # fmt: skip
OURS = DETRConfig(
    num_classes=CLASSES, num_queries=Q, d_model=D, d_ff=19, num_layers=2, num_decoder_layers=3, num_heads=3,
    backbone_channels=10, in_channels=C,
)  # fmt: skip

# The first self-attention of the decoder mixes queries whose content is zero: only its biases matter.
_FIRST = "model.decoder.layers.0.self_attn."
UNUSED = [_FIRST + name for name in ("q_proj.weight", "q_proj.bias", "k_proj.weight", "v_proj.weight")]


@pytest.fixture(scope="module")
def theirs(transformers):
    backbone = transformers.ResNetConfig(**BACKBONE, layer_type="basic", out_features=["stage2"])
    config = transformers.DetrConfig(use_timm_backbone=False, backbone_config=backbone, **SIZES)
    model = transformers.DetrForObjectDetection(config).requires_grad_(True)  # they freeze the backbone
    generator = torch.Generator().manual_seed(0)
    for name, p in model.named_parameters():
        gain = name.endswith("weight") and "norm" in name
        nn.init.normal_(p, mean=float(gain), std=0.3, generator=generator)
    return model.eval()


class Theirs(nn.Module):
    """Their backbone, called as ours is."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, images):
        return self.network(images).feature_maps[-1]


def outside(state):
    return {name: tensor for name, tensor in state.items() if not name.startswith(detr.BACKBONE)}


@pytest.fixture
def ours(theirs):
    model = DETR(OURS, Theirs(theirs.model.backbone.model)).eval()
    missing, surplus = model.load_state_dict(
        to_ours(outside(theirs.state_dict()), detr.TENSORS), strict=False
    )
    assert not surplus
    assert all(name.startswith("backbone.") for name in missing)
    return model


def images():
    return torch.randn(B, C, 32, 40, generator=torch.Generator().manual_seed(1))


def pixels(padded):
    """Which pixels are of the pictures: the second is narrower, the third is lower."""
    mask = torch.ones(B, 32, 40, dtype=torch.bool)
    if padded:
        mask[1, :, 24:] = False
        mask[2, 16:] = False
    return mask


@pytest.mark.parametrize("padded", [None, False, True], ids=["no mask", "mask of ones", "padded"])
def test_predictions_and_gradients_are_theirs(ours, theirs, padded):
    mask = None if padded is None else pixels(padded)
    expected = theirs(images(), pixel_mask=None if mask is None else mask.long())
    got = ours(images(), mask)
    torch.testing.assert_close(got.logits[-1], expected.logits, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(got.boxes[-1], expected.pred_boxes, atol=1e-4, rtol=1e-4)
    generator = torch.Generator().manual_seed(2)
    weights = [torch.randn(x.shape, generator=generator) for x in (expected.logits, expected.pred_boxes)]
    grads = []
    for model, outputs in ((ours, (x[-1] for x in got)), (theirs, (expected.logits, expected.pred_boxes))):
        for p in theirs.parameters():
            p.grad = None  # the backbone is in both models
        sum((x * w).sum() for x, w in zip(outputs, weights, strict=True)).backward()
        grads.append({name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None})
    shared = [name for name in grads[1] if name.startswith(detr.BACKBONE)]
    assert len(shared) > 5
    for name in shared:
        mine = grads[0][name.replace("model.backbone.model.", "backbone.network.")]
        torch.testing.assert_close(mine, grads[1][name], atol=1e-4, rtol=1e-4)
    renamed = to_theirs({n: g for n, g in grads[0].items() if not n.startswith("backbone.")}, detr.TENSORS)
    assert renamed.keys() == outside(grads[1]).keys()
    for name, grad in renamed.items():
        largest = float(grads[1][name].abs().max())
        if name.endswith("k_proj.bias") or name in UNUSED:
            assert largest < 1e-4
            continue
        assert largest > 1e-3, name
        torch.testing.assert_close(grad / largest, grads[1][name] / largest, atol=1e-4, rtol=0, msg=name)


def test_every_layer_predicts_from_its_own_state(ours, theirs):
    states = []
    hooks = [
        layer.register_forward_hook(
            lambda _, args, out: states.append(out[0] if isinstance(out, tuple) else out)
        )
        for layer in theirs.model.decoder.layers
    ]
    theirs(images())
    for hook in hooks:
        hook.remove()
    assert len(states) == 3
    got = ours(images())
    for layer, state in enumerate(states):
        logits = theirs.class_labels_classifier(theirs.model.decoder.layernorm(state))
        torch.testing.assert_close(got.logits[layer], logits, atol=1e-4, rtol=1e-4)


def test_names_go_back_without_a_loss(ours, theirs):
    state = {n: t for n, t in ours.state_dict().items() if not n.startswith("backbone.")}
    back, expected = to_theirs(state, detr.TENSORS), outside(theirs.state_dict())
    assert back.keys() == expected.keys()
    assert all(torch.equal(back[name], expected[name]) for name in back)


def test_the_loss_is_theirs(ours, theirs):
    labels = torch.tensor([[1, 4, -1], [6, -1, -1], [0, 2, 5]])
    targets = torch.rand(B, 3, 4, generator=torch.Generator().manual_seed(3)) * 0.4 + 0.1
    rows = [
        {"class_labels": own[own >= 0], "boxes": b[own >= 0]} for own, b in zip(labels, targets, strict=True)
    ]
    expected = theirs(images(), labels=rows)
    loss = set_loss(*ours(images()), labels, targets, auxiliary=False)
    torch.testing.assert_close(loss.total, expected.loss)
    torch.testing.assert_close(loss.classes, expected.loss_dict["loss_ce"])
    torch.testing.assert_close(loss.l1, expected.loss_dict["loss_bbox"])
    torch.testing.assert_close(loss.giou, expected.loss_dict["loss_giou"])


def test_the_published_transformer_has_the_published_size(transformers):
    """41.5 million with a ResNet-50, whose convolutions have 23.5 million."""
    resnet = transformers.ResNetConfig(out_features=["stage4"])
    config = transformers.DetrConfig(use_timm_backbone=False, backbone_config=resnet, num_labels=91)
    with torch.device("meta"):
        model = DETR(DETRConfig.preset("resnet50"), nn.Identity())
        published = transformers.DetrForObjectDetection(config)
    ours = sum(p.numel() for p in model.parameters())
    total = sum(p.numel() for p in published.parameters())
    backbone = sum(p.numel() for p in published.model.backbone.parameters())
    assert ours == total - backbone
    assert round(total / 1e6, 1) == 41.5

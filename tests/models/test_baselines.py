import importlib.util

import pytest
import torch
from torch import nn

from pioneers.compat import import_torchvision
from pioneers.models.baselines import LSTMLanguageModel, ResidualConv, SmallResNet


def test_lstm_reads_from_left_to_right_and_far():
    torch.manual_seed(0)
    model = LSTMLanguageModel(17, 12, num_layers=2).eval()
    ids = torch.randint(17, (3, 7))
    changed = ids.clone()
    changed[:, 2] = (changed[:, 2] + 1) % 17
    before, after = model(ids), model(changed)
    assert torch.equal(before[:, :2], after[:, :2])
    assert ((before - after)[:, 2:].abs().amax(dim=(0, 2)) > 0).all()
    assert model.lm_head.weight is model.token.weight


@pytest.mark.parametrize(("channels", "stride"), [(3, 1), (5, 1), (5, 2)])
def test_residual_convolution_equals_torchvisions_block(channels, stride):
    if importlib.util.find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed")
    import_torchvision()
    from torchvision.models.resnet import BasicBlock

    torch.manual_seed(0)
    ours = ResidualConv(3, channels, stride=stride)
    shortcut = None if isinstance(ours.shortcut, nn.Identity) else nn.Sequential(*ours.shortcut)
    theirs = BasicBlock(3, channels, stride=stride, downsample=shortcut)
    state = ours.state_dict()
    for mine, other in (("norm", "bn"), ("shortcut", "downsample")):
        state = {name.replace(mine, other): tensor for name, tensor in state.items()}
    theirs.load_state_dict(state)
    x = torch.randn(2, 3, 8, 10)
    torch.testing.assert_close(ours.eval()(x), theirs.eval()(x))


def test_resnet_halves_twice_and_doubles_the_channels():
    model = SmallResNet(1, 7, width=3, blocks_per_stage=2)
    features = model.blocks(model.stem(torch.zeros(2, 1, 12, 20)))
    assert features.shape == (2, 12, 3, 5)
    assert len(model.blocks) == 6

import pytest
import torch

from pioneers.models import DeiT, DeiTConfig, ViT

B, CLASSES, D = 5, 7, 12
CONFIG = DeiTConfig(
    image_size=15, patch_size=5, num_classes=CLASSES, d_model=D, num_layers=2, num_heads=3, in_channels=2
)


def images():
    return torch.randn(B, 2, 15, 15, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def model():
    torch.manual_seed(0)
    return DeiT(CONFIG)


def test_two_heads_answer_in_training_and_their_mean_afterwards(model):
    both = model.train()(images())
    assert both.class_token.shape == both.distillation_token.shape == (B, CLASSES)
    assert not torch.allclose(both.class_token, both.distillation_token)
    torch.testing.assert_close(model.eval()(images()), (both.class_token + both.distillation_token) / 2)


def test_each_head_reads_its_own_token(model):
    hidden = model.hidden_states(images())
    assert hidden.shape == (B, 11, D)  # two tokens, nine patches
    both = model(images())
    torch.testing.assert_close(both.class_token, model.head(hidden[:, 0]))
    torch.testing.assert_close(both.distillation_token, model.distillation_head(hidden[:, 1]))


def test_the_two_tokens_differ_in_their_vectors_alone(model):
    """Exchanged together with their positions, they exchange the answers."""
    embed = model.embed
    before = model(images())
    with torch.no_grad():
        table = embed.position.table
        table[:2] = table[[1, 0]]
        embed.cls_token.data, embed.distillation_token.data = (
            embed.distillation_token.data,
            embed.cls_token.data,
        )
        model.head.load_state_dict(model.distillation_head.state_dict())
    torch.testing.assert_close(model(images()).class_token, before.distillation_token)


def count(model, config):
    with torch.device("meta"):
        return sum(p.numel() for p in model(config).parameters())


@pytest.mark.parametrize(
    ("preset", "with_token", "vit"),
    [("tiny", 5_910_800, 5_717_416), ("small", 22_436_432, 22_050_664), ("base", 87_338_192, 86_567_656)],
)
def test_parameters_with_and_without_distillation(preset, with_token, vit):
    """Touvron et al. 2021: 6, 22 and 87 million with the token; 5, 22, 86 without, rounded down."""
    config = DeiTConfig.preset(preset)
    assert (count(DeiT, config), count(ViT, config)) == (with_token, vit)
    assert with_token - vit == 2 * config.d_model + 1000 * (config.d_model + 1)  # token, position, head
    assert (round(with_token / 1e6), vit // 10**6) == {"tiny": (6, 5), "small": (22, 22), "base": (87, 86)}[
        preset
    ]


def test_drop_path_skips_layers_of_some_images_in_training_alone():
    torch.manual_seed(0)
    vit = ViT(CONFIG.replace(drop_path=0.5))
    x = images()[:1].expand(64, -1, -1, -1)
    answers = vit(x)[:, 0]
    assert 1 < len(answers.round(decimals=4).unique()) <= 16  # four layers, each there or not
    assert vit.eval()(x)[:, 0].std() < 1e-6


def test_a_deit_needs_classes():
    with pytest.raises(ValueError, match="num_classes must be a positive integer, not 0"):
        CONFIG.replace(num_classes=0)
    with pytest.raises(ValueError, match="drop_path must be at least 0 and less than 1, not 1"):
        CONFIG.replace(drop_path=1.0)

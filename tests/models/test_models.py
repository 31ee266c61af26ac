"""Every model: forward, backward, JSON, parameters against closed forms and other libraries."""

import dataclasses
import importlib.util

import pytest
import torch
from torch import nn

from pioneers.compat import import_torchvision
from pioneers.layers import FeedForward
from pioneers.models import GPT, GPTConfig, ViT, ViTConfig

GPT_TINY = GPTConfig(vocab_size=17, max_seq_len=11, d_model=12, num_layers=2, num_heads=3)
VIT_TINY = ViTConfig(
    image_size=15, patch_size=5, num_classes=7, d_model=12, num_layers=2, num_heads=3, in_channels=2
)


def build(config):
    torch.manual_seed(0)
    if isinstance(config, GPTConfig):
        return GPT(config), torch.randint(config.vocab_size, (2, 5))
    return ViT(config), torch.randn(2, config.in_channels, config.image_size, config.image_size)


@pytest.mark.parametrize("config", [GPT_TINY, GPT_TINY.replace(norm_first=False), VIT_TINY])
def test_gradient_reaches_every_parameter(config):
    model, inputs = build(config)
    logits = model(inputs)
    assert logits.isfinite().all()
    (logits * torch.randn_like(logits)).sum().backward()
    silent = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    # A bias on the keys adds the same amount to every score of a row, which softmax takes out again.
    assert all(name.endswith(("k_proj.bias", "position.table")) for name in silent), silent


@pytest.mark.parametrize("config", [GPT_TINY, VIT_TINY])
def test_configuration_goes_to_json_and_back(config):
    assert type(config).from_json(config.to_json()) == config
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.d_model = 3


def test_gpt_cannot_see_the_future():
    model, ids = build(GPT_TINY)
    changed = ids.clone()
    changed[:, 3] = (changed[:, 3] + 1) % 17
    before, after = model(ids), model(changed)
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3:], after[:, 3:])


def test_vit_without_positions_is_blind_to_the_order_of_patches():
    model, images = build(VIT_TINY)
    flipped = images.unflatten(2, (3, 5)).flip(2).flatten(2, 3)  # the three rows of patches, bottom up
    assert not torch.allclose(model(images), model(flipped), atol=1e-5)
    nn.init.zeros_(model.position.table)
    torch.testing.assert_close(model(images), model(flipped), atol=1e-5, rtol=0)


def count(model_class, config):
    with torch.device("meta"):
        return sum(p.numel() for p in model_class(config).parameters())


def block_parameters(d):
    return 4 * (d * d + d) + (d * 4 * d + 4 * d) + (4 * d * d + d) + 4 * d


def test_parameter_counts_are_the_published_ones():
    d = 768
    gpt = 40478 * d + 512 * d + 12 * block_parameters(d)
    assert count(GPT, GPTConfig.preset("gpt")) == gpt
    assert round(gpt / 1e6) == 117  # Radford et al. 2018
    gpt2 = 50257 * d + 1024 * d + 12 * block_parameters(d) + 2 * d
    assert count(GPT, GPTConfig.preset("gpt2")) == gpt2
    assert round(gpt2 / 1e6) == 124  # the released GPT-2; its paper's 117M is a slip
    vit = (16 * 16 * 3 + 1) * d + d + 197 * d + 12 * block_parameters(d) + 2 * d + 1001 * d + 1000 - d
    assert count(ViT, ViTConfig.preset("base16")) == vit
    assert round(vit / 1e6) in (86, 87)  # Dosovitskiy et al. 2021 count 86M, without the head


def vit_from_torchvision():
    """A small random torchvision ViT, and ours with its weights."""
    import_torchvision()
    from torchvision.models import VisionTransformer

    torch.manual_seed(0)
    theirs = VisionTransformer(
        image_size=15, patch_size=5, num_layers=2, num_heads=3, hidden_dim=12, mlp_dim=48, num_classes=7
    ).eval()
    for p in theirs.parameters():
        nn.init.normal_(p, std=0.3)
    ours = ViT(VIT_TINY.replace(in_channels=3)).eval()
    state = theirs.state_dict()
    mine = {
        "patch.proj.weight": state["conv_proj.weight"],
        "patch.proj.bias": state["conv_proj.bias"],
        "cls_token.vector": state["class_token"][0, 0],
        "position.table": state["encoder.pos_embedding"][0],
        "stack.norm.weight": state["encoder.ln.weight"],
        "stack.norm.bias": state["encoder.ln.bias"],
        "head.weight": state["heads.head.weight"],
        "head.bias": state["heads.head.bias"],
    }
    rename = {
        "ln_1": "norm_attn",
        "ln_2": "norm_ffn",
        "self_attention.out_proj": "attn.o_proj",
        "mlp.0": "ffn.up",
        "mlp.3": "ffn.down",
    }
    for i in range(2):
        source, target = f"encoder.layers.encoder_layer_{i}.", f"stack.blocks.{i}."
        for end in ("weight", "bias"):
            for name, new in rename.items():
                mine[f"{target}{new}.{end}"] = state[f"{source}{name}.{end}"]
            parts = state[f"{source}self_attention.in_proj_{end}"].chunk(3)
            for letter, part in zip("qkv", parts, strict=True):
                mine[f"{target}attn.{letter}_proj.{end}"] = part
    ours.load_state_dict(mine)
    return ours, theirs


def test_vit_gives_torchvisions_logits():
    if importlib.util.find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed")
    ours, theirs = vit_from_torchvision()
    images = torch.randn(2, 3, 15, 15)
    torch.testing.assert_close(ours(images), theirs(images), atol=1e-5, rtol=1e-5)


def test_presets_and_fields_are_named_in_the_error():
    with pytest.raises(ValueError, match=r"no preset 'gpt-2' \(did you mean 'gpt2'\?\); known presets: gpt,"):
        GPTConfig.preset("gpt-2")
    with pytest.raises(ValueError, match=r"no field 'n_layers' \(did you mean 'num_layers'\?\)"):
        GPTConfig.preset("gpt2", n_layers=3)
    with pytest.raises(ValueError, match="GPTConfig needs a value for vocab_size"):
        GPTConfig.from_json('{"max_seq_len": 3, "d_model": 4, "num_layers": 1, "num_heads": 1}')
    with pytest.raises(ValueError, match="GPTConfig: not valid JSON"):
        GPTConfig.from_json("{")
    with pytest.raises(ValueError, match="expected a JSON object, got list"):
        GPTConfig.from_json("[]")


def test_impossible_sizes_are_refused():
    with pytest.raises(ValueError, match="num_layers must be a positive integer, not 0"):
        GPT_TINY.replace(num_layers=0)
    with pytest.raises(ValueError, match="num_heads=5 must divide d_model=12"):
        VIT_TINY.replace(num_heads=5)


def test_wrong_inputs_say_what_was_expected():
    gpt, _ = build(GPT_TINY)
    with pytest.raises(ValueError, match="needs 12 positions and the model has max_seq_len=11"):
        gpt(torch.zeros(1, 12, dtype=torch.long))
    vit, _ = build(VIT_TINY)
    with pytest.raises(ValueError, match=r"\(2, 15, 15\), got \(1, 3, 15, 15\)"):
        vit(torch.zeros(1, 3, 15, 15))


@pytest.mark.parametrize("config", [GPT_TINY, VIT_TINY])
def test_one_batch_can_be_learned_by_heart(config):
    model, inputs = build(config)
    targets = torch.randint(7, (2, 5) if isinstance(config, GPTConfig) else (2,))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(150):
        logits = model(inputs)
        loss = nn.functional.cross_entropy(logits.flatten(0, -2), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.01


def test_gelu_of_gpt_is_the_tanh_form():
    model, _ = build(GPT_TINY)
    ffn = model.stack.blocks[0].ffn
    assert isinstance(ffn, FeedForward)
    x = torch.tensor(1.5)
    tanh_form = 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))
    torch.testing.assert_close(ffn.activation(x), tanh_form)

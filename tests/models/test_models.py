"""Every model: forward, backward, JSON, parameters against closed forms and other libraries."""

import dataclasses

import pytest
import torch
from torch import nn

from pioneers.layers import FeedForward
from pioneers.models import (
    BERT,
    GPT,
    BERTConfig,
    GPTConfig,
    MaskedLMHead,
    Transformer,
    TransformerConfig,
    ViT,
    ViTConfig,
)

GPT_TINY = GPTConfig(vocab_size=17, max_seq_len=11, d_model=12, num_layers=2, num_heads=3)
VIT_TINY = ViTConfig(
    image_size=15, patch_size=5, num_classes=7, d_model=12, num_layers=2, num_heads=3, in_channels=2
)


BERT_TINY = BERTConfig(vocab_size=17, max_seq_len=11, d_model=12, num_layers=2, num_heads=3, dropout=0.0)
SEQ2SEQ_TINY = TransformerConfig(
    vocab_size=17, max_seq_len=11, d_model=12, d_ff=19, num_layers=2, num_heads=3, dropout=0.0
)


class MaskedLM(nn.Module):
    """BERT with its masked-LM head, and the pooler in the graph."""

    def __init__(self, config):
        super().__init__()
        self.bert = BERT(config)
        self.head = MaskedLMHead(self.bert)

    def forward(self, input_ids, segment_ids):
        hidden = self.bert(input_ids, segment_ids=segment_ids)
        return self.head(hidden) + self.bert.pool(hidden).sum(-1)[:, None, None]


def build(config):
    """The model of a configuration, and inputs for it."""
    torch.manual_seed(0)
    ids = torch.randint(17, (2, 5))
    match config:
        case GPTConfig():
            return GPT(config), (ids,)
        case BERTConfig():
            return MaskedLM(config), (ids, torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 1, 1]]))
        case TransformerConfig():
            return Transformer(config), (torch.randint(17, (2, 7)), ids)
        case ViTConfig():
            return ViT(config), (torch.randn(2, config.in_channels, config.image_size, config.image_size),)


EVERY = [
    GPT_TINY,
    GPT_TINY.replace(norm_first=False),
    BERT_TINY,
    SEQ2SEQ_TINY,
    SEQ2SEQ_TINY.replace(norm_placement="sandwich"),
    VIT_TINY,
]


@pytest.mark.parametrize("config", EVERY)
def test_gradient_reaches_every_parameter(config):
    model, inputs = build(config)
    logits = model(*inputs)
    assert logits.isfinite().all()
    (logits * torch.randn_like(logits)).sum().backward()
    silent = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    # A bias on the keys adds the same amount to every score of a row, which softmax takes out again.
    assert all(name.endswith("k_proj.bias") for name in silent), silent


@pytest.mark.parametrize("config", EVERY)
def test_configuration_goes_to_json_and_back(config):
    assert type(config).from_json(config.to_json()) == config
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.d_model = 3


def test_gpt_cannot_see_the_future():
    model, (ids,) = build(GPT_TINY)
    changed = ids.clone()
    changed[:, 3] = (changed[:, 3] + 1) % 17
    before, after = model(ids), model(changed)
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3:], after[:, 3:])


def test_vit_without_positions_is_blind_to_the_order_of_patches():
    model, (images,) = build(VIT_TINY)
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


@pytest.mark.parametrize(
    ("preset", "millions"), [("gpt2-medium", 355), ("gpt2-large", 774), ("gpt2-xl", 1558), ("gpt3", 174_604)]
)
def test_gpt_grows_as_published(preset, millions):
    config = GPTConfig.preset(preset)
    d = config.d_model
    tables = config.vocab_size * d + config.max_seq_len * d
    exact = tables + config.num_layers * block_parameters(d) + 2 * d
    assert count(GPT, config) == exact
    assert round(exact / 1e6) == millions  # Brown et al. 2020 say 175B


@pytest.mark.parametrize(("preset", "millions"), [("large16", 304), ("huge14", 632)])
def test_vit_grows_as_published(preset, millions):
    # Dosovitskiy et al. 2021 print 307M for ViT-L: that is L/32; with patches of 16 it has 304M.
    assert round(count(ViT, ViTConfig.preset(preset)) / 1e6) == millions


def test_parameter_counts_of_bert_and_the_transformer():
    d = 768
    bert = (30522 + 512 + 2) * d + 2 * d + 12 * block_parameters(d) + d * d + d
    assert count(BERT, BERTConfig.preset("base")) == bert
    assert round(bert / 1e6) == 109  # Devlin et al. 2019 say 110M
    assert round(count(BERT, BERTConfig.preset("large")) / 1e6) == 335  # they say 340M
    d, d_ff = 512, 2048
    attention, ffn, norm = 4 * (d * d + d), 2 * d * d_ff + d_ff + d, 2 * d
    base = 37000 * d + 6 * (attention + ffn + 2 * norm) + 6 * (2 * attention + ffn + 3 * norm)
    assert count(Transformer, TransformerConfig.preset("base")) == base
    assert round(base / 1e6) == 63  # Vaswani et al. 2017 say 65M
    assert round(count(Transformer, TransformerConfig.preset("big")) / 1e6) == 214  # they say 213M


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
def test_transformer_equals_pytorchs():
    torch.manual_seed(0)
    ours, _ = build(SEQ2SEQ_TINY)
    theirs = nn.Transformer(12, 3, 2, 2, 19, dropout=0.0, batch_first=True, activation="relu")
    theirs.encoder.norm = theirs.decoder.norm = nn.Identity()  # the paper's model has no norm at the end
    rename = {
        "linear1": "ffn.up",
        "linear2": "ffn.down",
        "self_attn.out_proj": "attn.o_proj",
        "multihead_attn.out_proj": "cross_attn.o_proj",
    }
    norms = {"encoder": ["norm_attn", "norm_ffn"], "decoder": ["norm_attn", "norm_cross", "norm_ffn"]}
    mine, state = ours.state_dict(), {}
    for name in theirs.state_dict():
        side, _, layer, rest = name.split(".", 3)
        module, end = rest.rsplit(".", 1)
        prefix = f"{side}.blocks.{layer}."
        if end.startswith("in_proj"):
            attn = {"self_attn": "attn", "multihead_attn": "cross_attn"}[module]
            end = end.removeprefix("in_proj_")
            state[name] = torch.cat([mine[f"{prefix}{attn}.{n}_proj.{end}"] for n in "qkv"])
        elif module.startswith("norm"):
            state[name] = mine[f"{prefix}{norms[side][int(module[-1]) - 1]}.{end}"]
        else:
            state[name] = mine[f"{prefix}{rename[module]}.{end}"]
    theirs.load_state_dict(state)
    source, target, lengths = torch.randint(17, (2, 7)), torch.randint(17, (2, 5)), torch.tensor([7, 3])
    padded = torch.arange(7) >= lengths[:, None]
    hidden = theirs(
        ours.embed(source),
        ours.embed(target),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(5),
        tgt_is_causal=True,
        src_key_padding_mask=padded,
        memory_key_padding_mask=padded,
    )
    got = ours(source, target, lengths=lengths)
    torch.testing.assert_close(got, hidden @ ours.token.weight.T, atol=1e-5, rtol=1e-5)


def test_source_padding_changes_nothing():
    model, (source, target) = build(SEQ2SEQ_TINY)
    short = model(source[:1, :4], target[:1])
    padded = model(source, target, lengths=torch.tensor([4, 7]))
    torch.testing.assert_close(padded[:1], short, atol=1e-5, rtol=1e-5)


def test_decoder_cannot_see_the_future_but_sees_the_whole_source():
    model, (source, target) = build(SEQ2SEQ_TINY)
    changed = target.clone()
    changed[:, 3] = (changed[:, 3] + 1) % 17
    assert torch.allclose(model(source, target)[:, :3], model(source, changed)[:, :3], atol=1e-6)
    other = source.clone()
    other[:, -1] = (other[:, -1] + 1) % 17
    assert not torch.allclose(model(source, target)[:, 0], model(other, target)[:, 0], atol=1e-4)


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


@pytest.mark.parametrize("config", EVERY)
def test_one_batch_can_be_learned_by_heart(config):
    model, inputs = build(config)
    targets = torch.randint(7, (2,) if isinstance(config, ViTConfig) else (2, 5))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(150):
        logits = model(*inputs)
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

"""What sets each model apart, parameters against closed forms and papers, and errors."""

import pytest
import torch
from torch import nn

from pioneers.layers import FeedForward, init_by_inputs, padding_mask
from pioneers.models import (
    BERT,
    GPT,
    T5,
    BERTConfig,
    BERTForPretraining,
    GPTConfig,
    MaskedLMHead,
    T5Config,
    Transformer,
    TransformerConfig,
    ViT,
    ViTConfig,
)
from pioneers.models.encoder_decoder import EncoderDecoderModel

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
    # No two rows begin with the same token, or no causal model could learn them by heart.
    ids = torch.stack([torch.randperm(17)[:7] for _ in range(5)], dim=1)
    match config:
        case GPTConfig():
            return GPT(config), (ids,)
        case BERTConfig():
            return MaskedLM(config), (ids, (torch.arange(5) >= torch.arange(7)[:, None]).long())
        case TransformerConfig():
            return Transformer(config), (torch.randint(17, (7, 11)), ids)
        case ViTConfig():
            return ViT(config), (torch.randn(5, config.in_channels, config.image_size, config.image_size),)


EVERY = [
    GPT_TINY,
    GPT_TINY.replace(norm_placement="post"),
    BERT_TINY,
    SEQ2SEQ_TINY,
    SEQ2SEQ_TINY.replace(norm_placement="sandwich"),
    VIT_TINY,
]


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
    nn.init.zeros_(model.embed.position.table)
    torch.testing.assert_close(model(images), model(flipped), atol=1e-5, rtol=0)


def test_vit_computes_the_class_token_alone_in_training_with_the_same_result():
    model, (images,) = build(VIT_TINY.replace(dropout=0.0))
    states = model.head(model.hidden_states(images)[:, 0])
    torch.testing.assert_close(model.train()(images), states, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(model.eval()(images), states, atol=1e-5, rtol=1e-5)


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
    assert round((vit - 1000 * d - 1000) / 1e6) == 86  # Dosovitskiy et al. 2021, without the head


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


def test_gpt2s_paper_counted_with_the_vocabulary_of_gpt():
    names = ["gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"]
    slips = [count(GPT, GPTConfig.preset(name, vocab_size=40478)) for name in names]
    assert [round(slip / 1e6) for slip in slips] == [117, 345, 762, 1542]  # Radford et al. 2019, table 2


@pytest.mark.parametrize(
    ("preset", "patch_size", "millions"), [("large16", 16, 304), ("large16", 32, 307), ("huge14", 14, 632)]
)
def test_vit_grows_as_published(preset, patch_size, millions):
    # Dosovitskiy et al. 2021 print 307M for ViT-L: that is L/32; with patches of 16 it has 304M.
    assert round(count(ViT, ViTConfig.preset(preset, patch_size=patch_size)) / 1e6) == millions


def test_parameter_counts_of_bert_and_the_transformer():
    d = 768
    bert = (30522 + 512 + 2) * d + 2 * d + 12 * block_parameters(d) + d * d + d
    assert count(BERT, BERTConfig.preset("base")) == bert
    assert round(bert / 1e6) == 109
    assert round(count(BERT, BERTConfig.preset("large")) / 1e6) == 335
    assert count(BERT, BERTConfig.preset("multilingual")) == bert + (119547 - 30522) * d
    # Devlin et al. 2019 say 110M and 340M: with both heads, in tens of millions.
    assert round(count(BERTForPretraining, BERTConfig.preset("base")), -7) == 110e6
    assert round(count(BERTForPretraining, BERTConfig.preset("large")), -7) == 340e6
    d, d_ff = 512, 2048
    attention, ffn, norm = 4 * (d * d + d), 2 * d * d_ff + d_ff + d, 2 * d
    base = 37000 * d + 6 * (attention + ffn + 2 * norm) + 6 * (2 * attention + ffn + 3 * norm)
    assert count(Transformer, TransformerConfig.preset("base")) == base
    assert round(base / 1e6) == 63
    assert round(count(Transformer, TransformerConfig.preset("big")) / 1e6) == 214


@pytest.mark.parametrize(
    ("changes", "millions"),
    [
        ({}, 65), ({"num_layers": 2}, 36), ({"num_layers": 4}, 50), ({"num_layers": 8}, 80),
        ({"d_model": 256}, 28), ({"d_model": 1024}, 168), ({"d_ff": 1024}, 53), ({"d_ff": 4096}, 90),
    ],
)  # fmt: skip
def test_the_transformers_paper_counted_with_41000_tokens(changes, millions):
    """Vaswani et al. 2017, table 3: its sizes fit this vocabulary; section 5.1 says "about 37000"."""
    config = TransformerConfig.preset("base", vocab_size=41_000, **changes)
    assert round(count(Transformer, config) / 1e6) == millions


def test_the_big_transformer_has_the_papers_213_million_with_36000_tokens():
    config = TransformerConfig.preset("big", vocab_size=36_000)
    assert round(count(Transformer, config) / 1e6) == 213


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
    got = ours(source, target, mask=padding_mask(lengths, 7))
    torch.testing.assert_close(got, hidden @ ours.embed.token.weight.T, atol=1e-5, rtol=1e-5)


def test_source_padding_changes_nothing():
    model, (source, target) = build(SEQ2SEQ_TINY)
    short = model(source[:1, :4], target[:1])
    padded = model(source, target, mask=padding_mask(torch.tensor([4, 11, 1, 2, 3, 5, 7])))
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
    with pytest.raises(ValueError, match="num_segments must be 0 or more, not -1"):
        BERT_TINY.replace(num_segments=-1)
    with pytest.raises(ValueError, match="in_channels must be a positive integer, not 0"):
        VIT_TINY.replace(in_channels=0)
    for patch_size in (2, 30):
        with pytest.raises(
            ValueError, match=f"patch_size must be a divisor of image_size=15, not {patch_size}"
        ):
            VIT_TINY.replace(patch_size=patch_size)


@pytest.mark.parametrize("dropout", [-0.1, 1.0, 3.0])
def test_impossible_dropout_is_refused(dropout):
    for config in (GPT_TINY, BERT_TINY, VIT_TINY, SEQ2SEQ_TINY):
        with pytest.raises(ValueError, match=f"dropout must be at least 0 and less than 1, not {dropout}"):
            config.replace(dropout=dropout)


def test_unknown_activations_and_placements_are_refused():
    with pytest.raises(ValueError, match=r"GPTConfig: activation must be one of relu, .*swish, not 'tanh'"):
        GPT_TINY.replace(activation="tanh")
    with pytest.raises(
        ValueError, match="norm_placement must be one of pre, post, sandwich, res-post, not 'both'"
    ):
        SEQ2SEQ_TINY.replace(norm_placement="both")


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
    targets = torch.randint(7, (5,) if isinstance(config, ViTConfig) else (7, 5))
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


@pytest.mark.parametrize("gated", [False, True])
def test_t5_starts_as_its_authors_draw_it(gated):
    d, k, f = 256, 16, 512
    sizes = {"vocab_size": 500, "d_model": d, "d_ff": f, "num_layers": 1, "head_dim": k}
    model = T5(T5Config.preset("small", **sizes, gated=gated, tied_head=False))
    init_by_inputs(model, d_model=d, head_dim=k)  # a second time, as the constructor does it
    block = model.decoder.blocks[0]
    expected = {block.attn.q_proj: (d * k) ** -0.5, block.cross_attn.k_proj: d**-0.5, block.ffn.down: f**-0.5}
    expected |= {model.decoder_bias.table: d**-0.5, model.embed.token: 1.0}
    for module, std in expected.items():
        assert float(module.weight.detach().std()) == pytest.approx(std, rel=0.12)


@pytest.mark.parametrize("kind", [T5, Transformer])
def test_encoder_decoders_train_in_one_call_and_refuse_to_be_abstract(kind):
    sizes = {"vocab_size": 11, "d_model": 8, "d_ff": 8, "num_layers": 2, "num_heads": 2, "dropout": 0.0}
    model = kind(T5Config(**sizes, head_dim=4) if kind is T5 else TransformerConfig(**sizes, max_seq_len=9))
    source, target = torch.arange(10).view(2, 5), torch.arange(6).view(2, 3)
    assert torch.equal(model(source, target), model.decode(target, model.encode(source)))
    assert len(model.new_caches()) == 2
    assert isinstance(model, EncoderDecoderModel)
    for method in ("encode", "decode"):
        assert method in vars(kind)
    with pytest.raises(NotImplementedError):
        EncoderDecoderModel()(source, target)

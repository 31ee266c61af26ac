"""Folders in Hugging Face's layout, however they are spelled: read with the same outputs, or refused."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from pioneers import from_pretrained
from pioneers.layers import padding_mask
from pioneers.models import BERT, GPT, BERTForPretraining, ViT

V, T, D = 31, 11, 12
GPT2, PRETRAINING, BODY = "GPT2LMHeadModel", "BertForPreTraining", "BertModel"
VIT = "ViTForImageClassification"


def ids(*shape):
    return torch.randint(V, shape, generator=torch.Generator().manual_seed(1))


def assert_same(got, expected):
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)


@pytest.fixture
def folder(tmp_path, make_theirs):
    """A function that saves a model of theirs and returns it with its folder."""

    def save(architecture, **changes):
        theirs = make_theirs(architecture, **changes)
        theirs.save_pretrained(tmp_path / architecture)
        return theirs, tmp_path / architecture

    return save


def rewrite(folder, change):
    """Put what ``change`` makes of the tensors in place of them."""
    path = folder / "model.safetensors"
    save_file(change({name: t.clone() for name, t in load_file(path).items()}), path)


def configure(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def renamed(old, new):
    return lambda tensors: {name.replace(old, new): t for name, t in tensors.items()}


def with_more(name, shape):
    return lambda tensors: tensors | {name: torch.ones(shape)}


def with_copy(name, original):
    return lambda tensors: tensors | {name: tensors[original].clone()}


def without(name):
    return lambda tensors: {n: t for n, t in tensors.items() if n != name}


def both(first, second):
    return lambda tensors: second(first(tensors))


def compare_gpt2(folder, theirs):
    ours = from_pretrained(folder)
    assert isinstance(ours, GPT)
    assert not ours.training
    assert ours.lm_head.weight is ours.embed.token.weight
    assert_same(ours(ids(2, 7)), theirs(ids(2, 7)).logits)


def compare_bert(folder, theirs):
    ours = from_pretrained(folder)
    assert isinstance(ours, BERTForPretraining)
    mask = padding_mask(torch.tensor([7, 4]), 7)
    segments = ids(2, 7) % 3
    got = ours(ids(2, 7), segment_ids=segments, mask=mask)
    out = theirs(ids(2, 7), token_type_ids=segments, attention_mask=mask[:, 0, 0].long())
    real = mask[:, 0, 0]
    assert_same(got.masked_lm[real], out.prediction_logits[real])
    assert_same(got.next_sentence, out.seq_relationship_logits)


def compare_body(folder, theirs):
    ours = from_pretrained(folder)
    assert isinstance(ours, BERT)
    hidden = ours(ids(2, 7))
    out = theirs(ids(2, 7))
    assert_same(hidden, out.last_hidden_state)
    assert_same(ours.pool(hidden), out.pooler_output)


def compare_vit(folder, theirs):
    ours = from_pretrained(folder)
    assert isinstance(ours, ViT)
    images = torch.randn(2, 3, 15, 15, generator=torch.Generator().manual_seed(1))
    assert_same(ours(images), theirs(images).logits)


COMPARE = {
    GPT2: compare_gpt2,
    PRETRAINING: compare_bert,
    BODY: compare_body,
    VIT: compare_vit,
}


def assert_same_outputs(architecture, folder, theirs):
    COMPARE[architecture](folder, theirs)


@pytest.mark.parametrize("architecture", COMPARE)
def test_a_folder_of_theirs_gives_their_outputs(architecture, folder):
    theirs, path = folder(architecture)
    assert_same_outputs(architecture, path, theirs)


@pytest.mark.parametrize("architecture", COMPARE)
def test_weights_in_several_files_are_put_together(architecture, tmp_path, make_theirs):
    theirs = make_theirs(architecture)
    theirs.save_pretrained(tmp_path, max_shard_size="4KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 2
    assert_same_outputs(architecture, tmp_path, theirs)


# Among them those of the hub's gpt2, bert-base-uncased and google/vit-base-patch16-224.
SPELLINGS = {
    "body alone, stored mask": (
        GPT2,
        both(renamed("transformer.", ""), with_more("h.1.attn.bias", (1, 1, T, T))),
    ),
    "old mask": (GPT2, with_more("transformer.h.0.attn.masked_bias", ())),
    "tied copy": (GPT2, with_copy("lm_head.weight", "transformer.wte.weight")),
    "old norms": (
        PRETRAINING,
        both(renamed("LayerNorm.weight", "LayerNorm.gamma"), renamed("LayerNorm.bias", "LayerNorm.beta")),
    ),
    "tied copies": (
        PRETRAINING,
        both(
            with_copy("cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"),
            with_copy("cls.predictions.decoder.bias", "cls.predictions.bias"),
        ),
    ),
    "stored positions": (BODY, with_more("embeddings.position_ids", (1, T))),
    "body with prefix": (BODY, lambda tensors: {f"bert.{name}": t for name, t in tensors.items()}),
    "pooler": (
        VIT,
        both(
            with_more("vit.pooler.dense.weight", (D, D)),
            with_more("vit.pooler.dense.bias", (D,)),
        ),
    ),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_other_spellings_of_the_names_are_read_too(spelling, folder):
    architecture, change = SPELLINGS[spelling]
    theirs, path = folder(architecture)
    before = load_file(path / "model.safetensors").keys()
    rewrite(path, change)
    assert load_file(path / "model.safetensors").keys() != before
    assert_same_outputs(architecture, path, theirs)


def test_weights_of_half_precision_become_float32(folder):
    _, path = folder(GPT2)
    rewrite(path, lambda tensors: {name: t.bfloat16() for name, t in tensors.items()})
    stored = load_file(path / "model.safetensors")["transformer.wpe.weight"]
    table = from_pretrained(path).embed.position.table
    assert (stored.dtype, table.dtype) == (torch.bfloat16, torch.float32)
    assert torch.equal(table, stored.float())


@pytest.mark.parametrize(
    "activation", ["gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu", "quick_gelu", "relu", "silu"]
)
def test_activations_are_translated(activation, folder):
    theirs, path = folder(GPT2, activation_function=activation)
    assert_same_outputs(GPT2, path, theirs)


def test_other_ways_to_say_the_same_sizes(folder):
    theirs, path = folder(GPT2, n_inner=4 * D)
    assert_same_outputs(GPT2, path, theirs)
    theirs, path = folder(VIT, layer_norm_eps=0.1)
    configure(path, image_size=[15, 15], patch_size=[5, 5])
    assert_same_outputs(VIT, path, theirs)
    assert from_pretrained(path).config.norm_eps == 0.1


@pytest.mark.parametrize(
    ("architecture", "changes", "message"),
    [
        (GPT2, {"n_inner": 0}, "GPTConfig: d_ff must be a positive integer, not 0"),
        (GPT2, {"activation_function": "elu"}, "activation_function='elu'; .* one of gelu_new, "),
        (GPT2, {"attn_pdrop": 0.2}, "attn_pdrop=0.2; .* 0.1 like its other values of dropout"),
        (GPT2, {"layer_norm_epsilon": 0.1}, "layer_norm_epsilon=0.1; .* can only be 1e-05"),
        (GPT2, {"scale_attn_weights": False}, "scale_attn_weights=False"),
        (GPT2, {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx=True"),
        (GPT2, {"add_cross_attention": True}, "add_cross_attention=True"),
        (GPT2, {"tie_word_embeddings": False}, "tie_word_embeddings=False"),
        (GPT2, {"quantization_config": {"bits": 4}}, "quantization_config={'bits': 4}"),
        (GPT2, {"n_head": 5}, "num_heads=5 must divide d_model=12"),
        (GPT2, {"n_layer": "two"}, "num_layers must be a positive integer, not 'two'"),
        (
            PRETRAINING,
            {"hidden_act": "tanh"},
            "hidden_act='tanh'; the model here can only be one of gelu_new",
        ),
        (PRETRAINING, {"hidden_dropout_prob": 0.3}, "attention_probs_dropout_prob=0.1; .* 0.3 like"),
        (PRETRAINING, {"position_embedding_type": "relative_key"}, "='relative_key'; .* 'absolute'"),
        (PRETRAINING, {"is_decoder": True}, "is_decoder=True"),
        (PRETRAINING, {"add_cross_attention": True}, "add_cross_attention=True"),
        (PRETRAINING, {"tie_word_embeddings": False}, "tie_word_embeddings=False"),
        (PRETRAINING, {"pruned_heads": {"0": [1]}}, "pruned_heads="),
        (VIT, {"qkv_bias": False}, "qkv_bias=False"),
        (VIT, {"hidden_act": "gelu_new"}, "hidden_act='gelu_new'"),
        (VIT, {"image_size": [15, 20]}, r"image_size=\[15, 20\]; .* can only be a square"),
        (VIT, {"id2label": 7}, 'id2label=7; .* only be labels with the ids "0", "1", "2" and so on'),
        (VIT, {"id2label": {"1": "cat", "2": "dog"}}, "id2label={.*}; .* only be labels with the ids"),
    ],
)
def test_a_setting_that_is_not_ours_is_refused_by_name(architecture, changes, message, folder):
    _, path = folder(architecture)
    from_pretrained(path)
    configure(path, **changes)
    with pytest.raises(ValueError, match=rf"config\.json: .*{message}"):
        from_pretrained(path)


@pytest.mark.parametrize(
    ("architecture", "change", "message"),
    [
        (GPT2, without("transformer.ln_f.bias"), r"checkpoint lacks transformer\.ln_f\.bias\. Get config"),
        (
            GPT2,
            with_more("value.weight", (2, D)),
            r"holds value\.weight, which the model",
        ),
        (
            GPT2,
            with_more("lm_head.weight", (V, D)),
            r"lm_head\.weight differs from transformer\.wte\.weight; .* are one tensor",
        ),
        (
            GPT2,
            lambda tensors: {n: t for n, t in tensors.items() if "h.1" not in n},
            r"lacks transformer\.h\.1\.attn\.c_attn\.bias, .*, .* and 9 more tensors",
        ),
        (
            PRETRAINING,
            without("cls.seq_relationship.bias"),
            r"does not hold a valid BertForPreTraining: .* lacks cls\.seq_relationship\.bias",
        ),
        (BODY, without("pooler.dense.weight"), r"lacks bert\.pooler\.dense\.weight"),
        (
            VIT,
            with_more("vit.extra", (1,)),
            r"holds vit\.extra",
        ),
    ],
)
def test_tensors_missing_or_left_over_are_named(architecture, change, message, folder):
    _, path = folder(architecture)
    rewrite(path, change)
    with pytest.raises(ValueError, match=message):
        from_pretrained(path)


def test_tensors_of_another_shape_are_named(folder):
    _, path = folder(GPT2)
    configure(path, vocab_size=37)
    with pytest.raises(ValueError, match=r"wte\.weight of shape \(31, 12\) where .* asks for \(37, 12\)"):
        from_pretrained(path)


@pytest.mark.parametrize(
    ("architecture", "message"),
    [
        ("BertForNextSentencePrediction", r"valid BertModel.* holds cls\.seq_relationship\.bias, cls\.seq"),
        ("BertForMultipleChoice", r"classifier\.bias of shape \(1,\) where its .* asks for \(2,\)"),
        ("GPT2ForTokenClassification", r"valid GPT2LMHeadModel.* holds classifier\.bias, classifier\.weight"),
        ("ViTForMaskedImageModeling", r"valid ViTModel.* holds decoder\.0\.bias, decoder\.0\.weight"),
    ],
)
def test_models_with_other_heads_are_refused(architecture, message, folder):
    _, path = folder(architecture)
    with pytest.raises(ValueError, match=message):
        from_pretrained(path)


def test_a_family_we_do_not_have_is_refused(folder):
    _, path = folder(GPT2)
    configure(path, model_type="mamba")
    with pytest.raises(
        ValueError,
        match=r"is for a 'mamba'; of .* only (?=.*t5, mt5)(?=.*vit).* can be read\. Give one of these, or",
    ):
        from_pretrained(path)


def test_sizes_beyond_all_memory_are_refused_before_they_are_built(folder):
    _, path = folder(GPT2)
    configure(path, vocab_size=10**13)
    with pytest.raises(
        ValueError, match=r"holds transformer\.wte\.weight of shape .* where its configuration"
    ):
        from_pretrained(path)


def test_pickled_weights_are_not_opened(folder):
    _, path = folder(GPT2)
    (path / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no weights: neither model\.safetensors nor model\.saf"):
        from_pretrained(path)
    (path / "pytorch_model.bin").write_bytes(b"whatever")
    with pytest.raises(ValueError, match=r"pickled weights only \(pytorch_model\.bin\)"):
        from_pretrained(path)


def test_a_truncated_download_is_named(folder):
    _, path = folder(GPT2)
    weights = path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"model\.safetensors is truncated or damaged, .*; get it again"):
        from_pretrained(path)


@pytest.fixture
def shards(tmp_path, make_theirs):
    make_theirs(GPT2).save_pretrained(tmp_path, max_shard_size="4KB")
    path = tmp_path / "model.safetensors.index.json"
    return tmp_path, path, json.loads(path.read_text())


def test_a_missing_file_of_several_is_named(shards):
    folder, _, index = shards
    name = index["weight_map"]["transformer.wte.weight"]
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=rf"{name} is missing; get it from where"):
        from_pretrained(folder)


@pytest.mark.parametrize("change", [{"weight_map": {"x": "../x.safetensors"}}, {"weight_map": []}])
def test_an_index_names_files_of_its_folder(shards, change):
    folder, path, index = shards
    path.write_text(json.dumps(index | change))
    with pytest.raises(ValueError, match=r"index\.json does not say which file of the folder holds which"):
        from_pretrained(folder)


def test_an_index_agrees_with_its_files(shards):
    folder, path, index = shards
    file = index["weight_map"].pop("transformer.wpe.weight")
    assert file in index["weight_map"].values()
    path.write_text(json.dumps(index))
    with pytest.raises(ValueError, match=r"disagree about the tensor transformer\.wpe\.weight"):
        from_pretrained(folder)

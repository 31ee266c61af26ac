"""BART beside Hugging Face's, small and random: logits, gradients, folders in both directions."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from pioneers import from_pretrained
from pioneers.generation import translate
from pioneers.layers import padding_mask
from pioneers.models import BART, BARTConfig
from pioneers.weights import save_huggingface, save_pretrained
from pioneers.weights.bart import TENSORS

V, S, T = 31, 11, 7
SIZES = {
    "vocab_size": V, "d_model": 12, "max_position_embeddings": 13, "encoder_layers": 2,
    "encoder_ffn_dim": 19, "decoder_ffn_dim": 19, "encoder_attention_heads": 3, "decoder_attention_heads": 3,
}  # fmt: skip


@pytest.fixture(params=[2, 1], ids=["as deep", "shallow decoder"])
def theirs(request, transformers):
    config = transformers.BartConfig(**SIZES, decoder_layers=request.param, forced_eos_token_id=None)
    model = transformers.BartForConditionalGeneration(config)
    generator = torch.Generator().manual_seed(0)
    for name, p in model.named_parameters():
        gain = name.endswith("weight") and "norm" in name
        nn.init.normal_(p, mean=float(gain), std=0.3, generator=generator)
    return model.eval()


@pytest.fixture
def pair(theirs, tmp_path):
    theirs.save_pretrained(tmp_path / "theirs")
    return from_pretrained(tmp_path / "theirs"), theirs


def ids(*shape):
    return torch.randint(3, V, shape, generator=torch.Generator().manual_seed(1))  # 1 is padding there


@pytest.mark.parametrize("lengths", [None, (S, 4, 9)], ids=["unpadded", "padded"])
def test_logits_and_all_gradients_are_theirs(pair, lengths):
    ours, theirs = pair
    source, target = ids(3, S), ids(3, T)
    mask = None if lengths is None else padding_mask(torch.tensor(lengths))
    seen = None if mask is None else mask[:, 0, 0].long()
    got = ours(source, target, mask=mask)
    expected = theirs(input_ids=source, attention_mask=seen, decoder_input_ids=target).logits
    torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)
    weights = torch.randn(got.shape, generator=torch.Generator().manual_seed(2))
    for logits in (got, expected):
        (logits * weights).sum().backward()
    rows = {row.ours[0]: row for row in TENSORS}
    for name, p in ours.named_parameters():
        number = "".join(part for part in name.split(".") if part.isdigit())
        row = rows[name.replace(f".{number}.", ".{}.")]
        other = theirs.get_parameter(row.theirs.format(number)).grad[row.extra_rows :]
        largest = float(other.abs().max())
        if name.endswith("k_proj.bias"):  # adds the same to every score of a row, which softmax takes out
            assert largest < 1e-4
            continue
        assert largest > 1e-3, name
        torch.testing.assert_close(p.grad / largest, other / largest, atol=1e-4, rtol=0, msg=name)


@pytest.mark.parametrize("num_beams", [1, 3])
def test_translation_is_their_generation(pair, num_beams):
    ours, theirs = pair
    got = translate(ours, ids(3, S), 9, start_id=2, stop_id=2, pad_id=1, num_beams=num_beams, alpha=0.0)
    how = {"max_new_tokens": 9, "do_sample": False, "num_beams": num_beams, "length_penalty": 0.0}
    expected = theirs.generate(ids(3, S), attention_mask=torch.ones(3, S), early_stopping="never", **how)
    assert torch.equal(got, expected[:, 1 : got.shape[1] + 1])


def test_an_exported_folder_has_the_same_logits_there_and_here(pair, transformers, tmp_path):
    ours, theirs = pair
    save_huggingface(ours, tmp_path / "exported")
    again = from_pretrained(tmp_path / "exported")
    there, info = type(theirs).from_pretrained(tmp_path / "exported", output_loading_info=True)
    assert not any(info.values())
    assert again.config == ours.config
    expected = ours(ids(3, S), ids(3, T))
    assert torch.equal(again(ids(3, S), ids(3, T)), expected)
    got = there.eval()(input_ids=ids(3, S), decoder_input_ids=ids(3, T)).logits
    torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)
    save_pretrained(ours, tmp_path / "own")
    assert torch.equal(from_pretrained(tmp_path / "own")(ids(3, S), ids(3, T)), expected)


def test_a_body_that_was_stored_alone_is_read(theirs, tmp_path):
    theirs.model.save_pretrained(tmp_path)  # as facebook/bart-base is published
    expected = theirs(input_ids=ids(3, S), decoder_input_ids=ids(3, T)).logits
    got = from_pretrained(tmp_path)(ids(3, S), ids(3, T))
    torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)


def test_a_bias_on_the_logits_may_only_be_zero(theirs, tmp_path):
    theirs.save_pretrained(tmp_path)
    path = tmp_path / "model.safetensors"
    tensors = load_file(path)
    assert not tensors["final_logits_bias"].any()
    save_file(tensors | {"final_logits_bias": torch.eye(1, V)}, path)
    with pytest.raises(ValueError, match="final_logits_bias is not zero"):
        from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"scale_embedding": True}, "scale_embedding=True"),
        ({"normalize_before": True}, "normalize_before=True"),
        ({"decoder_attention_heads": 4}, "decoder_attention_heads=4; .* can only be 3 like its other values"),
        ({"activation_function": "relu"}, "activation_function='relu'"),
    ],
)
def test_what_is_not_computed_is_refused_by_name(theirs, entries, message, tmp_path):
    theirs.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | entries))
    with pytest.raises(ValueError, match=message):
        from_pretrained(tmp_path)


BASE = {
    "d_model": 768, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 12,
    "decoder_attention_heads": 12, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072,
}  # fmt: skip


@pytest.mark.parametrize(("preset", "published", "millions"), [("base", BASE, 139), ("large", {}, 406)])
def test_parameter_counts_are_the_published_ones(preset, published, millions, transformers):
    config = BARTConfig.preset(preset)
    with torch.device("meta"):
        count = sum(p.numel() for p in BART(config).parameters())
        theirs = transformers.BartForConditionalGeneration(transformers.BartConfig(**published))
    assert count == sum(p.numel() for p in theirs.parameters()) - 2 * 2 * config.d_model  # the unused rows
    assert round(count / 1e6) == millions

"""MAE and CLIP beside Hugging Face's, small and random: outputs, all gradients, folders both ways."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from pioneers import from_pretrained
from pioneers.layers import padding_mask
from pioneers.models import CLIP, MAE, CLIPConfig, MAEConfig
from pioneers.objectives import contrastive_loss, mask_patches, masked_pixel_loss
from pioneers.tokenizers.bpe import SYMBOLS
from pioneers.weights import load_tokenizer, save_huggingface, save_pretrained
from pioneers.weights.registry import layout_of

V, T, B = 31, 11, 3
MAE_SIZES = {
    "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 17,
    "image_size": 15, "patch_size": 5, "num_channels": 2, "decoder_hidden_size": 8,
    "decoder_num_hidden_layers": 1, "decoder_num_attention_heads": 2, "decoder_intermediate_size": 19,
    "mask_ratio": 0.6, "norm_pix_loss": True,
}  # fmt: skip
TEXT = {
    "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 17,
    "vocab_size": V, "max_position_embeddings": T, "eos_token_id": 29, "bos_token_id": 1,
}  # fmt: skip
VISION = {
    "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 19,
    "image_size": 15, "patch_size": 5, "num_channels": 2,
}  # fmt: skip


def drawn(seed):
    return torch.Generator().manual_seed(seed)


def randomised(model):
    generator = drawn(0)
    for p in model.parameters():
        nn.init.normal_(p, std=0.6, generator=generator)
    return model.eval()


@pytest.fixture
def make(transformers):
    """A function from the name of a family, with changes, to a random model of theirs."""

    def build(family, **changes):
        if family == "mae":
            config = transformers.ViTMAEConfig(**MAE_SIZES | changes)
            return randomised(transformers.ViTMAEForPreTraining(config))
        config = transformers.CLIPConfig(
            text_config=TEXT | changes, vision_config=VISION, projection_dim=7, logit_scale_init_value=2.0
        )
        return randomised(transformers.CLIPModel(config))

    return build


def images():
    return torch.randn(B, 2, 15, 15, generator=drawn(1), dtype=torch.float64)


def texts(end=29, padded=False):
    """Token ids with an end in every row; behind it more text, or padding that is masked on their side."""
    ids = torch.randint(3, end, (B, 7), generator=drawn(2))
    lengths = torch.tensor([7, 4, 2])
    ids[torch.arange(B), lengths - 1] = end
    mask = padding_mask(lengths)[:, 0, 0]
    return (ids.masked_fill(~mask, 0), mask.long()) if padded else (ids, torch.ones_like(ids))


def assert_same(got, expected):
    scale = max(0.1, float(expected.detach().abs().max()))
    torch.testing.assert_close(got / scale, expected / scale, atol=1e-4, rtol=0)


def assert_same_gradients(ours, theirs, folder):
    """Their gradients are saved as if they were weights, and read under our names."""
    for p in theirs.parameters():
        p.data = torch.zeros_like(p) if p.grad is None else p.grad
    theirs.save_pretrained(folder)
    layout = layout_of(ours)
    stored = published(load_file(folder / "model.safetensors"))
    wanted = layout.tensors_to_ours(stored, layout.kind.settings(ours))
    mine = {name: p.grad for name, p in ours.named_parameters() if p.requires_grad}
    assert mine.keys() == {name for name in wanted if "position" not in name or name in mine}
    for name, grad in mine.items():
        assert_same(grad, wanted[name])


def published(tensors):
    """The names of the files on the hub, where transformers 5 writes others for the decoder's blocks."""
    return {
        n.replace("decoder.decoder_encoder.layer.", "decoder.decoder_layers."): t for n, t in tensors.items()
    }


@pytest.mark.parametrize("names", ["as written", "as published"])
def test_mae_has_their_pixels_loss_and_gradients(names, make, tmp_path):
    theirs = make("mae").double()
    theirs.save_pretrained(tmp_path / "theirs")
    if names == "as published":
        path = tmp_path / "theirs" / "model.safetensors"
        save_file(published(load_file(path)), path)
    ours = from_pretrained(tmp_path / "theirs").double()
    assert type(ours) is MAE
    noise = torch.rand(B, 9, generator=drawn(3), dtype=torch.float64)
    out = theirs(images(), noise=noise)
    hidden = mask_patches(noise, mask_ratio=0.6)
    assert torch.equal(hidden.masked.double(), out.mask)
    assert torch.equal(hidden.restore, out.ids_restore)
    got = ours(images(), hidden.visible, hidden.restore)  # (B, 9, C · P · P)
    by_pixel = out.logits.unflatten(-1, (25, 2)).transpose(-1, -2).flatten(-2)
    assert by_pixel.std() > 0.1
    assert_same(got, by_pixel)
    loss = masked_pixel_loss(got, images(), hidden.masked, patch_size=5)
    torch.testing.assert_close(loss, out.loss)
    loss.backward()
    out.loss.backward()
    assert_same_gradients(ours, theirs, tmp_path / "gradients")


def test_pixels_that_are_not_normalised_have_their_loss(make, tmp_path):
    theirs = make("mae", norm_pix_loss=False).double()
    theirs.save_pretrained(tmp_path)
    noise = torch.rand(B, 9, generator=drawn(3), dtype=torch.float64)
    hidden = mask_patches(noise, mask_ratio=0.6)
    got = from_pretrained(tmp_path).double()(images(), hidden.visible, hidden.restore)
    loss = masked_pixel_loss(got, images(), hidden.masked, patch_size=5, normalise=False)
    torch.testing.assert_close(loss, theirs(images(), noise=noise).loss)


@pytest.mark.parametrize("padded", [False, True], ids=["unpadded", "padded"])
def test_clip_has_their_vectors_logits_loss_and_gradients(padded, make, tmp_path):
    theirs = make("clip").double()
    theirs.save_pretrained(tmp_path / "theirs")
    ours = from_pretrained(tmp_path / "theirs").double()
    assert type(ours) is CLIP
    ids, mask = texts(padded=padded)
    out = theirs(ids, images(), attention_mask=mask, return_loss=True)
    vectors = ours.encode_images(images()), ours.encode_texts(ids)
    for mine, other in zip(vectors, (out.image_embeds, out.text_embeds), strict=True):
        assert other.std() > 0.1
        assert_same(mine / mine.norm(dim=-1, keepdim=True), other)
    logits = ours(images(), ids)
    assert_same(logits, out.logits_per_image)
    loss = contrastive_loss(logits)
    torch.testing.assert_close(loss, out.loss)
    loss.backward()
    out.loss.backward()
    assert_same_gradients(ours, theirs, tmp_path / "gradients")


def test_published_clip_reads_the_highest_id(make, tmp_path):
    theirs = make("clip", eos_token_id=2, hidden_act="gelu")
    theirs.vision_model.config.hidden_act = theirs.config.vision_config.hidden_act = "gelu"
    theirs.save_pretrained(tmp_path)
    ours = from_pretrained(tmp_path)
    assert (ours.config.end_id, ours.config.activation) == (None, "gelu")
    ids, _ = texts(end=30)
    expected = theirs.get_text_features(ids).pooler_output
    assert_same(ours.encode_texts(ids), expected)


def test_towers_that_differ_in_what_is_one_setting_here_are_refused(make, tmp_path):
    make("clip", hidden_act="gelu").save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"can only be 'gelu' like its other values of activation"):
        from_pretrained(tmp_path)
    path = tmp_path / "config.json"
    values = json.loads(path.read_text())
    values["text_config"]["hidden_act"] = "tanh"
    path.write_text(json.dumps(values))
    with pytest.raises(ValueError, match=r"hidden_act is one of .*quick_gelu"):
        from_pretrained(tmp_path)


def test_an_end_that_means_the_highest_id_there_is_not_written(make, tmp_path):
    make("clip").save_pretrained(tmp_path / "theirs")
    ours = from_pretrained(tmp_path / "theirs")
    other = CLIP(ours.config.replace(end_id=2))
    with pytest.raises(ValueError, match=r"end_id=2 has no counterpart .*the highest id there"):
        save_huggingface(other, tmp_path / "written")


@pytest.mark.parametrize("family", ["mae", "clip"])
def test_what_we_write_is_read_there_and_here(family, make, transformers, tmp_path):
    theirs = make(family)
    theirs.save_pretrained(tmp_path / "theirs")
    ours = from_pretrained(tmp_path / "theirs")
    save_huggingface(ours, tmp_path / "written")
    again, report = type(theirs).from_pretrained(tmp_path / "written", output_loading_info=True)
    assert not any(report[problem] for problem in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    state = again.state_dict()
    assert all(torch.equal(tensor, state[name]) for name, tensor in theirs.state_dict().items())
    if family == "clip":
        ids = texts()[0]
        inputs = {"input_ids": ids, "pixel_values": images().float()}
        assert_same(again.eval()(**inputs).logits_per_image, theirs(**inputs).logits_per_image)
    back = from_pretrained(tmp_path / "written")
    assert back.config == ours.config
    save_pretrained(back, tmp_path / "own")
    own = from_pretrained(tmp_path / "own")
    assert own.config == ours.config
    assert all(torch.equal(t, own.state_dict()[name]) for name, t in ours.state_dict().items())


COUNTS = {
    "mae base16": (MAE, MAEConfig, "ViTMAEForPreTraining", 111_907_840),
    "mae large16": (MAE, MAEConfig, "ViTMAEForPreTraining", None),
    "mae huge14": (MAE, MAEConfig, "ViTMAEForPreTraining", None),
    "clip base32": (CLIP, CLIPConfig, "CLIPModel", 151_277_313),
    "clip base16": (CLIP, CLIPConfig, "CLIPModel", 149_620_737),
    "clip large14": (CLIP, CLIPConfig, "CLIPModel", 427_616_513),
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_preset_is_as_large_as_their_model_of_the_same_settings(name, transformers):
    cls, config, architecture, count = COUNTS[name]
    with torch.device("meta"):
        ours = cls(config.preset(name.split()[1]))
        layout = layout_of(ours)
        values = layout.config_to_theirs(layout.kind.settings(ours))
        theirs = getattr(transformers, architecture)(transformers.AutoConfig.for_model(**values))
    sizes = [sum(p.numel() for p in model.parameters()) for model in (ours, theirs)]
    assert sizes[0] == sizes[1]
    assert count in (None, sizes[0])


def test_clips_tokenizer_is_read_from_its_folder(transformers, tmp_path):
    merges = [("t", "h"), ("th", "e</w>"), ("c", "a"), ("ca", "t</w>"), ("o", "f</w>")]
    tokens = [*SYMBOLS, *(f"{s}</w>" for s in SYMBOLS), *(a + b for a, b in merges)]
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    vocab = {token: i for i, token in enumerate(tokens)}
    theirs = transformers.CLIPTokenizer(vocab=vocab, merges=merges)
    theirs.save_pretrained(tmp_path)
    ours = load_tokenizer(tmp_path)
    start, end = (ours.special_ids[name] for name in ("<|startoftext|>", "<|endoftext|>"))
    for text in ("The cat  of the CAFÉ's 42 cats!", "日本 naïve", ""):
        assert [start, *ours.encode(text), end] == theirs(text)["input_ids"]
    assert ours.decode(ours.encode("The cat")) == "the</w>cat</w>"
    assert end == ours.vocab_size - 1  # the highest id

"""T5, mT5 and ByT5 beside Hugging Face's, small and random: logits, gradients, folders in both directions."""

import pytest
import torch
from torch import nn

from pioneers import from_pretrained
from pioneers.generation import translate
from pioneers.layers import padding_mask
from pioneers.models import T5, T5Config
from pioneers.weights import save_huggingface, save_pretrained
from pioneers.weights.registry import LAYOUTS
from pioneers.weights.t5 import GATED, PLAIN

V, S, T = 31, 150, 37  # longer than the last bucket of distances, which begins at 128
SIZES = {"vocab_size": V, "d_model": 12, "d_kv": 5, "d_ff": 19, "num_layers": 2, "num_heads": 3}
GATE = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
KINDS = {
    "t5": ("T5", {"feed_forward_proj": "relu"}),
    "t5 v1.1": ("T5", {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
    "byt5": (
        "T5",
        {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "num_decoder_layers": 1},
    ),
    "mt5": ("MT5", {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
}


@pytest.fixture(params=KINDS)
def theirs(request, transformers):
    family, how = KINDS[request.param]
    config = getattr(transformers, f"{family}Config")(**SIZES, **how, decoder_start_token_id=0)
    model = getattr(transformers, f"{family}ForConditionalGeneration")(config)
    if "tie_word_embeddings" in how:  # published files have a matrix of its own here
        model.lm_head.weight = nn.Parameter(torch.empty(V, 12))
    generator = torch.Generator().manual_seed(0)
    for p in model.parameters():
        nn.init.normal_(p, std=0.3, generator=generator)
    return model.eval()


@pytest.fixture
def pair(theirs, tmp_path):
    theirs.save_pretrained(tmp_path / "theirs")
    return from_pretrained(tmp_path / "theirs"), theirs


def ids(*shape):
    return torch.randint(V, shape, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("lengths", [None, (S, 4, 29)], ids=["unpadded", "padded"])
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
    rows = {row.ours[0]: row.theirs for row in (GATED if ours.config.gated else PLAIN)}
    for name, p in ours.named_parameters():
        number = "".join(part for part in name.split(".") if part.isdigit())
        other = theirs.get_parameter(rows[name.replace(f".{number}.", ".{}.")].format(number))
        largest = float(other.grad.abs().max())
        assert largest > 1e-3, name
        torch.testing.assert_close(p.grad / largest, other.grad / largest, atol=1e-4, rtol=0, msg=name)


def test_greedy_translation_is_their_generation(pair):
    ours, theirs = pair
    got = translate(ours, ids(3, 11), 9, start_id=0, stop_id=1)
    expected = theirs.generate(ids(3, 11), max_new_tokens=9, do_sample=False, num_beams=1)[:, 1:]
    assert torch.equal(got, expected[:, : got.shape[1]])


def test_an_exported_folder_has_the_same_logits_there_and_here(pair, transformers, tmp_path):
    ours, _ = pair
    save_huggingface(ours, tmp_path / "exported")
    again = from_pretrained(tmp_path / "exported")
    there = transformers.T5ForConditionalGeneration.from_pretrained(tmp_path / "exported").eval()
    expected = ours(ids(3, 11), ids(3, 7))
    assert again.config == ours.config
    assert torch.equal(again(ids(3, 11), ids(3, 7)), expected)
    got = there(input_ids=ids(3, 11), decoder_input_ids=ids(3, 7)).logits
    torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)


def test_our_own_folder_gives_the_model_back(pair, tmp_path):
    ours, _ = pair
    save_pretrained(ours, tmp_path / "own")
    assert torch.equal(from_pretrained(tmp_path / "own")(ids(3, 11), ids(3, 7)), ours(ids(3, 11), ids(3, 7)))


LARGE = {"d_model": 1024, "d_ff": 4096, "num_layers": 24, "num_heads": 16}
PUBLISHED = {
    "small": (60_506_624, {}),
    "base": (222_903_552, {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12}),
    "large": (737_668_096, LARGE),
    "3b": (2_851_598_336, {"d_model": 1024, "d_ff": 16384, "num_layers": 24, "num_heads": 32, "d_kv": 128}),
    "11b": (
        11_307_321_344,
        {"d_model": 1024, "d_ff": 65536, "num_layers": 24, "num_heads": 128, "d_kv": 128},
    ),
    "small-v1.1": (76_961_152, None),
    "mt5-small": (300_176_768, None),  # Xue et al. 2021: 300M
}


@pytest.mark.parametrize("preset", PUBLISHED)
def test_parameter_counts_are_the_published_ones(preset, transformers):
    count, sizes = PUBLISHED[preset]
    with torch.device("meta"):
        assert sum(p.numel() for p in T5(T5Config.preset(preset)).parameters()) == count
        if sizes is not None:
            theirs = transformers.T5ForConditionalGeneration(transformers.T5Config(**sizes))
            assert sum(p.numel() for p in theirs.parameters()) == count


@pytest.mark.parametrize(
    ("preset", "printed"),
    [("small", 300e6), ("base", 582e6), ("large", 1.23e9), ("xl", 3.74e9), ("xxl", 12.9e9)],
)
def test_byt5_has_the_counts_of_its_paper(preset, printed):
    """Xue et al. 2022, table 1."""
    with torch.device("meta"):
        count = sum(p.numel() for p in T5(T5Config.preset(f"byt5-{preset}")).parameters())
    assert float(f"{count:.2e}") == printed


def test_the_published_settings_of_byt5_are_its_preset():
    """What the config.json of google/byt5-small says about its sizes."""
    published = {
        "d_ff": 3584, "d_kv": 64, "d_model": 1472, "dropout_rate": 0.1, "feed_forward_proj": "gated-gelu",
        "num_decoder_layers": 4, "num_heads": 6, "num_layers": 12, "relative_attention_num_buckets": 32,
        "tie_word_embeddings": False, "vocab_size": 384,
    }  # fmt: skip
    layout = next(layout for layout in LAYOUTS if layout.model_type == "t5" and layout.fixed["gated"])
    assert T5Config.from_dict(layout.config_to_ours(published)) == T5Config.preset("byt5-small")

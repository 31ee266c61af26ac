"""The models that run in a page beside the GPT: their numbers are those of torch."""

import base64
import re

import pytest
import torch
from safetensors.torch import load
from torch import nn

from experiments.live_models import LIVE, STORED
from experiments.text.live import export_script, quantize
from pioneers.analysis import record_attention
from pioneers.data import language_reference
from pioneers.models import BERTConfig, BERTForPretraining, Transformer, TransformerConfig, ViT, ViTConfig
from pioneers.weights import from_pretrained, load_tokenizer

LARGEST = {"bert": 1.3e6, "vit": 0.2e6, "dates": 0.4e6}
STRANGE = [
    "",
    " \u00a0\u2028x",
    "naïve Straße ÉCOLE 東京 🙂",
    "a\x00b\u200bc\ufffd",
    "x²½٣ _a_ `~^",
    "ΑΣ İI",
    "q" * 101,
]


def randomised(model):
    """A model whose every number counts: biases and norms, too."""
    for weights in model.parameters():
        nn.init.normal_(weights, std=0.3)
    return model.eval()


@pytest.fixture(scope="module")
def numbers(browser, root, tmp_path_factory):
    """Run JavaScript with the models' scripts; a torch model, if one is given, is there as ``random``."""
    page = browser.new_page()
    for script in ("live", "live_models"):
        page.add_script_tag(path=root / "book" / "_static" / "interactive" / f"{script}.js")
    path = tmp_path_factory.mktemp("model") / "random.js"

    def numbers(script, argument, model=None):
        if model is not None:
            export_script(model, path, precision="fp32")
            page.add_script_tag(path=path)
        return page.evaluate(script, argument)

    yield numbers
    page.close()


def agree(found, expected):
    """Tell whether logits agree to 1e-4 of the largest."""
    found = torch.tensor(found)
    size = expected.abs().max().clamp(min=1)
    return found.shape == expected.shape and bool((found - expected).abs().max() <= 1e-4 * size)


def stored(name):
    """What the script of a stored model holds: float tensors by name."""
    tensors = load(base64.b64decode(re.search(r'"weights": "([^"]*)"', (LIVE / f"{name}.js").read_text())[1]))
    return {
        key: tensor.float() * tensors[f"{key}.scale"][:, None] if tensor.dtype == torch.int8 else tensor
        for key, tensor in tensors.items()
        if not key.endswith(".scale")
    }


@pytest.mark.parametrize("name", LARGEST)
def test_the_scripts_are_small(name):
    assert (LIVE / f"{name}.js").stat().st_size < LARGEST[name]


@pytest.mark.parametrize(("name", "folder"), [("bert", "bert_documents"), ("vit", "vit_digits")])
def test_the_scripts_hold_the_stored_models_in_int8(name, folder):
    model = from_pretrained(STORED / folder).state_dict()
    found = stored(name)
    assert "bert.embed.token.weight" in found or "embed.cls_token" in found
    for key, weights in found.items():
        expected = model[key].flatten(1) if model[key].ndim > 1 else model[key]
        if expected.ndim > 1:
            rows, scale = quantize(expected)
            expected = rows.float() * scale[:, None]
        assert torch.equal(weights, expected), key


def test_a_bert_in_the_page_is_that_of_torch(numbers):
    torch.manual_seed(0)
    sizes = {"vocab_size": 37, "max_seq_len": 23, "d_model": 15, "num_layers": 3, "num_heads": 5}
    bert = randomised(BERTForPretraining(BERTConfig(**sizes)))
    ids = torch.randint(37, (1, 11))
    masks = {
        "all": torch.ones(11, dtype=torch.bool),
        "left": torch.arange(11) <= 7,
        "right": torch.arange(11) >= 7,
    }
    found = numbers(
        """([ids, masks]) => {
          const { config, weights } = Live.models.random;
          const bert = new LiveModels.BERT(config, Live.unpack(weights));
          return masks.map(mask => [...bert.logits(ids, 7, (_, s) => mask[s])]);
        }""",
        [ids[0].tolist(), [mask.tolist() for mask in masks.values()]],
        bert,
    )
    for logits, mask in zip(found, masks.values(), strict=True):
        with torch.inference_mode():
            expected = bert(ids, mask=mask[None, None, None]).masked_lm[0, 7]
        assert agree(logits, expected)


def test_a_vit_in_the_page_is_that_of_torch(numbers):
    torch.manual_seed(0)
    sizes = {"image_size": 12, "patch_size": 3, "in_channels": 1, "num_classes": 7}
    vit = randomised(ViT(ViTConfig(**sizes, d_model=15, num_layers=3, num_heads=5)))
    image = torch.rand(1, 1, 12, 12)
    found = numbers(
        """pixels => {
          const { config, weights } = Live.models.random;
          const vit = new LiveModels.ViT(config, Live.unpack(weights)), logits = [...vit.logits(pixels)];
          return [logits, vit.weights["stack.blocks.1.attn"].map(rows => rows.map(row => [...row]))];
        }""",
        image.flatten().tolist(),
        vit,
    )
    with torch.inference_mode(), record_attention(vit) as maps:
        assert agree(found[0], vit(image)[0])
    torch.testing.assert_close(torch.tensor(found[1]), maps[1][0], atol=1e-4, rtol=0)


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_a_transformer_in_the_page_is_that_of_torch(numbers, placement):
    torch.manual_seed(0)
    sizes = {"vocab_size": 37, "max_seq_len": 23, "d_model": 20, "d_ff": 31, "num_layers": 3, "num_heads": 5}
    transformer = randomised(Transformer(TransformerConfig(**sizes, norm_placement=placement)))
    source, target = torch.randint(37, (1, 11)), torch.randint(37, (1, 7))
    found = numbers(
        """([source, target]) => {
          const { config, weights } = Live.models.random;
          const model = new LiveModels.Transformer(config, Live.unpack(weights));
          const logits = [...model.next(target, model.encode(source))];
          const cross = model.weights["decoder.blocks.1.cross_attn"];
          return [logits, cross.map(rows => rows.map(row => [...row]))];
        }""",
        [source[0].tolist(), target[0].tolist()],
        transformer,
    )
    with torch.inference_mode(), record_attention(transformer) as maps:
        assert agree(found[0], transformer(source, target)[0, -1])
    cross = maps[3 + 1 :: 2]  # three blocks of the encoder, then self-attention and cross-attention by turns
    torch.testing.assert_close(torch.tensor(found[1]), cross[1][0], atol=1e-4, rtol=0)


def test_pieces_of_words_are_those_of_the_package(numbers):
    tokenizer = load_tokenizer(STORED / "bert_documents")
    reference = language_reference()
    texts = [*STRANGE, *(reference[i : i + 150] for i in range(0, len(reference), len(reference) // 100))]
    script = "([vocab, texts]) => texts.map(text => new LiveModels.WordPiece(vocab).encode(text))"
    found = numbers(script, [tokenizer.vocab, texts])
    assert len(texts) > 50 and found == [tokenizer.encode(text) for text in texts]

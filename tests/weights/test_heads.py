"""Every architecture, both ways: the same logits, the same gradients of all parameters, the same labels."""

import json

import pytest
import torch
from safetensors.torch import load_file

from pioneers import from_pretrained
from pioneers.layers import padding_mask
from pioneers.models import (
    BERT,
    GPT,
    BERTClassifier,
    BERTForMaskedLM,
    BERTForPretraining,
    BERTReader,
    BERTTagger,
    GPTClassifier,
    ViT,
)
from pioneers.weights import save_huggingface, save_pretrained
from pioneers.weights.registry import layout_of

V, D = 31, 12
NAMES = ("cat", "dog", "neither")
LABELS = {"id2label": dict(enumerate(NAMES)), "label2id": {name: i for i, name in enumerate(NAMES)}}


def bert(read):
    """Inputs of a BERT, and what is compared: ``read`` chooses from the outputs of one side."""

    def run(model, ours, inputs):
        ids, segments, mask = inputs
        real = torch.ones(ids.shape, dtype=torch.bool) if mask is None else mask[:, 0, 0]
        if ours:
            return read(model, model(ids, segment_ids=segments, mask=mask), real)
        attention_mask = None if mask is None else real.long()
        return read(None, model(ids, token_type_ids=segments, attention_mask=attention_mask), real)

    return run


def read_body(model, out, real):
    if model is None:
        return torch.cat([out.last_hidden_state[real].flatten(), out.pooler_output.flatten()])
    return torch.cat([out[real].flatten(), model.pool(out).flatten()])


def read_pretraining(model, out, real):
    words, follows = (
        (out.prediction_logits, out.seq_relationship_logits)
        if model is None
        else (out.masked_lm, out.next_sentence)
    )
    return torch.cat([words[real].flatten(), follows.flatten()])


def read_sequence(model, out, real):
    return out.logits if model is None else out


def read_tokens(model, out, real):
    return (out.logits if model is None else out)[real]


def read_span(model, out, real):
    return (torch.stack([out.start_logits, out.end_logits], dim=-1) if model is None else out)[real]


def gpt(ours_read, theirs_read, every_token=True):
    def run(model, ours, inputs):
        ids, _, mask = inputs
        out = ours_read(model, ids) if ours else theirs_read(model(ids))
        return out if mask is None or not every_token else out[mask[:, 0, 0]]

    return run


def vit(read):
    def run(model, ours, inputs):
        return model(inputs[0]) if ours else read(model(inputs[0]))

    return run


ARCHITECTURES = {
    "BertModel": (BERT, {}, bert(read_body)),
    "BertForPreTraining": (BERTForPretraining, {}, bert(read_pretraining)),
    "BertForMaskedLM": (BERTForMaskedLM, {}, bert(read_tokens)),
    "BertForSequenceClassification": (BERTClassifier, LABELS, bert(read_sequence)),
    "BertForTokenClassification": (BERTTagger, LABELS, bert(read_tokens)),
    "BertForQuestionAnswering": (BERTReader, {}, bert(read_span)),
    "GPT2Model": (GPT, {}, gpt(lambda m, ids: m.hidden_states(ids), lambda out: out.last_hidden_state)),
    "GPT2LMHeadModel": (GPT, {}, gpt(lambda m, ids: m(ids), lambda out: out.logits)),
    "GPT2ForSequenceClassification": (
        GPTClassifier,
        LABELS | {"pad_token_id": 0},
        gpt(lambda m, ids: m(ids), lambda out: out.logits, every_token=False),
    ),
    "ViTModel": (ViT, {}, vit(lambda out: out.last_hidden_state[:, 0])),
    "ViTForImageClassification": (ViT, LABELS, vit(lambda out: out.logits)),
}
TEXTS = [name for name in ARCHITECTURES if not name.startswith("ViT")]
LABELLED = [name for name, (_, changes, _) in ARCHITECTURES.items() if "id2label" in changes]


def make_inputs(architecture, padded=False):
    generator = torch.Generator().manual_seed(1)
    if architecture.startswith("ViT"):
        return torch.randn(3, 3, 15, 15, generator=generator), None, None
    ids = torch.randint(1, V, (3, 7), generator=generator)
    segments = torch.randint(3, ids.shape, generator=generator)
    if not padded:
        return ids, segments, None
    mask = padding_mask(torch.tensor([7, 4, 2]), 7)
    return ids.masked_fill(~mask[:, 0, 0], 0), segments, mask


@pytest.fixture
def pair(tmp_path, make_theirs):
    """A function from an architecture to a random model of theirs, and ours that was read from its folder."""

    def make(architecture, **changes):
        theirs = make_theirs(architecture, **(ARCHITECTURES[architecture][1] | changes))
        theirs.save_pretrained(tmp_path / "theirs")
        return theirs, from_pretrained(tmp_path / "theirs")

    return make


def assert_same(got, expected):
    scale = max(1.0, float(expected.detach().abs().max()))
    torch.testing.assert_close(got / scale, expected / scale, atol=1e-5, rtol=1e-5)


def gradients_of(theirs, layout, settings, folder):
    """Their gradients under our names: saved as if they were weights, and read as such."""
    for p in theirs.parameters():
        p.data = torch.zeros_like(p) if p.grad is None else p.grad
    theirs.save_pretrained(folder)
    return layout.tensors_to_ours(load_file(folder / "model.safetensors"), settings)


@pytest.mark.parametrize("width", [4 * D, 17])
@pytest.mark.parametrize(
    ("architecture", "padded"),
    [*((name, False) for name in ARCHITECTURES), *((name, True) for name in TEXTS)],
)
def test_logits_and_gradients_are_theirs(architecture, padded, width, pair, tmp_path):
    key = "n_inner" if architecture.startswith("GPT2") else "intermediate_size"
    theirs, ours = pair(architecture, **{key: width})
    cls, _, run = ARCHITECTURES[architecture]
    assert type(ours) is cls
    inputs = make_inputs(architecture, padded)
    got, expected = run(ours, True, inputs), run(theirs, False, inputs)
    assert expected.std() > 0.01
    assert_same(got, expected)
    weights = torch.randn(got.shape, generator=torch.Generator().manual_seed(2))
    (got * weights).sum().backward()
    (expected * weights).sum().backward()
    layout = layout_of(ours)
    wanted = gradients_of(theirs, layout, layout.kind.settings(ours), tmp_path / "gradients")
    mine = {name: p.grad for name, p in ours.named_parameters() if p.grad is not None}
    silent = {name for name, _ in ours.named_parameters()} - mine.keys()
    assert all("pooler" in name for name in silent)
    assert mine.keys() == {name for name in wanted if name not in silent}
    for name, grad in mine.items():
        assert_same(grad, wanted[name])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_what_we_write_is_read_there_without_a_gap(architecture, pair, tmp_path, transformers):
    changes = {} if architecture.startswith("GPT2") else {"intermediate_size": 17}
    theirs, ours = pair(architecture, **changes)
    save_huggingface(ours, tmp_path / "written")
    cls = getattr(transformers, architecture)
    again, report = cls.from_pretrained(tmp_path / "written", output_loading_info=True)
    assert not any(report[problem] for problem in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    run, inputs = ARCHITECTURES[architecture][2], make_inputs(architecture)
    assert_same(run(again.eval(), False, inputs), run(theirs, False, inputs))
    written = json.loads((tmp_path / "written" / "config.json").read_text())["architectures"]
    assert written == [architecture.replace("GPT2Model", "GPT2LMHeadModel")]
    back = from_pretrained(tmp_path / "written")
    assert type(back) is type(ours)
    assert layout_of(back).kind.settings(back) == layout_of(ours).kind.settings(ours)
    assert_same(run(back, True, inputs), run(ours, True, inputs))


def labels_of(model):
    return model.config.labels if isinstance(model, ViT) else model.labels


@pytest.mark.parametrize("architecture", LABELLED)
def test_labels_survive_both_formats(architecture, pair, tmp_path, transformers):
    _, ours = pair(architecture)
    assert labels_of(ours) == NAMES
    save_pretrained(ours, tmp_path / "own")
    own = from_pretrained(tmp_path / "own")
    assert labels_of(own) == NAMES
    save_huggingface(own, tmp_path / "written")
    config = transformers.AutoConfig.from_pretrained(tmp_path / "written")
    assert config.id2label == LABELS["id2label"]
    assert config.label2id == LABELS["label2id"]
    assert labels_of(from_pretrained(tmp_path / "written")) == NAMES


@pytest.mark.parametrize("architecture", LABELLED)
def test_labels_that_only_count_are_no_names(architecture, pair, tmp_path, transformers):
    counted = {i: f"LABEL_{i}" for i in range(3)}
    _, ours = pair(architecture, id2label=counted, label2id={name: i for i, name in counted.items()})
    assert labels_of(ours) == ()
    save_huggingface(ours, tmp_path / "written")
    assert transformers.AutoConfig.from_pretrained(tmp_path / "written").id2label == counted


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_what_was_saved_in_our_format_comes_back(architecture, pair, tmp_path):
    _, ours = pair(architecture)
    save_pretrained(ours, tmp_path / "own")
    back = from_pretrained(tmp_path / "own")
    assert type(back) is type(ours)
    assert layout_of(back).kind.settings(back) == layout_of(ours).kind.settings(ours)
    assert back.state_dict().keys() == ours.state_dict().keys()
    assert all(torch.equal(t, back.state_dict()[name]) for name, t in ours.state_dict().items())


@pytest.mark.parametrize("architecture", LABELLED)
def test_a_wrong_number_of_labels_is_named(architecture, pair, tmp_path):
    _, ours = pair(architecture)
    path = tmp_path / "theirs" / "config.json"
    values = json.loads(path.read_text())
    path.write_text(json.dumps(values | {"id2label": {"0": "cat", "1": "dog"}}))
    with pytest.raises(
        ValueError, match=r"of shape \(3.*\) where .* asks for \(2.*\)\. Get config\.json and the"
    ):
        from_pretrained(tmp_path / "theirs")
    save_pretrained(ours, tmp_path / "own")
    path = tmp_path / "own" / "config.json"
    values = json.loads(path.read_text())
    path.write_text(json.dumps(values | {"labels": ["cat", "dog"]}))
    with pytest.raises(
        ValueError, match=r"2 labels for 3 classes: name each class, in the order of the logits"
    ):
        from_pretrained(tmp_path / "own")


@pytest.mark.parametrize("pooler", [True, False])
def test_a_tagger_is_read_with_an_old_pooler_or_without(pooler, make_theirs, tmp_path):
    theirs = make_theirs("BertForTokenClassification")
    if pooler:  # as transformers 3 wrote it
        theirs.bert.pooler = type(make_theirs("BertModel").pooler)(theirs.config)
        torch.nn.init.constant_(theirs.bert.pooler.dense.bias, 0.25)
    theirs.save_pretrained(tmp_path)
    ours = from_pretrained(tmp_path)
    assert isinstance(ours, BERTTagger)
    assert bool((ours.bert.pooler.bias == 0.25).all()) == pooler


def test_published_pretraining_weights_are_read_with_both_heads(make_theirs, tmp_path):
    make_theirs("BertForPreTraining").save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(path.read_text().replace("BertForPreTraining", "BertForMaskedLM"))  # as on the hub
    assert isinstance(from_pretrained(tmp_path), BERTForPretraining)


@pytest.mark.parametrize(
    ("written", "mean", "std"),
    [
        (None, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
        ({"image_mean": [0.4, 0.5, 0.6], "image_std": [0.1, 0.2, 0.3]}, (0.4, 0.5, 0.6), (0.1, 0.2, 0.3)),
        ({"do_normalize": False, "image_mean": [0.4, 0.5, 0.6]}, (), ()),
    ],
)
def test_a_vit_knows_how_its_images_were_normalised(written, mean, std, pair, make_theirs, tmp_path):
    (tmp_path / "theirs").mkdir()
    if written is not None:
        (tmp_path / "theirs" / "preprocessor_config.json").write_text(json.dumps(written))
    _, ours = pair("ViTForImageClassification")
    assert (ours.config.image_mean, ours.config.image_std) == (mean, std)
    save_huggingface(ours, tmp_path / "written")
    said = json.loads((tmp_path / "written" / "preprocessor_config.json").read_text())
    assert said["do_normalize"] == bool(mean)
    assert said["size"] == {"height": 15, "width": 15}
    assert from_pretrained(tmp_path / "written").config == ours.config

"""BERT's descendants beside Hugging Face's, small and random: outputs, all gradients, folders both ways."""

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from pioneers import from_pretrained
from pioneers.layers import padding_mask
from pioneers.models import (
    ALBERT,
    ELECTRA,
    ALBERTConfig,
    ALBERTForMaskedLM,
    ALBERTForPretraining,
    BERTClassifier,
    BERTForMaskedLM,
    BERTReader,
    BERTTagger,
    DistilBERT,
    DistilBERTConfig,
    DistilBERTForMaskedLM,
    ELECTRAConfig,
    ELECTRADiscriminator,
    ELECTRAForPretraining,
    ELECTRAGenerator,
    RoBERTa,
    RoBERTaConfig,
    RoBERTaForMaskedLM,
)
from pioneers.weights import save_huggingface, save_pretrained
from pioneers.weights.registry import layout_of

V, T, D, H = 31, 11, 12, 3
NAMES = ("cat", "dog", "neither")
SIZES = {
    "vocab_size": V, "max_position_embeddings": T, "hidden_size": D, "num_hidden_layers": 2,
    "num_attention_heads": H, "intermediate_size": 17,
}  # fmt: skip
NARROW = SIZES | {"embedding_size": 5, "type_vocab_size": 3}
DISTIL = {
    "vocab_size": V, "max_position_embeddings": T, "dim": D, "n_layers": 2, "n_heads": H, "hidden_dim": 17,
}  # fmt: skip


ROBERTA = SIZES | {"max_position_embeddings": T + 2, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
LABELS = {"id2label": dict(enumerate(NAMES)), "label2id": {name: i for i, name in enumerate(NAMES)}}


def logits(out):
    return [out.logits]


def states(out):
    return [out.last_hidden_state]


def states_and_pooled(out):
    return [out.last_hidden_state, out.pooler_output]


def words_and_order(out):
    return [out.prediction_logits, out.sop_logits]


CASES = {
    "BertForMaskedLM": (BERTForMaskedLM, SIZES | {"hidden_act": "relu", "layer_norm_eps": 0.1}, logits),
    "DistilBertForMaskedLM": (DistilBERTForMaskedLM, DISTIL | {"activation": "relu"}, logits),
    "DistilBertModel": (DistilBERT, DISTIL, states),
    "ElectraForPreTraining": (ELECTRADiscriminator, NARROW, logits),
    "ElectraForMaskedLM": (ELECTRAGenerator, NARROW, logits),
    "RobertaForMaskedLM": (RoBERTaForMaskedLM, ROBERTA, logits),
    "RobertaModel": (RoBERTa, ROBERTA, states_and_pooled),
    "RobertaForSequenceClassification": (BERTClassifier, ROBERTA | LABELS, logits),
    "AlbertForPreTraining": (ALBERTForPretraining, NARROW, words_and_order),
    "AlbertForMaskedLM": (ALBERTForMaskedLM, NARROW | {"hidden_act": "gelu"}, logits),
    "AlbertModel": (ALBERT, NARROW | {"num_hidden_layers": 3}, states_and_pooled),
    "ElectraModel": (ELECTRA, NARROW | {"embedding_size": D}, states),
}
SEGMENTED = [name for name in CASES if CASES[name][1].get("type_vocab_size", 0) > 1]


def theirs_and_ours(architecture, transformers, folder):
    family = architecture.split("For")[0].removesuffix("Model")
    config = getattr(transformers, f"{family}Config")(**CASES[architecture][1])
    theirs = getattr(transformers, architecture)(config).eval()
    generator = torch.Generator().manual_seed(0)
    for p in theirs.parameters():
        nn.init.normal_(p, std=0.6, generator=generator)
    theirs.save_pretrained(folder)
    return theirs, from_pretrained(folder)


def ids(*shape, low=3):
    return torch.randint(low, V, shape, generator=torch.Generator().manual_seed(1))


def outputs(model, ids, **how):
    """What a model of ours gives, as a list; with the states of a body also what its pooler makes of them."""
    out = model(ids, **how)
    if hasattr(model, "pooler"):
        return [out, model.pool(out)]
    return [out] if isinstance(out, torch.Tensor) else list(out)


def assert_same(got, expected):
    scale = max(0.1, float(expected.detach().abs().max()))
    torch.testing.assert_close(got / scale, expected / scale, atol=1e-4, rtol=0)


@pytest.mark.parametrize("lengths", [None, (7, 4, 2)], ids=["unpadded", "padded"])
@pytest.mark.parametrize("architecture", CASES)
def test_outputs_and_all_gradients_are_theirs(architecture, lengths, transformers, tmp_path):
    theirs, ours = (m.double() for m in theirs_and_ours(architecture, transformers, tmp_path / "theirs"))
    cls, sizes, read = CASES[architecture]
    assert type(ours) is cls
    text, mask = ids(3, 7), None if lengths is None else padding_mask(torch.tensor(lengths))
    real = torch.ones(3, 7, dtype=torch.bool) if mask is None else mask[:, 0, 0]
    text = text.masked_fill(~real, theirs.config.pad_token_id)
    segments = ids(3, 7, low=0) % sizes["type_vocab_size"] if architecture in SEGMENTED else None
    here = {} if segments is None else {"segment_ids": segments}
    there = {} if segments is None else {"token_type_ids": segments}
    got = outputs(ours, text, mask=mask, **here)
    expected = read(theirs(text, attention_mask=real.long(), **there))
    total_ours, total_theirs = 0.0, 0.0
    for mine, other in zip(got, expected, strict=True):
        mine, other = (x[real] if x.shape[:2] == real.shape else x for x in (mine, other))
        assert other.std() > 0.01
        assert_same(mine, other)
        weights = torch.randn(mine.shape, generator=torch.Generator().manual_seed(2))
        total_ours, total_theirs = total_ours + (mine * weights).sum(), total_theirs + (other * weights).sum()
    total_ours.backward()
    total_theirs.backward()
    for p in theirs.parameters():
        p.data = p.grad
    theirs.save_pretrained(tmp_path / "gradients")
    layout = layout_of(ours)
    stored = load_file(tmp_path / "gradients" / "model.safetensors")
    wanted = layout.tensors_to_ours(stored, layout.kind.settings(ours))
    mine = {name: p.grad for name, p in ours.named_parameters() if "pooler" not in name or p.grad is not None}
    assert mine.keys() == wanted.keys()
    for name, grad in mine.items():
        assert_same(grad, wanted[name])


@pytest.mark.parametrize("architecture", CASES)
def test_what_we_write_is_read_there_and_here(architecture, transformers, tmp_path):
    theirs, ours = theirs_and_ours(architecture, transformers, tmp_path / "theirs")
    save_huggingface(ours, tmp_path / "written")
    cls = getattr(transformers, architecture)
    again, report = cls.from_pretrained(tmp_path / "written", output_loading_info=True)
    assert not any(report[problem] for problem in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    read = CASES[architecture][2]
    for mine, other in zip(read(again.eval()(ids(2, 7))), read(theirs(ids(2, 7))), strict=True):
        assert_same(mine, other)
    back = from_pretrained(tmp_path / "written")
    assert type(back) is type(ours)
    assert layout_of(back).kind.settings(back) == layout_of(ours).kind.settings(ours)
    for mine, other in zip(outputs(back, ids(2, 7)), outputs(ours, ids(2, 7)), strict=True):
        assert torch.equal(mine, other)


TINY = {"vocab_size": V, "max_seq_len": T, "d_model": D, "num_layers": 2, "num_heads": H}
OWN = {
    "joint": lambda: ELECTRAForPretraining(ELECTRAConfig(**TINY, d_embed=5, generator_width=2 / 3)),
    "classifier": lambda: BERTClassifier(DistilBERT(DistilBERTConfig(**TINY)), 3, labels=NAMES),
    "albert": lambda: ALBERTForPretraining(ALBERTConfig(**TINY, d_embed=5)),
    "albert reader": lambda: BERTReader(ALBERT(ALBERTConfig(**TINY, d_embed=5))),
    "roberta tagger": lambda: BERTTagger(RoBERTa(RoBERTaConfig(**TINY)), 3, labels=NAMES),
    "tagger": lambda: BERTTagger(ELECTRA(ELECTRAConfig(**TINY)), 3, labels=NAMES),
    "reader": lambda: BERTReader(ELECTRA(ELECTRAConfig(**TINY, d_embed=5))),
}


@pytest.mark.parametrize("name", OWN)
def test_our_own_folder_gives_the_model_back_around_the_same_body(name, tmp_path):
    ours = OWN[name]()
    save_pretrained(ours, tmp_path)
    back = from_pretrained(tmp_path)
    assert [type(m) for m in back.modules()] == [type(m) for m in ours.modules()]
    assert getattr(back, "labels", ()) == getattr(ours, "labels", ())
    state = back.state_dict()
    assert state.keys() == ours.state_dict().keys()
    assert all(torch.equal(tensor, state[key]) for key, tensor in ours.state_dict().items())


def test_a_task_around_another_body_is_not_written_as_berts(tmp_path):
    with pytest.raises(TypeError, match="a BERTClassifier cannot be written as a folder"):
        save_huggingface(OWN["classifier"](), tmp_path)


PUBLISHED = {
    "roberta base": (RoBERTa, RoBERTaConfig, 124_644_096 + 1536),
    "roberta large": (RoBERTa, RoBERTaConfig, 355_357_696 + 2048),
    "distilbert base": (DistilBERT, DistilBERTConfig, 66_362_880),
    "albert base": (ALBERT, ALBERTConfig, 11_683_584),
    "albert large": (ALBERT, ALBERTConfig, 17_683_968),
    "albert xlarge": (ALBERT, ALBERTConfig, 58_724_864),
    "albert xxlarge": (ALBERT, ALBERTConfig, 222_595_584),
    "electra small": (ELECTRADiscriminator, ELECTRAConfig, 13_549_057),
    "electra base": (ELECTRADiscriminator, ELECTRAConfig, 109_483_009),
    "electra large": (ELECTRADiscriminator, ELECTRAConfig, 335_142_913),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_preset_is_as_large_as_their_model_of_the_same_settings(name, transformers):
    cls, config, count = PUBLISHED[name]
    with torch.device("meta"):
        ours = cls(config.preset(name.split()[1]))
        layout = layout_of(ours)
        values = layout.config_to_theirs(layout.kind.settings(ours))
        made = transformers.AutoConfig.for_model(**values)
        theirs = getattr(transformers, layout.architecture)(made)
    extra = 2 * made.hidden_size if cls is RoBERTa else 0  # two vectors for no position
    assert sum(p.numel() for p in theirs.parameters()) == count
    assert sum(p.numel() for p in ours.parameters()) + extra == count

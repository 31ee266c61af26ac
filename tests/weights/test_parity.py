"""Same logits and gradients as the other libraries, on small random models; no download.

Their checkpoints are read from disk, in the names that published files have.
"""

import importlib.util

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from pioneers import from_pretrained
from pioneers.compat import import_torchvision
from pioneers.layers import padding_mask
from pioneers.models import BERT, GPT, BERTConfig, GPTConfig, MaskedLMHead, ViT, ViTConfig
from pioneers.weights import bert as bert_tables
from pioneers.weights import gpt2 as gpt2_tables
from pioneers.weights import to_ours, to_theirs, vit, vit_timm, vit_torchvision

V, T, D, H, LAYERS = 31, 11, 12, 3, 2
DROP = (*gpt2_tables.STORED_MASKS, *gpt2_tables.TIED)
VIT = ViTConfig(image_size=15, patch_size=5, num_classes=7, d_model=D, num_layers=LAYERS, num_heads=H)


def library(name):
    for needed in (name, "torchvision"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    import_torchvision()
    return importlib.import_module(name)


def randomised(model):
    torch.manual_seed(0)
    for p in model.parameters():
        nn.init.normal_(p, std=0.3)
    return model.eval()


def on_disk(model, folder):
    model.save_pretrained(folder)
    return load_file(folder / "model.safetensors")


def load(model, theirs, table, drop=(), tied=()):
    """Load strictly: nothing of theirs unused but what is dropped, nothing of ours left but what is tied."""
    missing, unexpected = model.load_state_dict(to_ours(theirs, table, drop=drop), strict=False)
    assert sorted(missing) == sorted(tied)
    assert unexpected == []
    return model.eval()


def assert_same(ours, theirs):
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def assert_same_gradients(ours, theirs, out_ours, out_theirs, pairs):
    weights = torch.randn_like(out_ours)
    (out_ours * weights).sum().backward()
    (out_theirs * weights).sum().backward()
    for mine, other in pairs:
        got, expected = ours.get_parameter(mine).grad, theirs.get_parameter(other).grad
        expected = expected.reshape(got.shape)
        assert expected.abs().max() > 1e-3
        torch.testing.assert_close(got, expected, atol=1e-5 * float(expected.abs().max()), rtol=1e-4)


@pytest.fixture
def gpt2(tmp_path):
    transformers = library("transformers")
    sizes = {"vocab_size": V, "n_positions": T, "n_embd": D, "n_layer": LAYERS, "n_head": H}
    theirs = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(**sizes, bos_token_id=0, eos_token_id=0, attn_implementation="eager")
    )
    ours = GPT(GPTConfig(vocab_size=V, max_seq_len=T, d_model=D, num_layers=LAYERS, num_heads=H))
    checkpoint = on_disk(randomised(theirs), tmp_path)
    return load(ours, checkpoint, gpt2_tables.TENSORS, DROP, tied=["lm_head.weight"]), theirs, checkpoint


def test_gpt2_has_hugging_faces_logits_and_gradients(gpt2):
    ours, theirs, _ = gpt2
    ids = torch.randint(V, (2, 7))
    got, expected = ours(ids), theirs(ids).logits
    assert_same(got, expected)
    assert_same_gradients(
        ours,
        theirs,
        got,
        expected,
        [
            ("embed.token.weight", "transformer.wte.weight"),
            ("stack.blocks.0.norm_attn.weight", "transformer.h.0.ln_1.weight"),
            ("stack.blocks.1.ffn.up.bias", "transformer.h.1.mlp.c_fc.bias"),
        ],
    )


@pytest.fixture
def bert(tmp_path):
    transformers = library("transformers")
    config = transformers.BertConfig(
        vocab_size=V,
        hidden_size=D,
        num_hidden_layers=LAYERS,
        num_attention_heads=H,
        intermediate_size=4 * D,
        max_position_embeddings=T,
    )
    theirs = randomised(transformers.BertForPreTraining(config))
    checkpoint = on_disk(theirs, tmp_path)
    body = {name: t for name, t in checkpoint.items() if name.startswith("bert.")}
    head = {name: t for name, t in checkpoint.items() if name.startswith("cls.predictions.")}
    ours = BERT(BERTConfig(vocab_size=V, max_seq_len=T, d_model=D, num_layers=LAYERS, num_heads=H))
    load(ours, body, bert_tables.TENSORS)
    mlm = MaskedLMHead(ours)
    load(mlm, head, bert_tables.MASKED_LM_HEAD, bert_tables.TIED, tied=["lm_head.weight"])
    return ours, mlm, theirs, body


def test_bert_has_hugging_faces_outputs_and_gradients_also_with_padding(bert):
    ours, mlm, theirs, _ = bert
    ids, segments = torch.randint(V, (2, 7)), torch.randint(2, (2, 7))
    lengths = torch.tensor([7, 4])
    mask = padding_mask(lengths, 7)
    hidden = ours(ids, segment_ids=segments, mask=mask)
    out = theirs(input_ids=ids, token_type_ids=segments, attention_mask=mask[:, 0, 0].long())
    real = mask[:, 0, 0]
    assert_same(mlm(hidden[real]), out.prediction_logits[real])
    assert_same(
        ours.pool(hidden) @ theirs.cls.seq_relationship.weight.T,
        out.seq_relationship_logits - theirs.cls.seq_relationship.bias,
    )
    assert_same(ours(ids), theirs.bert(ids).last_hidden_state)
    assert_same_gradients(
        ours,
        theirs,
        mlm(hidden[real]),
        out.prediction_logits[real],
        [
            ("embed.segment.weight", "bert.embeddings.token_type_embeddings.weight"),
            ("stack.blocks.0.attn.q_proj.weight", "bert.encoder.layer.0.attention.self.query.weight"),
        ],
    )


@pytest.mark.parametrize("lengths", [None, [7, 4]])
def test_bert_for_pretraining_has_hugging_faces_logits_and_gradients(lengths, make_theirs, tmp_path):
    theirs = make_theirs("BertForPreTraining")
    theirs.save_pretrained(tmp_path)
    ours = from_pretrained(tmp_path)
    ids, segments = torch.randint(V, (2, 7)), torch.randint(3, (2, 7))
    mask = None if lengths is None else padding_mask(torch.tensor(lengths), 7)
    real = torch.ones(2, 7, dtype=torch.bool) if mask is None else mask[:, 0, 0]
    got = ours(ids, segment_ids=segments, mask=mask, predict_mask=real)
    out = theirs(input_ids=ids, token_type_ids=segments, attention_mask=real.long())
    assert_same(got.masked_lm, out.prediction_logits[real])
    assert_same(got.next_sentence, out.seq_relationship_logits)
    assert_same_gradients(
        ours,
        theirs,
        torch.cat([got.masked_lm.flatten(), got.next_sentence.flatten()]),
        torch.cat([out.prediction_logits[real].flatten(), out.seq_relationship_logits.flatten()]),
        [
            ("bert.embed.token.weight", "bert.embeddings.word_embeddings.weight"),
            ("bert.stack.blocks.1.ffn.down.weight", "bert.encoder.layer.1.output.dense.weight"),
            ("bert.pooler.weight", "bert.pooler.dense.weight"),
            ("masked_lm.transform.weight", "cls.predictions.transform.dense.weight"),
            ("masked_lm.lm_head.bias", "cls.predictions.bias"),
            ("next_sentence.proj.weight", "cls.seq_relationship.weight"),
        ],
    )


def vit_pair(kind, tmp_path):
    if kind == "torchvision":
        module = library("torchvision").models
        theirs = module.VisionTransformer(
            image_size=15,
            patch_size=5,
            num_layers=LAYERS,
            num_heads=H,
            hidden_dim=D,
            mlp_dim=4 * D,
            num_classes=7,
        )
        checkpoint, table = randomised(theirs).state_dict(), vit_torchvision.TENSORS
    elif kind == "timm":
        module = library("timm").models.vision_transformer
        theirs = module.VisionTransformer(
            img_size=15, patch_size=5, embed_dim=D, depth=LAYERS, num_heads=H, num_classes=7
        )
        checkpoint, table = randomised(theirs).state_dict(), vit_timm.TENSORS
    else:
        module = library("transformers")
        config = module.ViTConfig(
            image_size=15, patch_size=5, hidden_size=D, num_hidden_layers=LAYERS, num_attention_heads=H,
            intermediate_size=4 * D, num_labels=7,
        )  # fmt: skip
        theirs = randomised(module.ViTForImageClassification(config))
        theirs.config.layer_norm_eps = 1e-6
        for norm in (m for m in theirs.modules() if isinstance(m, nn.LayerNorm)):
            norm.eps = 1e-6
        checkpoint, table = on_disk(theirs, tmp_path), vit.CLASSIFIER
    return load(ViT(VIT), checkpoint, table), theirs, checkpoint, table


@pytest.mark.parametrize("kind", ["torchvision", "timm", "transformers"])
def test_vit_has_the_other_librarys_logits_and_gives_its_weights_back(kind, tmp_path):
    ours, theirs, checkpoint, table = vit_pair(kind, tmp_path)
    images = torch.randn(2, 3, 15, 15)
    expected = theirs(images)
    expected = expected if kind != "transformers" else expected.logits
    got = ours(images)
    assert_same(got, expected)
    names = {"torchvision": "class_token", "timm": "cls_token", "transformers": "vit.embeddings.cls_token"}
    assert_same_gradients(ours, theirs, got, expected, [("embed.cls_token", names[kind])])
    back = to_theirs(ours.state_dict(), table)
    assert back.keys() == checkpoint.keys()
    assert all(torch.equal(back[name], checkpoint[name]) for name in back)


def test_gpt2_and_bert_give_the_weights_back(gpt2, bert):
    gpt, _, gpt_checkpoint = gpt2
    mine = {name: t for name, t in gpt.state_dict().items() if name != "lm_head.weight"}
    back = to_theirs(mine, gpt2_tables.TENSORS)
    assert {n for n in gpt_checkpoint if n != "lm_head.weight"} == back.keys()
    assert all(torch.equal(back[name], gpt_checkpoint[name]) for name in back)
    encoder, _, _, body = bert
    back = to_theirs(encoder.state_dict(), bert_tables.TENSORS)
    assert back.keys() == body.keys()
    assert all(torch.equal(back[name], body[name]) for name in back)


def test_only_what_is_to_be_dropped_is():
    checkpoint = {f"transformer.h.{i}.attn.bias": torch.ones(1) for i in (0, 13)}
    wpe = torch.randn(5, 3)
    ours = to_ours({**checkpoint, "transformer.wpe.weight": wpe}, gpt2_tables.TENSORS, drop=DROP)
    assert ours.keys() == {"embed.position.table"}
    assert torch.equal(ours["embed.position.table"], wpe)


def test_a_tensor_without_a_name_is_never_dropped_in_silence():
    with pytest.raises(ValueError, match=r"holds 'transformer\.h\.0\.extra', which this model does not have"):
        to_ours({"transformer.h.0.extra": torch.zeros(1)}, gpt2_tables.TENSORS)
    with pytest.raises(ValueError, match=r"1 tensors have no name on the other side, first 'surprise'"):
        to_theirs({"surprise": torch.zeros(1)}, gpt2_tables.TENSORS)

"""The published weights themselves, from the hub: run with PIONEERS_REAL_WEIGHTS=1 and a network."""

import pytest
import torch

from pioneers import from_pretrained
from pioneers.layers import padding_mask
from pioneers.weights import load_tokenizer

pytestmark = [pytest.mark.real_weights, pytest.mark.timeout(1800)]

TEXT = "The Transformer was proposed in 2017. It attends."


def assert_same(got, expected):
    torch.testing.assert_close(got, expected, atol=1e-3, rtol=1e-4)


@torch.no_grad()
def test_gpt2(transformers):
    theirs = transformers.GPT2LMHeadModel.from_pretrained("gpt2").eval()
    ours, tokenizer = from_pretrained("gpt2"), load_tokenizer("gpt2")
    ids = tokenizer.encode(TEXT)
    assert ids == transformers.AutoTokenizer.from_pretrained("gpt2")(TEXT)["input_ids"]
    assert round(sum(p.numel() for p in ours.parameters()) / 1e6) == 124
    batch = torch.tensor([ids])
    assert_same(ours(batch), theirs(batch).logits)


@torch.no_grad()
def test_bert(transformers):
    name = "bert-base-uncased"
    theirs = transformers.BertForPreTraining.from_pretrained(name).eval()
    ours, tokenizer = from_pretrained(name), load_tokenizer(name)
    ids, segments = tokenizer.assemble(*map(tokenizer.encode, TEXT.split(". ")))
    reference = transformers.AutoTokenizer.from_pretrained(name)(*TEXT.split(". "))
    assert ids == reference["input_ids"]
    assert segments == reference["token_type_ids"]
    batch, segment_ids = torch.tensor([[*ids, 0, 0]]), torch.tensor([[*segments, 0, 0]])
    mask = padding_mask(torch.tensor([len(ids)]), len(ids) + 2)
    got = ours(batch, segment_ids=segment_ids, mask=mask)
    out = theirs(batch, token_type_ids=segment_ids, attention_mask=mask[:, 0, 0].long())
    assert_same(got.masked_lm[:, : len(ids)], out.prediction_logits[:, : len(ids)])
    assert_same(got.next_sentence, out.seq_relationship_logits)


@torch.no_grad()
def test_vit(transformers):
    name = "google/vit-base-patch16-224"
    theirs, ours = transformers.ViTForImageClassification.from_pretrained(name).eval(), from_pretrained(name)
    images = torch.randn(2, 3, 224, 224, generator=torch.Generator().manual_seed(0))
    assert_same(ours(images), theirs(images).logits)

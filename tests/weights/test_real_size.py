"""GPT-2 and BERT in the size and the layout they are published in, with random weights: nothing to download.

Each is built by the other library, written as on the hub, read here, and put to work on both sides.
"""

import shutil

import torch
from safetensors.torch import load_file, save_file

from pioneers import from_pretrained
from pioneers.generation import generate
from pioneers.models import GPT, BERTForPretraining
from pioneers.weights import load_tokenizer

MILLION = 1e6


def shake(model):
    """Places that matter, and no bias or norm at the value it begins with: another answer at each place."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "wpe" in name or "position_embeddings" in name:
                p.normal_(std=0.5, generator=generator)
            elif p.ndim == 1:
                p.add_(torch.randn(p.shape, generator=generator), alpha=0.1)
    return model.eval()


def rewrite(folder, change):
    path = folder / "model.safetensors"
    save_file({change(name): t for name, t in load_file(path).items()}, path)


def size(model):
    return round(sum(p.numel() for p in model.parameters()) / MILLION)


@torch.no_grad()
def test_gpt2_of_the_real_size_writes_the_same(tmp_path, transformers):
    theirs = shake(transformers.GPT2LMHeadModel(transformers.GPT2Config()))
    theirs.save_pretrained(tmp_path)
    rewrite(tmp_path, lambda name: name.removeprefix("transformer."))  # as GPT-2 lies on the hub
    ours = from_pretrained(tmp_path)
    assert isinstance(ours, GPT)
    assert size(ours) == size(theirs) == 124
    prompt = torch.randint(50257, (1, 11), generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(ours(prompt), theirs(prompt).logits, atol=1e-3, rtol=1e-4)
    written = theirs.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=20, do_sample=False, pad_token_id=0
    )
    assert written.shape == (1, 31)
    assert len(set(written[0, 11:].tolist())) > 5
    assert torch.equal(generate(ours, prompt, 20, top_k=1, stop_ids=[50256]), written)


@torch.no_grad()
def test_bert_of_the_real_size_fills_the_same_gaps(tmp_path, transformers, public_data):
    theirs = shake(transformers.BertForPreTraining(transformers.BertConfig()))
    theirs.save_pretrained(tmp_path)
    spelling = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}  # as on the hub
    rewrite(tmp_path, lambda name: next((name.replace(a, b) for a, b in spelling.items() if a in name), name))
    shutil.copy(public_data / "bert" / "bert-base-uncased-vocab.txt", tmp_path / "vocab.txt")
    ours, tokenizer = from_pretrained(tmp_path), load_tokenizer(tmp_path)
    assert isinstance(ours, BERTForPretraining)
    assert size(ours) == size(theirs) == 110
    texts = "The capital of France is", "It lies on the Seine."
    ids, segments = tokenizer.assemble(*map(tokenizer.encode, texts))
    gap = len(tokenizer.encode(texts[0]))
    ids[gap] = tokenizer.special_ids["[MASK]"]
    batch, segments = torch.tensor([ids]), torch.tensor([segments])
    out = theirs(batch, token_type_ids=segments)
    got = ours(batch, segment_ids=segments)
    torch.testing.assert_close(got.masked_lm, out.prediction_logits, atol=1e-3, rtol=1e-4)
    torch.testing.assert_close(got.next_sentence, out.seq_relationship_logits, atol=1e-3, rtol=1e-4)
    assert torch.equal(got.masked_lm.argmax(-1), out.prediction_logits.argmax(-1))
    assert len(set(got.masked_lm[0].argmax(-1).tolist())) > 5
    (filled,) = ours(batch, segment_ids=segments, predict_mask=batch == ids[gap]).masked_lm.argmax(-1)
    assert filled == out.prediction_logits[0, gap].argmax()

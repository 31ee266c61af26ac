"""The models read what they are said to read, and what is right can be found."""

import pytest
import torch

from experiments import cross_lingual
from experiments.text import captions as texts
from experiments.text.captions import ENGLISH, GERMAN, Reader, Texts, topic
from pioneers.tokenizers import WordPiece

HALF = 7
COLOURS = ["red", "blue", "green", "brown", "pink", "grey", "white"]
FARBEN = ["rot", "blau", "gelb", "braun", "rosa", "grau", "hell"]
PARTS = {
    "first": [(f"a {en} dog .", f"ein {de}er hund .") for en, de in zip(COLOURS, FARBEN, strict=True)],
    "second": [(f"the {en} boat .", f"das {de}e boot .") for en, de in zip(COLOURS, FARBEN, strict=True)],
}


@pytest.fixture
def tokenizer(monkeypatch):
    monkeypatch.setattr(texts, "captions", lambda part: PARTS[part])
    monkeypatch.setattr(texts, "HALF", HALF)
    every = "\n".join(text for pairs in PARTS.values() for pair in pairs for text in pair)
    return WordPiece.train(every, 200)


def read(tokenizer, joined, step):
    """The captions of each row of a step, without gaps and special tokens."""
    batches = Texts(Reader(tokenizer, shared=True), joined, rows=10, seed=3)
    gaps, targets = batches(step)
    ids = torch.where(targets == -100, gaps, targets)
    rows = [tokenizer.decode(row).replace(" [PAD]", "") for row in ids.tolist()]
    return [row.removeprefix("[CLS] ").removesuffix(" [SEP]").split(" [SEP] [CLS] ") for row in rows]


def test_a_caption_has_a_topic_if_its_keywords_are_of_one_kind():
    names = list(texts.TOPICS)
    assert topic("Two DOGS sleep.") == names.index("dog")
    assert topic("A dog and a puppy.") == names.index("dog")
    assert topic("A dog swims in the sea.") is None
    assert topic("Seaside.") is None


@pytest.mark.parametrize("step", [0, 1])
def test_without_alignment_no_caption_and_its_translation_are_read(tokenizer, step):
    rows = read(tokenizer, False, step)
    assert [len(row) for row in rows] == [1] * 10
    assert all("dog" in text for (text,) in rows[:5]) and all("boot" in text for (text,) in rows[5:])


def test_every_other_step_joins_a_caption_and_its_translation(tokenizer):
    apart = read(tokenizer, True, 0)
    assert all("dog" in text for (text,) in apart[:5]) and all("hund" in text for (text,) in apart[5:])
    joined = read(tokenizer, True, 1)
    assert len(joined) == 5  # as many captions
    assert all(tuple(pair) in PARTS["first"] for pair in joined)


def test_without_shared_pieces_the_languages_have_only_special_tokens_in_common(tokenizer):
    reader = Reader(tokenizer, shared=False)
    english, german = (set(reader.rows(PARTS["first"], side).flatten().tolist()) for side in (0, 1))
    special = {tokenizer.special_ids[name] for name in ("[PAD]", "[CLS]", "[SEP]")}
    assert english & german == special
    assert max(german) < reader.vocab_size
    gaps, targets = reader.hide(torch.tensor([sorted(german)] * 50), seed=0)
    assert gaps.max() < reader.vocab_size and not torch.isin(targets, torch.tensor(sorted(special))).any()


def test_the_mean_leaves_out_special_tokens_and_padding(tokenizer):
    reader = Reader(tokenizer, shared=True)
    model = cross_lingual.pretrain(reader, reads=None, steps=1, rows=2, lr=1e-3, seed=0)
    ids = reader.rows([("red dog",), ("dog",)], ENGLISH)
    assert reader.inner(ids).sum(1).tolist() == [len(tokenizer.encode(text)) for text in ("red dog", "dog")]
    means = cross_lingual.mean_states(model.bert, ids, reader.inner(ids))
    for row, mean in zip(ids, means[-1], strict=True):
        real = row[row != 0]
        torch.testing.assert_close(mean, model.bert(real[None])[0, 1:-1].mean(0), atol=1e-5, rtol=0)


def test_positions_begin_again_with_the_translation(tokenizer):
    reader = Reader(tokenizer, shared=True)
    model = cross_lingual.pretrain(reader, reads=None, steps=1, rows=2, lr=1e-3, seed=0)
    positions = model.bert.embed.position
    both = positions(2 * texts.WIDTH)
    assert torch.equal(both[: texts.WIDTH], positions(texts.WIDTH))
    assert torch.equal(both[texts.WIDTH :], both[: texts.WIDTH] + positions.second)
    assert positions.second.abs().min() > 0


def test_the_same_caption_is_its_own_nearest_translation(tokenizer, monkeypatch):
    same = [(english, english) for english, _ in PARTS["first"]]
    reader = Reader(tokenizer, shared=True)
    model = cross_lingual.pretrain(reader, reads=None, steps=1, rows=2, lr=1e-3, seed=0)
    monkeypatch.setattr(cross_lingual, "captions", lambda part: same)
    assert cross_lingual.retrieval(model, reader) == [1.0] * 3
    monkeypatch.setattr(cross_lingual, "captions", lambda part: [*zip(COLOURS, COLOURS[::-1], strict=True)])
    assert max(cross_lingual.retrieval(model, reader)) < 0.5


def test_pieces_are_shared_by_kind_and_by_token():
    tokenizer = WordPiece([*["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], "ball", "dog", "hund", "."])
    pairs = [("ball dog .", "ball hund . ."), ("ball", "ball")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "captions", lambda part: pairs if part == "first" else [])
        found = texts.shared_pieces(tokenizer)
    assert found == {"kinds": 2 / 3, "tokens": 4 / 5, "words": 2 / 3}


def test_tuning_leaves_the_pretrained_model_as_it_was(tokenizer, monkeypatch):
    rows = [(f"a dog {c}", f"hund {c}") for c in COLOURS * 6] + [
        (f"boat {c}", f"boot {c}") for c in COLOURS * 6
    ]
    monkeypatch.setattr(texts, "captions", lambda part: rows)
    monkeypatch.setattr(cross_lingual, "TOPICS", {"dog": "dog", "water": "boat"})
    monkeypatch.setattr(texts, "TOPICS", {"dog": "dog", "water": "boat"})
    reader = Reader(tokenizer, shared=True)
    model = cross_lingual.pretrain(reader, reads=None, steps=1, rows=2, lr=1e-3, seed=0)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    how = {"seed": 0, "labels": 60, "steps": 30, "lr": 3e-3}
    assert cross_lingual.tune(model, reader, ENGLISH, **how)["english"] == 1.0
    assert cross_lingual.tune(model, reader, GERMAN, **how)["german"] == 1.0
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())

"""The run on captions, on tiny sizes: it goes on where it stopped, and what it shows is what it wrote."""

import pytest
import torch

from experiments import multi30k

WORDS = {"a": "ein", "man": "Mann", "dog": "Hund", "runs": "rennt", "sits": "sitzt", "here": "hier"}
SIZES = {"d_model": 16, "d_ff": 32, "num_layers": 2, "num_heads": 2, "dropout": 0.1}
CONFIG = {
    "vocab_size": 300, "sizes": SIZES, "steps": 3, "batch_size": 4,
    "lr": 1e-3, "warmup_steps": 2, "smoothing": 0.1,
}  # fmt: skip


def captions(split):
    pairs = []
    for noun in ("man", "dog"):
        for verb in ("runs", "sits"):
            for place in ("", " here"):
                source = f"a {noun} {verb}{place}"
                pairs.append((source, " ".join(WORDS[word] for word in source.split())))
    return pairs


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    monkeypatch.setattr(multi30k, "multi30k", captions)
    monkeypatch.setattr(multi30k, "FINISHED", tmp_path)
    monkeypatch.setattr(multi30k, "LONGEST", 12)
    return tmp_path


def test_a_finished_run_is_not_trained_again(tiny):
    first = multi30k.one_case(seed=1, **CONFIG)
    assert multi30k.one_case(seed=1, **CONFIG) == first


def test_looking_does_not_change_the_training(tiny, monkeypatch):
    watched = multi30k.one_case(seed=1, **CONFIG)
    for checkpoint in tiny.iterdir():
        checkpoint.unlink()

    def blind(self, model):
        return {"perplexity": 1.0, "cpu_seconds": 0.0, "samples": []}

    monkeypatch.setattr(multi30k.Watch, "__call__", blind)
    unwatched = multi30k.one_case(seed=1, **CONFIG)
    assert [row[1] for row in unwatched["history"]] == [row[1] for row in watched["history"]]
    assert unwatched["scores"] == watched["scores"]


def test_samples_and_attention_are_those_of_the_captions_shown(tiny):
    row = multi30k.one_case(seed=2, **CONFIG)
    assert [step for step, _ in row["samples"]] == [step for step, *_ in row["history"]] == [0, 2]
    assert all(len(texts) == len(multi30k.SHOWN) for _, texts in row["samples"])
    sources = [captions("test")[i][0] for i in multi30k.SHOWN]
    last = row["samples"][-1][1]
    for found, source, text in zip(row["attention"], sources, last, strict=True):
        assert "".join(found["source"]) == source
        assert "".join(found["written"][:-1]) == text and found["written"][-1] == "<stop>"
        weights = torch.tensor(found["weights"])
        assert weights.shape == (2, len(found["written"]), len(found["source"]))
        assert torch.allclose(weights.sum(-1), torch.ones(()), atol=0.02)

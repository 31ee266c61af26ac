"""The cases differ in what they are said to differ in, and nothing that judges is trained on."""

import pytest
import torch

from experiments import detr

SCENES = {"size": 40, "heights": (10, 14), "max_digits": 2}


@pytest.fixture
def images():
    return torch.rand(2, 3, 24, 40, generator=torch.Generator().manual_seed(0))


def test_cases_of_a_kind_begin_with_the_same_weights():
    models = [detr.build("anchors", 5, positions, seed=3) for positions in detr.POSITIONS]
    first = models[0].state_dict()
    for model in models[1:]:
        assert all(torch.equal(p, first[name]) for name, p in model.state_dict().items())


def test_positions_are_where_the_case_says(images):
    models = {positions: detr.build("learned", 5, positions, seed=3).eval() for positions in detr.POSITIONS}
    every, once, none = (models[name].features(images) for name in ("every layer", "input", "none"))
    assert torch.equal(none.states, every.states)
    torch.testing.assert_close(once.states, every.states + every.positions)
    assert once.positions is None
    assert none.positions is None


def test_every_case_changes_at_most_one_thing():
    assert all(len(changes) <= 1 for changes in detr.CASES.values())
    assert all(changes.items().isdisjoint(detr.CONFIG.items()) for changes in detr.CASES.values())


def test_one_case_trains_and_judges(monkeypatch):
    pytest.importorskip("pycocotools")
    digits = detr.ImageSet(torch.rand(4, 1, 28, 28), torch.arange(4))
    monkeypatch.setattr(detr, "mnist", lambda split: digits)
    monkeypatch.setattr(detr, "HELD_OUT_DIGITS", 1)
    detr.parts.cache_clear()
    sizes = {"scenes": SCENES, "train": 5, "test": 3, "batch_size": 2, "steps": 2}
    got = detr.one_case(seed=0, **detr.CONFIG | sizes)
    seen, unseen = detr.parts(5, 3, 0, **SCENES)
    detr.parts.cache_clear()
    assert 0 <= got["mean"] <= got["at50"] <= 1
    own = [set(labels[labels >= 0].tolist()) for labels in (seen.labels, unseen.labels)]
    assert own[0].isdisjoint(own[1])

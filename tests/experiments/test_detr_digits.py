"""The detector that comes with the project: it is the one of the results, and finds what it has not seen."""

import json

import pytest

from experiments import detr, detr_digits
from pioneers.analysis import experiment
from pioneers.data import digits
from pioneers.models import AnchorDETR
from pioneers.weights import from_pretrained


@pytest.fixture(scope="module")
def stored():
    return from_pretrained(detr_digits.FOLDER)


@pytest.fixture(scope="module")
def row():
    (row,) = experiment("detr_digits")["rows"]
    return row


def test_the_recipe_is_that_of_the_longest_case():
    longest = detr.CONFIG | detr.CASES["anchors, longest"]
    assert (longest["kind"], longest["positions"], longest["auxiliary"]) == ("anchors", "every layer", True)
    assert detr_digits.CONFIG.items() <= longest.items()
    assert experiment("detr_digits")["config"] == json.loads(json.dumps(detr_digits.CONFIG))


def test_it_is_small_and_complete(stored, row):
    assert type(stored) is AnchorDETR
    assert sum(p.numel() for p in stored.parameters()) == row["parameters"]
    assert (detr_digits.FOLDER / "model.safetensors").stat().st_size <= 1_200_000


def test_it_finds_digits_that_it_has_not_seen(stored, row):
    pytest.importorskip("pycocotools")
    _, unseen = detr_digits.parts(1, 400, 0, **detr_digits.CONFIG["scenes"])
    found = detr_digits.judge(stored, unseen)
    assert found.at50 >= 0.85
    assert found.at50 == pytest.approx(row["at50"], abs=0.005)


def test_no_digit_is_in_both_parts():
    own, others = ({image.numpy().tobytes() for image in part.images} for part in digits())
    assert not own & others

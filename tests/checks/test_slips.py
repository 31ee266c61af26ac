"""Mistakes that no exercise has to list are named in all."""

from dataclasses import replace

import pytest

from pioneers.checks import examine
from pioneers.checks.building import exercise
from pioneers.checks.edits import define, edited
from pioneers.checks.slips import slips

ANSWER = '''
def attend(q: Tensor, k: Tensor, v: Tensor, sharp: float = 2.0) -> Tensor:
    """Attention with scores multiplied by a number."""
    scores = q @ k.transpose(-2, -1) * sharp
    return scores.softmax(dim=-1) @ v
'''
CHANGES = {
    ".softmax(dim=-1)": (".softmax(dim=1)", "the softmax runs along another axis"),
    "scores.softmax(dim=-1)": ("scores.softmax(-1).softmax(-1)", "a softmax of a softmax"),
    "k.transpose(-2, -1)": ("k.reshape(len(k), 7, 5)", "a reshape instead of a transposition"),
    "* sharp": ("* 2", "sharp is ignored"),
}


@pytest.fixture
def ex():
    ex = exercise("9.9", ANSWER, points=3, minutes=5, difficulty=1, reread="sec-scaling")
    ex.inputs(q="B T K", k="B T K", v="B T V")
    ex.probe("five tokens", B=2, T=5, K=7, V=3)
    ex.probe("another sharpness", B=3, T=5, K=7, V=3, sharp=3.0)
    return ex


@pytest.mark.parametrize("old", CHANGES)
def test_a_slip_is_named_by_its_results(ex, old) -> None:
    new, name = CHANGES[old]
    made = replace(ex.finished(), slips=tuple(slips(ex)))
    failure = examine(made, define("9.9", edited(ex.answer, (old, new))))
    assert failure.diagnosis.name == name
    assert (failure.diagnosis.section, failure.diagnosis.why[-1]) == ("sec-scaling", ".")


def test_an_own_name_comes_before_that_of_a_slip(ex) -> None:
    edit = (".softmax(dim=-1)", ".softmax(dim=1)")
    ex.wrong("over the queries", "The weights of a query sum to one.", edit)
    made = replace(ex.finished(), slips=tuple(slips(ex)))
    failure = examine(made, define("9.9", edited(ex.answer, edit)))
    assert failure.diagnosis.name == "over the queries"

"""Mistakes that no exercise has to list are named in all."""

import time
from dataclasses import replace
from functools import partial

import pytest
import torch

from pioneers.checks import examine, find, numbers
from pioneers.checks.building import exercise
from pioneers.checks.edits import define, edited
from pioneers.checks.exercise import Outcome
from pioneers.checks.judge import first_failure
from pioneers.checks.slips import near, slips

ANSWER = '''
def attend(q: Tensor, k: Tensor, v: Tensor, sharp: float = 2.0) -> Tensor:
    """Attention with scores multiplied by a number."""
    scores = q @ k.transpose(-2, -1) * sharp
    return scores.softmax(dim=-1) @ v
'''
LOOP = '''
def halved(x: Tensor) -> Tensor:
    """Halve until it is small."""
    while x > 1:
        x = x / 2
    return x
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


NEAR = {
    "* sharp": ("", "a factor or a term is missing"),
    "scores = q @ k": ("scores = (q + 1) @ k", None),
    ".softmax(dim=-1)": (".log_softmax(dim=-1)", "a similar function in the place of the right one"),
}


@pytest.mark.parametrize("old", NEAR)
def test_one_change_of_a_right_answer_is_named_by_what_was_changed(ex, old) -> None:
    new, name = NEAR[old]
    made = replace(ex.finished(), near=partial(near, ex))
    failure = examine(made, define("9.9", edited(ex.answer, (old, new))))
    assert (failure.diagnosis and failure.diagnosis.name) == name


def test_a_loop_that_may_become_endless_is_not_changed() -> None:
    loop = exercise("9.8", LOOP, points=3, minutes=5, difficulty=1, reread="sec-scaling")
    assert list(near(loop)) == []


@pytest.mark.parametrize("key", numbers())
def test_changes_of_right_answers_are_tried_in_seconds(key) -> None:
    exercise, begun = find(key), time.thread_time()
    failure = first_failure(exercise, lambda probe: Outcome(torch.zeros(7, 77)), exercise.probes())
    assert failure.diagnosis
    assert time.thread_time() - begun < 5, "a student waits for this answer"

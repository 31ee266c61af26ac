"""Each exercise: its probes tell every known mistake from the reference and from each other."""

import re
import runpy
import time
from pathlib import Path

import pytest

from pioneers.checks import examine, explain, find, numbers
from pioneers.checks.edits import define, edited
from pioneers.checks.judge import case_of, expected, first_failure
from pioneers.checks.loading import drafts, lab_folders
from pioneers.checks.rules import rules
from pioneers.checks.run import call
from pioneers.checks.sections import SECTIONS
from pioneers.checks.steady import agrees

ROOT = Path(__file__).parents[2]
TWINS = [
    pytest.param(key, number, id=f"{key}-{mistake.name}")
    for key in numbers()
    for number, mistake in enumerate(find(key).mistakes)
    if mistake.twin and not mistake.origin
]
DRAFTS = [draft for folder in lab_folders().values() for draft in drafts(folder)]
LINKED = [draft for draft in DRAFTS if any(s for _, s in draft.links)]


@pytest.mark.parametrize("key", numbers())
def test_the_reference_passes_its_own_probes(key) -> None:
    exercise = find(key)
    start = time.thread_time()
    assert first_failure(exercise, lambda probe: call(exercise.reference, probe), exercise.probes()) is None
    assert time.thread_time() - start < 5, "a student waits for this answer"


@pytest.mark.parametrize("draft", DRAFTS, ids=lambda draft: draft.key)
def test_no_right_answer_comes_near_to_what_rounding_may_cost(draft) -> None:
    exercise = find(draft.key)
    answers = [exercise.reference, *(define(draft.key, right.source) for right in draft.rights)]
    for probe in [*draft.probes(), *draft.probes(hidden=True)]:
        exact = expected(exercise, probe)
        for answer in answers:
            assert agrees(case_of(exercise, probe, call(answer, probe), exact), 0.7), probe.name


@pytest.mark.parametrize(("key", "number"), TWINS)
def test_every_known_mistake_is_caught_and_recognised_as_itself(key, number) -> None:
    exercise = find(key)
    mistake = exercise.mistakes[number]
    failure = first_failure(exercise, lambda probe: call(mistake.twin, probe), exercise.probes())
    assert failure.diagnosis.name == mistake.name
    assert failure.diagnosis.why == mistake.why


def test_the_rules_of_a_card_are_those_that_its_probes_enforce() -> None:
    types = (
        "Inputs may be float32, float64 or bfloat16; the result has their type, and is as exact as it allows."
    )
    device = "Make new tensors on the device of the inputs, and leave the inputs as they are."
    assert rules(find("1.3")) == f"{types} A gradient must reach `q`, `k` and `v`. {device}"
    assert rules(find("1.4")) == "The result is boolean."
    assert rules(find("2.1")) == f"The result is float32. {device}"


@pytest.mark.parametrize("draft", LINKED, ids=lambda draft: draft.key)
def test_an_answer_that_calls_earlier_ones_is_right_with_right_ones(draft) -> None:
    for keys, source in draft.links:
        answer = source and define(draft.key, source, {find(key).name: find(key).reference for key in keys})
        run = lambda probe, answer=answer: call(answer, probe)  # noqa: E731
        assert not answer or first_failure(find(draft.key), run, draft.probes()) is None


def test_mistakes_of_earlier_exercises_are_named_where_their_steps_are_taken_again() -> None:
    halves = edited(
        drafts(lab_folders()["1"])[8].answer,
        ("num_heads, -1).transpose(1, 2)", "-1, num_heads).permute(0, 3, 1, 2)"),
    )
    failure = examine(find("1.9"), define("1.9", halves))
    assert (failure.diagnosis.name, failure.diagnosis.origin) == ("the width dealt out in turn", "1.7")
    said = "This looks like: the width dealt out in turn (exercise 1.7)."
    assert said in explain(find("1.9"), failure)


@pytest.mark.parametrize("key", numbers())
def test_probes_are_the_same_each_time(key) -> None:
    first, second = find(key).probes(), find(key).probes()
    assert [probe.name for probe in first] == [probe.name for probe in second]
    assert all(str(a.args) == str(b.args) for a, b in zip(first, second, strict=True))


def test_section_titles_and_equations_are_those_of_the_lectures() -> None:
    program = runpy.run_path(str(ROOT / "labs" / "sections.py"))
    assert program["titles"]() == SECTIONS, "run: python labs/sections.py"
    texts = "\n".join(page.read_text() for page in (ROOT / "lectures").glob("*.md"))
    equations = set(re.findall(r"^\$\$ \((eq-[\w-]+)\)$", texts, flags=re.MULTILINE))
    for exercise in map(find, numbers()):
        used = (exercise, *exercise.mistakes, *exercise.laws)
        assert {thing.equation for thing in used} - {""} <= equations
    program["titles"].__globals__["named"] = lambda: {"sec-scaling", "sec-nowhere"}
    with pytest.raises(ValueError, match=r"no lecture has .*: sec-nowhere$"):
        program["titles"]()


def test_an_unknown_number_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no exercise '99.9'; the numbers are 1.1, 1.2"):
        find("99.9")

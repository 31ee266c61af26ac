"""What instructors read about a class: items, changed marks, and submissions that are alike."""

import random

import pytest

from pioneers.autograder.similarity import similar_pairs
from pioneers.autograder.submission import Cell
from pioneers.autograder.tables import changes, items

POINTS = {"a": 2, "b": 4}
ATTENTION = """
def attend(q, k, v):
    scores = q @ k.transpose(-2, -1) / math.sqrt(k.shape[-1])
    weights = scores.softmax(dim=-1)
    return (0 + weights) @ v
"""


def code(source):
    return Cell("code", source, "", 0, {})


def view(**scores):
    """A gradebook of two exercises, worth 2 and 4 points."""
    cell = {"waits": False, "by_hand": False, "comment": ""}
    return {
        who: {
            name: cell | {"score": score, "points": POINTS[name]}
            for name, score in zip(POINTS, both, strict=True)
        }
        for who, both in scores.items()
    }


def results(held):
    return [
        {
            "student": who,
            "marks": [
                {"grade_id": name, "exercise": f"1.{name}", "points": POINTS[name], "score": cell["score"]}
                for name, cell in cells.items()
            ],
        }
        for who, cells in held.items()
    ]


def test_an_exercise_that_the_weak_solve_is_found():
    held = view(ann=(0, 4), bob=(0, 4), cy=(2, 0), dee=(2, 2))
    first, second = items(results(held), held)
    assert first["share"] == 0.5 and second["share"] == 10 / 16
    assert (first["full"], first["part"], first["none"]) == (2, 0, 2)
    assert first["discrimination"] == second["discrimination"] == pytest.approx(-0.9045, abs=1e-4)


def test_an_exercise_that_all_solve_tells_nobody_apart():
    held = view(ann=(2, 4), bob=(2, 0))
    first, _ = items(results(held), held)
    assert (first["share"], first["discrimination"]) == (1, None)


def test_only_marks_that_changed_are_listed():
    before = {"ann": results(view(ann=(2, 4)))[0]}
    after = results(view(ann=(2, 3), new=(2, 4)))
    assert changes(before, after) == [["ann", "1.b", "4", "3"]]
    after[0]["marks"][1]["score"] = None
    assert changes(before, after) == [["ann", "1.b", "4", "waits"]]


def of_student(n):
    """The answer of student n, which no other has."""
    draw = random.Random(n)
    signs = [[draw.choice("+-*") for _ in range(3)] for _ in range(4)]
    steps = [f"    x = x {a} {n} {b} (scores {c} {n + i})" for i, (a, b, c) in enumerate(signs)]
    return "\n".join(["def helper(x, scores):", *steps, "    return x"])


def test_a_copy_is_found_under_other_names_and_with_other_comments():
    notebooks = {f"s{n}": [code(of_student(n)), code(ATTENTION)] for n in range(30)}
    copy = of_student(7).replace("scores", "s").replace("x", "state").replace("):\n", "):\n    # mine\n")
    notebooks["copy"] = [code(copy), code(ATTENTION)]
    first, *others = similar_pairs(notebooks)
    assert {first.first, first.second} == {"copy", "s7"}
    assert first.alike > 0.7
    assert "helper" in first.code[0]
    assert all(pair.alike < 0.35 for pair in others)


def test_code_of_the_lab_and_of_many_does_not_count():
    assert not similar_pairs({f"s{n}": [code(ATTENTION)] for n in range(30)})
    two = {who: [code(ATTENTION)] for who in ("ann", "bob")}
    assert len(similar_pairs(two)) == 1
    assert not similar_pairs(two, [code(ATTENTION)])


def test_traps_are_left_out():
    traps = ["(" * 9000, "x = 1\0", "+".join("a" * 40_000), "this is no Python"]
    assert not similar_pairs({str(n): [code(trap)] for n, trap in enumerate(traps * 2)})

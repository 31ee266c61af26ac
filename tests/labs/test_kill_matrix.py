"""Every wrong answer loses its points and gets its own diagnosis; every right one passes."""

import pytest

from pioneers.checks import CheckFailed, find, numbers


def test_every_wrong_answer_is_caught_and_named(wrong) -> None:
    lab, key, answer = wrong
    with pytest.raises(CheckFailed) as caught:
        lab.mark(key, answer.source)
    assert caught.value.failure.diagnosis.name == answer.diagnosis
    assert answer.diagnosis in str(caught.value)


def test_every_right_answer_passes(right, capsys) -> None:
    lab, key, answer = right
    lab.mark(key, answer.source)
    out, err = capsys.readouterr()
    assert f"{key} {find(key).name}: all checks passed ({find(key).points} points)" in out
    assert err == ""


def test_banks_are_large_enough(lab) -> None:
    assert all(len(lab.bank.wrong[key]) >= 5 for key in lab.keys)
    assert all(len(lab.bank.right[key]) >= 8 for key in lab.keys)
    assert all(
        len({answer.source for answer in answers}) == len(answers) for answers in lab.bank.wrong.values()
    )


def test_every_exercise_belongs_to_a_lab_with_a_bank(lab) -> None:
    number = str(int(lab.name[:2]))
    assert lab.keys == [key for key in numbers() if key.split(".")[0] == number]


def test_an_answer_that_is_not_written_yet_is_told_so(lab) -> None:
    for key in lab.keys:
        exercise = find(key)
        stub = (
            f"def {exercise.name}({', '.join(exercise.parameters)}):\n    raise NotImplementedError('later')"
        )
        with pytest.raises(CheckFailed, match="NotImplementedError: replace that line"):
            lab.mark(key, stub)

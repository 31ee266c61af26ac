import collections

import pytest

from pioneers.data import (
    check_sum,
    decode_sums,
    encode_sums,
    pupil_answers,
    sum_answer,
    sum_problems,
)
from pioneers.data.sums import SUM_CHARACTERS


def parts(problem):
    return [int(number) for number in problem.removesuffix("=").split("+")]


def test_problems_are_sums_of_two_numbers_with_the_asked_digits():
    problems = sum_problems(500, digits=3, seed=7)
    numbers = [number for problem in problems for number in parts(problem)]
    assert all(100 <= number <= 999 for number in numbers)
    assert min(numbers) < 130
    assert max(numbers) > 970
    assert problems == sum_problems(500, digits=3, seed=7)
    assert problems != sum_problems(500, digits=3, seed=8)


def test_no_test_problem_is_ever_trained_on():
    train = {problem for seed in range(5) for problem in sum_problems(2000, digits=2, seed=seed)}
    test = {problem for seed in range(5) for problem in sum_problems(300, digits=2, split="test", seed=seed)}
    assert not train & test
    assert 0.07 < len(test) / len(train | test) < 0.13  # of 8,100 sums, nearly all of which have been drawn


@pytest.mark.parametrize("digits", [1, 2, 3, 5])
def test_the_working_is_that_of_a_column_sum(digits):
    for problem in sum_problems(100, digits=digits):
        first, second = parts(problem)
        working, result = sum_answer(problem, working=True).removeprefix("(").rstrip(".").split(")")
        over = 0
        for place, total in enumerate(map(int, working.split(","))):
            assert total == first // 10**place % 10 + second // 10**place % 10 + over
            over = total // 10
        assert int(result) == first + second


def test_who_forgets_to_carry_is_right_only_where_nothing_is_carried():
    assert sum_answer("417+358=", working=False, carry=False) == "765."
    assert sum_answer("417+352=", working=False, carry=False) == "769."
    assert sum_answer("917+352=", working=False, carry=False) == "1269."  # in front it is written


def test_a_class_has_the_asked_share_of_written_answers_and_those_are_right():
    problems = sum_problems(2000)
    answers = pupil_answers(problems, written=0.3, seed=1)
    right = collections.Counter(
        (answer.startswith("("), check_sum(problem, answer))
        for problem, answer in zip(problems, answers, strict=True)
    )
    assert right[True, False] == 0
    assert 0.27 < right[True, True] / 2000 < 0.33
    assert right[False, False] > right[False, True] > 0
    carried = [sum_answer(p, working=False) != sum_answer(p, working=False, carry=False) for p in problems]
    head = [not answer.startswith("(") for answer in answers]
    wrong = [not check_sum(p, a) for p, a in zip(problems, answers, strict=True)]
    assert wrong == [h and c for h, c in zip(head, carried, strict=True)]


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("132.", True),
        ("(12,13)132.", True),
        ("(1,2)132.", True),  # the working is not read
        ("(132)122.", False),
        ("132", False),
        ("0132.", False),
        ("1132.", False),
        ("132.5", True),  # nothing after the stop is read
        ("(132.", False),
        (".", False),
        ("", False),
    ],
)
def test_the_check_reads_the_result_alone(answer, right):
    assert check_sum("47+85=", answer) == right


def test_texts_come_back_from_their_ids():
    texts = [p + a for p, a in zip(sum_problems(20), pupil_answers(sum_problems(20)), strict=True)]
    ids = encode_sums(texts, length=31)
    assert ids.shape == (20, 31)
    assert decode_sums(ids) == texts
    assert SUM_CHARACTERS[0] == " "  # padding is id 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sum_problems(0), "at least 1"),
        (lambda: sum_problems(3, digits=0), "at least 1"),
        (lambda: sum_problems(3, split="valid"), "train"),
        (lambda: pupil_answers(["1+1="], written=1.5), "between 0 and 1"),
        (lambda: encode_sums(["1-1="]), "characters"),
        (lambda: encode_sums(["1+1="], length=3), "length=3"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()

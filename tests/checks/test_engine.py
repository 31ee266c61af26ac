"""The stages in order, what each says, and what an honest answer may do without being accused."""

import sys
import textwrap
import warnings

import pytest
import torch
from torch import Tensor

from pioneers.checks import CheckFailed, Probe, check, examine, explain
from pioneers.checks.exercise import Exercise, Law, Mistake, Outcome
from pioneers.checks.judge import first_failure
from pioneers.checks.rng import normals
from pioneers.checks.run import arrange, call, parameters_of
from pioneers.checks.tolerance import TOLERANCE, close


def double(x: Tensor, times: int = 2) -> Tensor:
    return times * x


def exercise(**changes) -> Exercise:
    """Doubling a tensor, with a mistake known by name."""
    settings = {
        "key": "0.1",
        "name": "double",
        "parameters": ("x",),
        "points": 3,
        "section": "sec-lookup",
        "equation": "eq-softmax",
        "reference": lambda x: 2 * x,
        "probes": lambda: [
            Probe("plain", {"x": normals(1)(3, 5)}),
            Probe("wide", {"x": normals(2)(5, 7).double()}),
        ],
        "mistakes": (Mistake("squared", "Two times x is not x times x.", lambda x: x * x),),
    }
    return Exercise(**settings | changes)


def overwrite(x):
    x *= 2
    return x


def no_return(x):
    2 * x


def stops(x):
    raise ValueError("no idea")


STAGES = {
    "exists": (None, None),
    "signature": (lambda y: 2 * y, None),
    "runs": (stops, None),
    "returns a tensor": (no_return, "nothing returned"),
    "shape": (lambda x: 2 * x.T, "axes in another order"),
    "dtype": (lambda x: 2 * x.float(), "another precision comes out"),
    "finite": (lambda x: 2 * x / 0, "infinity or NaN on the way"),
    "value": (lambda x: x * x, "squared"),
    "gradient": (lambda x: 2 * x.detach(), "the gradient is cut"),
    "inputs unchanged": (overwrite, "the input is overwritten"),
    "device": (lambda x: 2 * x + torch.zeros(x.shape), "a tensor left on the CPU"),
}


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_stops_the_answer_that_fails_there(stage) -> None:
    answer, diagnosis = STAGES[stage]
    failure = examine(exercise(), answer)
    assert failure.stage == stage
    assert (failure.diagnosis.name if failure.diagnosis else None) == diagnosis


def test_a_right_answer_passes_in_other_words_too() -> None:
    assert examine(exercise(), lambda x: x + x) is None
    assert examine(exercise(), lambda x: torch.stack((x, x)).sum(0)) is None


def test_the_most_basic_failure_on_any_probe_comes_first() -> None:
    failure = examine(exercise(), lambda x: x * x if x.dtype == torch.float32 else x[0])
    assert failure.stage == "shape"


def test_single_precision_inside_is_noticed_where_doubles_come_in() -> None:
    failure = examine(exercise(), lambda x: (2 * (x.float() / 3) * 3).to(x.dtype))
    assert failure.diagnosis.name == "a detour through single precision"


def test_an_epsilon_in_a_denominator_is_told_from_rounding() -> None:
    failure = examine(exercise(), lambda x: 2 * x / (1 + 1e-8))
    assert failure.diagnosis.name == "a small number added to the denominator"


def test_nan_in_the_gradient_alone_is_noticed() -> None:
    failure = examine(exercise(), lambda x: 2 * x + (x.detach() * 0 + (x - x).sqrt()).nan_to_num() * 0)
    assert failure.stage == "gradient"
    assert failure.diagnosis.name == "NaN in the gradient"


def test_a_law_is_checked_after_the_values() -> None:
    def sides(run):
        whole = run(Probe("law", {"x": torch.ones(7, 2)})).value
        return whole[:1], run(Probe("law", {"x": torch.ones(1, 2)})).value

    law = Law("rows are independent", "Each row is doubled by itself.", sides)
    failure = examine(exercise(laws=(law,)), lambda x: 2 * x + 1.0 * (len(x) == 7))
    assert failure.stage == "law"
    assert failure.what[:2] == ("Law: rows are independent", "Each row is doubled by itself.")
    assert (failure.diagnosis, failure.section) == (None, "sec-lookup")
    assert examine(exercise(laws=(law,)), lambda x: 2 * x) is None


def test_an_answer_that_stops_or_changes_shape_where_a_law_looks_is_told_so() -> None:
    def sides(run):
        return run(Probe("law", {"x": torch.ones(7, 2)})).value, 2 * torch.ones(7, 2)

    lawful = exercise(laws=(Law("tall tensors too", "Shape is free.", sides),))
    stopped = examine(lawful, lambda x: 2 * x if len(x) < 7 else stops(x))
    assert (stopped.stage, "no idea" in stopped.what[2]) == ("law", True)
    shrunk = examine(lawful, lambda x: 2 * x[:6])
    assert (shrunk.stage, "(6," in shrunk.what[2]) == ("law", True)


def test_a_broken_law_is_not_the_name_of_a_mistake_and_a_twin_that_breaks_it_alike_is() -> None:
    def sides(run):
        return run(Probe("law", {"x": torch.ones(7, 2)})).tensor, 2 * torch.ones(7, 2)

    def stops_at_six(x):
        return 2 * x * (torch.arange(len(x)) < 6)[:, None].to(x.device)

    cut = Mistake("six rows at most", "Tensors may be taller.", stops_at_six, section="sec-lookup")
    lawful = exercise(laws=(Law("tall tensors too", "Shape is free.", sides),), mistakes=(cut,))
    assert examine(lawful, stops_at_six).diagnosis.name == "six rows at most"
    assert examine(lawful, lambda x: 2 * x + 1.0 * (len(x) == 7)).diagnosis is None


def test_the_judge_knows_an_answer_only_by_its_results() -> None:
    """Any callable from probe to outcome will do, as one that asks another process would."""
    seen = []

    def run(probe):
        seen.append(probe.name)
        return call(lambda x: x * x, probe)

    assert first_failure(exercise(), run, exercise().probes()).diagnosis.name == "squared"
    assert seen == ["plain", "wide"]


def test_numbers_with_gaps_are_the_same_numbers() -> None:
    x = normals(3)(3, 5)
    given = arrange(Probe("gaps", {"x": x, "n": 2}, strided=True))
    assert torch.equal(given["x"], x)
    assert not given["x"].is_contiguous()
    assert given["n"] == 2


def test_warnings_and_stderr_of_an_answer_stay_out_of_the_notebook(capsys) -> None:
    def noisy(x):
        warnings.warn("careful", stacklevel=1)
        print("a line", file=sys.stderr)
        return 2 * x

    assert examine(exercise(), noisy) is None
    assert capsys.readouterr().err == ""


def test_a_mask_of_the_wrong_kind_is_not_taken_for_another_mistake() -> None:
    masks = exercise(
        reference=lambda x: x > 0, mistakes=(Mistake("inverted", "The other way round.", lambda x: x <= 0),)
    )
    assert examine(masks, lambda x: x <= 0).diagnosis.name == "inverted"
    assert examine(masks, lambda x: (x <= 0).float()).diagnosis.name == "a mask of numbers"


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_tolerances_forgive_rounding_and_nothing_more(dtype) -> None:
    x = normals(4)(1000, dtype=dtype)
    unit = torch.finfo(dtype).eps
    assert close(x * (1 + unit), x, dtype)
    assert not close(x * 1.1 + 0.1, x, dtype)


def test_no_tolerance_lets_single_precision_pass_for_double() -> None:
    x = normals(5)(100, dtype=torch.float64)
    assert not close(x.float().double(), x, torch.float64)


def test_the_message_says_what_came_and_what_to_reread() -> None:
    with pytest.raises(CheckFailed) as caught:
        check("1.4", lambda num_queries, num_keys: torch.ones(num_queries, num_keys).tril() > 0)
    expected = """\
        1.4 causal_mask(num_queries, num_keys) does not pass yet. Stopped at: value.

          Probe: 3 new queries after 4 earlier keys
          Inputs:   num_queries=3, num_keys=7
          Expected: [0, 0:6] = [1, 1, 1, 1, 1, 0]
          Got:      [0, 0:6] = [1, 0, 0, 0, 0, 0]
          First difference at [0, 1]: 1 expected, 0 received; 12 of 21 numbers differ
          Call again: causal_mask(**check.last)

          This looks like: aligned top left.
          Fewer queries than keys means the last tokens: shift the diagonal by num_keys - num_queries.
          Reread: lecture 2, “The causal mask: no looking ahead”: #sec-causal, #equation-eq-mask"""
    assert str(caught.value) == textwrap.dedent(expected)
    assert caught.value._render_traceback_() == str(caught.value).splitlines()


def test_whole_numbers_are_shown_to_the_last_digit() -> None:
    whole = exercise(probes=lambda: [Probe("large", {"x": torch.tensor([[5_000_000_000, 7]])})])
    shown = "\n".join(examine(whole, lambda x: 2 * x - 1).what)
    assert "Expected: [0, 0:2] = [10000000000, 14]" in shown
    assert "Got:      [0, 0:2] = [9999999999, 13]" in shown


def test_small_inputs_are_shown_in_full_and_large_ones_by_their_shape() -> None:
    given = {
        "x": torch.ones(2, 3),
        "ids": torch.tensor([[5, 7], [0, 2]]),
        "seen": torch.tensor([True, False]),
    }
    given |= {"n": 3, "many": torch.zeros(7, 7, dtype=torch.int64), "one": torch.tensor(0.12345)}
    mixed = exercise(parameters=tuple(given), reference=lambda x, *_: x, probes=lambda: [Probe("p", given)])
    shown = (
        examine(mixed, lambda x, ids, seen, n, many, one: x + 1).what[1].replace("\N{NO-BREAK SPACE}", " ")
    )
    assert shown == (
        "Inputs:   x=[[1, 1, 1], [1, 1, 1]] float32, ids=[[5, 7], [0, 2]] int64, seen=[1, 0] bool, n=3, "
        "many (7, 7) int64, one=0.1235 float32"
    )


def test_the_inputs_of_a_failing_public_call_are_kept_and_those_of_a_hidden_one_are_not() -> None:
    def causal_mask(num_queries, num_keys):
        return torch.ones(num_queries, num_keys).tril(6 if num_keys == 11 else 0) > 0

    vars(check).pop("last", None)
    with pytest.raises(CheckFailed, match="Call again") as caught:
        check("1.4", causal_mask)
    assert check.last == {"num_queries": 3, "num_keys": 7}
    assert "check.last" in str(caught.value)
    with pytest.raises(CheckFailed) as caught:
        check("1.4", causal_mask, probes=[Probe("more", {"num_queries": 2, "num_keys": 11})])
    assert check.last == {"num_queries": 3, "num_keys": 7}
    assert "check.last" not in str(caught.value)


def test_a_mistake_without_a_name_has_a_section_to_reread() -> None:
    failure = examine(exercise(), lambda x: 2 * x + 1)
    assert (failure.diagnosis, failure.section, failure.equation) == (None, "sec-lookup", "eq-softmax")
    assert "\n  Reread: lecture 2" in explain(exercise(), failure)


def test_an_exception_in_the_call_for_the_gradient_is_reported_as_such() -> None:
    def counts(x):
        return 2 * x if not x.requires_grad else stops(x)

    def in_place(x):
        y = x.exp()
        z = (y * y).sqrt()
        y *= 2
        return 2 * x + 0 * z

    failure = examine(exercise(), counts)
    assert (failure.stage, failure.diagnosis) == ("gradient", None)
    again = (
        "called again with inputs that require a gradient, your function raised ValueError: no idea, at line"
    )
    assert again in failure.what[1]
    failure = examine(exercise(), in_place)
    assert (
        "the backward pass through your result raised RuntimeError: one of the variables" in failure.what[1]
    )
    assert failure.diagnosis.name == "a step in place before the backward pass"
    failure = examine(exercise(), lambda x: torch.from_numpy(2 * x.numpy()))
    assert (failure.diagnosis.name, "Can't call numpy()" in failure.what[1]) == ("the gradient is cut", True)


def test_a_mistake_that_shows_in_the_gradient_alone_is_known_by_it() -> None:
    def half(x):
        return x + x.detach()

    cut = exercise(mistakes=(Mistake("half the gradient", "Both terms count.", half),))
    assert examine(cut, lambda x: x.detach() + x).diagnosis.name == "half the gradient"
    other = examine(cut, lambda x: 3 * x - x.detach())
    assert other.diagnosis.name == "right values with another gradient"


def test_another_device_is_said_in_plain_words() -> None:
    said = examine(exercise(), STAGES["device"][0]).what
    assert "meta" not in " ".join(said)
    assert "on the CPU, which is on another device than the inputs" in said[0]
    assert said[1].startswith("at line ")


def test_an_exception_in_the_answer_is_shown_with_its_own_line() -> None:
    def causal_mask(num_queries, num_keys):
        return torch.ones(num_queries, num_keys) @ torch.ones(2, 2)

    with pytest.raises(CheckFailed, match="mat1 and mat2 shapes cannot be multiplied") as caught:
        check("1.4", causal_mask)
    assert "of causal_mask: return torch.ones(num_queries, num_keys) @ torch.ones(2, 2)" in str(caught.value)


def test_an_exception_is_no_known_mistake_unless_it_is_the_very_same() -> None:
    def product(x):
        return x @ x

    wrong_product = exercise(mistakes=(Mistake("multiplied by itself", "x is not square.", lambda x: x @ x),))
    assert examine(wrong_product, product).diagnosis.name == "multiplied by itself"
    other = examine(wrong_product, lambda x: undefined)  # noqa: F821
    assert other.diagnosis.name == "a name that is not there"


def test_success_prints_one_short_line(capsys) -> None:
    def causal_mask(num_queries, num_keys):
        return torch.ones(num_queries, num_keys).tril(num_keys - num_queries) > 0

    check("1.4", causal_mask)
    check("1.4", causal_mask, probes=[Probe("more", {"num_queries": 2, "num_keys": 5})])
    lines = ["1.4 causal_mask: all checks passed (8 points)", "1.4 causal_mask: hidden probes passed too"]
    assert capsys.readouterr().out.splitlines() == lines


def test_the_answer_is_found_by_name_where_check_is_called() -> None:
    space = {"check": check}
    with pytest.raises(CheckFailed, match="no function called `causal_mask` yet"):
        exec('check("1.4")', space)
    space["causal_mask"] = 3
    with pytest.raises(CheckFailed, match="no function called `causal_mask` yet"):
        exec('check("1.4")', space)


@pytest.mark.parametrize("outcome", [Outcome(error="ValueError: no idea"), Outcome(kind="list")])
def test_an_outcome_without_a_tensor_says_what_came_instead(outcome) -> None:
    with pytest.raises(ValueError, match=f"no tensor came back: {outcome.error or outcome.kind}"):
        _ = outcome.tensor


def test_an_exercise_whose_inputs_are_no_tensors_is_judged_by_its_results_own_type() -> None:
    halves = exercise(
        parameters=("n",),
        reference=lambda n: torch.arange(n) / 2,
        probes=lambda: [Probe("plain", {"n": 5})],
        mistakes=(),
    )
    assert examine(halves, lambda n: torch.arange(n) * 0.5) is None
    assert examine(halves, lambda n: torch.arange(n) * 0.5001).stage == "value"


def test_a_single_number_is_shown_as_it_is() -> None:
    total = exercise(reference=lambda x: x.sum(), probes=lambda: [Probe("plain", {"x": torch.ones(3)})])
    failure = examine(total, lambda x: x.sum() + 0.5)
    assert failure.what[2:4] == ("Expected: 3", "Got:      3.5")


def test_a_builtin_without_a_signature_is_judged_by_its_results() -> None:
    with pytest.raises(ValueError, match="no signature found"):
        parameters_of(int)
    assert examine(exercise(), int).stage == "runs"


def test_a_broken_reference_is_the_authors_fault_and_stops_the_check() -> None:
    broken = exercise(reference=lambda x: x @ x)
    with pytest.raises(RuntimeError, match=r"reference of 0\.1 fails on probe 'plain': RuntimeError: mat1"):
        examine(broken, lambda x: 2 * x)


def test_what_is_not_written_yet_is_no_mistake() -> None:
    def not_written(x):
        raise NotImplementedError

    failure = examine(exercise(), not_written)
    assert (failure.stage, failure.diagnosis) == ("written", None)


@pytest.mark.parametrize("reference", [lambda x, y: 2 * x, lambda x, y: 2 * x + 0 * y])
@pytest.mark.parametrize("answer", [lambda x, y: 2 * x, lambda x, y: 2 * x + 0 * y])
def test_an_input_without_influence_needs_no_gradient(reference, answer) -> None:
    pair = {"x": normals(1)(3, 5), "y": normals(2)(3, 5)}
    unused = exercise(parameters=("x", "y"), reference=reference, probes=lambda: [Probe("plain", pair)])
    assert examine(unused, answer) is None


def fourth_size(x):
    _, _, _, size = x.shape
    return size


GENERAL = {
    "two shapes do not fit": lambda x: 2 * (x + x.T),
    "an index out of range": lambda x: 2 * x[:, 99],
    "an axis too many or too few": lambda x: 2 * x[0],
    "the sign is wrong": lambda x: -2 * x,
    "off by one factor": lambda x: 3 * x,
    "the right numbers in the wrong places": lambda x: 2 * x.flip(0),
    "the input is overwritten": lambda x: x.requires_grad_().mul_(2),
    "the gradient is cut": lambda x: torch.from_numpy(2 * x.requires_grad_().numpy()),
    "an operation that this type lacks": lambda x: 2 * x.long().softmax(-1),
    "a fixed number of things to unpack": lambda x: 2 * fourth_size(x),
    "several numbers taken for one": lambda x: 2 * float(x),
    "nothing to choose from": lambda x: 2 * torch.stack([]),
    "a key that is not there": lambda x: 2 * {x: x}[0],
    "a name that is not there": lambda x: 2 * y,  # noqa: F821
    "a method or attribute that is not there": lambda x: 2 * x.push(),
    "an argument of another kind": lambda x: 2 * x.sum(1, keepdims="yes"),
    "an axis of another length": lambda x: 2 * x[1:, 1:],
    "infinity or NaN on the way": lambda x: 2 * x.exp().mul(1000).exp(),
}


@pytest.mark.parametrize("name", GENERAL)
def test_a_mistake_that_nobody_wrote_down_is_named_by_its_symptom(name) -> None:
    assert examine(exercise(), GENERAL[name]).diagnosis.name == name


def several(*args, **changes):
    """An exercise with four probes, of numbers that count up from different ones."""
    counts = [Probe(f"from {start}", {"x": torch.arange(start, start + 6)}) for start in range(4)]
    return exercise(reference=lambda x: 2 * x, probes=lambda: counts, mistakes=(), **changes)


@pytest.mark.parametrize("step", [1, -1])
def test_whole_numbers_that_are_wrong_by_one_are_named(step) -> None:
    failure = examine(several(), lambda x: torch.where(x > 2, 2 * x + step, 2 * x))
    assert failure.diagnosis.name == "one too many or too few"
    failure = examine(several(), lambda x: torch.where(x > 2, 2 * x + step, 2 * x - step))
    assert failure.diagnosis is None


@pytest.mark.parametrize("wrong", [lambda x: 3 * x.square(), lambda x: 2 * x[:4], lambda x: 1 / 0])
def test_a_case_among_right_ones_is_named_as_such(wrong) -> None:
    failure = examine(several(), lambda x: wrong(x) if x[0] == 2 else 2 * x)
    named = "nothing to choose from" if failure.stage == "runs" else "right in most cases, not in this one"
    assert failure.diagnosis.name == named
    few = examine(several(), lambda x: wrong(x) if x[0] > 1 else 2 * x)
    assert few.diagnosis is None or few.diagnosis.name != "right in most cases, not in this one"


def test_right_values_with_another_gradient() -> None:
    failure = examine(exercise(), lambda x: x + x.detach())
    assert failure.diagnosis.name == "right values with another gradient"

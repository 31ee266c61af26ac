"""Symptoms by which several exercises recognise a mistake."""

import pytest
import torch

from pioneers.checks.common import is_another_float, is_no_tensor
from pioneers.checks.exercise import Case, Outcome, Probe, Symptom
from pioneers.checks.symptoms import (
    bends_the_gradient,
    wrong_on,
    wrong_only_in_half_precision,
    wrong_only_where,
)


def case(name: str, got: float, dtype: torch.dtype = torch.float32) -> Case:
    """A case of the probe ``name`` in which 1 is right."""
    one = torch.ones(3, dtype=dtype)
    return Case(Probe(name, {"x": one}), Outcome(got * one), Outcome(one))


def stopped(*cases: Case, stage: str = "value") -> Symptom:
    """Judging stopped at the first of these cases."""
    return Symptom(stage, cases[0], cases)


def test_wrong_only_where_a_case_is_chosen() -> None:
    shows = wrong_only_where(lambda case: case.probe.name == "far")
    assert shows(stopped(case("far", 2), case("near", 1)))
    assert not shows(stopped(case("far", 2), case("near", 2)))
    assert not shows(stopped(case("near", 2), case("far", 2)))
    assert not shows(stopped(case("far", 2), stage="gradient"))


def test_wrong_on_one_probe_and_perhaps_in_half_precision() -> None:
    shows, half = wrong_on("far"), case("half", 2, torch.float16)
    assert shows(stopped(case("far", 2), half))
    assert shows(stopped(half, case("far", 2), case("near", 1)))
    assert not shows(stopped(half, case("far", 1)))
    assert not shows(stopped(case("far", 2), case("near", 2)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_wrong_only_in_half_precision(dtype) -> None:
    assert wrong_only_in_half_precision(stopped(case("half", 2, dtype), case("single", 1)))
    assert not wrong_only_in_half_precision(stopped(case("half", 2, dtype), case("single", 2)))


@pytest.mark.parametrize(("got", "shows"), [(torch.float64, True), (torch.int64, False)])
def test_another_float(got, shows) -> None:
    other = Case(Probe("three", {"n": 3}), Outcome(torch.ones(3, dtype=got)), Outcome(torch.ones(3)))
    assert is_another_float(stopped(other, stage="dtype")) == shows
    assert not is_another_float(stopped(other, stage="value"))


def test_another_float_concerns_whole_numbers_alone() -> None:
    double = Outcome(torch.ones(3, dtype=torch.float64))
    asked = Case(Probe("real", {"x": torch.ones(3)}), double, Outcome(torch.ones(3)))
    assert not is_another_float(stopped(asked, stage="dtype"))


@pytest.mark.parametrize(("kind", "shows"), [("list", True), ("NoneType", False)])
def test_a_result_that_is_no_tensor(kind, shows) -> None:
    other = Case(Probe("three", {"n": 3}), Outcome(kind=kind), Outcome(torch.ones(3)))
    assert is_no_tensor(stopped(other, stage="returns a tensor")) == shows


@pytest.mark.parametrize(
    ("grad", "shows"), [(torch.ones(3), True), (None, False), (torch.full((3,), torch.nan), False)]
)
def test_a_bent_gradient_comes_back_and_is_a_number(grad, shows) -> None:
    bent = Case(Probe("bent", {}), Outcome(torch.ones(3), grads={"x": grad}), Outcome(torch.ones(3)))
    assert bends_the_gradient(stopped(bent, stage="gradient")) == shows
    assert not bends_the_gradient(stopped(bent, stage="value"))

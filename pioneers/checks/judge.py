"""Judge results: test for failures from the most basic to the subtlest, and report the first one.

The judge sees results only. It makes no difference in which process they were computed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from pioneers.checks.diagnosing import Diagnosis, diagnose
from pioneers.checks.exercise import Case, Exercise, Law, Outcome, Probe, Run, Symptom, is_real
from pioneers.checks.report import difference, inputs, shape
from pioneers.checks.run import NOT_WRITTEN, call
from pioneers.checks.tolerance import allowed, close

OTHER_DEVICE = "is not on the expected device"


@dataclass(frozen=True)
class Failure:
    """The reason why an answer gets no points.

    Args:
        stage: the stage that failed (``exists``, ``signature``, ..., ``device``).
        what: lines on what was expected and what was returned.
        diagnosis: the known mistake behind it, if any.
        section: the anchor of the lecture section to reread if no mistake is known.
        equation: the label of the equation to reread if no mistake is known.
        probe: the inputs of the call that failed.
    """

    stage: str
    what: tuple[str, ...]
    diagnosis: Diagnosis | None = None
    section: str = ""
    equation: str = ""
    probe: Probe | None = None


def first_failure(exercise: Exercise, run: Run, probes: Sequence[Probe]) -> Failure | None:
    """Judge an answer through ``run`` on ``probes``, and return the first failure; None if it passed."""
    cases = tuple(case_of(exercise, probe, run(probe), expected(exercise, probe)) for probe in probes)
    for stage, look in STAGES.items():
        for case in cases:
            what = look(case)
            if what:
                if stage == "written":
                    return Failure(stage, what)
                lines = tuple(line for line in (f"Probe: {case.probe.name}", *what) if line)
                return _failure(exercise, lines, Symptom(stage, case, cases))
    for law in exercise.laws:
        failure = _judge_law(exercise, law, run, cases)
        if failure:
            return failure
    return judge_device(exercise, run, probes)


def _failure(exercise: Exercise, what: tuple[str, ...], symptom: Symptom) -> Failure:
    law = symptom.law
    section, equation = (law and law.section) or exercise.section, (law and law.equation) or exercise.equation
    probe = None if law else symptom.case.probe
    return Failure(symptom.stage, what, diagnose(exercise, symptom), section, equation, probe)


def case_of(exercise: Exercise, probe: Probe, outcome: Outcome, wanted: Outcome) -> Case:
    """Put a probe, its ``outcome`` and the ``wanted`` one together, gradients without what is free in them.

    Shares that sum to one can only change together: the mean of their gradient means nothing.
    """
    plain, other = (
        replace(
            one, grads={name: _centred(g) if name in exercise.shares else g for name, g in one.grads.items()}
        )
        for one in (outcome, wanted)
    )
    return Case(probe, plain, other)


def _centred(gradient: Tensor | None) -> Tensor | None:
    return None if gradient is None else gradient - gradient.mean(-1, keepdim=True)


def expected(exercise: Exercise, probe: Probe) -> Outcome:
    """Return the outcome of the reference: computed in float64, then rounded to the type of the probe."""
    exact = {name: x.double() if is_real(x) else x for name, x in probe.args.items()}
    outcome = call(exercise.reference, replace(probe, args=exact))
    if outcome.error:
        raise RuntimeError(f"the reference of {exercise.key} fails on probe '{probe.name}': {outcome.error}")
    if not outcome.tensor.is_floating_point():
        return outcome
    rounded = {name: x if x is None else x.to(probe.dtype) for name, x in outcome.grads.items()}
    return replace(outcome, value=outcome.tensor.to(probe.dtype), grads=rounded)


def _written(case: Case) -> tuple[str, ...]:
    if case.outcome.error == NOT_WRITTEN:
        return ("The function still raises NotImplementedError: replace that line with your answer, run its",
                "cell, then run this one again.")  # fmt: skip
    return ()


def _allowed(case: Case) -> tuple[str, ...]:
    if case.outcome.refused:
        return (
            f"Your answer calls {case.outcome.refused}, which is not allowed here: write the steps yourself.",
        )
    return ()


def _runs(case: Case) -> tuple[str, ...]:
    if case.outcome.error:
        place = (f"at {case.outcome.where}",) if case.outcome.where else ()
        return (inputs(case.probe), f"Your function raised {case.outcome.error}", *place)
    return ()


def _tensor(case: Case) -> tuple[str, ...]:
    if case.outcome.kind:
        return (f"Expected: a tensor {shape(case.expected.tensor)}", f"Got:      {case.outcome.kind}")
    return ()


def _shape(case: Case) -> tuple[str, ...]:
    got, want = case.outcome.tensor, case.expected.tensor
    if got.shape != want.shape:
        return (inputs(case.probe), f"Expected shape: {shape(want)}", f"Got shape:      {shape(got)}")
    return ()


def _dtype(case: Case) -> tuple[str, ...]:
    got, want = case.outcome.tensor, case.expected.tensor
    if got.dtype != want.dtype:
        return (inputs(case.probe), f"Expected dtype: {want.dtype}", f"Got dtype:      {got.dtype}")
    return ()


def _finite(case: Case) -> tuple[str, ...]:
    bad = ~torch.isfinite(case.outcome.tensor)
    if bad.any():
        count = f"{int(bad.sum())} of the {bad.numel()} numbers you return are NaN or infinite."
        return (inputs(case.probe), count, *difference(case.outcome.tensor, case.expected.tensor))
    return ()


def _value(case: Case) -> tuple[str, ...]:
    got, want = case.outcome.tensor, case.expected.tensor
    if not close(got, want, case.probe.dtype):
        limit = allowed(case.probe.dtype) if want.is_floating_point() else ""
        return (inputs(case.probe), *difference(got, want), limit)
    return ()


def _gradient(case: Case) -> tuple[str, ...]:
    if case.outcome.changed:
        return ()  # a step in place can break the backward pass too; the next stage names the cause
    for name, want in case.expected.grads.items():
        got = case.outcome.grads.get(name)
        if want is None or (got is None and not want.any()):
            continue
        if got is None and case.outcome.backward:
            return (f"Right numbers, but {case.outcome.backward}",)
        if got is None:
            return (
                f"Right numbers, but no gradient reaches `{name}`: a layer built on this could not learn.",
            )
        if not close(got, want, case.probe.dtype, slack=10):
            return (
                f"Right numbers, but the gradient with respect to `{name}` is wrong.",
                *difference(got, want),
            )
    return ()


def _unchanged(case: Case) -> tuple[str, ...]:
    if case.outcome.changed:
        names = ", ".join(f"`{name}`" for name in case.outcome.changed)
        return (
            f"Right numbers, but your function changed its input {names}: avoid in-place operations on it.",
        )
    return ()


STAGES: dict[str, Callable[[Case], tuple[str, ...]]] = {
    "written": _written,
    "allowed calls": _allowed,
    "runs": _runs,
    "returns a tensor": _tensor,
    "shape": _shape,
    "dtype": _dtype,
    "finite": _finite,
    "value": _value,
    "gradient": _gradient,
    "inputs unchanged": _unchanged,
}


class _NoValueError(Exception):
    """The answer returned no tensor where a law needs one."""


def _judge_law(exercise: Exercise, law: Law, run: Run, cases: tuple[Case, ...]) -> Failure | None:
    seen: list[Case] = []
    sides: tuple[Tensor, ...] = ()

    def value_only(probe: Probe) -> Outcome:
        outcome = run(probe)
        seen.append(Case(probe, outcome, outcome))
        if outcome.value is None:
            raise _NoValueError(f"{inputs(probe)}: {outcome.error or 'no tensor came back'}")
        return outcome

    what: tuple[str, ...]
    try:
        left, right = sides = law.sides(value_only)
    except _NoValueError as error:
        what = (str(error),)
    else:
        if left.shape != right.shape:
            what = (f"The two sides of the law have shapes {shape(left)} and {shape(right)}",)
        elif close(left, right, left.dtype):
            return None
        else:
            what = difference(left, right)
    lines = (f"Law: {law.name}", law.why, *what)
    return _failure(exercise, lines, Symptom("law", seen[-1], cases, law, sides))


def judge_device(exercise: Exercise, run: Run, probes: Sequence[Probe]) -> Failure | None:
    """Return a failure if the answer makes tensors on the CPU although its inputs are on another device.

    PyTorch's meta device has shapes but no numbers, and every machine has it. Anything else that fails
    there (reading a number out of a tensor) is not the answer's fault and is ignored.
    """
    for probe in probes:
        elsewhere = {n: x.to("meta") if isinstance(x, Tensor) else x for n, x in probe.args.items()}
        outcome = run(replace(probe, args=elsewhere))
        if OTHER_DEVICE in outcome.error:
            place = (f"at {outcome.where}",) if outcome.where else ()
            cause = (
                "Right numbers, but on a GPU the function would fail: it makes a tensor on the CPU, which is"
            )
            what = (f"{cause} on another device than the inputs.", *place)
            case = Case(probe, outcome, outcome)
            return _failure(exercise, what, Symptom("device", case, (case,)))
    return None

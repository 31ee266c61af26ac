"""Checks that name the mistake: the engine of the labs' check cells and of the grader.

>>> from pioneers.checks import check
>>> def softmax(x, dim):
...     weights = (x - x.amax(dim, keepdim=True)).exp()
...     return weights / weights.sum(dim, keepdim=True)
>>> check("1.1", softmax)
1.1 softmax: all checks passed (10 points)
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pioneers.checks.exercise import Exercise, Probe
from pioneers.checks.judge import Failure, first_failure
from pioneers.checks.loading import find, numbers
from pioneers.checks.report import headline, wrap
from pioneers.checks.run import arrange, parameters_of, runner
from pioneers.checks.sections import reread
from pioneers.checks.variant import own_seed, use_variant

__all__ = [
    "CheckFailed", "Failure", "Probe", "check", "examine", "find", "numbers", "own_seed", "use_variant",
]  # fmt: skip


class CheckFailed(AssertionError):
    """An answer did not pass; the message says what was expected, what was returned, and what to reread.

    Args:
        exercise: the exercise that was checked.
        failure: the reason why it failed.
    """

    def __init__(self, exercise: Exercise, failure: Failure) -> None:
        self.exercise, self.failure = exercise, failure
        super().__init__(explain(exercise, failure))

    def _render_traceback_(self) -> list[str]:
        """Return what Jupyter shows instead of a traceback: the message alone."""
        return str(self).splitlines()


def check(
    key: str, answer: Callable[..., Any] | None = None, *, probes: Sequence[Probe] | None = None
) -> None:
    """Check the answer to an exercise, and print one line if it passes.

    Args:
        key: the number of the exercise, as in ``"1.3"`` for exercise 3 of lab 1.
        answer: the function; by default, the function of the right name in the calling notebook.
        probes: the hidden probes, to use instead of the public ones.

    Raises:
        CheckFailed: the answer did not pass. ``check.last`` then holds the arguments of the public call that
            failed, by name.
    """
    exercise = find(key)
    if answer is None:
        answer = sys._getframe(1).f_globals.get(exercise.name)
    failure = examine(exercise, answer, probes)
    if failure and failure.probe and probes is None:
        vars(check)["last"] = arrange(failure.probe)
        again = f"Call again: {exercise.name}(**check.last)"
        raise CheckFailed(exercise, replace(failure, what=(*failure.what, again)))
    if failure:
        raise CheckFailed(exercise, failure)
    done = f"all checks passed ({exercise.points} points)" if probes is None else "hidden probes passed too"
    print(f"{key} {exercise.name}: {done}")


def examine(
    exercise: Exercise, answer: Callable[..., Any] | None, probes: Sequence[Probe] | None = None
) -> Failure | None:
    """Judge an answer in this process: its existence, its signature and its results.

    Args:
        exercise: the exercise that it answers.
        answer: the function; None if there is none.
        probes: the inputs to call it with; by default, the public probes.

    Returns:
        the first failure, or None if the answer passed.
    """
    if not callable(answer):
        missing = f"There is no function called `{exercise.name}` yet. Keep the name, and run the cell above."
        return Failure("exists", (missing,))
    try:
        parameters = parameters_of(answer)
    except (TypeError, ValueError):
        # A built-in function may have no signature; the probes will judge it.
        parameters = list(exercise.parameters)
    if parameters != list(exercise.parameters):
        what = (f"Expected: {headline(exercise)}", f"Got:      {exercise.name}({', '.join(parameters)})")
        return Failure("signature", what)
    return first_failure(exercise, runner(answer, exercise), exercise.probes() if probes is None else probes)


def explain(exercise: Exercise, failure: Failure) -> str:
    """Return the text that tells a student about a failure."""
    lines = [f"{headline(exercise)} does not pass yet. Stopped at: {failure.stage}.", ""]
    lines += [wrap(line, "  ") for line in failure.what]
    said = advice(failure)
    return "\n".join([*lines, *([""] if said else []), *said])


def advice(failure: Failure) -> list[str]:
    """Return lines that name the mistake behind a failure, if it is known, and say what to reread."""
    known = failure.diagnosis
    section, equation = (known.section, known.equation) if known else (failure.section, failure.equation)
    lines = [f"  Reread: {reread(section, equation)}"] if section else []
    if known:
        name = f"{known.name} (exercise {known.origin})" if known.origin else known.name
        lines = [wrap(f"This looks like: {name}.", "  "), wrap(known.why, "  "), *lines]
    return lines

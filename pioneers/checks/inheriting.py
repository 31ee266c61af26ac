"""Know the mistakes of earlier exercises in a later one that takes the same steps."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from torch import Tensor

from pioneers.checks.building import Draft
from pioneers.checks.edits import define, edited
from pioneers.checks.exercise import Mistake

Named = tuple[str, Callable[..., Tensor]]


def inherited(draft: Draft, made: Mapping[str, Draft]) -> list[Mistake]:
    """Return the mistakes of the exercises that ``draft`` builds on, each with a twin for this one.

    Args:
        draft: the later exercise.
        made: by number, at least the exercises that it builds on.
    """
    found = []
    for keys, source in draft.links:
        steps = [made[key] for key in keys]
        right = {step.name: step.reference for step in steps}
        for step in steps:
            known = {mistake.name: mistake for mistake in step.mistakes}
            twins = _called(draft, step, right, source) if source else _edited(draft, step)
            for name, twin in twins:
                if mistake := known.get(name):
                    section, equation = mistake.section or step.reread[0], mistake.equation or step.equation
                    found.append(Mistake(name, mistake.why, twin, None, section, equation, step.key))
    return found


def _called(draft: Draft, step: Draft, right: Mapping[str, Any], source: str) -> Iterator[Named]:
    """Yield ``source``, which calls the answers to earlier ``steps``, with a wrong answer to one of them."""
    for wrong in step.wrongs:
        yield wrong.diagnosis, _later(draft.key, source, right, {step.name: wrong.source})


def _edited(draft: Draft, step: Draft) -> Iterator[Named]:
    """Yield the answer to ``draft`` after each edit of the earlier ``step`` that fits it."""
    for name, edit in step.edits:
        try:
            source = edited(draft.answer, edit)
        except ValueError:  # this step is written in another way here
            continue
        yield name, _later(draft.key, source, {}, {})


def _later(
    key: str, source: str, right: Mapping[str, Any], wrong: Mapping[str, str]
) -> Callable[..., Tensor]:
    """Return a function that is compiled when it is first called: few are ever needed."""

    @cache
    def compiled() -> Callable[..., Tensor]:
        return define(key, source, {**right, **{name: define(key, text) for name, text in wrong.items()}})

    return lambda *args: compiled()(*args)

"""The parts of an exercise: its signature, its reference, its probes, laws and known mistakes.

A probe is data only (named tensors and plain numbers), so the same exercise can be judged in the student's
notebook or from another process.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch
from torch import Tensor

FUSED = frozenset(
    {
        "scaled_dot_product_attention",
        "multi_head_attention_forward",
        "native_multi_head_attention",
        "transformer_encoder_layer_fwd",
    }
)
"""Torch functions that compute attention; no answer may call them."""


@dataclass(frozen=True)
class Probe:
    """One set of arguments to call an answer with.

    Args:
        name: a description of the probe that students read.
        args: tensors and plain numbers by parameter name.
        strided: whether to pass tensors with gaps in memory (same numbers, not contiguous).
    """

    name: str
    args: Mapping[str, Any]
    strided: bool = False

    @property
    def dtype(self) -> torch.dtype | None:
        """The floating-point type of the tensors; None if there is none."""
        return next((x.dtype for x in self.args.values() if is_real(x)), None)

    def having(self, name: str, **changes: Any) -> "Probe":
        """Return a copy with another ``name`` and with the arguments in ``changes`` replaced."""
        return replace(self, name=name, args={**self.args, **changes})


def is_real(x: Any) -> bool:
    """Return whether ``x`` is a tensor of floating-point numbers."""
    return isinstance(x, Tensor) and x.is_floating_point()


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call: plain tensors and text, no objects of the student's process.

    Args:
        value: the returned tensor; None if there is none.
        kind: the name of the returned type if it is not a tensor.
        error: the exception in one line; empty if there was none.
        where: the student's own line that raised it.
        refused: the name of a call that is not allowed.
        changed: the names of the inputs that the call changed.
        grads: the gradient of a fixed weighted sum of ``value`` for each input; None where it is cut.
        backward: the exception of the call for the gradients, and which step raised it; empty if none.
    """

    value: Tensor | None = None
    kind: str = ""
    error: str = ""
    where: str = ""
    refused: str = ""
    changed: tuple[str, ...] = ()
    grads: Mapping[str, Tensor | None] = field(default_factory=dict)
    backward: str = ""

    @property
    def tensor(self) -> Tensor:
        """The returned tensor.

        Raises:
            ValueError: the call returned no tensor.
        """
        if self.value is None:
            raise ValueError(f"no tensor came back: {self.error or self.refused or self.kind}")
        return self.value


class Run(Protocol):
    """A function that calls the answer with a probe; the judge sees an answer only through it."""

    def __call__(self, probe: Probe) -> Outcome:
        """Call the answer with a ``probe`` and return the outcome."""


@dataclass(frozen=True)
class Case:
    """A probe with the outcomes of the answer and of the reference.

    Args:
        probe: the arguments.
        outcome: the outcome of the answer.
        expected: the outcome of the reference.
    """

    probe: Probe
    outcome: Outcome
    expected: Outcome


@dataclass(frozen=True)
class Law:
    """A law that every right answer keeps, which needs no expected values.

    Args:
        name: the law in a few words.
        why: one sentence on why it must hold.
        sides: calls the answer through ``run`` and returns two tensors that must be equal.
        section: the anchor of the lecture section to reread; by default, that of the exercise.
        equation: the label of the equation to reread; by default, that of the exercise.
    """

    name: str
    why: str
    sides: Callable[[Run], tuple[Tensor, Tensor]]
    section: str = ""
    equation: str = ""


@dataclass(frozen=True)
class Symptom:
    """The point at which judging stopped.

    Args:
        stage: the stage that failed, as in :class:`pioneers.checks.Failure`.
        case: the case that failed; at a law, the last call that the law made.
        cases: all cases.
        law: the law that the answer broke, if it was one.
        sides: the two sides of that law, unless a call for them failed.
    """

    stage: str
    case: Case
    cases: tuple[Case, ...]
    law: Law | None = None
    sides: tuple[Tensor, ...] = ()


@dataclass(frozen=True)
class Mistake:
    """A mistake that is known by name.

    Args:
        name: the misconception, in a few words.
        why: one sentence on what is wrong about it.
        twin: a small function that makes this mistake, which is recognised by equal results.
        shows: a predicate on the symptom, instead of a twin.
        section: as in :class:`Law`.
        equation: as in :class:`Law`.
        origin: the number of the earlier exercise that it comes from, if it is not this one's.
    """

    name: str
    why: str
    twin: Callable[..., Tensor] | None = None
    shows: Callable[[Symptom], bool] | None = None
    section: str = ""
    equation: str = ""
    origin: str = ""


def _no_probes() -> list[Probe]:
    return []


def _no_mistakes() -> list[Mistake]:
    return []


@dataclass(frozen=True)
class Exercise:
    """One autograded exercise.

    Args:
        key: its number, as in ``"1.3"`` for exercise 3 of lab 1.
        name: the name of the function that the student writes.
        parameters: the parameter names in order; an optional one is written ``"mask=None"``.
        points: the points it is worth.
        section: the anchor of the lecture section behind it.
        equation: the label of the equation behind it.
        reference: the right function, built on ``pioneers.layers``.
        probes: makes the public probes.
        mistakes: the known mistakes, the most specific first.
        laws: the laws, which are checked after the values.
        refuse: names of torch functions that would be the answer itself.
        hidden: makes the probes that only the grader uses.
        shares: the parameters that sum to one along their last axis; gradients may differ by a constant.
        slips: mistakes that are not this exercise's alone; looked at when none of the others fits.
        near: makes the mistakes that are one change away from a right answer; there are many.
    """

    key: str
    name: str
    parameters: tuple[str, ...]
    points: int
    section: str
    equation: str
    reference: Callable[..., Tensor]
    probes: Callable[[], list[Probe]]
    mistakes: tuple[Mistake, ...]
    laws: tuple[Law, ...] = ()
    refuse: frozenset[str] = FUSED
    hidden: Callable[[], list[Probe]] = _no_probes
    shares: frozenset[str] = frozenset()
    slips: tuple[Mistake, ...] = ()
    near: Callable[[], Iterable[Mistake]] = _no_mistakes

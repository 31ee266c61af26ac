"""What an exercise is made of: its signature, its reference, the probes and the mistakes we know.

A probe is data only (named tensors and plain numbers), so that the same exercise can be judged in the
student's notebook or from another process.
"""

from collections.abc import Callable, Mapping
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
"""Torch functions that are attention already: no answer may call them."""


@dataclass(frozen=True)
class Probe:
    """One set of arguments to call an answer with.

    Args:
        name: what this probe is about, in words a student reads.
        args: tensors and plain numbers by parameter name.
        strided: hand the tensors over with gaps in memory (same numbers, not contiguous).
    """

    name: str
    args: Mapping[str, Any]
    strided: bool = False

    @property
    def dtype(self) -> torch.dtype | None:
        """The floating type of the tensors, None when there is none."""
        return next((x.dtype for x in self.args.values() if is_real(x)), None)

    def having(self, name: str, **changes: Any) -> "Probe":
        """The same probe under another ``name`` and with the arguments in ``changes`` replaced."""
        return replace(self, name=name, args={**self.args, **changes})


def is_real(x: Any) -> bool:
    """Whether ``x`` is a tensor of floating-point numbers."""
    return isinstance(x, Tensor) and x.is_floating_point()


@dataclass(frozen=True)
class Outcome:
    """What a call gave back: plain arrays and words, nothing of the student's process.

    Args:
        value: the tensor returned, None when there is none.
        kind: the name of the returned type when it is not a tensor.
        error: the exception in one line; empty when there was none.
        where: the student's own line that raised it.
        refused: the name of a call that is not allowed here.
        changed: names of the inputs that no longer hold what they held.
        grads: gradient of a fixed weighted sum of ``value`` with respect to each input, None where cut.
    """

    value: Tensor | None = None
    kind: str = ""
    error: str = ""
    where: str = ""
    refused: str = ""
    changed: tuple[str, ...] = ()
    grads: Mapping[str, Tensor | None] = field(default_factory=dict)

    @property
    def tensor(self) -> Tensor:
        """The value, for where there must be one.

        Raises:
            ValueError: the call gave back no tensor.
        """
        if self.value is None:
            raise ValueError(f"no tensor came back: {self.error or self.refused or self.kind}")
        return self.value


class Run(Protocol):
    """Calls the answer on a probe. The judge knows an answer only through this."""

    def __call__(self, probe: Probe) -> Outcome:
        """What the answer makes of this probe."""


@dataclass(frozen=True)
class Case:
    """A probe and what came of it.

    Args:
        probe: the arguments.
        outcome: what the answer made of them.
        expected: what the reference makes of them.
    """

    probe: Probe
    outcome: Outcome
    expected: Outcome


@dataclass(frozen=True)
class Symptom:
    """Where judging stopped.

    Args:
        stage: the stage that failed, as in :class:`pioneers.checks.Failure`.
        case: the case that failed.
        cases: all cases tried.
    """

    stage: str
    case: Case
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Mistake:
    """A mistake we know by name.

    Args:
        name: the misconception, in a few words.
        why: one sentence on what is wrong about it.
        twin: a small function that makes this very mistake; it is recognised by equal results.
        shows: or a predicate on the symptom.
        section: anchor of the lecture section to reread; the exercise's own when left out.
        equation: label of the equation to reread; the exercise's own when left out.
    """

    name: str
    why: str
    twin: Callable[..., Tensor] | None = None
    shows: Callable[[Symptom], bool] | None = None
    section: str = ""
    equation: str = ""


@dataclass(frozen=True)
class Law:
    """A law that a right answer keeps, whatever its numbers.

    Args:
        name: the law in a few words.
        why: one sentence on why it must hold.
        sides: calls the answer through ``run`` and returns two tensors that must be equal.
        section: as in :class:`Mistake`.
        equation: as in :class:`Mistake`.
    """

    name: str
    why: str
    sides: Callable[[Run], tuple[Tensor, Tensor]]
    section: str = ""
    equation: str = ""


def _no_probes() -> list[Probe]:
    return []


@dataclass(frozen=True)
class Exercise:
    """One autograded exercise.

    Args:
        key: its number, ``"1.3"`` = lab 1, exercise 3.
        name: the name of the function the student writes.
        parameters: names in order; an optional one is written ``"mask=None"``.
        points: what it is worth.
        section: anchor of the lecture section behind it.
        equation: label of the equation behind it.
        reference: the right function, built on ``pioneers.layers``.
        probes: makes the public probes.
        mistakes: the mistakes known by name, most telling first.
        laws: checked after the values.
        refuse: names of torch functions that would be the answer itself.
        hidden: makes the probes that only the grader uses.
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

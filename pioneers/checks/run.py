"""Call an answer with a probe and collect plain results, without judging them."""

import contextlib
import inspect
import io
import traceback
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Outcome, Probe, Run, is_real
from pioneers.checks.guard import CHECKS, Guard

NOT_WRITTEN = "not written yet"


def runner(answer: Callable[..., Tensor], exercise: Exercise) -> Run:
    """Return a :class:`Run` that calls ``answer`` in this process."""
    return lambda probe: call(answer, probe, refuse=exercise.refuse)


def call(answer: Callable[..., Tensor], probe: Probe, refuse: frozenset[str] | None = None) -> Outcome:
    """Call ``answer`` twice: once for its value, once more for the gradients.

    Args:
        answer: the function to call.
        probe: its arguments.
        refuse: torch functions it may not call; None for a trusted function, which may call any.
    """
    args = arrange(probe)
    before = {name: x.clone() for name, x in args.items() if isinstance(x, Tensor)}
    try:
        value, refused = _quietly(answer, args, refuse)
    except Exception as error:
        where = _own_line(error)
        if "raise NotImplementedError" in where:
            return Outcome(error=NOT_WRITTEN)
        return Outcome(error=f"{type(error).__name__}: {error}", where=where)
    if refused:
        return Outcome(refused=refused)
    changed = tuple(name for name, x in before.items() if _differ(x, args[name]))
    if not isinstance(value, Tensor):
        return Outcome(kind=type(value).__name__, changed=changed)
    has_gradients = value.is_floating_point() and not value.is_meta  # which nobody reads on the meta device
    grads, backward = _gradients(answer, probe, value) if has_gradients else ({}, "")
    return Outcome(value=value.detach().clone(), changed=changed, grads=grads, backward=backward)


def arrange(probe: Probe) -> dict[str, Any]:
    """Return new copies of a probe's arguments, with gaps in memory if the probe asks for them."""
    return {
        name: (_with_gaps(x) if probe.strided else x.clone()) if isinstance(x, Tensor) else x
        for name, x in probe.args.items()
    }


def _with_gaps(x: Tensor) -> Tensor:
    """Return the same numbers as every second element of a larger tensor."""
    return torch.stack((x, torch.zeros_like(x)), dim=-1)[..., 0] if x.dim() else x.clone()


def _differ(before: Tensor, after: Tensor) -> bool:
    if before.is_meta:
        return False
    number = ~before.isnan()  # NaN does not equal itself
    return not (torch.equal(number, ~after.isnan()) and torch.equal(before[number], after[number]))


def _quietly(
    answer: Callable[..., Any], args: Mapping[str, Any], refuse: frozenset[str] | None
) -> tuple[Any, str]:
    """Call an answer without warnings and stderr (nbgrader gives no points to a cell that warns)."""
    guard = contextlib.nullcontext() if refuse is None else Guard(refuse)
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            with guard:
                value = answer(*args.values())
        except Exception:
            if not getattr(guard, "refused", ""):
                raise
            value = None
    return value, getattr(guard, "refused", "")


def _gradients(
    answer: Callable[..., Any], probe: Probe, value: Tensor
) -> tuple[dict[str, Tensor | None], str]:
    """Return the gradients of a weighted sum of the result, and what raised an exception, if anything.

    The weights of the sum are fixed and all different.
    """
    args = arrange(probe)
    leaves = {name: x.requires_grad_() for name, x in args.items() if is_real(x)}
    # Copies that are not leaves: torch lets the answer work in place on them, and the judge sees it changed.
    copies = {name: leaves[name] * 1 if name in leaves else x for name, x in args.items()}
    weights = torch.arange(value.numel(), dtype=torch.float64).cos().to(value.dtype).reshape(value.shape)
    step = "called again with inputs that require a gradient, your function"
    try:
        out, _ = _quietly(answer, copies, None)
        if not out.requires_grad:
            return dict.fromkeys(leaves), ""
        step = "the backward pass through your result"
        grads = torch.autograd.grad((out * weights).sum(), list(leaves.values()), allow_unused=True)
    except Exception as error:
        where = f", at {line}" if (line := _own_line(error)) else ""
        return dict.fromkeys(leaves), f"{step} raised {type(error).__name__}: {error}{where}"
    return dict(zip(leaves, grads, strict=True)), ""


def _own_line(error: Exception) -> str:
    """Return the student's line in the traceback: the last one outside libraries and this package."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if "site-packages" not in frame.filename and not frame.filename.startswith(str(CHECKS)):
            return f"line {frame.lineno} of {frame.name}: {frame.line}"
    return ""


def parameters_of(answer: Callable[..., Any]) -> list[str]:
    """Return the parameter names of a function; optional ones with their defaults, as in ``mask=None``."""
    return [
        p.name if p.default is p.empty else f"{p.name}={p.default}"
        for p in inspect.signature(answer).parameters.values()
    ]

"""Say in a sentence or two what an exercise demands of types, gradients and devices: its card shows it."""

from collections.abc import Sequence

from torch import Tensor

from pioneers.checks.exercise import Exercise
from pioneers.checks.judge import expected

FLOATS = ("float32", "float64", "float16", "bfloat16")


def rules(exercise: Exercise) -> str:
    """Return the rules that the probes of ``exercise`` enforce, public and hidden ones alike."""
    probes = [*exercise.probes(), *exercise.hidden()]
    outcomes = [expected(exercise, probe) for probe in probes]
    given = {_plain(probe.dtype) for probe in probes if probe.dtype}
    returned = {_plain(outcome.tensor.dtype) for outcome in outcomes}
    learned = [
        f"`{name}`"
        for name in probes[0].args
        if any((grad := outcome.grads.get(name)) is not None and grad.any() for outcome in outcomes)
    ]
    said = []
    if returned <= set(FLOATS) and len(given) > 1:
        names = _listed([name for name in FLOATS if name in given], "or")
        said.append(f"Inputs may be {names}; the result has their type, and is as exact as it allows.")
    else:
        said.append(f"The result is {_listed(sorted(returned), 'or').replace('bool', 'boolean')}.")
    if learned:
        said.append(f"A gradient must reach {_listed(learned, 'and')}.")
    if any(isinstance(x, Tensor) for probe in probes for x in probe.args.values()):
        said.append("Make new tensors on the device of the inputs, and leave the inputs as they are.")
    return " ".join(said)


def _plain(dtype: object) -> str:
    return str(dtype).removeprefix("torch.")


def _listed(words: Sequence[str], last: str) -> str:
    """Return words as a list in a sentence: ``a, b and c``."""
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)

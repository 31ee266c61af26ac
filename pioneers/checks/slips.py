"""Mistakes that are made in every exercise, as changes of its right answers: a twin for each.

A few have names of their own (`slips`); the others are named by the operator of a mutant (`near`).
"""

import ast
from collections.abc import Callable, Iterator
from functools import cache
from inspect import signature
from typing import Any, cast

from torch import Tensor

from pioneers.checks.building import Draft
from pioneers.checks.edits import define
from pioneers.checks.exchanges import REDUCTIONS
from pioneers.checks.exercise import Mistake
from pioneers.checks.mutants import mutants, normal, spliced

SOFTMAX = ("softmax", "log_softmax", "logsumexp")
AXES = (-3, -2, -1, 0, 1, 2)
TURNED = ("transpose", "permute", "mT", "T")
AXIS = "the softmax runs along another axis"
TWICE = "a softmax of a softmax"
RESHAPE = "a reshape instead of a transposition"
WHY = {
    AXIS: "A softmax shares out 1 among what competes: run it along that axis.",
    TWICE: "One softmax makes shares of scores; a second one makes these shares nearly equal.",
    RESHAPE: "A reshape keeps the numbers in their order and cuts them anew; a transposition exchanges axes.",
}

MUTATED = 2  # right answers of an exercise: more would take seconds
AXIS_OF_SUM = "a sum, mean or maximum along another axis"
NEAR = {
    AXIS_OF_SUM: (
        AXIS_OF_SUM,
        "Write the shape before and after it: the axis that disappears must be the one to sum over.",
    ),
    "another comparison": (
        "a limit on the wrong side",
        "Try the numbers at the limit by hand, and one on either side: which of them belong to it?",
    ),
    "another operation": (
        "another operation than the formula's",
        "A plus stands for a minus, or a product for a quotient: compare each sign with the formula.",
    ),
    "an operand dropped": (
        "a factor or a term is missing",
        "Compare each factor and each term of the definition with your lines.",
    ),
    "operands swapped": (
        "two operands exchanged",
        "In a difference, a quotient and a matrix product it matters which comes first.",
    ),
    "a constant changed": (
        "another number than the definition's",
        "An axis, a count or a switch in your lines has another value: compare each with the definition.",
    ),
    "a sign or negation lost": (
        "a minus or a ~ is missing",
        "Look for each negation and each minus of the definition, also that of an axis: 2 is not -2.",
    ),
    "a finite number for infinity": (
        "a finite number for infinity",
        "However low it is, a score may be lower: only minus infinity surely hides.",
    ),
    "an argument dropped": (
        "a call without one of its arguments",
        "Without it the call takes a default, or works on all axes at once: read what it does then.",
    ),
    "arguments swapped": (
        "two arguments exchanged",
        "Read in which order the call takes its arguments.",
    ),
    "a mask inverted": (
        "a mask the wrong way round",
        "True means the opposite here: print the mask beside what it should hide.",
    ),
    "a range one off": (
        "a range one too long or too short",
        "Write down its first and its last number.",
    ),
    "another function": (
        "a similar function in the place of the right one",
        "A maximum for a minimum, a sum for a mean: compare each call with the definition.",
    ),
    "another slice": (
        "a slice too long or too short",
        "Write down the first and the last entry that it takes.",
    ),
    "an index dropped or swapped": (
        "another index",
        "Write down for one entry where it comes from.",
    ),
    "and for or, or one condition dropped": (
        "one condition too many or too few",
        "Write down who belongs to it, and which part of the condition says so.",
    ),
    "a branch never or always taken": (
        "a case is treated like the others",
        "The definition treats one case by itself, and your lines treat it like the rest, or the reverse.",
    ),
    "a filter dropped": (
        "what should be left out is taken along",
        "The definition leaves some entries out.",
    ),
    **dict.fromkeys(
        ("a call dropped", "a step left out", "returned early"),
        (
            "a step is missing",
            "Follow one number through the definition and through your lines: a step is left out.",
        ),
    ),
}  # without those that can make a loop endless
"""By the operator of a mutant: the name of the mistake, and a sentence on it that gives no line away."""


def near(draft: Draft) -> Iterator[Mistake]:
    """Yield a mistake for each change of a right answer in one place that has a name, few by few."""
    seen = set()
    for source in _rights(draft)[:MUTATED]:
        if "while" in source:
            continue
        for operator, text in (*_reduced(source), *mutants(source)):
            name, why = NEAR.get(operator, ("", ""))
            if name and text not in seen:
                seen.add(text)
                yield Mistake(name, why, _later(draft.key, text))


def _reduced(source: str) -> Iterator[tuple[str, str]]:
    """Yield the source with a reduction along another axis."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in REDUCTIONS:
            for axis in AXES:
                if new := _along(node, axis):
                    yield AXIS_OF_SUM, spliced(source, node, new)


def slips(draft: Draft) -> list[Mistake]:
    """Return these mistakes for an exercise, each with a function that makes it.

    A softmax along another axis or of a softmax, a reshape for a transposition, a parameter that is ignored.
    """
    found = [Mistake(name, WHY[name], _later(draft.key, source)) for name, source in _changed(draft)]
    for name, values in _values(draft).items():
        why = f"A fixed number in the place of `{name}` is right for some calls only."
        found += [Mistake(f"{name} is ignored", why, _fixed(draft, name, value)) for value in values]
    return found


def _changed(draft: Draft) -> Iterator[tuple[str, str]]:
    seen = {normal(source) for source in _rights(draft)}
    for source in _rights(draft):
        for node in ast.walk(ast.parse(source)):
            for name, new in _changes(node):
                text = spliced(source, node, new)
                if (form := normal(text)) and form not in seen:
                    seen.add(form)
                    yield name, text


def _rights(draft: Draft) -> list[str]:
    return [draft.answer, *(right.source for right in draft.rights)]


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SOFTMAX:
        for axis in AXES:
            if new := _along(node, axis):
                yield AXIS, new
        if node.func.attr != "logsumexp" and not _is(node.func.value, "torch", "F"):
            once = ast.Call(ast.Attribute(node.func.value, "softmax"), node.args, node.keywords)
            yield TWICE, ast.Call(ast.Attribute(once, node.func.attr), node.args, node.keywords)
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("cross_entropy") and node.args:
        once = ast.Call(ast.Attribute(node.args[0], "softmax"), [ast.Constant(-1)], [])
        yield TWICE, ast.Call(node.func, [once, *node.args[1:]], node.keywords)
    turned: ast.AST = node.func if isinstance(node, ast.Call) else node
    if isinstance(turned, ast.Attribute) and turned.attr in TURNED and not _is(turned.value, "torch"):
        cut = ast.Attribute(turned.value, "reshape")
        yield RESHAPE, ast.Call(cut, [ast.Attribute(cast("ast.expr", node), "shape")], [])


def _along(node: ast.Call, axis: int) -> ast.Call | None:
    """Return a softmax along another axis, where its axis is a number."""
    for i, word in enumerate(node.keywords):
        if word.arg == "dim":
            words = [*node.keywords[:i], ast.keyword("dim", ast.Constant(axis)), *node.keywords[i + 1 :]]
            return ast.Call(node.func, node.args, words)
    if node.args and ast.unparse(node.args[-1]).lstrip("-").isdigit():
        return ast.Call(node.func, [*node.args[:-1], ast.Constant(axis)], node.keywords)
    return None


def _is(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _values(draft: Draft) -> dict[str, list[Any]]:
    """Return by parameter the numbers it has by default and in the probes, where it has several."""
    defaults = {name: word.default for name, word in signature(draft.reference).parameters.items()}
    given = [case[-1] for asked in draft.asked.values() for case in asked]
    values = {
        name: list(dict.fromkeys([default, *(case[name] for case in given if name in case)]))
        for name, default in defaults.items()
        if all(isinstance(case.get(name, 0), int | float) for case in given)
    }
    plain = {name: [x for x in some if isinstance(x, int | float)] for name, some in values.items()}
    return {name: some for name, some in plain.items() if len(some) > 1}


def _later(key: str, source: str) -> Callable[..., Tensor]:
    """Return a function that is compiled when it is first called: few are ever needed."""
    compiled = cache(lambda: define(key, source))
    return lambda *args: compiled()(*args)


def _fixed(draft: Draft, name: str, value: Any) -> Callable[..., Tensor]:
    """Return the reference with a parameter that always has this value."""
    words = signature(draft.reference)

    def fixed(*args: Any) -> Tensor:
        bound = words.bind(*args)
        return draft.reference(**{**bound.arguments, name: value})

    return fixed

"""Mistakes that are made in every exercise, as changes of its right answers: a twin for each."""

import ast
from collections.abc import Callable, Iterator
from functools import cache
from inspect import signature
from typing import Any, cast

from torch import Tensor

from pioneers.checks.building import Draft
from pioneers.checks.edits import define
from pioneers.checks.exercise import Mistake
from pioneers.checks.mutants import normal, spliced

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

"""Change an answer in one place at a time: mistakes that the checks must notice, by nobody in particular.

>>> [mutant.source for mutant in mutants("def two(x): return x + 1")][4:6]
['def two(x): return x - 1', 'def two(x): return x']
"""

import ast
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from pioneers.checks.building import Draft
from pioneers.checks.edits import define
from pioneers.checks.exercise import Exercise, is_real
from pioneers.checks.judge import STAGES, case_of, expected, first_failure, judge_device
from pioneers.checks.operators import OPERATORS
from pioneers.checks.run import runner


class Mutant(NamedTuple):
    """An answer with one change.

    Attributes:
        operator: what was done to it, in a few words.
        source: the changed answer.
    """

    operator: str
    source: str


def mutants(source: str) -> list[Mutant]:
    """Return every answer that differs from ``source`` by one operator in one place, none of them twice."""
    seen, found, tree = {normal(source)}, [], ast.parse(source)
    parameters = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for node in _nodes(tree):
        for name, kinds, operator in OPERATORS:
            for new in operator(node, parameters) if isinstance(node, kinds) else ():
                text = spliced(source, node, new)
                form = normal(text)
                if form and form not in seen:
                    seen.add(form)
                    found.append(Mutant(name, text))
    return found


def mutants_of(draft: Draft) -> list[Mutant]:
    """Return the mutants of the exercise ``draft``: of its reference, and of its first other right answer.

    Without real numbers in inputs and results no gradient can be cut, and a change to their own type is none.
    """
    exercise, probes = draft.finished(), [*draft.probes(), *draft.probes(hidden=True)]
    results = [expected(exercise, probe).tensor for probe in probes]
    found = [mutant for source in (draft.answer, draft.rights[0].source) for mutant in mutants(source)]
    if any(probe.dtype for probe in probes) and any(map(is_real, results)):
        return found
    types = {str(result.dtype).removeprefix("torch.") for result in results}
    same = {"float32": ".float()\n", "int64": ".long()\n"}.get(types.pop(), "no such call")
    return [
        mutant
        for mutant in found
        if mutant.operator != "the gradient cut" and (types or not mutant.source.endswith(same))
    ]


def judge_of(exercise: Exercise) -> Callable[[Mutant], bool]:
    """Return a function that tells whether a mutant passes the probes and keeps the laws of ``exercise``."""
    probes = [*exercise.probes(), *exercise.hidden()]
    wanted = [expected(exercise, probe) for probe in probes]
    unnamed = replace(exercise, mistakes=(), slips=(), near=list)

    def survives(mutant: Mutant) -> bool:
        try:
            answer = define(exercise.key, mutant.source)
        except Exception:
            return False
        run = runner(answer, exercise)
        for probe, want in zip(probes, wanted, strict=True):
            case = case_of(exercise, probe, run(probe), want)
            if any(look(case) for look in STAGES.values()):
                return False
        return not first_failure(unnamed, run, []) and not judge_device(unnamed, run, probes)

    return survives


def normal(source: str) -> str:
    """Return a form of ``source`` in which only the code counts; empty if it does not compile."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "mutant", "exec")
    except (SyntaxError, ValueError):
        return ""
    return ast.dump(ast.parse(source))


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield statements and expressions in their order, without annotations, defaults and docstrings."""
    hints = (getattr(tree, "returns", None), getattr(tree, "annotation", None))
    for child in ast.iter_child_nodes(tree):
        text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        strict = isinstance(child, ast.keyword) and child.arg == "strict"
        if text or strict or child in hints or isinstance(child, ast.arguments | ast.JoinedStr):
            continue
        if isinstance(child, ast.stmt | ast.expr):
            yield child
        yield from _nodes(child)


def spliced(source: str, node: Any, new: ast.AST) -> str:
    """Put the code of ``new`` in the place of ``node``, in brackets where they are needed."""
    lines = source.encode().splitlines(keepends=True)
    start, end = (
        sum(map(len, lines[: line - 1])) + column
        for line, column in ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))
    )
    text = ast.unparse(new).replace("\n", "\n" + " " * node.col_offset)

    def put(text: str) -> str:
        return (source.encode()[:start] + text.encode() + source.encode()[end:]).decode()

    if isinstance(new, ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.Compare | ast.IfExp | ast.Lambda):
        bracketed = put(f"({text})")
        return put(text) if normal(put(text)) == normal(bracketed) else bracketed
    return put(text)

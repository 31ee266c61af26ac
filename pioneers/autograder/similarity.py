"""Which submissions of a class have code in common that others do not have: a list to look at, no verdict.

The code of a notebook is compared as trees, with all names replaced by their order of appearance and without
comments, docstrings and type hints. What the lab itself contains does not count, and a piece of code counts
the less, the more students have it: short answers are alike in any class.
"""

import ast
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from statistics import median
from typing import NamedTuple

from pioneers.autograder.submission import Cell

SMALLEST = 12  # nodes of a piece of code that counts
LONGEST = 100_000  # characters of a cell that is read
NODES = 5000  # of a cell that is read
COMMON = 0.1  # the share of the class that may have a piece of code that counts
SHOWN = 100  # pairs in a report


class Pair(NamedTuple):
    """Two submissions that have code in common.

    Args:
        first: a student.
        second: another.
        alike: the share of the code that both have, from 0 to 1, each piece weighted by how rare it is.
        code: the largest pieces that both have and few others do.
    """

    first: str
    second: str
    alike: float
    code: tuple[str, ...]


def similar_pairs(submissions: Mapping[str, Sequence[Cell]], lab: Iterable[Cell] = ()) -> list[Pair]:
    """List pairs of submissions by how much uncommon code they share, the most alike first.

    Args:
        submissions: the cells of each student.
        lab: the cells of the lab, whose code does not count.
    """
    given = _pieces(lab).keys()
    pieces = {who: _without(_pieces(cells), given) for who, cells in submissions.items()}
    owners: dict[str, list[str]] = defaultdict(list)
    for who in sorted(pieces):
        for piece in pieces[who]:
            owners[piece].append(who)
    weight = {
        key: math.log(1 + len(pieces) / len(own)) * math.sqrt(key.count("(")) for key, own in owners.items()
    }
    limit = max(2, len(pieces) * COMMON)
    counted = {key: own for key, own in owners.items() if len(own) <= limit}
    shared: dict[tuple[str, str], list[str]] = defaultdict(list)
    for key, own in counted.items():
        for pair in combinations(own, 2):
            shared[pair].append(key)
    total = {who: sum(weight[key] for key in own.keys() & counted.keys()) for who, own in pieces.items()}
    usual = (
        median(total.values()) if total else 0.0
    )  # one line in common is little, even if it is all one has
    pairs = []
    for (first, second), keys in shared.items():
        alike = sum(weight[key] for key in keys) / max(total[first], total[second], usual)
        keys.sort(key=lambda key: (-weight[key], key))
        pairs.append(Pair(first, second, alike, _largest(pieces[first], keys)))
    return sorted(pairs, key=lambda pair: (-pair.alike, pair.first, pair.second))[:SHOWN]


def _without(pieces: Mapping[str, str], given: Collection[str]) -> dict[str, str]:
    return {key: source for key, source in pieces.items() if key not in given}


def _largest(pieces: Mapping[str, str], keys: Sequence[str]) -> tuple[str, ...]:
    """The code of the first pieces that are not parts of one another."""
    chosen: list[str] = []
    for key in keys:
        if not any(key in other or other in key for other in chosen):
            chosen.append(key)
        if len(chosen) == 3:
            break
    return tuple(pieces[key] for key in chosen)


def _pieces(cells: Iterable[Cell]) -> dict[str, str]:
    """Every statement and expression of the code cells that is large enough: its form → its source."""
    found: dict[str, str] = {}
    for cell in cells:
        if cell.kind != "code" or len(cell.source) > LONGEST:
            continue
        try:
            nodes = list(ast.walk(ast.parse(cell.source)))
            for node in nodes if len(nodes) <= NODES else ():
                if isinstance(node, ast.stmt | ast.expr) and _size(node) >= SMALLEST:
                    found.setdefault(_form(node), ast.get_source_segment(cell.source, node) or "")
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # no code, or a stranger's trap
            continue
    return found


def _size(node: ast.AST) -> int:
    return sum(1 for _ in ast.walk(node))


def _form(node: ast.AST) -> str:
    """The tree as text, with names numbered by their first appearance and without types and docstrings."""
    numbers: dict[str, int] = {}

    def write(part: object) -> str:
        if isinstance(part, list):
            return "[" + ",".join(map(write, part)) + "]"
        if not isinstance(part, ast.AST):
            return repr(part)
        if isinstance(part, ast.Name | ast.arg):
            name = part.id if isinstance(part, ast.Name) else part.arg
            return f"n{numbers.setdefault(name, len(numbers))}"
        fields = ((name, value) for name, value in ast.iter_fields(part) if name not in SKIPPED)
        return f"{type(part).__name__}(" + ",".join(write(_undocumented(n, v)) for n, v in fields) + ")"

    return write(node)


SKIPPED = {"ctx", "returns", "type_comment", "annotation", "decorator_list", "kind"}


def _undocumented(name: str, value: object) -> object:
    """The statements of a body without its docstring; everything else as it is."""
    if name == "body" and isinstance(value, list) and value:
        first = value[0]
        if (
            isinstance(first, ast.Expr)
            and isinstance(first.value, ast.Constant)
            and isinstance(first.value.value, str)
        ):
            return value[1:]
    return value

"""The wrong answers of the answer banks, each as a change of the reference: for the teacher alone."""

import ast
from collections.abc import Collection
from difflib import ndiff
from typing import NamedTuple

from pioneers.checks.loading import find, numbered
from pioneers.checks.report import headline


class Known(NamedTuple):
    """A wrong answer of an answer bank.

    Attributes:
        mistake: the name of the mistake.
        believes: the student's belief, in a few words.
        change: the lines of the answer, as :func:`difference` shows them.
    """

    mistake: str
    believes: str
    change: str


def known_mistakes(exercises: Collection[str]) -> dict[str, list[Known]]:
    """Return the wrong answers to these ``exercises``, which are named as in the marks."""
    found = {}
    for name in exercises:
        draft = numbered(name.partition(" ")[0])
        if draft and name == headline(find(draft.key)):
            found[name] = [
                Known(wrong.diagnosis, wrong.misconception, difference(draft.answer, wrong.source))
                for wrong in draft.wrongs
            ]
    return found


def difference(reference: str, answer: str) -> str:
    """Return the lines of both, those of the reference alone marked with -, those of the answer with +.

    Type hints and docstrings are left out.

    Args:
        reference: the source of the right answer.
        answer: the source of the wrong one.
    """
    lines = ndiff(_plain(reference), _plain(answer), charjunk=None)
    return "\n".join(line.rstrip() for line in lines if line[0] != "?")


def _plain(source: str) -> list[str]:
    """Return the lines of an answer, its last function without type hints and docstring."""
    lines = source.splitlines()
    function = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)][-1]
    for argument in ast.walk(function.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    start = (
        function.body[0].lineno - 1 if ast.get_docstring(function) is None else function.body[0].end_lineno
    )
    return [
        *lines[: function.lineno - 1],
        f"def {function.name}({ast.unparse(function.args)}):",
        *lines[start:],
    ]

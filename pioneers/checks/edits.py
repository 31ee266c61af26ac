"""Edit and run the source text of answers."""

import ast
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Pair = tuple[str, str]
Edit = Pair | list[Pair]
NAMES = {
    "Counter": Counter, "F": F, "Tensor": Tensor, "json": json, "math": math, "nn": nn, "pairwise": pairwise,
    "torch": torch,
}  # fmt: skip
"""The names that an answer may use without importing them, as in the first cell of a lab."""


def edited(text: str, edit: Edit) -> str:
    """Replace in ``text`` the first text of the pair ``edit`` by the second; those of a list at once.

    Raises:
        ValueError: a text to be replaced does not occur exactly once, or two of them overlap.
    """
    pieces, end = [], 0
    pairs = edit if isinstance(edit, list) else [edit]
    for old, _ in pairs:
        if text.count(old) != 1:
            raise ValueError(f"an edit must match once; {old!r} matches {text.count(old)} times")
    for old, new in sorted(pairs, key=lambda pair: text.index(pair[0])):
        start = text.index(old)
        if start < end:
            raise ValueError(f"{old!r} overlaps another edit that is made together with it")
        pieces += [text[end:start], new]
        end = start + len(old)
    return "".join([*pieces, text[end:]])


def define(key: str, source: str, given: Mapping[str, Any] | None = None) -> Callable[..., Tensor]:
    """Run a ``source``, which may use the names ``given``, and return the last function it defines.

    Raises:
        ValueError: the source does not compile or defines no function; the message names exercise ``key``.
    """
    try:
        code = compile(source, f"<an answer to {key}>", "exec")
    except SyntaxError as error:
        raise ValueError(f"{key}: an answer does not compile: {error.msg}: {error.text}") from error
    space: dict[str, Any] = {**NAMES, **(given or {})}
    exec(code, space)
    names = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    if not names:
        raise ValueError(f"{key}: an answer defines no function")
    answer: Callable[..., Tensor] = space[names[-1]]
    return answer

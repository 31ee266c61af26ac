"""Find code in a submission that could tamper with the process that calls the answers.

Calls that an answer may not make are detected in the student's own process, and a student who rewrites that
process can hide them. Values are judged outside and cannot be forged. So for this rule alone, code with the
means to tamper earns no points by itself: a teacher decides.
"""

import ast
import re
from collections.abc import Iterator
from importlib.util import find_spec

OFFERED = {"check", "Probe", "own_seed", "use_variant"}  # what a lab takes from pioneers.checks
ALLOWED = {f"pioneers.checks.{name}" for name in OFFERED}
ODD = {"sys.modules", "IPython.core"}
CALLS = {"__import__", "compile", "delattr", "eval", "exec", "globals", "setattr", "vars"}
NAMES = {
    "__builtins__", "__globals__", "__code__", "__closure__", "__subclasses__", "__mro__", "_C", "_getframe",
    "__torch_function__", "__torch_dispatch__", "TorchFunctionMode", "TorchDispatchMode", "attrgetter",
    "f_back", "f_globals", "f_locals", "get_ipython", "get_objects", "get_referrers", "methodcaller",
    "setprofile", "settrace", "tb_frame",
}  # fmt: skip
MODULES = {
    "_ctypes", "_thread", "builtins", "cffi", "cloudpickle", "code", "codeop", "ctypes", "dill", "imp",
    "importlib", "inspect", "marshal", "pickle", "pkgutil", "runpy", "threading", "types", "zipimport",
}  # fmt: skip
MAGIC = re.compile(r"^\s*(%run|%load\w*|%autoreload|%%(?!time|timeit|capture)\w+).*$", re.MULTILINE)
SHELL = re.compile(r"^\s*[%!?].*$|^.*\?\s*$", re.MULTILINE)
GRADER_MODULES = ("pioneers.checks", "pioneers.autograder", "pioneers_labs")
FORBIDDEN_TEXT = re.compile(
    r"pioneers\.checks\.\w+|\b(pioneers\.autograder|pioneers_labs)\b|\b(jailed|TorchFunctionMode|__torch_function__)\b"
)


def forbidden_names(source: str) -> list[str]:
    """Return the names in a cell's ``source`` that no answer needs; none for nearly every honest cell."""
    found = [match.group().strip() for match in MAGIC.finditer(source)]
    try:
        tree = ast.parse(SHELL.sub("", source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return sorted(set(found))  # it defines nothing
    return sorted({*found, *_forbidden(tree)})


def _forbidden(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in CALLS | NAMES:
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield from _attribute(node)
        elif isinstance(node, ast.FunctionDef) and node.name in NAMES:
            yield node.name
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_odd(alias.name))
        elif isinstance(node, ast.ImportFrom):
            yield from _imported(node)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr":
            name = node.args[1] if len(node.args) > 1 else None
            if not isinstance(name, ast.Constant) or name.value in NAMES:
                yield "getattr"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (match.group() for match in FORBIDDEN_TEXT.finditer(node.value))


def _attribute(node: ast.Attribute) -> Iterator[str]:
    owner = node.value
    of = getattr(owner, "id", getattr(owner, "attr", ""))
    whole = f"{of}.{node.attr}"
    if node.attr in NAMES:
        yield node.attr
    elif whole in ODD or (of == "checks" and node.attr not in OFFERED) or whole == "pioneers.autograder":
        yield whole


def _imported(node: ast.ImportFrom) -> Iterator[str]:
    module = node.module or "."
    for alias in node.names:
        whole = f"{module}.{alias.name}"
        hidden = whole.startswith(GRADER_MODULES) and whole not in ALLOWED
        if hidden or whole in ODD or alias.name in NAMES or _is_odd(module):
            yield whole


def _is_odd(module: str) -> bool:
    """Return whether a module has the means to tamper, or is not one that the labs install."""
    names = module.split(".")
    if (
        names[0] in MODULES
        or "_C" in names
        or module.startswith(("pioneers.checks.", *GRADER_MODULES[1:], "IPython.core"))
    ):
        return True
    try:
        return find_spec(names[0]) is None
    except (ImportError, ValueError):
        return True

"""Keys: short hashes of everything that a page, a lab or a grade depends on inside this package.

Code depends on the modules it imports, on those that they import, and so on. All of it is read from the
sources; nothing is imported. The rules, and why nothing is missed:

- A name that a package only hands on (``from pioneers.layers import attention``) depends on the module that
  defines it, not on its siblings. Python runs the siblings too, but what they define does not matter until it
  is used: a module of this package does nothing else while it is imported, which a test holds.
- A module counts as one piece, with every import in it, wherever it is written.
- A text in quotes that is a module's full name counts as an import of it, and ``pioneers train`` in a shell
  cell as one of that command's module.
- A text in quotes that names a file of data, or a folder of them, depends on it. Results of experiments count
  where the code imports :func:`pioneers.analysis.experiment`; if it names none, all of them count.
"""

import ast
import hashlib
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import NamedTuple

PACKAGE = "pioneers"
ALL = "*"
RESULTS, READER = "results", "pioneers.analysis.results"
COMMAND = re.compile(rf"\b{PACKAGE} +(?:([a-z]\w*)|--)")
MODULE = re.compile(rf"{PACKAGE}(\.\w+)+")
Reference = tuple[str, str]  # a module, and a name in it or ALL
PARSING = Lock()  # Python 3.11 counts the depth of trees that several threads parse in one number, and fails


class Facts(NamedTuple):
    """The facts on which the dependencies of code rest: its imports, and its texts in quotes."""

    used: set[Reference]
    texts: set[str]


class Sources:
    """The modules of the package as text, and what code depends on among them.

    Args:
        root: the folder that holds the folder ``pioneers``.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._trees: dict[Path, ast.Module] = {}
        self._facts: dict[Path, Facts] = {}
        self._paths: dict[str, Path | None] = {}
        self._origins: dict[Reference, Reference] = {}

    def files(self, *codes: str) -> set[Path]:
        """The files of the package that these pieces of Python depend on, data among them.

        Args:
            codes: pieces of Python, such as the cells of a notebook, which may be those of IPython.

        Raises:
            SyntaxError: one of them is not Python.
        """
        found: set[Path] = set()
        tree = ast.Module([node for code in codes for node in parse_cell(code).body], [])
        commands = {command for code in codes for command in commands_of(code)}
        facts = Facts(references(tree) | commands, strings(tree))
        self._follow(facts, found, set())
        return found

    def key(self, *codes: str, beside: Iterable[Path] = ()) -> str:
        """A hash of all that these pieces of Python depend on: code, data, and versions, not their own text.

        Args:
            codes: pieces of Python.
            beside: other files that count as well; Python among them is followed.

        Raises:
            SyntaxError: one of them is not Python.
        """
        own = sorted(beside)
        codes = (*codes, *(path.read_text(encoding="utf-8") for path in own if path.suffix == ".py"))
        pins = self.root / "constraints.txt"
        whole = hashlib.sha256(f"{sys.version} torch {version('torch')}".encode())
        for path in sorted({*self.files(*codes), *own, *([pins] if pins.is_file() else [])}):
            whole.update(f"\0{path.relative_to(self.root)}\0".encode() + path.read_bytes())
        return whole.hexdigest()[:16]

    @cached_property
    def data(self) -> dict[str, set[Path]]:
        """The files of data by their names and those of their folders."""
        named: dict[str, set[Path]] = {}
        package = self.root / PACKAGE
        for path in package.rglob("*"):
            if path.is_file() and path.suffix not in {".py", ".pyc"} and package / RESULTS != path.parent:
                within = [folder for folder in path.parents if package in folder.parents]
                folders = [folder for folder in within if not (folder / "__init__.py").exists()]
                for name in {path.name, *(folder.name for folder in folders)}:
                    named.setdefault(name, set()).add(path)
        return named

    def find(self, module: str) -> Path | None:
        """The file of a module of the package; None if there is no such module."""
        if module.split(".")[0] != PACKAGE:
            return None
        if module not in self._paths:
            path = self.root.joinpath(*module.split("."))
            files = (path / "__init__.py", path.with_name(f"{path.name}.py"))
            self._paths[module] = next((file for file in files if file.is_file()), None)
        return self._paths[module]

    def _follow(self, facts: Facts, found: set[Path], seen: set[Path]) -> None:
        used, texts = facts
        named = {(text, ALL) for text in texts if MODULE.fullmatch(text)}
        for reference in used | named:
            self._resolve(*reference, found, seen)
        for text in texts:
            found |= self.data.get(text, set())
        if any(self._origin(*reference)[0] == READER for reference in used):
            results = {path.stem: path for path in (self.root / PACKAGE / RESULTS).glob("*")}
            found |= {results[name] for name in texts & set(results)} or set(results.values())

    def _origin(self, module: str, name: str) -> Reference:
        """Find where a name is defined, through any number of packages that only pass it on."""
        if (module, name) not in self._origins:
            self._origins[module, name] = self._next_origin(module, name)
        return self._origins[module, name]

    def _next_origin(self, module: str, name: str) -> Reference:
        path = self.find(module)
        if path is None or path.name != "__init__.py" or name == ALL:
            return module, name
        given = {
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in self._tree(path).body
            if isinstance(node, ast.ImportFrom) and node.module != module
            for alias in node.names
        }
        if name in given:
            return self._origin(*given[name])
        return (f"{module}.{name}", ALL) if self.find(f"{module}.{name}") else (module, name)

    def _resolve(self, module: str, name: str, found: set[Path], seen: set[Path]) -> None:
        module, name = self._origin(module, name)
        path = self.find(module)
        if path is None:
            return
        found.add(path)
        if path not in seen and not name.startswith("__"):  # what __version__ is, no import decides
            seen.add(path)
            if path not in self._facts:
                self._facts[path] = Facts(references(self._tree(path)), strings(self._tree(path)))
            self._follow(self._facts[path], found, seen)

    def _tree(self, path: Path) -> ast.Module:
        if path not in self._trees:
            self._trees[path] = _parse(path.read_text(encoding="utf-8"))
        return self._trees[path]


def parse_cell(code: str) -> ast.Module:
    """The syntax tree of a cell; lines for IPython are left out, and cells for another program.

    Raises:
        SyntaxError: what is left is not Python.
    """
    if code.lstrip().startswith("%%") and not re.match(r"\s*%%(time|timeit|capture)\b", code):
        return ast.Module([], [])
    kept = re.sub(r"^(\s*)[%!].*$", r"\1pass", code, flags=re.MULTILINE)
    return _parse(kept)


def _parse(source: str) -> ast.Module:
    with PARSING:
        return ast.parse(source)


def commands_of(code: str) -> Iterator[Reference]:
    """The modules behind the commands ``pioneers ...`` in a cell's shell lines."""
    cell = code.lstrip().startswith(("%%bash", "%%sh"))
    lines = code.splitlines() if cell else [line for line in code.splitlines() if line.lstrip()[:1] == "!"]
    for line in lines:
        for command in COMMAND.findall(line):
            yield f"{PACKAGE}.cli", "main"
            if command:
                yield f"{PACKAGE}.cli.{command}", ALL


def references(tree: ast.AST) -> set[Reference]:
    """Collect what a tree imports from the package, and what it uses of a plain ``import pioneers``."""
    nodes = list(ast.walk(tree))
    found = {
        (str(node.module), alias.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE
        for alias in node.names
    }
    plain = [alias for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    whole = {alias.asname or PACKAGE for alias in plain if alias.name == PACKAGE}
    taken = {
        (PACKAGE, node.attr)
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in whole
    }
    return found | taken | {(alias.name, ALL) for alias in plain if alias.name != PACKAGE}


def strings(tree: ast.AST) -> set[str]:
    """The texts in quotes."""
    nodes = ast.walk(tree)
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}

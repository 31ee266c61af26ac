"""A lab before anybody has answered it, with its solutions and tests."""

import ast
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode


@dataclass(frozen=True)
class Skeleton:
    """A lab of a course.

    Args:
        lab: its name, which is that of its folder.
        released: the notebook that students got.
        source: the notebook with solutions and hidden tests.
    """

    lab: str
    released: NotebookNode
    source: NotebookNode

    @classmethod
    def load(cls, course: Path, lab: str) -> "Skeleton":
        """Read the ``lab`` of an nbgrader ``course``.

        Raises:
            ValueError: the lab has not been released there.
        """
        files = {part: course / part / lab / f"{lab}.ipynb" for part in ("source", "release")}
        for file in files.values():
            if not file.is_file():
                raise ValueError(f"there is no {file}; run in {course}: nbgrader generate_assignment {lab}")
        read = {part: nbformat.read(file, as_version=4) for part, file in files.items()}
        return cls(lab, read["release"], read["source"])

    def judging(self, grade_id: str) -> str:
        """Return the source of a cell with its hidden tests; empty if there is no such cell."""
        return next(
            (cell.source for cell in self.source.cells if about(cell).get("grade_id") == grade_id), ""
        )

    def modules(self) -> list[str]:
        """Return the modules that the released notebook imports, sorted."""
        found: set[str] = set()
        for cell in self.released.cells:
            for node in ast.walk(parsed(cell.source)) if cell.cell_type == "code" else ():
                if isinstance(node, ast.Import):
                    found.update(alias.name for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module:
                    found.add(node.module)
        return sorted(found)


def about(cell: NotebookNode) -> NotebookNode:
    """Return nbgrader's metadata of a cell; empty for other cells."""
    return cell.metadata.get("nbgrader", NotebookNode())


def is_check(cell: NotebookNode) -> bool:
    """Return whether the cell holds tests."""
    return bool(about(cell).get("grade") and not about(cell).get("solution"))


def is_answer(cell: NotebookNode) -> bool:
    """Return whether the student writes in this cell."""
    return bool(about(cell).get("solution"))


def is_manual(cell: NotebookNode) -> bool:
    """Return whether a teacher marks this cell."""
    return bool((about(cell).get("grade") and about(cell).get("solution")) or about(cell).get("task"))


def points(cell: NotebookNode) -> float:
    """Return the points that the cell is worth."""
    return float(about(cell).get("points", 0))


def defined(source: str) -> set[str]:
    """Return the names of the top-level functions and classes of a source; none if it is not Python."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in parsed(source).body if isinstance(node, kinds)}


def parsed(source: str) -> ast.Module:
    """Return the syntax tree of a source; an empty one if it is not Python."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])

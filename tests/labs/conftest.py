"""Fixtures for the tests of the labs: the lab, its answer bank, and submissions made from it."""

import importlib.util
import linecache
from copy import deepcopy
from pathlib import Path
from types import ModuleType

import pytest
from nbformat import NotebookNode

from pioneers.checks import Exercise, find
from pioneers.checks.answers import load_answers

ROOT = Path(__file__).resolve().parents[2]
LABS = sorted(source.parent for source in (ROOT / "labs").glob("*/lab.md"))


def _load_release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", ROOT / "labs" / "release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release = _load_release()


class Lab:
    """A lab as the tests need it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.name = folder, folder.name
        self.notebook = release.read(folder / "lab.md")
        self.bank = load_answers(folder)
        self.keys = list(self.bank.wrong)

    def cell(self, grade_id: str, notebook: NotebookNode | None = None) -> NotebookNode:
        cells = (notebook or self.notebook).cells
        return next(c for c in cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id)

    def check_cell(self, exercise: Exercise, notebook: NotebookNode | None = None) -> NotebookNode:
        return self.cell(f"check_{exercise.name}", notebook)

    def submission(self, release_version: NotebookNode, answers: dict[str, str]) -> NotebookNode:
        """The released notebook with these answers filled in; the other exercises get the reference's."""
        notebook = deepcopy(release_version)
        for key in self.keys:
            name = find(key).name
            self.cell(name, notebook).source = answers.get(key) or self.cell(name).source
        return notebook

    def mark(self, key: str, answer: str) -> None:
        """Run an answer and its check cell, public and hidden, in this process."""
        space = {}
        exec(self.cell("setup").source, space)
        # As in a notebook, tracebacks can show the lines of the answer.
        linecache.cache["answer"] = (len(answer), None, answer.splitlines(keepends=True), "answer")
        exec(compile(answer, "answer", "exec"), space)
        exec(self.check_cell(find(key)).source, space)


@pytest.fixture(scope="session", params=LABS, ids=lambda folder: folder.name)
def lab(request: pytest.FixtureRequest) -> Lab:
    return Lab(request.param)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each answer in the banks: ask for ``wrong`` or ``right``."""
    for kind in ("wrong", "right"):
        if kind in metafunc.fixturenames:
            labs = [Lab(folder) for folder in LABS]
            cases = [
                pytest.param((lab, key, answer), id=f"{key}-{answer[0]}")
                for lab in labs
                for key, answers in getattr(lab.bank, kind).items()
                for answer in answers
            ]
            metafunc.parametrize(kind, cases)

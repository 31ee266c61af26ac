"""A small course for the tests of the grader: two exercises, a text to mark by hand, a question."""

import importlib.util
import json
from copy import deepcopy
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell

from pioneers.autograder.skeleton import Skeleton, about

ROOT = Path(__file__).parents[2]
LAB = "small"
KEPT = (
    "setup",
    "softmax",
    "check_softmax",
    "causal_mask",
    "check_causal_mask",
    "experiment_reading",
    "question",
)
FULL = {"check_softmax": 10.0, "check_causal_mask": 8.0}


def load_release():
    spec = importlib.util.spec_from_file_location("release", ROOT / "labs" / "release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release = load_release()


class Classroom:
    """A course in a folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.lab = release.read(ROOT / "labs" / "01_self_attention" / "lab.md")
        self.lab.cells = [cell for cell in self.lab.cells if about(cell).get("grade_id") in KEPT]
        self.lab.cells[0].source = self.lab.cells[0].source.replace("import matplotlib.pyplot as plt\n", "")
        release.make_course(folder, self.lab, LAB)
        self.skeleton = Skeleton.load(folder, LAB)

    def answered(self, **answers):
        """The released notebook with these answers by ``grade_id``; the reference's for the others."""
        notebook = deepcopy(self.skeleton.released)
        solutions = {about(cell).grade_id: cell.source for cell in self.lab.cells}
        for cell in notebook.cells:
            if about(cell).get("solution"):
                cell.source = answers.get(about(cell).grade_id, solutions[about(cell).grade_id])
        return notebook

    def hand_in(self, student, notebook, name=LAB):
        """Put a notebook (or any text, or bytes) where a student's work lies; returns the file."""
        path = self.folder / "submitted" / student / LAB / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        content = notebook if isinstance(notebook, str | bytes) else nbformat.writes(notebook)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def result(self, student):
        return json.loads((self.folder / "reports" / LAB / "results" / f"{student}.json").read_text())


def with_cell(notebook, source, before="check_softmax"):
    """The notebook with one more code cell before the cell of that name."""
    notebook = deepcopy(notebook)
    place = next(i for i, cell in enumerate(notebook.cells) if about(cell).get("grade_id") == before)
    notebook.cells.insert(place, new_code_cell(source))
    return notebook


def scores(result):
    """Points by exercise; None where a teacher decides."""
    return {mark["grade_id"]: mark["score"] for mark in result["marks"] if mark["grade_id"] in FULL}


def kinds(result):
    return {flag["kind"] for flag in result["flags"]}

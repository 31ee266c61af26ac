"""Write a class of forty for a lab, to try the grader on: right, wrong, blank, broken and hostile.

    python labs/sample_class.py _build/sample_class 01_self_attention

The folder becomes an nbgrader course in which everybody has handed in the lab. A third word is the size of
another class.
"""

import shutil
import sys
from copy import deepcopy
from pathlib import Path

import nbformat
import release
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from pioneers.checks import find
from pioneers.checks.answers import load_answers

SIZE = 40
HOSTILE = {
    "exits": "import os\nos._exit(0)",
    "loops": "while True:\n    pass",
    "floods": "print('x' * 10**8)",
    "forks": "import os\nwhile True:\n    os.fork()",
    "eats_memory": "hoard = []\nwhile True:\n    hoard.append(bytearray(1 << 28))",
    "patches_torch": "import torch\ntorch.allclose = torch.equal = lambda *a, **k: True",
}
BROKEN = {
    "not_json": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "no_cells": lambda text: "{}",
}


def main(course: Path, name: str, size: int = SIZE) -> None:
    """Write the class into the folder ``course``."""
    lab = release.read(release.LABS / name / "lab.md")
    if course.exists():
        shutil.rmtree(course)
    course.mkdir(parents=True)
    shutil.copy(release.LABS / "nbgrader_config.py", course)
    release.make_course(course, lab, name)
    blank = nbformat.read(course / "release" / name / f"{name}.ipynb", as_version=4)
    texts = {"blank": nbformat.writes(blank)}
    right = answered(blank, lab, {})
    for student, source in HOSTILE.items():
        notebook = deepcopy(right)
        notebook.cells.insert(len(notebook.cells) // 2, new_code_cell(source))
        texts[f"hostile_{student}"] = nbformat.writes(notebook)
    for student, spoil in BROKEN.items():
        texts[f"broken_{student}"] = spoil(nbformat.writes(right))
    answers = load_answers(release.LABS / name)
    for i in range(2):
        given = {key: ways[i].source for key, ways in answers.right.items()}
        texts[f"right_{i}"] = nbformat.writes(answered(blank, lab, given))
    for i in range(size - len(texts)):  # each has some answers right
        given = {
            key: ways[i % len(ways)].source
            for n, (key, ways) in enumerate(answers.wrong.items())
            if (i + n) % 3
        }
        texts[f"wrong_{i:02}"] = nbformat.writes(answered(blank, lab, given))
    for student, text in texts.items():
        path = course / "submitted" / student / name / f"{name}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    print(f"{len(texts)} submissions in {course}")


def answered(blank: NotebookNode, lab: NotebookNode, given: dict[str, str]) -> NotebookNode:
    """The ``blank`` notebook with the answers in ``given``, and the reference's for the other exercises."""
    notebook = deepcopy(blank)
    solutions = {id_of(cell): cell.source for cell in lab.cells}
    own = {find(key).name: source for key, source in given.items()}
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = own.get(id_of(cell), solutions[id_of(cell)])
    return notebook


def id_of(cell: NotebookNode) -> str:
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:]))

"""Write a notebook for each student, whose checks use that student's own numbers.

    python labs/variants.py ~/course 01_self_attention algebra < logins.txt

They are the lab as it was released in the course, with one cell more, and lie in
``variants/STUDENT/LAB.ipynb`` there. ``algebra`` is the name of the course that ``pioneers grade --variants``
gets, and ``logins.txt`` has the names of the students' folders.
"""

import sys
from argparse import ArgumentParser
from copy import deepcopy
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell

OWN = "# These are your own numbers.\nfrom pioneers.checks import use_variant\n\nuse_variant({!r}, {!r})"


def main(words: list[str]) -> None:
    """Do what the ``words`` of the command line say."""
    parser = ArgumentParser("python labs/variants.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("course", metavar="COURSE", type=Path, help="the folder of the course")
    parser.add_argument("lab", metavar="LAB", help="such as 01_self_attention")
    parser.add_argument(
        "name", metavar="NAME", help="the name of the course, as in pioneers grade --variants"
    )
    args = parser.parse_args(words)
    released = args.course / "release" / args.lab / f"{args.lab}.ipynb"
    if not released.is_file():
        parser.error(f"there is no {released}; run in {args.course}: nbgrader generate_assignment {args.lab}")
    students = sys.stdin.read().split()
    if not students:
        parser.error("give the students' logins on standard input, one in a line")
    for student in students:
        path = args.course / "variants" / student / f"{args.lab}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(own(nbformat.read(released, as_version=4), args.name, student), path)
    print(f"written: {len(students)} notebooks in {args.course / 'variants'}")


def own(lab: nbformat.NotebookNode, name: str, student: str) -> nbformat.NotebookNode:
    """Return a ``lab`` in which a ``student`` of the course called ``name`` has numbers of their own."""
    notebook = deepcopy(lab)
    first = next(i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code")
    notebook.cells.insert(first + 1, new_code_cell(OWN.format(name, student)))
    return notebook


if __name__ == "__main__":
    main(sys.argv[1:])

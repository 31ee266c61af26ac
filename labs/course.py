"""Put labs into an nbgrader course: its configuration, and each lab with its solutions and hidden tests.

    python labs/course.py ~/course 01_self_attention

Then ``nbgrader generate_assignment 01_self_attention``, in the folder of the course, makes the students'
version. A notebook in the course that differs from the lab is left alone, unless ``--replace`` is given.
For a notebook with numbers of each student's own see ``labs/variants.py``.
"""

import shutil
import sys
from argparse import ArgumentParser
from pathlib import Path

import nbformat
import release


def main(words: list[str]) -> None:
    """Do what the ``words`` of the command line say."""
    parser = ArgumentParser(
        "python labs/course.py",
        description="Put labs into an nbgrader course.",
        epilog="A notebook with numbers of each student's own: python labs/variants.py --help",
    )
    parser.add_argument("course", metavar="COURSE", type=Path, help="the folder of the course")
    parser.add_argument("labs", metavar="LAB", nargs="+", help="such as 01_self_attention")
    parser.add_argument(
        "--replace", action="store_true", help="overwrite notebooks that differ from the labs"
    )
    args = parser.parse_args(words)
    known = [source.parent.name for source in release.sources()]
    if unknown := [name for name in args.labs if name not in known]:
        parser.error(f"there is no lab {', '.join(unknown)}; the labs are {', '.join(known)}")
    try:
        for name in args.labs:
            print(f"written: {put(args.course, name, replace=args.replace)}")
    except FileExistsError as cause:
        parser.error(str(cause))


def put(course: Path, name: str, *, replace: bool = False) -> Path:
    """Write a lab into a course, and the configuration if there is none; return the path of the notebook.

    Raises:
        FileExistsError: the course has another version of the lab, and ``replace`` is not set.
    """
    notebook = course / "source" / name / f"{name}.ipynb"
    text = nbformat.writes(release.read(release.LABS / name / "lab.md")) + "\n"
    if notebook.exists() and notebook.read_text(encoding="utf-8") != text and not replace:
        raise FileExistsError(
            f"{notebook} differs from the lab, because one of them has been edited; "
            "with --replace it is written anew, and what was edited in it is lost"
        )
    notebook.parent.mkdir(parents=True, exist_ok=True)
    notebook.write_text(text, encoding="utf-8")
    if not (course / "nbgrader_config.py").exists():
        shutil.copy(release.LABS / "nbgrader_config.py", course)
    return notebook


if __name__ == "__main__":
    main(sys.argv[1:])

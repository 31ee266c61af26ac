"""Read a submission without trusting it: a regular file of limited size, no links, and only its cells."""

import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import nbformat

MAX_BYTES = 64 << 20
MAX_CELLS = 1000
PICTURES = ("image/png", "image/jpeg")
EXCHANGE = ("timestamp.txt", "submission_secret.txt")  # nbgrader's exchange puts them beside a notebook


class Flag(NamedTuple):
    """A note for the teacher about a submission.

    Attributes:
        kind: the kind of note, in a word or two.
        text: a sentence on what happened.
    """

    kind: str
    text: str


class SubmissionRefused(Exception):
    """The submission cannot be graded; the message tells the student why."""


@dataclass(frozen=True)
class Cell:
    """A cell as it was handed in.

    Args:
        kind: ``code``, ``markdown`` or ``raw``.
        source: the text of the cell.
        grade_id: nbgrader's name for the cell, if it still has one.
        points: the points in its metadata.
        attachments: pictures in a text cell.
    """

    kind: str
    source: str
    grade_id: str
    points: Any
    attachments: dict[str, dict[str, str]]


def find_notebook(folder: Path, lab: str) -> tuple[Path, list[Flag]]:
    """Return the notebook for the ``lab`` in a student's ``folder``, even under another name, and flags.

    Raises:
        SubmissionRefused: there is no notebook.
    """
    if folder.is_symlink() or folder.parent.is_symlink():
        raise SubmissionRefused("The folder handed in is a link. Hand in the folder itself.")
    entries = sorted(folder.iterdir()) if folder.is_dir() else []
    files = [path for path in entries if stat.S_ISREG(path.lstat().st_mode)]
    notebooks = [path for path in files if path.suffix.lower() == ".ipynb"]
    links = [path for path in entries if path.is_symlink()]
    flags = [Flag("link", f"{path.name} is a link; it was not followed.") for path in links]
    right = folder / f"{lab}.ipynb"
    taken = (
        right if right in notebooks else max(notebooks, key=lambda path: path.lstat().st_mtime, default=right)
    )
    known = {taken, *links, *(folder / name for name in EXCHANGE)}
    others = [path.name for path in entries if path not in known and path.name[0] != "."]
    if others:
        flags.append(Flag("other files", f"Other files were handed in and ignored: {', '.join(others[:5])}."))
    if not notebooks:
        raise SubmissionRefused("No notebook was handed in." + "".join(f" {flag.text}" for flag in flags))
    if taken != right:
        flags.append(Flag("renamed", f"The notebook is called {taken.name}; it was graded as {lab}.ipynb."))
    return taken, flags


def read(data: bytes) -> list[Cell]:
    """Return the cells of a notebook.

    Raises:
        SubmissionRefused: the data is not a notebook, or it has too many cells.
    """
    try:
        notebook = json.loads(data.decode("utf-8-sig"))
        if "worksheets" in notebook:  # as notebooks were until 2014
            notebook = nbformat.convert(nbformat.from_dict(notebook), 4)
        cells = [_cell(cell) for cell in notebook["cells"]]
    except RecursionError:
        raise SubmissionRefused("The file is not a notebook (too deeply nested).") from None
    except Exception as error:  # a stranger's file can be wrong in any way
        raise SubmissionRefused(
            f"The file is not a notebook ({type(error).__name__}); hand in the .ipynb itself."
        ) from None
    if len(cells) > MAX_CELLS:
        raise SubmissionRefused(
            f"The notebook has {len(cells):,} cells; at most {MAX_CELLS:,} are allowed. Delete some of them."
        )
    return cells


def contents(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        SubmissionRefused: it cannot be read, is not a regular file, or is too large.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise SubmissionRefused(f"The notebook cannot be read ({error.strerror}).") from None
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise SubmissionRefused("The notebook is not a regular file.")
        if about.st_size > MAX_BYTES:
            size = f"{about.st_size / 2**20:,.0f} MiB"
            raise SubmissionRefused(
                f"The notebook has {size}; at most {MAX_BYTES >> 20} MiB are allowed. Clear its outputs."
            )
        return file.read(MAX_BYTES)


def _cell(cell: Any) -> Cell:
    kind, source = cell["cell_type"], cell.get("source", "")
    if not isinstance(kind, str):
        raise TypeError("a cell without a type")
    known = _dictionary(_dictionary(cell.get("metadata")).get("nbgrader"))
    text = source if isinstance(source, str) else "".join(map(str, source))
    text = text.replace("\r\n", "\n")
    text = text.encode(errors="replace").decode()  # half of a surrogate pair cannot be written to a file
    grade_id = known.get("grade_id")
    name = grade_id if isinstance(grade_id, str) else ""
    return Cell(kind, text, name, known.get("points"), _pictures(cell.get("attachments")))


def _dictionary(content: Any) -> dict[str, Any]:
    return content if isinstance(content, dict) else {}


def _pictures(attachments: Any) -> dict[str, dict[str, str]]:
    kept = {}
    for name, forms in _dictionary(attachments).items():
        forms = _dictionary(forms).items()
        pictures = {kind: content for kind, content in forms if kind in PICTURES and isinstance(content, str)}
        kept[str(name)] = pictures
    return kept

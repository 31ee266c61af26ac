"""Whatever happened to a notebook's structure, its answers are found, and the teacher is told."""

import json
import os
from copy import deepcopy

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from pioneers.autograder.rebuild import rebuild
from pioneers.autograder.skeleton import Skeleton, about
from pioneers.autograder.submission import SubmissionRefused, contents, find_notebook, read

from .classroom import LAB, Classroom, with_cell

ANSWER = "def softmax(x, dim):\n    return 'mine'"


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    return Classroom(tmp_path_factory.mktemp("course"))


def place(notebook, grade_id):
    return next(i for i, cell in enumerate(notebook.cells) if about(cell).get("grade_id") == grade_id)


def rebuilt(room, notebook):
    text = notebook if isinstance(notebook, str) else json.dumps(notebook)
    return rebuild(room.skeleton, read(text.encode()))


def source(result, grade_id="softmax"):
    return result.notebook.cells[place(result.notebook, grade_id)].source


def kinds(result):
    return sorted({flag.kind for flag in result.flags})


def delete(notebook, grade_id):
    del notebook.cells[place(notebook, grade_id)]


def copy(notebook, grade_id, **changes):
    twin = deepcopy(notebook.cells[place(notebook, grade_id)])
    twin.update(changes)
    notebook.cells.insert(place(notebook, grade_id) + 1, twin)


def split(notebook, at):
    cell = notebook.cells[place(notebook, "softmax")]
    lines = cell.source.splitlines()
    cell.source = "\n".join(lines[:at])
    copy(notebook, "softmax", source="\n".join(lines[at:]))
    place_of_first = place(notebook, "softmax")
    notebook.cells[place_of_first].source = "\n".join(lines[:at])


def strip(notebook):
    for cell in notebook.cells:
        cell.metadata.pop("nbgrader", None)


def all_in_one(notebook):
    """All answers in the cell of the last, the others deleted."""
    first, last = (notebook.cells[place(notebook, name)] for name in ("softmax", "causal_mask"))
    last.source = f"{first.source}\n\n\n{last.source}"
    delete(notebook, "softmax")


def rename(notebook):
    """The answer under an unknown name, and an empty cell where it was."""
    copy(notebook, "softmax")
    notebook.cells[place(notebook, "softmax") + 1].metadata.nbgrader.grade_id = "softmax-copy"
    notebook.cells[place(notebook, "softmax")].source = ""


def below_the_stub(notebook):
    copy(notebook, "softmax")
    del notebook.cells[place(notebook, "softmax") + 1].metadata["nbgrader"]
    notebook.cells[place(notebook, "softmax")].source = ""


def windows(notebook):
    for cell in notebook.cells:
        cell.source = cell.source.replace("\n", "\r\n")


def edit(notebook, grade_id, **changes):
    notebook.cells[place(notebook, grade_id)].update(changes)


def repoint(notebook):
    notebook.cells[place(notebook, "check_softmax")].metadata.nbgrader.points = 1000


DAMAGE = {
    "nothing": (lambda n: None, []),
    "check deleted": (lambda n: delete(n, "check_softmax"), ["deleted"]),
    "set-up deleted": (lambda n: delete(n, "setup"), ["deleted"]),
    "another answer deleted": (lambda n: delete(n, "causal_mask"), ["deleted"]),
    "check copied": (lambda n: copy(n, "check_softmax"), ["copied"]),
    "answer copied": (lambda n: copy(n, "softmax"), ["copied"]),
    "stub behind the answer": (lambda n: copy(n, "softmax", source=""), ["copied"]),
    "answer split": (lambda n: split(n, 1), ["copied", "split"]),
    "metadata stripped": (strip, ["deleted"]),
    "answer under another name": (rename, ["deleted"]),
    "answer below the stub": (below_the_stub, ["deleted"]),
    "line endings of Windows": (windows, []),
    "test edited": (lambda n: edit(n, "check_softmax", source="pass"), ["edited"]),
    "test made text": (lambda n: edit(n, "check_softmax", cell_type="markdown"), []),
    "answer made text": (lambda n: edit(n, "softmax", cell_type="markdown"), ["type"]),
    "answer made raw": (lambda n: edit(n, "softmax", cell_type="raw"), ["type"]),
    "points changed": (repoint, ["points"]),
    "order reversed": (lambda n: n.cells.reverse(), []),
    "outputs of anything": (lambda n: edit(n, "softmax", outputs=[{"text/html": "<script>"}]), []),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_answer_is_found_and_the_damage_named(room, damage):
    spoil, flags = DAMAGE[damage]
    notebook = room.answered(softmax=ANSWER)
    spoil(notebook)
    result = rebuilt(room, notebook)
    assert source(result) == ANSWER
    assert kinds(result) == flags
    ids = [about(cell).grade_id for cell in result.notebook.cells if about(cell)]
    assert ids == [about(cell).grade_id for cell in room.skeleton.released.cells if about(cell)]
    assert source(result, "check_softmax") == source(rebuilt(room, room.answered()), "check_softmax")
    nbformat.validate(result.notebook)


def test_all_answers_in_one_cell_are_found_and_no_stub_comes_after_them(room):
    notebook = room.answered(softmax=ANSWER)
    all_in_one(notebook)
    result = rebuilt(room, notebook)
    assert source(result) == source(result, "causal_mask")
    assert ANSWER in source(result)
    assert kinds(result) == ["deleted"]
    assert not result.blank


def test_an_answer_that_another_one_defines_for_itself_does_not_fill_a_blank(room):
    notebook = room.answered(softmax="")
    notebook.cells[place(notebook, "causal_mask")].source += f"\n\n{ANSWER}"
    assert rebuilt(room, notebook).blank == {"softmax"}


def test_the_last_copy_that_was_written_counts_and_the_earlier_run_before_it(room):
    notebook = room.answered(softmax="def helper():\n    return 3")
    copy(notebook, "softmax", source=ANSWER)
    result = rebuilt(room, notebook)
    assert source(result) == ANSWER
    assert result.notebook.cells[place(result.notebook, "softmax") - 1].source.startswith("def helper")


def test_added_cells_stay_in_order_and_are_marked(room):
    notebook = with_cell(with_cell(room.answered(), "one = 1"), "two = 2")
    result = rebuilt(room, notebook)
    added = [cell for cell in result.notebook.cells if "extra" in cell.metadata.get("tags", ())]
    assert [cell.source for cell in added] == ["one = 1", "two = 2"]
    assert result.notebook.cells.index(added[0]) == place(result.notebook, "softmax") + 1
    assert not result.flags


def test_one_cell_may_answer_two_exercises_when_their_own_are_gone(room):
    notebook = room.answered()
    both = "\n\n".join(source(rebuilt(room, notebook), name) for name in ("softmax", "causal_mask"))
    delete(notebook, "softmax")
    delete(notebook, "causal_mask")
    notebook.cells.append(new_code_cell(both))
    result = rebuilt(room, notebook)
    assert source(result) == source(result, "causal_mask") == both


def test_blank_answers_are_known_as_such(room):
    assert rebuilt(room, room.skeleton.released).blank == {"softmax", "causal_mask", "experiment_reading"}
    assert rebuilt(room, room.answered()).blank == set()


BROKEN = {
    "empty": b"",
    "half": b'{"cells": [{"cell_type": "code", "sou',
    "no notebook": b"{}",
    "a list": b"[]",
    "a number": b"7",
    "not text": b"\xff\xfe\x00\x80",
    "nested": b"[" * 100_000,
    "cells of nothing": b'{"cells": [null]}',
    "a cell without a type": b'{"cells": [{"source": "x"}]}',
    "many cells": json.dumps({"cells": [{"cell_type": "code"}] * 2000}).encode(),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_notebook_is_refused_in_words(case):
    with pytest.raises(SubmissionRefused, match=r"notebook"):
        read(BROKEN[case])


def test_odd_but_readable_notebooks_are_read(room):
    text = json.dumps(room.answered(softmax=ANSWER))
    assert len(read(b"\xef\xbb\xbf" + text.encode())) == len(room.skeleton.released.cells)
    (cell,) = read(b'{"cells": [{"cell_type": "code", "source": ["a\\n", "b"], "metadata": null}]}')
    assert (cell.source, cell.grade_id) == ("a\nb", "")
    (cell,) = read(b'{"cells": [{"cell_type": "code", "source": "\\ud800", "metadata": {"nbgrader": 3}}]}')
    assert cell.source == "?"
    old = nbformat.v3.new_notebook(
        worksheets=[nbformat.v3.new_worksheet(cells=[nbformat.v3.new_code_cell("a = 1")])]
    )
    assert [cell.source for cell in read(nbformat.v3.writes_json(old).encode())] == ["a = 1"]


def test_a_renamed_notebook_is_taken_and_other_files_are_left(room):
    path = room.hand_in("renamed", room.answered(), name="small-Copy1")
    (path.parent / "torch.py").write_text("evil = True")
    found, flags = find_notebook(path.parent, LAB)
    assert found == path
    assert [flag.kind for flag in flags] == ["other files", "renamed"]
    right = room.hand_in("renamed", room.answered())
    found, (flag,) = find_notebook(path.parent, LAB)
    assert found == right
    assert "small-Copy1.ipynb, torch.py" in flag.text


def test_links_are_not_followed(room, tmp_path):
    path = room.hand_in("linked", room.answered())
    path.unlink()
    path.symlink_to(room.folder / "source" / LAB / f"{LAB}.ipynb")
    with pytest.raises(SubmissionRefused, match=r"No notebook was handed in. small.ipynb is a link"):
        find_notebook(path.parent, LAB)
    with pytest.raises(SubmissionRefused, match="cannot be read"):
        contents(path)
    (room.folder / "submitted" / "whole").symlink_to(path.parent.parent)
    with pytest.raises(SubmissionRefused, match="is a link"):
        find_notebook(room.folder / "submitted" / "whole" / LAB, LAB)


def test_what_is_no_file_or_too_large_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.ipynb")
    with pytest.raises(SubmissionRefused, match="not a regular file"):
        contents(tmp_path / "pipe.ipynb")
    with (tmp_path / "large.ipynb").open("wb") as file:
        file.truncate(100 << 20)
    with pytest.raises(SubmissionRefused, match="100 MiB; at most 64 MiB are allowed"):
        contents(tmp_path / "large.ipynb")
    with pytest.raises(SubmissionRefused, match="No notebook was handed in"):
        find_notebook(tmp_path / "nobody", LAB)


def test_a_notebook_in_capitals_is_read(tmp_path):
    (tmp_path / "SMALL.IPYNB").write_text("{}")
    found, flags = find_notebook(tmp_path, LAB)
    assert found.name == "SMALL.IPYNB"
    assert [flag.kind for flag in flags] == ["renamed"]


def test_a_lab_that_was_not_released_is_named(tmp_path):
    with pytest.raises(ValueError, match="nbgrader generate_assignment small"):
        Skeleton.load(tmp_path, LAB)

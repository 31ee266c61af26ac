"""An answer gets the same verdict in the jail as in this process.

One wrong and one right answer of each exercise; ``tests/labs/test_kill_matrix.py`` judges all of them, in
this process. The judge is the same object, and what crosses into the jail has tests of its own.
"""

import pytest

from pioneers.autograder.referee import asked, check_cell
from pioneers.autograder.session import Session
from pioneers.autograder.skeleton import Skeleton, about, is_check
from pioneers.checks import find
from pioneers.checks.answers import Right, Wrong, load_answers

from .classroom import ROOT, release

LABS = sorted(source.parent for source in (ROOT / "labs").glob("*/lab.md"))


@pytest.fixture(scope="module", params=LABS, ids=lambda folder: folder.name)
def verdicts(request, jail):
    """Exercise → (answer, its mark), each given to one jailed process after the other."""
    notebook = release.read(request.param / "lab.md")
    skeleton = Skeleton(request.param.name, notebook, notebook)
    cells = {about(cell).grade_id: cell for cell in notebook.cells if about(cell)}
    answers, session = load_answers(request.param), Session(jail)
    session.cell(cells["setup"].source, "setup")
    found = {}
    for key in answers.wrong:
        cell = cells[f"check_{find(key).name}"]
        assert is_check(cell)
        for answer in (answers.wrong[key][0], answers.right[key][0]):
            session.cell(answer.source, key)
            mark = check_cell(cell, asked(skeleton, about(cell).grade_id), session)
            found.setdefault(key, []).append((answer, mark))
    session.close()
    assert not session.flags
    return found


@pytest.mark.timeout(300)
def test_wrong_answers_lose_and_are_named_and_right_ones_get_everything(verdicts):
    wrong = {
        (key, answer.misconception): (mark.mistake, answer.diagnosis)
        for key, pairs in verdicts.items()
        for answer, mark in pairs
        if isinstance(answer, Wrong) and (mark.score != 0 or mark.mistake != answer.diagnosis)
    }
    assert wrong == {}
    right = [mark for pairs in verdicts.values() for answer, mark in pairs if isinstance(answer, Right)]
    assert len(right) == len(verdicts) >= 6
    assert [mark for mark in right if mark.score != mark.points] == []

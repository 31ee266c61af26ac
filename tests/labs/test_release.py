"""The release script makes what is out of date, all of it or nothing."""

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell, new_notebook

from pioneers.checks import find
from pioneers.checks.loading import drafts

from .conftest import LABS, Lab, release


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(release, "ROOT", tmp_path)
    return tmp_path


def test_a_notebook_is_made_again_only_when_its_sources_changed(folder) -> None:
    made = []

    def make(lab, name):
        made.append(name)
        return lab

    for stamp in ("a", "a", "b"):
        release.bring_up_to_date(folder / "student" / "x.ipynb", stamp, make, new_notebook(), "x")
    assert made == ["x", "x"]
    assert nbformat.read(folder / "student" / "x.ipynb", as_version=4).metadata[release.STAMP] == "b"


def test_a_failure_leaves_the_earlier_notebook_alone(folder) -> None:
    target = folder / "x.ipynb"
    release.bring_up_to_date(target, "a", lambda lab, name: lab, new_notebook(), "x")
    before = target.read_bytes()

    def fail(lab, name):
        raise RuntimeError("the reference fails")

    with pytest.raises(RuntimeError, match="the reference fails"):
        release.bring_up_to_date(target, "b", fail, new_notebook(), "x")
    assert target.read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["x.ipynb"]


def test_a_lab_that_names_other_exercises_than_are_written_is_an_error() -> None:
    cell = new_markdown_cell("## Exercise 5.1\n\n```{exercise} 5.1\n```")
    with pytest.raises(ValueError, match="written are"):
        release.expand([cell], {})
    with pytest.raises(ValueError, match="names the exercises"):
        release.expand([], {draft.key: draft for draft in drafts(release.LABS / "05_bert")})


def test_a_lab_that_nbgrader_refuses_is_an_error_that_says_why(tmp_path) -> None:
    lab = Lab(LABS[0])
    broken = release.read(lab.folder / "lab.md")
    answer = lab.cell(find(lab.keys[0]).name, broken)
    answer.source = answer.source.replace("### END SOLUTION", "")
    with pytest.raises(RuntimeError, match="nbgrader cannot make the student version"):
        release.make_course(tmp_path, broken, lab.name)


def test_the_digest_tells_contents_apart(tmp_path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("a")
    two.write_text("b")
    assert release.digest(one, two) != release.digest(two, one)
    assert release.digest(one) != release.digest(two)

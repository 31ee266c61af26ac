"""An exercise written as edits: what is made of it, and the errors that a slip in writing it gets."""

import pytest
import torch

from pioneers.checks import examine, loading
from pioneers.checks.building import exercise, stops_at
from pioneers.checks.edits import edited
from pioneers.checks.loading import drafts, exercise_files, lab_folders, labs_folder

ANSWER = '''
def scaled(x: Tensor, w: Tensor, factor: float = 2.0) -> Tensor:
    """x w times a factor."""
    return factor * (x @ w)
'''


@pytest.fixture
def ex():
    ex = exercise("9.9", ANSWER, points=3, minutes=5, difficulty=1, reread="sec-scaling")
    ex.inputs(x="B D", w="D C", scale=0.5)
    ex.probe("two rows", B=2, D=3, C=5)
    ex.probe("another factor, in double precision", B=2, D=3, C=5, factor=3.0, dtype=torch.float64)
    ex.hidden("a given matrix", B=1, D=2, w=[[1.0, 2.0], [3.0, 4.0]], C=2, strided=True)
    return ex


def test_name_and_parameters_are_those_of_the_answer(ex) -> None:
    made = ex.finished()
    assert (made.name, made.parameters, made.points) == ("scaled", ("x", "w", "factor=2.0"), 3)
    assert made.reference(torch.ones(1, 1), torch.ones(1, 1)) == 2


def test_probes_have_the_shapes_types_and_values_asked_for(ex) -> None:
    first, second = ex.probes()
    assert [x.shape for x in first.args.values()] == [(2, 3), (3, 5)]
    assert (list(second.args), second.dtype) == (["x", "w", "factor"], torch.float64)
    (hidden,) = ex.finished().hidden()
    assert hidden.strided
    assert hidden.args["w"].tolist() == [[1, 2], [3, 4]]
    assert torch.equal(ex.probes()[0].args["x"], first.args["x"])


def test_every_edit_is_an_answer_that_fails_under_its_name(ex) -> None:
    ex.wrong("the factor is ignored", "It is a parameter.", ("factor * ", ""), ("factor * ", "2.0 * "))
    ex.wrong("the sum", "It is a product.", [("factor * ", "factor + "), ("(x @ w)", "x @ w")])
    assert [wrong.diagnosis for wrong in ex.wrongs] == ["the factor is ignored"] * 2 + ["the sum"]
    for wrong in ex.wrongs:
        space = {"torch": torch, "Tensor": torch.Tensor}
        exec(wrong.source, space)
        assert examine(ex.finished(), space["scaled"]).diagnosis.name == wrong.diagnosis


def test_a_law_gets_the_probe_it_names_and_is_judged(ex) -> None:
    seen = []

    @ex.law("twice", "It is linear.", on="another factor, in double precision")
    def twice(run, probe):
        seen.append(probe.name)
        return 2 * run(probe), run(probe.having("law", x=2 * probe.args["x"])) + 1

    failure = examine(ex.finished(), ex.reference)
    assert (failure.stage, failure.what[:2]) == ("law", ("Law: twice", "It is linear."))
    assert (failure.diagnosis, failure.section) == (None, "sec-scaling")
    assert seen == ["another factor, in double precision"]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (("absent", ""), "'absent' matches 0 times"),
        (("factor", ""), "'factor' matches 3 times"),
        ([("x @", ""), ("(x @ w)", "")], "overlaps another edit"),
    ],
)
def test_an_edit_that_is_not_clear_is_an_error(ex, edit, said) -> None:
    with pytest.raises(ValueError, match=said):
        ex.wrong("a slip", "It is one.", edit)


def test_edits_made_together_do_not_see_each_other() -> None:
    assert edited("a b", [("a", "b"), ("b", "a")]) == "b a"


def test_an_answer_that_does_not_compile_and_an_unknown_mistake_are_errors(ex) -> None:
    with pytest.raises(ValueError, match=r"9.9: an answer does not compile"):
        ex.wrong("a slip", "It is one.", ("return", "return return"))
    with pytest.raises(ValueError, match="defines no function"):
        ex.right("nothing", source="x = 1")
    with pytest.raises(ValueError, match="no mistake is called 'a slip'"):
        ex.wrong("a slip", source=ANSWER)
    ex.wrong("nothing returned", source=ANSWER.replace("return", "y ="))
    assert ex.finished().mistakes == ()


def test_labs_are_found_by_their_numbers_and_their_exercises_by_their_files() -> None:
    folders = lab_folders()
    assert sorted(folders, key=int) == [str(number) for number in range(1, len(folders) + 1)]
    assert all(folder.parent == labs_folder() for folder in folders.values())
    assert len(drafts(folders["5"])) == len(exercise_files(folders["5"])) == 9


def test_an_exercise_is_found_without_reading_other_labs_than_it_builds_on(monkeypatch) -> None:
    read = set()
    monkeypatch.setattr(loading, "drafts", lambda folder: read.add(folder.name) or drafts(folder))
    assert loading.find.__wrapped__("1.1").key == "1.1"
    assert read == {"01_self_attention"}


def test_a_symptom_is_known_by_the_stage_and_the_probe_at_which_judging_stopped(ex) -> None:
    seen = stops_at("two rows", "shape", "finite")
    ex.wrong("one row too few", "Keep all rows.", ("(x @ w)", "(x @ w)[1:]"), shows=seen)
    failure = examine(ex.finished(), lambda x, w, factor=2.0: factor * (x @ w)[1:])
    assert failure.stage == "shape"
    assert failure.diagnosis.name == "one row too few"
    failure = examine(ex.finished(), lambda x, w, factor=2.0: 1 + factor * (x @ w))
    assert failure.stage == "value"
    assert failure.diagnosis is None

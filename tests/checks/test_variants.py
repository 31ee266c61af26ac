"""Variants: each student's numbers are other ones, and every answer gets the verdict that it deserves."""

import hashlib

import pytest
import torch

from pioneers.checks import CheckFailed, check, examine, find, numbers, own_seed, steady, use_variant, variant
from pioneers.checks.edits import define
from pioneers.checks.exercise import Probe
from pioneers.checks.loading import drafts, lab_folders
from pioneers.checks.rng import normals, wholes
from pioneers.checks.steady import is_steady
from pioneers.checks.variant import COMMON, using, variant_of

DRAFTS = {draft.key: draft for folder in lab_folders().values() for draft in drafts(folder)}
STUDENTS = ("amy", "ben", "cleo", "dan", "eve")
BLANK = "def attention(q, k, v):\n    return v.new_zeros(*q.shape[:-1], v.shape[-1])"


def print_of(probe: Probe) -> str:
    """A fingerprint of the arguments of a probe."""
    parts = [(name, x.tolist() if isinstance(x, torch.Tensor) else x) for name, x in probe.args.items()]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def prints(key: str, student: str) -> list[str]:
    with using(variant_of("algebra", student, "secret")):
        return [print_of(probe) for probe in (*find(key).probes(), *find(key).hidden())]


def draws(key: str) -> list[bool]:
    """Whether each of a student's probes, public and hidden, holds anything that is drawn."""
    draft, found = DRAFTS[key], []
    for name, strided, more, given in (*draft.asked[False], *draft.asked[True]):
        one, other = (draft._probe(normals(seed), name, strided, more, given) for seed in (1, 2))
        found.append(more is not dict or print_of(one) != print_of(other))
    return found


@pytest.fixture(autouse=True)
def _common(monkeypatch):
    """Begin without a variant, whatever a test before has used."""
    monkeypatch.setattr(variant, "_used", [])


def test_a_variant_is_made_from_course_and_student_and_the_same_on_every_machine() -> None:
    assert variant_of("algebra", "amy").public == 0x2220D27199D23075
    assert variant_of("", "amy", "secret") == COMMON
    known, unknown = variant_of("algebra", "amy"), variant_of("algebra", "amy", "secret")
    assert known.public == unknown.public != known.hidden != unknown.hidden
    made = {variant_of(course, who) for course in ("a", "b") for who in ("a", "b", "ab", "")}
    assert len({seed for pair in made for seed in pair}) == 2 * len(made) == 16


def test_without_a_variant_the_numbers_are_those_of_all_years_before() -> None:
    public, hidden = (probes[0].args["q"][0, 0] for probes in (find("1.3").probes(), find("1.3").hidden()))
    assert public[:3].tolist() == pytest.approx([-0.7218, -0.2744, 0.7213], abs=1e-4)
    assert hidden[:2].tolist() == pytest.approx([1.2022, -1.1092], abs=1e-4)
    assert [len(DRAFTS["1.4"].asked[True]) - 1, own_seed(7)] == [len(find("1.4").hidden()), 7]


@pytest.mark.parametrize("key", numbers())
def test_every_probe_that_draws_differs_between_students_and_is_the_same_for_one(key, monkeypatch) -> None:
    monkeypatch.setattr(steady, "is_steady", lambda *args: True)
    amy, ben = prints(key, "amy"), prints(key, "ben")
    differ = [a != b for a, b in zip(amy, ben, strict=True)]
    assert differ == draws(key)
    public = len(DRAFTS[key].asked[False])
    assert any(differ[:public]), "no public probe is a student's own"
    assert any(differ[public:]), "no hidden probe is a student's own"
    assert prints(key, "amy") == amy


@pytest.mark.parametrize("key", numbers())
def test_right_answers_pass_and_wrong_ones_lose_and_are_named_in_a_variant(key) -> None:
    draft, place = DRAFTS[key], list(DRAFTS).index(key)
    with using(variant_of("algebra", STUDENTS[place % 5], "secret")):
        hidden = find(key).hidden()
        rights = [draft.answer, *(right.source for right in draft.rights)]
        for source in rights[place % 4 :: 4]:
            assert examine(find(key), define(key, source)) is None, source
            assert examine(find(key), define(key, source), hidden) is None, source
        others = []  # some names depend on where judging stops, and that on the numbers
        for wrong in draft.wrongs[place % 9 :: 9]:
            answer = define(key, wrong.source)
            failure = examine(find(key), answer) or examine(find(key), answer, hidden)
            assert failure, wrong
            if failure.diagnosis is None or failure.diagnosis.name != wrong.diagnosis:
                others.append(wrong)
        assert len(others) <= 1


def test_checks_print_each_students_own_numbers_and_say_whose_they_are(capsys) -> None:
    said = []
    for student in ("amy", "ben"):
        use_variant("algebra", student)
        with pytest.raises(CheckFailed) as caught:
            check("1.3", define("1.3", BLANK))
        said.append((str(caught.value), check.last["q"].tolist()))
    assert said[0][0] != said[1][0]
    assert said[0][1] != said[1][1]
    assert capsys.readouterr().out.splitlines() == [
        "These are the numbers of amy in algebra.",
        "These are the numbers of ben in algebra.",
    ]


def test_on_a_hub_the_numbers_are_those_of_the_login_and_one_line_says_so(monkeypatch, capsys) -> None:
    monkeypatch.setenv("JUPYTERHUB_USER", "amy")
    monkeypatch.setenv("PIONEERS_COURSE", "algebra")
    check("1.4", find("1.4").reference)
    check("1.4", find("1.4").reference)
    said = capsys.readouterr().out
    assert said.count("These are the numbers of amy in algebra.\n") == 1
    with using(variant_of("algebra", "amy")):
        expected = own_seed(3)
    assert own_seed(3) == expected != 3
    monkeypatch.setattr(variant, "_used", [])
    monkeypatch.delenv("PIONEERS_COURSE")
    assert own_seed(3) == 3


def test_hidden_numbers_cannot_be_foreseen_without_the_secret() -> None:
    def hidden(secret):
        with using(variant_of("algebra", "amy", secret)):
            return [print_of(probe) for probe in find("1.3").hidden()]

    assert len({tuple(hidden(secret)) for secret in ("", "one", "another")}) == 3


def test_a_probe_is_drawn_again_where_rounding_would_decide() -> None:
    for student in STUDENTS:
        with using(variant_of("algebra", student)):
            assert all(is_steady(find("3.4"), probe) for probe in find("3.4").probes())
    near = Probe("a tie", {name: torch.ones(1, 1, 1) for name in ("x", "memory", "w_q", "w_k", "w_v")})
    tie = torch.tensor([[[1e4, 1e4 + 1e-3]]]).mT
    args = {"memory": tie, "w_k": torch.full((1, 1), 1e3), "w_q": torch.ones(1, 1), "w_v": torch.ones(1, 1)}
    assert not is_steady(find("3.4"), near.having("a tie", **args, lengths=torch.tensor([2])))


def test_whole_numbers_lie_between_the_ends_and_have_the_shape_asked_for() -> None:
    whole = wholes(3)
    assert {whole(2, 4) for _ in range(50)} == {2, 3, 4}
    assert torch.tensor(whole(0, 9, 2, 5)).shape == (2, 5)

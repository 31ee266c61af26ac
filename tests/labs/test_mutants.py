"""Mutants of the right answers: a sample still fails, and those listed as equivalent still are mutants.

``make experiments NAME=mutants`` judges all of them and writes the table of the guide for instructors.
"""

import datetime

import pytest

from pioneers.analysis import experiment
from pioneers.checks import find, numbers
from pioneers.checks.loading import drafts, lab_folders
from pioneers.checks.mutants import judge_of, mutants, mutants_of, normal

DRAFTS = {draft.key: draft for folder in lab_folders().values() for draft in drafts(folder)}
ROWS = {row["case"]: row for row in experiment("mutants")["rows"]}
TODAY = datetime.date.today().toordinal()


def test_every_change_is_a_single_one_in_code_that_compiles() -> None:
    source = """def f(x: Tensor, dim: int = 1) -> Tensor:
    '''A (→) B.'''
    return x.sum(dim) / (2 * x[:, 1:])
"""
    found = mutants(source)
    bodies = {mutant.source.splitlines()[2].strip() for mutant in found}
    assert all(mutant.source.startswith(source[:60]) for mutant in found)
    assert len({normal(mutant.source) for mutant in found}) == len(found)
    assert {
        "return x.sum() / (2 * x[:, 1:])", "return x.mean(dim) / (2 * x[:, 1:])",
        "return x.sum(dim, keepdim=True) / (2 * x[:, 1:])", "return x.sum(dim) * (2 * x[:, 1:])",
        "return x.sum(dim) // (2 * x[:, 1:])", "return 2 * x[:, 1:] / x.sum(dim)", "return x.sum(dim)",
        "return x.sum(dim) / (2 * x[:, 2:])", "return x.sum(dim) / (2 * x[1:, :])", "pass",
        "return (x.sum(dim) / (2 * x[:, 1:])).detach()", "return x.sum(dim) / (2 / x[:, 1:])",
    } <= bodies  # fmt: skip


@pytest.mark.parametrize("key", [key for key in numbers() if (TODAY + int(key.split(".")[1])) % 3 == 0])
def test_a_sample_of_mutants_fails_and_equivalent_ones_are_mutants(key) -> None:
    found = mutants_of(DRAFTS[key])
    equivalent = {normal(source) for source in DRAFTS[key].equivalents}
    assert equivalent <= {normal(mutant.source) for mutant in found}
    assert len(found) == sum(ROWS[key]["made"].values()) + ROWS[key]["equivalent"]
    known = equivalent | {normal(source) for source in ROWS[key]["survivors"]}
    # A loop may never end in a mutant; the experiment has a limit of time.
    ends = [mutant for mutant in found if "while" not in mutant.source and normal(mutant.source) not in known]
    survives = judge_of(find(key))
    sample = ends[TODAY % 11 :: max(1, len(ends) // 4)]
    assert [mutant.source for mutant in sample if survives(mutant)] == []


def test_the_table_has_every_exercise_and_none_below_95_percent() -> None:
    assert list(ROWS) == numbers()
    assert all(sum(row["killed"].values()) >= 0.95 * sum(row["made"].values()) for row in ROWS.values())

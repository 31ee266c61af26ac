"""Mutants of the right answers: what they are, and that a sample of them loses its points.

``make experiments NAME=mutants`` judges all of them.
"""

import datetime

import pytest

from pioneers.analysis import experiment
from pioneers.checks import find, numbers
from pioneers.checks.loading import drafts, lab_folders
from pioneers.checks.mutants import judge_of, mutants, mutants_of, normal

DRAFTS = {draft.key: draft for folder in lab_folders().values() for draft in drafts(folder)}
ROWS = {row["case"]: row for row in experiment("mutants")["rows"]}
TODAY = datetime.datetime.now(datetime.UTC).toordinal()
SOURCE = """def f(x: Tensor, dim: int = 1) -> Tensor:
    '''A (→) B.'''
    return x.sum(dim) / (2 * x[:, 1:])
"""


def test_every_mutant_has_one_change_in_code_that_compiles() -> None:
    found = mutants(SOURCE)
    changed = {mutant.source.removeprefix(SOURCE[:65]).strip() for mutant in found}
    assert len({normal(mutant.source) for mutant in found}) == len(found) == len(changed)
    assert {
        "return x.sum() / (2 * x[:, 1:])", "return x.mean(dim) / (2 * x[:, 1:])",
        "return x.sum(dim, keepdim=True) / (2 * x[:, 1:])", "return x.sum(dim) * (2 * x[:, 1:])",
        "return x.sum(dim) // (2 * x[:, 1:])", "return 2 * x[:, 1:] / x.sum(dim)", "return x.sum(dim)",
        "return x.sum(dim) / (2 * x[:, 2:])", "return x.sum(dim) / (2 * x[1:, :])",
        "return (x.sum(dim) / (2 * x[:, 1:])).detach()", "return x.sum(dim) / (2 / x[:, 1:])",
    } <= changed  # fmt: skip


@pytest.mark.parametrize("key", [key for key in numbers() if (TODAY + int(key.split(".")[1])) % 3 == 0])
def test_a_sample_of_mutants_fails_and_equivalent_ones_pass(key) -> None:
    found, equivalent = mutants_of(DRAFTS[key]), {normal(source) for source in DRAFTS[key].equivalents}
    same = [mutant for mutant in found if normal(mutant.source) in equivalent]
    assert len(same) == len(equivalent) == ROWS[key]["equivalent"]
    assert len(found) == len(same) + sum(ROWS[key]["made"].values())
    survives = judge_of(find(key))
    assert all(map(survives, same[TODAY % 7 :: max(1, len(same))]))
    # A loop may never end in a mutant; the experiment has a limit of time.
    ends = [mutant for mutant in found if mutant not in same and "while" not in mutant.source]
    sample = ends[TODAY % 11 :: max(1, len(ends) // 4)]
    assert [mutant.source for mutant in sample if survives(mutant)] == []


def test_the_table_has_every_exercise_and_says_how_few_mutants_pass() -> None:
    assert list(ROWS) == numbers()
    made = {key: sum(row["made"].values()) for key, row in ROWS.items()}
    assert min(made.values()) >= 20
    assert all(made[key] - len(row["survivors"]) >= 0.95 * made[key] for key, row in ROWS.items())
    assert all(sum(row["killed"].values()) + len(row["survivors"]) == made[key] for key, row in ROWS.items())

"""Mutants of the right answers: what they are, and that a sample of them loses its points."""

import datetime

import pytest

from pioneers.checks import find, numbers
from pioneers.checks.loading import drafts, lab_folders
from pioneers.checks.mutants import judge_of, mutants, mutants_of, normal

DRAFTS = {draft.key: draft for folder in lab_folders().values() for draft in drafts(folder)}
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
def test_a_sample_of_mutants_fails_and_equivalent_ones_are_mutants(key) -> None:
    found, equivalent = mutants_of(DRAFTS[key]), {normal(source) for source in DRAFTS[key].equivalents}
    assert equivalent <= {normal(mutant.source) for mutant in found}
    # A loop may never end in a mutant; the experiment has a limit of time.
    ends = [m for m in found if "while" not in m.source and normal(m.source) not in equivalent]
    survives = judge_of(find(key))
    sample = ends[TODAY % 11 :: max(1, len(ends) // 4)]
    assert [mutant.source for mutant in sample if survives(mutant)] == []

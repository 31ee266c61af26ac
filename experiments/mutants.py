"""Change the answers to every exercise in one place at a time, and count what the checks notice.

    make experiments NAME=mutants

The mutants are those of ``pioneers.checks.mutants``. One that has not ended in time, on all probes together,
has failed, as it would in a notebook. What is known is kept in ``_build/experiments/mutants.jsonl``: remove
the lines of exercises whose probes have changed.
"""

import signal
from collections import Counter
from types import FrameType
from typing import Any

import torch

from experiments.common import run
from pioneers.checks import find, numbers
from pioneers.checks.loading import drafts, lab_folders
from pioneers.checks.mutants import judge_of, mutants_of, normal

SECONDS = 20


class TooLateError(BaseException):
    """A mutant has not ended; no exception that an answer may catch."""


def too_late(number: int, frame: FrameType | None) -> None:
    """End what is running."""
    raise TooLateError


def one_case(*, seed: int, key: str, seconds: int) -> dict[str, Any]:
    """Count the mutants of an exercise that are no right answers, and those of them that failed."""
    (draft,) = (draft for draft in drafts(lab_folders()[key.split(".")[0]]) if draft.key == key)
    equivalent = {normal(source) for source in draft.equivalents}
    made, killed, survivors = Counter[str](), Counter[str](), []
    survives = judge_of(find(key))
    signal.signal(signal.SIGALRM, too_late)
    for mutant in mutants_of(draft):
        if normal(mutant.source) in equivalent:
            continue
        made[mutant.operator] += 1
        try:
            signal.alarm(seconds)
            alive = survives(mutant)
        except TooLateError:
            alive = False
        finally:
            signal.alarm(0)
        killed[mutant.operator] += not alive
        survivors += [mutant.source] if alive else []
    return {"made": dict(made), "killed": dict(killed), "equivalent": len(equivalent), "survivors": survivors}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)
    cases = {key: {"key": key} for key in numbers()}
    run("mutants", cases, one_case, config={"seconds": SECONDS}, seeds=(0,))


if __name__ == "__main__":
    main()

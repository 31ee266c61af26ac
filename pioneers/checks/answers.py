"""Answer banks: wrong answers that students really write, and right ones written differently.

They come from the exercises beside ``lab.md``. An answer is the source text of the student's cell.
"""

from pathlib import Path
from typing import NamedTuple


class Wrong(NamedTuple):
    """A wrong answer.

    Attributes:
        misconception: the student's belief, in a few words.
        diagnosis: the name of the mistake, which the check must report.
        source: the answer.
    """

    misconception: str
    diagnosis: str
    source: str


class Right(NamedTuple):
    """A right answer that is written differently from the reference.

    Attributes:
        how: the difference, in a few words.
        source: the answer.
    """

    how: str
    source: str


class AnswerBank(NamedTuple):
    """The wrong and right answers of a lab, by the number of the exercise.

    Attributes:
        wrong: the answers that must fail, each with the right diagnosis.
        right: the answers that must pass.
    """

    wrong: dict[str, list[Wrong]]
    right: dict[str, list[Right]]


def load_answers(lab: Path) -> AnswerBank:
    """Return the answer bank of the lab in the folder ``lab``."""
    from pioneers.checks.loading import drafts  # it needs the classes above

    made = drafts(lab)
    return AnswerBank(
        {draft.key: draft.wrongs for draft in made}, {draft.key: draft.rights for draft in made}
    )

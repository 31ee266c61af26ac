"""Banks of answers: wrong ones that students really write, and right ones written differently.

They come from the exercises beside ``lab.md``. An answer is source text, to be put where the student writes.
"""

from pathlib import Path
from typing import NamedTuple


class Wrong(NamedTuple):
    """A wrong answer.

    Attributes:
        misconception: what the student believes, in a few words.
        diagnosis: the name of the mistake that the check must give.
        source: the answer.
    """

    misconception: str
    diagnosis: str
    source: str


class Right(NamedTuple):
    """A right answer written another way than the reference.

    Attributes:
        how: what is different about it.
        source: the answer.
    """

    how: str
    source: str


class AnswerBank(NamedTuple):
    """The answers kept for a lab, by exercise number.

    Attributes:
        wrong: those that must fail, each with the right diagnosis.
        right: those that must pass.
    """

    wrong: dict[str, list[Wrong]]
    right: dict[str, list[Right]]


def load_answers(lab: Path) -> AnswerBank:
    """The bank of the lab in the folder ``lab``."""
    from pioneers.checks.loading import drafts  # it needs the classes above

    made = drafts(lab)
    return AnswerBank(
        {draft.key: draft.wrongs for draft in made}, {draft.key: draft.rights for draft in made}
    )

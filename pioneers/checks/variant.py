"""Variants against copying: the numbers of each student are drawn from a seed made from course and student.

Whatever draws through :mod:`pioneers.checks.rng` draws the numbers of the variant in use. The jail sees this
file; it holds no secret.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

COURSE, STUDENT = "PIONEERS_COURSE", "JUPYTERHUB_USER"  # environment variables of a student's notebook


class Variant(NamedTuple):
    """The numbers of one student.

    Attributes:
        public: what the student's own numbers are drawn from; 0 for those that are the same for all.
        hidden: what the hidden probes are drawn from.
    """

    public: int = 0
    hidden: int = 0


COMMON = Variant()
_used: list[Variant] = []


def variant_of(course: str, student: str, secret: str = "") -> Variant:
    """Return the variant of a student, which is the same on every machine.

    Args:
        course: the name of the course; without one, everybody gets the same numbers.
        student: the student's login name.
        secret: what students do not know, so that they cannot foresee the hidden probes.
    """
    if not course:
        return COMMON
    return Variant(_hash([course, student]) or 1, _hash([course, student, "hidden", secret]) or 1)


def current() -> Variant:
    """Return the variant in use: at first, that of the environment variables, which one line then names."""
    if not _used:
        course, student = os.environ.get(COURSE, ""), os.environ.get(STUDENT, "")
        if course and student:
            use_variant(course, student)
        else:
            _used.append(COMMON)
    return _used[-1]


def use_variant(course: str, student: str) -> None:
    """Check with the numbers of a ``student`` of a ``course`` from now on, in this notebook.

    It decides nothing about marks: the grader takes the student's name from the folder handed in.
    """
    _used[:] = [variant_of(course, student)]
    print(f"These are the numbers of {student} in {course}.")


def adopt(public: int) -> None:
    """Use the variant with this ``public`` seed from now on."""
    _used[:] = [Variant(public, public)]


def redrawn(number: int) -> Variant:
    """Return the variant in use after so many draws that were not used."""
    return Variant(*(_hash([seed, number]) for seed in current())) if number else current()


@contextmanager
def using(variant: Variant) -> Iterator[None]:
    """Use a ``variant`` inside of a ``with`` block."""
    _used.append(variant)
    try:
        yield
    finally:
        _used.pop()


def own_seed(seed: int = 0) -> int:
    """Return the ``seed`` itself in the common variant, and another one in every other."""
    public = current().public
    return _hash([public, seed]) >> 32 if public else seed


def _hash(parts: list[str | int]) -> int:
    return int.from_bytes(hashlib.sha256(json.dumps(parts).encode()).digest()[:8])

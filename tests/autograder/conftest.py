"""Fixtures for the tests of the grader: a jail that was tested."""

import os

import pytest

from pioneers.autograder.jail import Limits, NoJail
from pioneers.autograder.self_test import escape_attempts

# Five workers try to break out of their jails at once, and must do so in time: only for those who ask, on a
# machine that does nothing else.
collect_ignore = [] if os.environ.get("PIONEERS_CLUSTER") == "1" else ["test_cluster.py"]


@pytest.fixture(scope="session")
def jail():
    """The limits of a jail that was tried."""
    limits = Limits(cell=20, call=5, total=120)
    try:
        assert escape_attempts(limits) == []
    except NoJail as reason:
        pytest.skip(f"no jail on this machine: {reason}")
    return limits

"""Fixtures for the tests of the grader: a jail that was tested."""

import functools
import os

import pytest

from pioneers.autograder import self_test
from pioneers.autograder.jail import Limits, NoJail
from pioneers.autograder.self_test import escape_attempts

# Five workers try to break out of their jails at once, and must do so in time: only for those who ask, on a
# machine that does nothing else.
collect_ignore = [] if os.environ.get("PIONEERS_CLUSTER") == "1" else ["test_cluster.py"]


@pytest.fixture(scope="session", autouse=True)
def tried_once():
    """The command tries its jails before every class; here, once for the same limits and attempts."""

    @functools.cache
    def once(limits, *attempts):
        return self_test.try_jails(limits)

    def try_jails(limits):
        return once(limits, self_test.escape_attempts, self_test.attempts_of_forks)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pioneers.cli.grade.try_jails", try_jails)
        yield


@pytest.fixture(scope="session")
def jail():
    """The limits of a jail that was tried."""
    limits = Limits(cell=20, call=5, total=120)
    try:
        assert escape_attempts(limits) == []
    except NoJail as reason:
        pytest.skip(f"no jail on this machine: {reason}")
    return limits

"""What every test may use, and the rule of `.ci/run`: there, a test that is skipped has failed.

Three kinds may be skipped even there: tests of the GPU, tests of public data sets that nobody supplied, and
tests of the jail on a machine whose kernel forbids one.
"""

import gc
import os
import random
import shutil
from pathlib import Path

import pytest

# The grader's tests give their prisoners seconds, and those of times measure: one by one, in one process.
ONE_BY_ONE = ("tests/autograder/", "tests/notebooks/test_times.py")

# Counting lines takes a third of the time of tests that run the same ones again and again, or other people's.
UNCOUNTED = (
    "tests/checks/test_exercises.py",
    "tests/checks/test_variants.py",
    "tests/experiments/",
    "tests/labs/test_kill_matrix.py",
    "tests/models/test_every_model.py",
    "tests/models/test_export.py",
    "tests/notebooks/",
    "tests/test_project.py",
    "tests/tokenizers/test_published.py",
    "tests/tokenizers/test_unicode.py",
    "tests/weights/",
)

ROOT = Path(__file__).parents[1]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="session")
def root():
    """The repository's folder."""
    return ROOT


@pytest.fixture(scope="session")
def public_data():
    """The folder of published data sets that PIONEERS_DATA names."""
    folder = os.environ.get("PIONEERS_DATA")
    if not folder:
        pytest.skip("PIONEERS_DATA does not name a folder with the published data sets")
    return Path(folder)


@pytest.fixture(scope="session")
def html(root):
    """The folder of the built book."""
    folder = root / "_build" / "html"
    if not (folder / "index.html").is_file():
        pytest.skip("the book is not built: run `make book`")
    return folder


@pytest.fixture
def seed():
    """A seed that is drawn and printed with a failure; PIONEERS_SEED=... fixes it, as CI does."""
    drawn = int(os.environ.get("PIONEERS_SEED") or random.SystemRandom().randrange(10**6))
    print(f"PIONEERS_SEED={drawn}")
    return drawn


@pytest.fixture
def interruptible(monkeypatch):
    """Processes started now are not measured: a signal's exception within coverage leaves its lock held."""
    monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)


@pytest.fixture(scope="module")
def browser():
    """A running browser."""
    sync_api = pytest.importorskip("playwright.sync_api")
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        pytest.skip("no browser: sudo apt install chromium")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield running
        running.close()


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: needs a GPU; the only tests that may be skipped everywhere")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.nodeid.startswith(UNCOUNTED):
            item.add_marker("no_cover")


def pytest_collection_finish():
    gc.collect()
    gc.freeze()  # or Python looks for garbage among the tests and in torch, all the time


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A file's tests stay in one process, because they share what is slow to make."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return "one by one" if file.startswith(ONE_BY_ONE) else file

    return Scheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if not report.skipped or hasattr(report, "wasxfail"):
        return report
    no_data = "PIONEERS_DATA" in str(report.longrepr) and not os.environ.get("PIONEERS_DATA")
    no_jail = "bubblewrap cannot build a jail here" in str(report.longrepr)
    excused = item.get_closest_marker("gpu") or no_data or no_jail
    if os.environ.get("PIONEERS_NO_SKIP") and not excused:
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be skipped: {report.longrepr[-1]}"
    return report

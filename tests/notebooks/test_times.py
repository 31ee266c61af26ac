"""No page and no lab takes long: the seconds that their builds recorded."""

import os
import re
import time

import jupytext
import nbformat
import pytest
from jupyter_cache import get_cache
from nbclient import NotebookClient

SLOW = float(os.environ.get("PIONEERS_SLOW_MACHINE", 1))
PAGE, LAB = 60 * SLOW, 90 * SLOW  # seconds on two cores


def seconds_alone(page):
    """The build runs two pages at a time; a page that then took too long is run once more, by itself."""
    notebook, began = jupytext.read(page), time.perf_counter()
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": os.path.dirname(page)}}).execute()
    return time.perf_counter() - began


def test_every_page_runs_within_a_minute(root):
    cache = root / "_build" / ".jupyter_cache"
    if not cache.is_dir():
        pytest.skip("the book is not built: run `make book`")
    records = get_cache(cache).list_cache_records()
    seconds = {record.uri: record.data["execution_seconds"] for record in records}
    pages = re.findall(r"file: (lectures/\S+)", (root / "_toc.yml").read_text())
    lectures = [str(root / f"{page}.md") for page in pages]
    assert set(lectures) <= set(seconds), "pages that the build did not run"
    slow = {page: seconds_alone(page) for page, taken in seconds.items() if taken > PAGE}
    assert not {page: taken for page, taken in slow.items() if taken > PAGE}


def test_every_lab_runs_within_a_minute_and_a_half(root):
    references = sorted((root / "_build" / "reference").glob("*.ipynb"))
    if not references:
        pytest.skip("the labs are not built: run `make labs`")
    seconds = {path.stem: nbformat.read(path, as_version=4).metadata["seconds"] for path in references}
    assert set(seconds) == {source.parent.name for source in (root / "labs").glob("*/lab.md")}
    assert not {name: taken for name, taken in seconds.items() if taken > LAB}

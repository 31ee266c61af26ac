"""No page and no lab takes long: the seconds that their builds recorded; slow ones are run again."""

import os
import re
import resource
import time

import jupytext
import nbformat
import pytest
import torch
from jupyter_cache import get_cache
from nbclient import NotebookClient

PAGE, LAB = 60, 90  # seconds of one core of the machine on which the limits were set
YARDSTICK = 2.4  # seconds that the yardstick takes there


def yardstick():
    """Seconds of one processor for a fixed piece of training: how fast is this machine just now?"""
    layer = torch.nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for step in range(22):
            if step == 2:  # the first ones set up
                began = time.process_time()
            model(torch.ones(16, 64, 128)).sum().backward()
    finally:
        torch.set_num_threads(threads)
    return time.process_time() - began


def processor_seconds(page):
    """Run a page; seconds of a processor that its kernel, and all that it starts, have used."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    folder = {"metadata": {"path": os.path.dirname(page)}}
    client = NotebookClient(jupytext.read(page), timeout=900, resources=folder)
    client.execute(env={**os.environ, "OMP_NUM_THREADS": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.fixture(scope="module")
def slowness():
    """How many times slower than the yardstick's machine this one is; 1 for a faster one."""
    return max(1.0, min(yardstick() for _ in range(3)) / YARDSTICK)


def recorded(root):
    """The seconds of every page when the book was built, two pages at a time."""
    cache = root / "_build" / ".jupyter_cache"
    if not cache.is_dir():
        pytest.skip("the book is not built: run `make book`")
    return {record.uri: record.data["execution_seconds"] for record in get_cache(cache).list_cache_records()}


@pytest.mark.timeout(1800)
def test_every_page_runs_within_a_minute(root, slowness):
    seconds = recorded(root)
    pages = re.findall(r"file: (lectures/\S+)", (root / "_toc.yml").read_text())
    lectures = [str(root / f"{page}.md") for page in pages]
    assert set(lectures) <= set(seconds), "pages that the build did not run"
    slow = {page: processor_seconds(page) for page, taken in seconds.items() if taken > PAGE * slowness}
    assert not {page: taken for page, taken in slow.items() if taken > PAGE * slowness}


def test_every_lab_runs_within_a_minute_and_a_half(root, slowness):
    references = sorted((root / "_build" / "reference").glob("*.ipynb"))
    if not references:
        pytest.skip("the labs are not built: run `make labs`")
    seconds = {path.stem: nbformat.read(path, as_version=4).metadata["seconds"] for path in references}
    assert set(seconds) == {source.parent.name for source in (root / "labs").glob("*/lab.md")}
    assert not {name: taken for name, taken in seconds.items() if taken > LAB * slowness}

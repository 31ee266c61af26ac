"""No page takes long: the seconds that the book's build recorded."""

import os

import pytest
import yaml
from jupyter_cache import get_cache

LIMIT = 60 * float(
    os.environ.get("PIONEERS_SLOW_MACHINE", 1)
)  # seconds on two cores; the variable is a factor


def test_every_page_runs_within_a_minute(root):
    caches = list((root / "_build" / ".jupyter_cache").glob("*"))
    if not caches:
        pytest.skip("the book is not built: run `make book`")
    records = get_cache(max(caches, key=os.path.getmtime)).list_cache_records()
    seconds = {record.uri: record.data["execution_seconds"] for record in records}
    toc = yaml.safe_load((root / "_toc.yml").read_text())
    pages = [page["file"] for part in toc["parts"] for page in part["chapters"]]
    lectures = [str(root / f"{page}.md") for page in pages if page.startswith("lectures/")]
    assert set(lectures) <= set(seconds), "pages that the build did not run"
    assert not {uri: taken for uri, taken in seconds.items() if taken > LIMIT}

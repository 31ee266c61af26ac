"""The status page and the lines under the lectures' titles tell what the build recorded, of every page."""

import re
import sys

import pytest
from bs4 import BeautifulSoup


def read(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").select_one("article")


@pytest.fixture(scope="module")
def rows(html):
    """Run time, peak memory and last run, by the page's file."""
    page = html / "book" / "status.html"
    lines = read(page).select_one("table").select("tbody tr")
    cells = [[cell.get_text(strip=True) for cell in line.select("td")] for line in lines]
    return {(page.parent / line.a["href"]).resolve(): row[1:] for line, row in zip(lines, cells, strict=True)}


def test_every_lecture_has_its_row_and_its_line(root, html, rows, monkeypatch):
    monkeypatch.syspath_prepend(root / "book" / "_ext")
    from reading import minutes

    names = re.findall(r"file: (lectures/\S+)", (root / "_toc.yml").read_text())
    for name in names:
        file = html / f"{name}.html"
        line = read(file).select_one("h1 + p.page-times").text
        reading, running = re.fullmatch(r"About (\d+) minutes to read · runs in (\d+) s", line).groups()
        assert int(reading) == minutes(root / f"{name}.md")
        assert int(running) == pytest.approx(float(rows[file][0].removesuffix(" s")), abs=0.6)


def test_rows_say_how_much_memory_and_when(html, rows):
    for _, memory, when in rows.values():
        assert re.fullmatch(r"\d+\.\d\d GiB|not measured", memory)
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", when)
    if sys.platform == "linux":  # this page runs at every build
        assert rows[html / "book" / "guide_instructors.html"][1].endswith("GiB")


def test_versions_are_told(html):
    table = dict(
        [cell.get_text(strip=True) for cell in line.select("td")]
        for line in read(html / "book" / "status.html").select("table")[1].select("tbody tr")
    )
    assert table["Python"] == ".".join(map(str, sys.version_info[:3]))
    assert {"machine", "pioneers", "torch", "jupyter-book"} <= set(table)

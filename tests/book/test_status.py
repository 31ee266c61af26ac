"""The status page and the lines under the lectures' titles tell what the build recorded, of every page."""

import re
import sys

import pytest
from lxml.html import document_fromstring


def read(path):
    return document_fromstring(path.read_text(encoding="utf-8")).find(".//article")


def rows_of(table):
    """The rows of a table's body, each with its cells."""
    return [(line, line.findall("td")) for line in table.findall("tbody/tr")]


@pytest.fixture(scope="module")
def rows(html):
    """Run time, peak memory and last run, by the page's file."""
    page = html / "book" / "status.html"
    lines = rows_of(read(page).find(".//table"))
    files = [(page.parent / line.find(".//a").get("href")).resolve() for line, _ in lines]
    return {
        file: [cell.text_content().strip() for cell in cells[1:]]
        for file, (_, cells) in zip(files, lines, strict=True)
    }


def test_every_lecture_has_its_row_and_its_line(root, html, rows, monkeypatch):
    monkeypatch.syspath_prepend(root / "book" / "_ext")
    from reading import minutes

    names = re.findall(r"file: (lectures/\S+)", (root / "_toc.yml").read_text())
    for name in names:
        file = html / f"{name}.html"
        line = read(file).xpath("descendant::h1/following-sibling::*[1][self::p]")[0].text_content()
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
    tables = read(html / "book" / "status.html").findall(".//table")
    table = dict([cell.text_content().strip() for cell in cells] for _, cells in rows_of(tables[1]))
    assert table["Python"] == ".".join(map(str, sys.version_info[:3]))
    assert {"machine", "pioneers", "torch", "jupyter-book"} <= set(table)

"""The concept index is complete, and everything it points to is there."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IDEAS = {1: 2, 2: 5, 3: 2, 4: 3, 5: 4, 6: 5, 7: 1, 8: 1, 9: 7, 10: 5, 11: 3, 12: 1, 13: 8, 14: 4, 15: 3}
ROWS = [f"{chapter}.{number}" for chapter, count in IDEAS.items() for number in range(1, count + 1)]
FIELDS = ["Read", "Code", "Tests", "From"]
PAGE = (ROOT / "book/concept_index.md").read_text()
HEADINGS = re.findall(r"^### (\d+\.\d+) ", PAGE, re.MULTILINE)
BODIES = re.split(r"^##.*\n", PAGE, flags=re.MULTILINE)[1:]
ENTRIES = dict(zip(HEADINGS, (body for body in BODIES if body.strip()), strict=True))
PAGES = [path.read_text() for folder in ("lectures", "book") for path in ROOT.glob(f"{folder}/*.md")]
ANCHORS = set(re.findall(r"^\((\S+)\)=$", "\n".join(PAGES), re.MULTILINE))
KEYS = set(re.findall(r"^@\w+\{(\S+),$", (ROOT / "book/references.bib").read_text(), re.MULTILINE))


def field(row, name):
    return dict(re.findall(r"^:(\w+): (.+)$", ENTRIES[row], re.MULTILINE))[name]


def test_every_row_is_there_once_and_in_order():
    assert HEADINGS == ROWS


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_its_four_fields(row):
    assert re.findall(r"^:(\w+): \S", ENTRIES[row], re.MULTILINE) == FIELDS


@pytest.mark.parametrize("row", ROWS)
def test_every_section_is_an_anchor_of_a_page(row):
    sections = re.findall(r"\{ref\}`([\w-]+)`", field(row, "Read"))
    assert sections
    assert not [section for section in sections if section not in ANCHORS]


@pytest.mark.parametrize("row", ROWS)
def test_every_name_can_be_imported(row):
    names = re.findall(r"\{py:\w+\}`~(pioneers\.[\w.]+)\.(\w+)`", field(row, "Code"))
    assert names and len(names) == field(row, "Code").count("{py:")
    assert not [name for module, name in names if not hasattr(importlib.import_module(module), name)]


@pytest.mark.parametrize("row", ROWS)
def test_every_test_file_exists(row):
    files = re.findall(r"`(tests/\w+/test_\w+\.py)`", field(row, "Tests"))
    assert files and len(files) == field(row, "Tests").count("`") / 2
    assert not [name for name in files if not (ROOT / name).is_file()]


@pytest.mark.parametrize("row", ROWS)
def test_every_paper_is_in_the_references(row):
    keys = re.findall(r"\{cite:t\}`([^`]+)`", field(row, "From"))
    assert keys
    assert not [key for key in keys if key not in KEYS]

"""What a lecture's text promises: short cells, and figures described in words."""

import re
from pathlib import Path

import jupytext
import pytest

ROOT = Path(__file__).parents[2]

LECTURES = re.findall(r"file: (lectures/\S+)", (ROOT / "_toc.yml").read_text())


@pytest.fixture(params=LECTURES)
def cells(request):
    notebook = jupytext.read(ROOT / f"{request.param}.md")
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_cells_fit_a_screen(cells):
    too_long = [cell.source for cell in cells if len(cell.source.splitlines()) > 25]
    assert not too_long


def test_figures_have_words(cells):
    """A cell that shows a figure says in its metadata what can be seen."""
    silent = [
        cell.source
        for cell in cells
        if "plt.show()" in cell.source and not cell.metadata.get("mystnb", {}).get("image", {}).get("alt")
    ]
    assert not silent


def test_no_cell_may_fail_in_silence(cells):
    assert cells
    assert not [cell.source for cell in cells if "raises-exception" in cell.metadata.get("tags", [])]

"""The test of the notebooks' test: a broken cell or a changed number fails, an untouched notebook passes."""

import re
import subprocess
import sys
from copy import deepcopy

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

CELLS = ["import torch\ntorch.manual_seed(0)\nx = torch.randn(3)", "print(x.sum().item())", "x.shape"]


@pytest.fixture(scope="module")
def executed():
    notebook = new_notebook(cells=[new_code_cell(source) for source in CELLS])
    return NotebookClient(notebook, kernel_name="python3").execute()


def command(root):
    """The options with which `make test` runs the notebooks again."""
    options = re.search(r"^\tpytest (--nbval (--\S+ )+)", (root / "Makefile").read_text(), re.MULTILINE)[1]
    return [sys.executable, "-m", "pytest", "-q", "-c", str(root / "pyproject.toml"), *options.split()]


def outcomes(notebook, root, tmp_path):
    path = tmp_path / "page.ipynb"
    nbformat.write(notebook, path)
    run = subprocess.run([*command(root), str(path)], capture_output=True, text=True, cwd=tmp_path)
    return run.returncode, run.stdout


def test_an_untouched_notebook_passes(executed, root, tmp_path):
    code, output = outcomes(executed, root, tmp_path)
    assert code == 0, output
    assert "3 passed" in output


def test_a_broken_cell_fails(executed, root, tmp_path):
    broken = deepcopy(executed)
    broken.cells[1].source = "print(y.sum().item())"
    code, output = outcomes(broken, root, tmp_path)
    assert code == 1
    assert "NameError" in output


def test_a_changed_number_fails(executed, root, tmp_path):
    changed = deepcopy(executed)
    output = changed.cells[1].outputs[0]
    output.text = output.text.strip() + "1\n"
    code, output = outcomes(changed, root, tmp_path)
    assert code == 1
    assert "1 failed, 2 passed" in output

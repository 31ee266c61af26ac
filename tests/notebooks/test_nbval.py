"""The test of the notebooks' test: a broken cell or a changed number fails, an untouched notebook passes."""

import importlib.util
import subprocess
from copy import deepcopy
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

ROOT = Path(__file__).parents[2]
CELLS = ["import torch\ntorch.manual_seed(0)\nx = torch.randn(3)", "print(x.sum().item())", "x.shape"]


@pytest.fixture(scope="module")
def executed():
    notebook = new_notebook(cells=[new_code_cell(source) for source in CELLS])
    return NotebookClient(notebook, kernel_name="python3").execute()


@pytest.fixture(scope="module")
def rerun():
    spec = importlib.util.spec_from_file_location("rerun", ROOT / "tests" / "rerun.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def outcomes(notebook, rerun, tmp_path):
    """How `make test` judges a notebook."""
    path = tmp_path / "page.ipynb"
    nbformat.write(notebook, path)
    run = rerun.run(path)
    return run.returncode, run.stdout


def test_an_untouched_notebook_passes(executed, rerun, tmp_path):
    code, output = outcomes(executed, rerun, tmp_path)
    assert code == 0, output
    assert "3 passed" in output


def test_a_broken_cell_fails(executed, rerun, tmp_path):
    broken = deepcopy(executed)
    broken.cells[1].source = "print(y.sum().item())"
    code, output = outcomes(broken, rerun, tmp_path)
    assert code == 1
    assert "NameError" in output


def test_a_changed_number_fails(executed, rerun, tmp_path):
    changed = deepcopy(executed)
    output = changed.cells[1].outputs[0]
    output.text = output.text.strip() + "1\n"
    code, output = outcomes(changed, rerun, tmp_path)
    assert code == 1
    assert "1 failed, 2 passed" in output


@pytest.fixture
def build(executed, tmp_path):
    """A build with one page whose code imports a module."""
    for folder in ("lectures", "pioneers", "_build/rerun/lectures"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "lectures" / "page.md").touch()
    for name in ("__init__", "used", "other"):
        (tmp_path / "pioneers" / f"{name}.py").touch()
    notebook = deepcopy(executed)
    notebook.cells[0].source += "\nfrom pioneers.used import x"
    nbformat.write(notebook, tmp_path / "_build" / "rerun" / "lectures" / "page.ipynb")
    return tmp_path


def test_a_notebook_that_has_passed_is_skipped_until_something_changes(build, rerun, monkeypatch, capsys):
    code, page = 0, build / "_build" / "rerun" / "lectures" / "page.ipynb"
    monkeypatch.setattr(rerun, "run", lambda path: subprocess.CompletedProcess([], code, "a line", ""))

    def ran(*arguments):
        status = rerun.main(arguments, build)
        said = capsys.readouterr().out.splitlines()
        assert status == code * ("page: a line" in said)
        return "0 skipped" in said[0] and "1 to run" in said[0] and "page: a line" in said

    assert ran()
    assert not ran()
    assert ran("--all")
    (build / "pioneers" / "other.py").write_text("x = 1")
    assert not ran()
    (build / "pioneers" / "used.py").write_text("x = 1")
    code = 1
    assert ran()
    assert ran()  # it failed, so it runs again
    code = 0
    assert ran()
    assert not ran()
    page.write_text(page.read_text().replace("tensor", "tensors").replace("torch.Size", "torch.Sizes"))
    assert ran()  # other outputs

"""The notebooks that the launch buttons open: they are there, and run where only the package is installed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
REPOSITORY, COMMIT = "somebody/somewhere", "0123abc"
CONFIGURATION = f"""
import sys
sys.path.insert(0, {str(ROOT / "book" / "_ext")!r})
extensions = ["myst_nb", "sphinx_book_theme", "launch", "checks"]
myst_enable_extensions = ["attrs_inline"]
html_theme, nb_execution_mode, root_doc = "sphinx_book_theme", "off", "book/index"
suppress_warnings = ["toc.not_included"]
exclude_patterns = ["_build"]
"""


@pytest.fixture(scope="module")
def pages():
    return re.findall(r"file: ((?:lectures|labs|book/published)\S+)", (ROOT / "_toc.yml").read_text())


@pytest.fixture(scope="module")
def branch(pages, tmp_path_factory):
    """What the publish workflow pushes, made by the command that it runs."""
    if not all((ROOT / f"{page}.ipynb").is_file() for page in pages if page.startswith("labs/")):
        pytest.skip("the labs are not made: run `make labs`")
    folder = tmp_path_factory.mktemp("branch")
    script, words = "book/notebooks.py", [folder, f"https://github.com/{REPOSITORY}", COMMIT]
    assert f"python {script} _build/notebooks" in (ROOT / ".github/workflows/publish.yml").read_text()
    subprocess.run([sys.executable, script, *words], cwd=ROOT, check=True)
    return folder


PAGE = """\
---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
---

# A page

Half of it is [0.5]{.derived}.

```{code-cell} ipython3
:tags: [checks]
assert True
```
"""


def build(pages, folder, **environment):
    """A book with pages of the same names, built with the extension that makes the buttons."""
    for page in [*pages, "book/index"]:
        path = folder / f"{page}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PAGE)
    (folder / "conf.py").write_text(CONFIGURATION)
    own = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    words = [sys.executable, "-m", "sphinx", "-q", "-b", "html", folder, folder / "_build" / "html"]
    subprocess.run(words, check=True, env=own | environment, capture_output=True)
    html = {page: folder / "_build" / "html" / f"{page}.html" for page in [*pages, "book/index"]}
    link = re.compile(r'href="(https?://[^"]*\.ipynb)"')
    return {page: set(link.findall(path.read_text())) for page, path in html.items()}


def test_the_buttons_of_every_page_lead_to_its_notebook(pages, branch, tmp_path):
    links = build(pages, tmp_path, GITHUB_REPOSITORY=REPOSITORY)
    for page in pages:
        assert links[page] == {
            f"https://colab.research.google.com/github/{REPOSITORY}/blob/notebooks/{page}.ipynb",
            f"https://mybinder.org/v2/gh/{REPOSITORY}/notebooks?urlpath=lab/tree/{page}.ipynb",
        }
        assert (branch / f"{page}.ipynb").is_file()
    assert not links["book/index"]  # only pages that are run are opened elsewhere


def test_without_a_repository_there_are_no_buttons_and_checks_are_folded(pages, tmp_path):
    assert set().union(*build(pages[:1], tmp_path).values()) == set()
    page = BeautifulSoup((tmp_path / "_build" / "html" / f"{pages[0]}.html").read_text(), "html.parser")
    folded = page.select_one("details.hide")
    assert folded.summary.text.split() == ["Checks", "Checks"]  # what it says when closed, and when open
    assert "assert True" in folded.text
    assert page.select_one("span.derived").text == "0.5"


def test_the_first_cell_installs_the_package_and_nothing_else_is_added(pages, branch):
    for page in pages:
        notebook = nbformat.read(branch / f"{page}.ipynb", as_version=4)
        nbformat.validate(notebook)
        assert f"pioneers[data] @ git+https://github.com/{REPOSITORY}@{COMMIT}" in notebook.cells[0].source
        assert not any("%pip" in cell.source for cell in notebook.cells[1:])
        assert f"https://somebody.github.io/somewhere/{page}.html" in notebook.cells[1].source
        assert notebook.metadata["kernelspec"]["name"] == "python3"
        assert not any(cell.get("outputs") for cell in notebook.cells)
    assert COMMIT in (branch / "requirements.txt").read_text()


def test_a_lecture_runs_in_a_bare_folder_with_the_package_as_it_is_installed(branch, tmp_path, monkeypatch):
    listed = ["git", "ls-files", "pioneers", "pyproject.toml", "README.md", "LICENSE"]
    files = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    for file in files:
        (tmp_path / "source" / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / "source" / file)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    subprocess.run([*pip, "--target", tmp_path / "installed", tmp_path / "source"], check=True)
    (tmp_path / "installed" / "myst_nb.py").write_text("raise ImportError('only the book has it')")
    bare = tmp_path / "bare"
    bare.mkdir()
    notebook = nbformat.read(branch / "lectures" / "06_transformer.ipynb", as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("print(pioneers.__file__)"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "installed"))
    client = NotebookClient(
        notebook, timeout=200, kernel_name="python3", resources={"metadata": {"path": bare}}
    )
    client.execute()
    assert str(tmp_path / "installed") in notebook.cells[-1].outputs[0].text
    assert not notebook.cells[0].outputs  # the package was there

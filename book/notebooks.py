"""Make what the branch ``notebooks`` holds: each lecture and lab, to be run where nothing is installed.

    python book/notebooks.py FOLDER REPOSITORY COMMIT

The launch buttons of the pages (``_ext/launch.py``) open these notebooks on Colab and Binder. A first cell
installs the package from the REPOSITORY at the COMMIT, if there is none; the text sources need no such cell.
The labs are taken from ``labs/student`` (``make labs``).
"""

import sys
from pathlib import Path

import jupytext
import nbformat
import yaml
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

ROOT = Path(__file__).resolve().parents[1]
BESIDE = "matplotlib sacrebleu"  # what pages import beside the package and what it needs
INSTALL = """\
# Only where there is no such package yet, as on Colab; it takes a minute.
try:
    import pioneers
except ImportError:
    %pip install --quiet "{package}" {beside}"""


def pages() -> list[str]:
    """The lectures and labs of the book, as its table of contents names them."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    files = [page["file"] for part in toc["parts"] for page in part["chapters"]]
    return [file for file in files if file.startswith(("lectures/", "labs/"))]


def notebook(page: str, package: str) -> NotebookNode:
    """A page without outputs, behind a cell that installs the ``package``."""
    text = ROOT / f"{page}.md"
    made = jupytext.read(text if text.is_file() else ROOT / f"{page}.ipynb")
    made.metadata.pop("jupytext", None)
    made.cells.insert(0, new_code_cell(INSTALL.format(package=package, beside=BESIDE)))
    for number, cell in enumerate(made.cells):
        cell["id"] = f"cell-{number}"  # the same at every publication
    return made


def main(folder: Path, repository: str, commit: str) -> None:
    """Write the notebooks, and what Binder installs, into the ``folder``."""
    package = f"pioneers[data] @ git+{repository}@{commit}"
    for page in pages():
        target = folder / f"{page}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook(page, package), target)
    (folder / "requirements.txt").write_text("\n".join([package, *BESIDE.split()]) + "\n")
    (folder / "README.md").write_text(
        f"The notebooks of [Pioneering Transformers]({repository}), made from commit {commit}.\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])

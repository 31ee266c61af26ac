"""Make what the branch ``notebooks`` holds: each lecture and lab, to be run where nothing is installed.

    python book/notebooks.py FOLDER REPOSITORY COMMIT

The launch buttons of the pages (``_ext/launch.py``) open these notebooks on Colab and Binder. They are those
that the pages offer (``_ext/clean.py``), without outputs; the numbers in their text are those of the last
build. The labs are taken from ``labs/student`` (``make labs``).
"""

import sys
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from clean import BESIDE, Source, clean, contents, glued  # noqa: E402 (it is no package)
from launch import LAUNCHED  # noqa: E402


def pages() -> list[str]:
    """The pages that have launch buttons, as the table of contents names them."""
    return [page for page in contents() if page.startswith(LAUNCHED)]


def notebook(page: str, source: Source) -> NotebookNode:
    """A page without outputs, with the numbers of its last run."""
    text, executed = ROOT / f"{page}.md", ROOT / "_build" / "jupyter_execute" / f"{page}.ipynb"
    numbers = glued(nbformat.read(executed, as_version=4)) if executed.is_file() else {}
    return clean(jupytext.read(text if text.is_file() else ROOT / f"{page}.ipynb"), page, source, numbers)


def main(folder: Path, repository: str, commit: str) -> None:
    """Write the notebooks, and what Binder installs, into the ``folder``."""
    source = Source(repository, commit)
    for page in pages():
        target = folder / f"{page}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook(page, source), target)
    (folder / "requirements.txt").write_text("\n".join([source.package, *BESIDE.split()]) + "\n")
    (folder / "README.md").write_text(
        f"The notebooks of [Pioneering Transformers]({repository}), made from commit {commit}.\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])

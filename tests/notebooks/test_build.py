"""The build does what it promises, proved on a book of one page: fresh numbers, and nothing wrong passes."""

import os
import re
import shutil
import subprocess
import sys
from unittest.mock import ANY

import nbformat
import pytest

PAGE = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# A page

$x^2$

```{code-cell}
from pathlib import Path
print("the number is", Path("../pioneers/number.txt").read_text())
```
"""


class Book:
    """A copy of the book's frame with one page, and the real `make book` to build it."""

    def __init__(self, root, folder):
        self.folder = folder
        for name in ("Makefile", "_config.yml", "constraints.txt", "pyproject.toml"):
            shutil.copy2(root / name, folder / name)
        for name in ("_ext", "_static", "_templates", "references.bib"):
            copy = shutil.copytree if (root / "book" / name).is_dir() else shutil.copy2
            (folder / "book").mkdir(exist_ok=True)
            copy(root / "book" / name, folder / "book" / name)
        for name in ("lectures", "pioneers", "labs"):
            (folder / name).mkdir()
        (folder / "labs" / "release.py").touch()
        (folder / "_toc.yml").write_text("format: jb-book\nroot: lectures/page\n")
        (folder / "pioneers" / "number.txt").write_text("41")
        self.write(PAGE)

    def write(self, text):
        (self.folder / "lectures" / "page.md").write_text(text)

    def build(self):
        environment = os.environ | {"PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
        run = subprocess.run(
            ["make", "-o", ".venv/.ready", "book"],  # this environment, instead of one of its own
            cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        return run.returncode, re.sub(r"\x1b\[[\d;]*m", "", run.stderr)

    def page(self):
        return (self.folder / "_build" / "html" / "lectures" / "page.html").read_text()


@pytest.fixture
def book(root, tmp_path):
    return Book(root, tmp_path)


def test_numbers_are_never_stale(book):
    assert book.build() == (0, ANY)
    assert "the number is 41" in book.page()
    (book.folder / "pioneers" / "number.txt").write_text("42")
    assert book.build() == (0, ANY)
    assert "the number is 42" in book.page()


def test_pieces_of_a_print_are_joined_on_the_page_and_not_repeated_in_the_notebook(book):
    pieces = (
        "import time\nfor text in ('pie', 'ce 0\\npi', 'ece 1\\n'):\n"
        "    print(end=text, flush=True)\n    time.sleep(0.3)"
    )
    book.write(PAGE.replace(PAGE[PAGE.index("from pathlib") : PAGE.rindex("```")], f"{pieces}\n"))
    assert book.build() == (0, ANY)
    assert "piece 0\npiece 1\n" in book.page()
    notebook = nbformat.read(book.folder / "_build" / "jupyter_execute" / "lectures" / "page.ipynb", 4)
    printed = "".join(output.text for cell in notebook.cells for output in cell.get("outputs", []))
    assert printed == "piece 0\npiece 1\n"


MEET = """\
import time
Path("{mine}").touch()
until = time.monotonic() + 40
while not Path("{other}").exists():
    assert time.monotonic() < until, "the other page has not begun"
    time.sleep(0.1)
"""


@pytest.mark.skipif(os.cpu_count() == 1, reason="one processor runs one page at a time")
def test_pages_run_side_by_side_and_keep_what_they_gave_when_they_are_read_again(book):
    for name, other in (("page", "second"), ("second", "page")):
        meet = MEET.format(mine=f"{name} runs", other=f"{other} runs")
        (book.folder / "lectures" / f"{name}.md").write_text(PAGE.replace("print(", f"{meet}print("))
    with (book.folder / "_toc.yml").open("a") as toc:
        toc.write("chapters:\n- file: lectures/second\n")
    for _ in range(2):
        assert book.build() == (0, ANY)
        for name in ("page", "second"):
            notebook = nbformat.read(book.folder / f"_build/jupyter_execute/lectures/{name}.ipynb", 4)
            printed = [cell.outputs[0].text for cell in notebook.cells if "outputs" in cell]
            assert printed == ["the number is 41\n"]
        (book.folder / "_build" / "book.stamp").unlink()  # as after a build that failed: all is read again


def test_a_failing_cell_fails_every_build_and_is_named(book):
    book.write(PAGE.replace("print(", "prin("))
    for _ in range(2):
        code, errors = book.build()
        assert code != 0
        assert "lectures/page.md: WARNING: Executing notebook failed" in errors
        assert "NameError: name 'prin' is not defined" in errors


def test_a_warning_fails_every_build_and_is_named(book):
    book.write(PAGE.replace("$x^2$", r"$\frob{x}$ and {ref}`nowhere`"))
    for _ in range(2):
        code, errors = book.build()
        assert code != 0
        assert "page.md:14: WARNING: formula does not parse" in errors
        assert "undefined label: 'nowhere'" in errors

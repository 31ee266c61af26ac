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
import sys
sys.path.insert(0, "..")
from pioneers.number import NUMBER
print("the number is", NUMBER)
```
"""


class Book:
    """A copy of the book's frame with one page, and the real `make book` to build it."""

    def __init__(self, root, folder):
        self.folder = folder
        for name in ("Makefile", "_config.yml", "constraints.txt", "pyproject.toml"):
            shutil.copy2(root / name, folder / name)
        for name in ("_ext", "_static", "_templates", "screenshots", "404.html", "references.bib"):
            copy = shutil.copytree if (root / "book" / name).is_dir() else shutil.copy2
            (folder / "book").mkdir(exist_ok=True)
            copy(root / "book" / name, folder / "book" / name)
        shutil.copy2(root / "book" / "run.py", folder / "book" / "run.py")
        for name in ("lectures", "pioneers", "labs"):
            (folder / name).mkdir()
        shutil.copy2(root / "labs" / "release.py", folder / "labs" / "release.py")
        (folder / "pioneers" / "__init__.py").touch()
        (folder / "_toc.yml").write_text("format: jb-book\nroot: lectures/page\nchapters:\n")
        self.define(41)
        self.write(PAGE)

    def define(self, number):
        (self.folder / "pioneers" / "number.py").write_text(f"NUMBER = {number}\n")

    def write(self, text, name="page"):
        page = self.folder / "lectures" / f"{name}.md"
        with (self.folder / "_toc.yml").open("a") as toc:
            toc.write("" if page.exists() or name == "page" else f"- file: lectures/{name}\n")
        page.write_text(text)

    def build(self):
        environment = os.environ | {"PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
        run = subprocess.run(
            ["make", "-o", ".venv/.ready", "book"],  # this environment, instead of one of its own
            cwd=self.folder, env=environment, capture_output=True, text=True, timeout=280,
        )  # fmt: skip
        return run.returncode, re.sub(r"\x1b\[[\d;]*m", "", run.stderr)

    def printed(self, name):
        """What the cells of a page print, on the page and in the notebook that it offers."""
        notebook = nbformat.read(self.folder / f"_build/jupyter_execute/lectures/{name}.ipynb", 4)
        page = (self.folder / "_build" / "html" / "lectures" / f"{name}.html").read_text()
        texts = ["".join(out.text for out in cell.outputs) for cell in notebook.cells if "outputs" in cell]
        assert all(text in page for text in texts)
        return texts


@pytest.fixture
def book(root, tmp_path):
    return Book(root, tmp_path)


MEET = """\
import time
from pathlib import Path
Path("{mine}").touch()
until = time.monotonic() + 100
while not Path("{other}").exists():
    assert time.monotonic() < until, "the other page has not begun"
    time.sleep(0.1)
"""
PIECES = """\
import time
for text in ("pie", "ce 0\\npi", "ece 1\\n"):
    print(end=text, flush=True)
    time.sleep(0.3)
"""


@pytest.mark.skipif(os.cpu_count() == 1, reason="one processor runs one page at a time")
def test_pages_run_side_by_side_keep_what_they_gave_and_are_never_stale(book):
    for name, other in (("page", "second"), ("second", "page")):
        meet = MEET.format(mine=f"{name} runs", other=f"{other} runs")
        book.write(PAGE.replace("print(", f"{meet}print("), name)
    book.write(PAGE.replace(PAGE[PAGE.index("import sys") : PAGE.rindex("```")], PIECES), "pieces")
    for number in (41, 41, 42):
        book.define(number)
        assert book.build() == (0, ANY)
        assert [book.printed(name) for name in ("page", "second")] == [[f"the number is {number}\n"]] * 2
        # Pieces of a print are joined on the page, and not repeated in the notebook.
        assert book.printed("pieces") == ["piece 0\npiece 1\n"]
        if number == 41:  # as after a build that failed: all pages are read again
            (book.folder / "_build" / "book.stamp").unlink(missing_ok=True)
    assert len(list((book.folder / "_build" / ".jupyter_cache" / "executed").iterdir())) == 3


def test_a_failing_cell_and_a_warning_fail_every_build_and_are_named(book):
    book.write(PAGE.replace("print(", "prin("))
    book.write(PAGE.replace("$x^2$", r"$\frob{x}$ and {ref}`nowhere`"), "second")
    for _ in range(2):
        code, errors = book.build()
        assert code != 0
        assert "lectures/page.md: WARNING: Executing notebook failed" in errors
        assert "NameError: name 'prin' is not defined" in errors
        assert "second.md:14: WARNING: formula does not parse" in errors
        assert "undefined label: 'nowhere'" in errors

"""The notebooks to take away: what they say in place of directives and roles, of which none is left."""

import re
import sys
from pathlib import Path

import jupytext
import nbformat
import pytest
from nbformat.v4 import new_output

ROOT = Path(__file__).parents[2]
RAW = re.compile(
    r"\{[a-z][\w:-]*\}`"  # a role
    r"|^[> ]*(`{3,}|:{3,})\{"  # a directive
    r"|^[> ]*:{3,}"
    r"|^\([\w-]+\)=$"  # a label
    r"|\]\((?!https?:)[^)\s]*\)"  # a link that leads nowhere from here
    r"|\]?\{[.#][\w-]+\}"  # attributes
    r"|^% |<!--",
    re.MULTILINE,
)
INNER = re.compile(r"\$\$.*?\$\$|\$[^$]+\$|`[^`\n]+`", re.DOTALL)  # formulas and code look like this too


@pytest.fixture(scope="module", autouse=True)
def own():
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    import clean

    yield clean
    sys.path.remove(str(ROOT / "book" / "_ext"))


@pytest.fixture(scope="module")
def source(own):
    return own.Source("https://github.com/somebody/somewhere", "0123abc")


def raw(notebook):
    """What only the book understands in the text of a notebook."""
    cells = [
        cell for cell in notebook.cells if cell.cell_type == "markdown" and "nbgrader" not in cell.metadata
    ]
    texts = [cell.source for cell in cells]
    plain = [re.sub(r"^[> ]*```[^{].*?^[> ]*```", "", text, flags=re.MULTILINE | re.DOTALL) for text in texts]
    roles = [found[0] for text in plain for found in re.finditer(r"\{[a-z][\w:-]*\}`", text)]
    return roles + [found[0] for text in plain for found in RAW.finditer(INNER.sub("", text))]


def notebooks(own):
    """Every page of the book that can be run, as text, and the students' versions of the labs."""
    for page in own.contents():
        text, lab = ROOT / f"{page}.md", ROOT / f"{page}.ipynb"
        if lab.is_file():
            yield page, nbformat.read(lab, as_version=4)
        elif text.is_file() and "```{code-cell}" in text.read_text():
            yield page, jupytext.read(text)


def test_no_page_leaves_anything_raw(own, source):
    left = {}
    for page, notebook in notebooks(own):
        made = own.clean(notebook, page, source)
        nbformat.validate(made)
        left[page] = raw(made)
        assert "pip install" in made.cells[0].source
        assert f"https://somebody.github.io/somewhere/{page}.html" in made.cells[1].source
        assert "myst_nb" not in "".join(cell.source for cell in made.cells)
    assert len(left) > 15
    assert not {page: found for page, found in left.items() if found}


PAGE = r"""
(chap-planted)=
# A planted page

<!-- for authors -->
See {ref}`the sum <sec-sum>`, {eq}`eq-sum`, {numref}`fig-sum`,
{cite:t}`vaswani2017`, {cite:p}`devlin2019`,
{term}`bits per character`,
{doc}`the notation </book/notation>`,
{py:func}`~pioneers.layers.attention`, {doc}`/lectures/other` and [the sum](#sec-sum):
{glue:text}`bits` bits, [0.5]{.derived} less.

(sec-sum)=
## The sum

$$
x = 1
$$ (eq-sum)

::::{admonition} Quiz: what is `x`?
:class: quiz

:::{dropdown} **One**, see {eq}`eq-sum`
Right.

$$
x
= 1
$$
:::
::::

```{admonition} Solution
:class: dropdown
It is one.
```

:::{note}
Mind the `x`.
:::

- An item

  ```python
  x = {"a": 1}
  ```

```{code-cell} ipython3
---
mystnb:
  figure:
    name: fig-sum
    caption: "The sum of {eq}`eq-sum`."
---
    from myst_nb import glue
```

```{code-cell} ipython3
:tags: [checks]
assert True
```
"""
CLEAN = r"""
# A planted page

See [the sum](BOOK/lectures/page.html#sec-sum), (1), Figure 1,
[Vaswani et al. (2017)](BOOK/book/references.html), ([Devlin et al., 2019](BOOK/book/references.html)),
[bits per character](BOOK/book/glossary.html#term-bits-per-character),
[the notation](BOOK/book/notation.html),
`attention`, [Another page](BOOK/lectures/other.html) and [the sum](BOOK/lectures/page.html#sec-sum):
1.23 bits, 0.5 less.

## The sum

$$
x = 1 \tag{1}
$$

> **Quiz: what is `x`?**
>
> <details>
> <summary><b>One</b>, see (1)</summary>
>
> Right.
>
> $$x = 1$$
>
> </details>

<details>
<summary>Solution</summary>

It is one.

</details>

> **Note.** Mind the `x`.

- An item

  ```python
  x = {"a": 1}
  ```
"""


@pytest.fixture
def planted(own, monkeypatch, tmp_path):
    """A book of three pages, and one of them as a notebook that has run."""
    (tmp_path / "_toc.yml").write_text("root: lectures/page\n- file: lectures/other\n- file: book/notation\n")
    for folder in ("lectures", "book"):
        (tmp_path / folder).mkdir()
    (tmp_path / "lectures" / "page.md").write_text(PAGE)
    (tmp_path / "lectures" / "other.md").write_text("# Another page\n")
    (tmp_path / "book" / "notation.md").write_text("# Notation\n")
    (tmp_path / "book" / "references.bib").write_text((ROOT / "book" / "references.bib").read_text())
    caches = own.places, own.citations, own.text_of
    for cache in caches:
        cache.cache_clear()
    monkeypatch.setattr(own, "ROOT", tmp_path)
    notebook = jupytext.reads(PAGE, "md:myst")
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    silent = "application/papermill.record/"
    found = {"scrapbook": {"name": "bits", "mime_prefix": silent}}
    code = next(cell for cell in notebook.cells if cell.cell_type == "code")
    code.outputs = [new_output("display_data", {f"{silent}text/plain": "'1.23'"}, metadata=found)]
    yield notebook
    for cache in caches:
        cache.cache_clear()


def test_directives_and_roles_become_plain_markdown(own, source, planted):
    made = own.clean(planted, "lectures/page", source)
    words = made.cells[2].source.replace("https://somebody.github.io/somewhere", "BOOK")
    assert words.splitlines() == CLEAN.strip().splitlines()
    assert made.cells[4].source == "*Figure 1.* The sum of (1)."
    assert raw(made) == []


def test_numbers_and_checks_work_without_the_book(own, source, planted):
    made = own.clean(planted, "lectures/page", source)
    glue, checks = made.cells[3], made.cells[5]
    assert glue.outputs == []
    known = {}
    exec(f"if True:\n{glue.source}", known)
    assert known["glue"]("bits", "1.23", display=False) is None
    assert checks.source.startswith("# @title Checks\n")
    assert checks.metadata["jupyter"] == {"source_hidden": True}
    assert checks.metadata["cellView"] == "form"


def test_a_book_that_is_not_published_has_no_links(own, planted):
    made = own.clean(planted, "lectures/page", own.Source())
    assert "](" not in "".join(cell.source for cell in made.cells)
    assert "import pioneers" in made.cells[0].source
    assert "1.23 bits" in made.cells[2].source


@pytest.mark.parametrize(
    "left", ["{ref}`x`", ":::{note}\n:::", "(sec-x)=", "[x](#sec-x)", "[x]{.derived}", "<!-- x -->"]
)
def test_what_is_left_raw_is_found(left):
    cell = nbformat.v4.new_markdown_cell(f"Text.\n\n{left}")
    assert raw(nbformat.v4.new_notebook(cells=[cell]))


def test_a_directive_without_markdown_is_named(own, source):
    with pytest.raises(ValueError, match=r"nothing for the directive \{tableofcontents\}"):
        own.Cleaner("lectures/page", source, {}).text("```{tableofcontents}\n```")

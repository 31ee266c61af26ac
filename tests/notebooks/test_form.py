"""The form of the lectures: a short page with a picture first, a deeper page beside it, no typed number."""

import ast
import re
import sys
from itertools import pairwise
from pathlib import Path

import jupytext
import pytest
from nbformat.v4 import new_output

ROOT = Path(__file__).parents[2]
WITHOUT_DEEPER = [ROOT / "book" / "published_weights.md"]  # in the form, without a deeper page
BUDGET = 40  # minutes; a deeper page may take twice as long
COLUMNS = 76
NUMBER = re.compile(r"(?<![\w.,/^-])(\d[\d,]*\.\d+(?! ?%)|\d[\d,]*(?:\.\d+)?(?= ?%))(?![\w.]*\d)")
NAMED = re.compile(
    r"(?:sections?|chapters?|tables?|figures?|PyTorch|Python|version) [\d., and–]*$", re.IGNORECASE
)
LITERAL = re.compile(r"(?<![\w.])(?:\d[\d_,]*\.?\d*|\.\d+)(?:e-?\d+)?")


@pytest.fixture(autouse=True, scope="module")
def own():
    """The modules of the build that read a page."""
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    import blocks
    import reading

    yield blocks, reading
    sys.path.remove(str(ROOT / "book" / "_ext"))


def number(text):
    return float(text.replace(",", "").replace("_", "").rstrip(".") or "nan")


def given(notebook, blocks):
    """The numbers that a page computes with or derives: those in its formulas and in its code."""
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    for cell in notebook.cells:
        for block in blocks.walk(cell.source) if cell.cell_type == "markdown" else []:
            texts += (
                [block.text] if block.kind == "math" else blocks.MATH.findall(block.text + block.argument)
            )
            texts += [found[1] for found in blocks.CODE.findall(block.text)]
    return {number(found) for text in texts for found in LITERAL.findall(text)}


def paragraphs(notebook, blocks):
    """The paragraphs, rows of tables and captions of a page; those of a table come with what is around it."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            yield cell.metadata.get("mystnb", {}).get("figure", {}).get("caption", ""), ""
            continue
        found = [block for block in blocks.walk(cell.source) if block.kind in ("text", "table", "directive")]
        for before, block, after in zip([None, *found], found, [*found[1:], None], strict=False):
            around = "".join(other.text for other in (before, after) if other and block.kind == "table")
            yield block.argument if block.kind == "directive" else block.text, around


def typed_numbers(notebook, blocks):
    """Decimals and percentages in prose that are not glued, quoted from a paper, or given on the page.

    A number is quoted if its sentence or the one before names the paper; one that the
    page derives in words is written ``[2.5]{.derived}``, one that a question assumes ``[2.5]{.given}``.
    """
    known, typed = given(notebook, blocks), []
    for text, around in paragraphs(notebook, blocks):
        text = re.sub(r"\[[^\]]*\]\{\.(derived|given)\}", "", blocks.COMMENT.sub("", text))
        sentences = [around, *re.split(r"(?<=[.!?:])\s+", text)]
        for before, sentence in pairwise(sentences):
            if "{cite" not in before + sentence:
                typed += [found for found in numbers_of(sentence, blocks) if not is_known(found, known)]
    return [f"{found[0]} in: {found.string[:80]}" for found in typed]


def numbers_of(sentence, blocks):
    """The decimals and percentages of a sentence, except those of sections, figures and versions."""
    for pattern in (blocks.ROLE, blocks.CODE, blocks.MATH):
        sentence = pattern.sub("·", sentence)
    sentence = re.sub(r"\]\([^)]*\)", "]", sentence)
    return [found for found in NUMBER.finditer(sentence) if not NAMED.search(sentence[: found.start()])]


def is_known(found, known):
    """Whether a number, or the fraction that a percentage means, is among the page's own."""
    value, percent = number(found[1]), "%" in found.string[found.end() : found.end() + 2]
    return value in known or (percent and round(value / 100, 8) in known)


def shows_svg(cell):
    return any(
        "<svg" in text for out in cell.get("outputs", []) for text in map(str, out.get("data", {}).values())
    )


def begins_with_a_picture(notebook, blocks, reading):
    """Whether a drawing comes before the first displayed formula and the first visible code."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            if any(block.kind == "math" or block.name == "math" for block in blocks.walk(cell.source)):
                return False
        elif shows_svg(cell) or reading.is_visible(cell, "input"):
            return shows_svg(cell)
    return False


def guards(cell):
    """Whether a cell only asserts."""
    try:
        body = ast.parse(cell.source).body
    except SyntaxError:  # a magic
        return False
    return bool(body) and all(isinstance(line, ast.Assert) for line in body)


def may_be_read(cell):
    """Whether a cell is code that the page shows, or shows when it is unfolded."""
    tags = cell.metadata.get("tags", [])
    return cell.cell_type == "code" and {"remove-input", "remove-cell"}.isdisjoint(tags)


def faults(notebook, own, deeper=False):
    """What is wrong with the form of a page that has run."""
    blocks, reading = own
    shown = [
        cell for cell in notebook.cells if cell.cell_type == "code" and reading.is_visible(cell, "input")
    ]
    measured, most = reading.measure(notebook), 2 * BUDGET if deeper else BUDGET
    found = [f"typed number: {text}" for text in typed_numbers(notebook, blocks)]
    wide = shown if deeper else [cell for cell in notebook.cells if may_be_read(cell)]
    found += [f"wide: {line}" for cell in wide for line in cell.source.splitlines() if len(line) > COLUMNS]
    found += [f"guards, tag it checks: {cell.source}" for cell in shown if guards(cell)]
    if measured["minutes"] > most:
        found.append(f"too long: {measured}, at most {most} minutes")
    if not deeper and not begins_with_a_picture(notebook, blocks, reading):
        found.append("no drawing before the first formula and the first code")
    return found


def deeper_pages():
    return sorted((ROOT / "lectures").glob("*_deeper.md"))


def test_every_page_has_a_deeper_one():
    spines = {path.stem.removesuffix("_deeper") for path in deeper_pages()}
    assert {path.stem for path in (ROOT / "lectures").glob("*.md") if path not in deeper_pages()} == spines


FAMILIES = re.compile(r"09_(in_context|todays)|1[12]_|13_(?!vit)|1[45]_")  # read after the pioneers


def test_the_path_to_gpt_and_the_pioneers_can_be_read_in_ten_hours(own):
    if not (ROOT / "_build" / ".jupyter_cache").is_dir():
        pytest.skip("the book is not built: run `make book`")
    names = re.findall(r"file: lectures/(\w+)", (ROOT / "_toc.yml").read_text())
    spines = [name for name in names if not name.endswith("_deeper") and not FAMILIES.match(name)]
    minutes = {name: own[1].minutes(ROOT / "lectures" / f"{name}.md") for name in spines}
    to_gpt = spines[: spines.index("09_gpt") + 1]
    to_gpt.remove("08_pretraining")  # the page before GPT, of the second part
    assert sum(minutes[name] for name in to_gpt) <= 6 * 60, minutes
    assert len(spines) == 17 and sum(minutes.values()) <= 10 * 60, minutes


def test_converted_pages_have_the_form(own):
    if not (ROOT / "_build" / ".jupyter_cache").is_dir():
        pytest.skip("the book is not built: run `make book`")
    found = {page.stem: faults(own[1].executed(page), own) for page in WITHOUT_DEEPER}
    for deeper in deeper_pages():
        spine = deeper.with_name(deeper.name.replace("_deeper", ""))
        for page in (spine, deeper):
            found[page.stem] = faults(own[1].executed(page), own, deeper=page == deeper)
    assert not {page: what for page, what in found.items() if what}


GOOD = """\
# A page

The picture shows a rate of 20%, as in the code, and {glue:text}`bits` bits, or
[2.5]{.derived} words. Suppose [9.5]{.given}.
In section 3.2 and with PyTorch 2.6, {math}`x` is 0.5. {cite:t}`vaswani2017` measured 28.4.

```{code-cell} ipython3
:tags: [remove-input]
picture
```

$$
x = 0.5
$$

```{code-cell} ipython3
rate = 0.2
assert rate < 1
```

```{code-cell} ipython3
:tags: [checks]
assert rate < 1
```

| who | BLEU |
|---|---|
| the big model | 28.4 |

This table is that of {cite:t}`vaswani2017`.
"""
FAULTS = {  # what is planted: how its fault begins, what it replaces, and by what
    "a decimal": ("typed number", "A page\n", "A page\n\nOurs gets 91.3 of them.\n"),
    "a percentage": ("typed number", "The picture", "It wins in 93% of the runs. The picture"),
    "a table without a source": ("typed number", "that of {cite:t}`vaswani2017`", "ours"),
    "a wide line": ("wide", "rate = 0.2", f"rate = 0.2  # {'a' * 70}"),
    "a wide line in a folded cell": (
        "wide",
        ":tags: [checks]\nassert rate < 1",
        f":tags: [checks]\nassert rate < 1  # {'a' * 70}",
    ),
    "guards in the open": ("guards", ":tags: [checks]\n", ""),
    "many words": ("too long", "A page\n", f"A page\n\n{'word ' * 7200}"),
    "no drawing": ("no drawing", "picture\n```", "3\n```"),
    "a formula first": ("no drawing", "# A page\n", "# A page\n\n$$\nx\n$$\n"),
}


def executed(text):
    """A page of which a cell that says ``picture`` draws one."""
    notebook = jupytext.reads(text, "md:myst")
    for cell in notebook.cells:
        if cell.source == "picture":
            cell.outputs = [new_output("display_data", {"text/html": "<svg></svg>", "text/plain": "Picture"})]
    return notebook


def test_a_page_in_the_form_has_no_faults(own):
    assert faults(executed(GOOD), own) == []


def test_the_time_is_that_of_words_visible_lines_and_formulas(own):
    _, reading = own
    page = executed(GOOD)
    page.cells[-2].outputs = [new_output("stream", text="hidden, like the cell\n")]
    before = reading.measure(page)
    assert (before["lines"], before["formulas"]) == (2, 1)  # without the drawing's cell and the checks
    seen = "word " * 360 + "\n\n$$\ny\n$$\n\n$$\nz\n$$\n"
    page.cells[0].source += f"\n\n{seen}\n\n:::{{admonition}} Solution\n:class: dropdown\n{seen}\n:::"
    after = reading.measure(page)
    assert (after["words"] - before["words"], after["formulas"]) == (360, 3)
    assert after["minutes"] == round(after["words"] / 180 + 2 / 8 + 3 * 1.5)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(own, fault):
    begins, good, bad = FAULTS[fault]
    assert good in GOOD
    (found,) = faults(executed(GOOD.replace(good, bad, 1)), own)
    assert found.startswith(begins)

"""How long a page takes to read, from its words, its visible lines of code and output, and its formulas."""

import re
from pathlib import Path

import results
from blocks import CODE, COMMENT, MATH, ROLE, split_role, walk
from nbformat import NotebookNode

WORDS, LINES, FORMULA = 180, 8, 1.5  # words and lines in a minute; minutes for a displayed formula
WORD = re.compile(r"\w[\w'’-]*")
SHOWN = {"eq": 1, "numref": 2, "ref": 3, "doc": 3}  # words of a role without any; a citation has about four


def words_of(text: str) -> int:
    """Words of prose in a text, without formulas."""
    count = 0

    def words_in(role):
        nonlocal count
        words, _ = split_role(role[2])
        cited = 4 if role[1].startswith("cite") else 0
        count += len(WORD.findall(words)) or cited or SHOWN.get(role[1], 1)
        return ""

    plain = ROLE.sub(words_in, COMMENT.sub("", text))
    plain = MATH.sub("", CODE.sub(r" \2 ", plain))
    plain = re.sub(r"\]\([^)]*\)|</?\w[^>]*>|\]?\{[.#][^}]*\}", " ", plain)
    return count + len(WORD.findall(plain))


def is_visible(cell: NotebookNode, part: str) -> bool:
    """Whether the page shows the ``input`` or the ``output`` of a cell before anything is opened."""
    return {f"hide-{part}", "hide-cell", f"remove-{part}", "remove-cell", "checks"}.isdisjoint(
        cell.metadata.get("tags", [])
    )


def lines_of(cell: NotebookNode) -> int:
    """Visible lines of a cell's code and of the text that it prints."""
    texts = [cell.source] * is_visible(cell, "input")
    for output in cell.get("outputs", []) if is_visible(cell, "output") else []:
        if output.output_type == "stream":
            texts.append(output.text)
        elif set(output.get("data", {})) == {"text/plain"}:
            texts.append(output.data["text/plain"])
    return sum(len(text.rstrip().split("\n")) for text in texts)


def measure(notebook: NotebookNode) -> dict[str, int]:
    """The words, lines and formulas of a page that has run, and the minutes that they take together."""
    seen = [
        block
        for cell in notebook.cells
        if cell.cell_type == "markdown"
        for block in walk(cell.source, folded=False)
    ]
    words = sum(words_of(block.text if block.kind == "text" else block.argument) for block in seen)
    lines = sum(lines_of(cell) for cell in notebook.cells if cell.cell_type == "code")
    formulas = sum(block.kind == "math" or block.name == "math" for block in seen)
    minutes = round(words / WORDS + lines / LINES + FORMULA * formulas)
    return {"words": words, "lines": lines, "formulas": formulas, "minutes": minutes}


def executed(page: Path) -> NotebookNode:
    """A page with what the build's last run of it has printed; nothing printed where there was no run."""
    notebook = results.read(page)
    try:
        return results.cache_of(page.parents[1]).merge_match_into_notebook(notebook)[1]
    except KeyError:
        return notebook


def minutes(page: Path) -> int:
    """Minutes that it takes to read a page of the folder ``lectures``."""
    return measure(executed(page))["minutes"]

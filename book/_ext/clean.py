"""Notebooks to take away: plain Markdown, which Jupyter and Colab show, in place of what only the book knows.

Directives become quotations and ``<details>``, roles become words that link to the published page, measured
numbers and the captions of figures are written out, and the first cell says what to install.
"""

import os
import re
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import NamedTuple

from blocks import CODE, COMMENT, MATH, ROLE, Block, parse, split_role, walk
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

ROOT = Path(__file__).resolve().parents[2]
BESIDE = "matplotlib sacrebleu torchvision transformers"  # what pages import, and the package does not
INSTALL = """\
# This page needs the package "pioneers". Where there is none, as on Colab, this cell installs it in a minute.
try:
    import pioneers
except ImportError:
    %pip install --quiet "{package}" {beside}"""
INSTALL_HERE = """\
# This page needs the package "pioneers". To install it, in a checkout of the book's repository:
#     pip install ".[data]" {beside}
import pioneers"""
GLUE = re.compile(r"^( *)from myst_nb import glue$", re.MULTILINE)
NO_GLUE = r"\1glue = lambda *words, **options: None  # the book writes these numbers into its text"
NOTES = {"note": "Note", "warning": "Warning", "tip": "Tip", "important": "Important", "margin": "Note"}


class Place(NamedTuple):
    """A place in the book: its page, its anchor on the page, and its name."""

    page: str
    anchor: str
    name: str


class Source(NamedTuple):
    """Where the book is published, and which commit it was made from; both empty if it is not."""

    repository: str = ""
    commit: str = ""

    @classmethod
    def of_this_build(cls) -> "Source":
        """The repository and commit that a build on GitHub's machines knows."""
        get = os.environ.get
        repository = get("GITHUB_REPOSITORY", "")
        server = get("GITHUB_SERVER_URL", "https://github.com")
        return cls(f"{server}/{repository}" if repository else "", get("GITHUB_SHA", "main"))

    @property
    def package(self) -> str:
        """What pip installs: the package as it was at the commit."""
        return f"pioneers[data] @ git+{self.repository}@{self.commit}"

    def address(self, place: Place) -> str:
        """The address of a place in the published book; empty if it is not published."""
        if not self.repository:
            return ""
        owner, name = self.repository.rstrip("/").split("/")[-2:]
        return f"https://{owner}.github.io/{name}/{place.page}.html" + f"#{place.anchor}" * bool(place.anchor)

    def link(self, words: str, place: Place) -> str:
        """The words, as a link to the published place where there is one."""
        return f"[{words}]({self.address(place)})" if self.repository else words


def contents() -> list[str]:
    """The pages of the book, as its table of contents names them."""
    return re.findall(r"(?:root|file): (\S+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))


@cache
def text_of(page: str) -> str:
    """A page as text; a lab's is beside its exercises."""
    lab = page.replace("labs/student/", "labs/") + "/lab.md"
    path = ROOT / (lab if page.startswith("labs/") else f"{page}.md")
    return re.sub(r"\A---\n.*?\n---\n", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def places_of(page: str, text: str) -> dict[str, Place]:
    """What a page's text gives a name to: sections, formulas and figures, and the page itself."""
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    found, label, formulas, figures = {page: Place(page, "", title[1] if title else page)}, "", 0, 0
    for block in walk(text):
        if block.kind == "label":
            label = block.name
        elif block.kind == "text" and label:
            found[label] = Place(page, label, block.text.lstrip("# "))
            label = ""
        elif block.kind == "math" and block.name:
            formulas += 1
            found[block.name] = Place(page, f"equation-{block.name}", f"({formulas})")
        elif block.name == "code-cell" and (
            name := (block.options.get("mystnb") or {}).get("figure", {}).get("name")
        ):
            figures += 1
            found[name] = Place(page, name, f"Figure {figures}")
    return found


@cache
def places() -> dict[str, Place]:
    """Every place that the book's pages name."""
    found = {}
    for page in contents():
        found |= places_of(page, text_of(page))
    return found


@cache
def citations() -> dict[str, tuple[str, str]]:
    """Author and year of each entry of the bibliography."""
    found = {}
    for entry in re.split(
        r"^@\w+\{", (ROOT / "book" / "references.bib").read_text(encoding="utf-8"), flags=re.MULTILINE
    )[1:]:
        names = re.sub(r"[{}\\]", "", re.search(r"author\s*=\s*\{(.*)\},?$", entry, re.MULTILINE)[1]).split(
            " and "
        )
        last = [name.split(",")[0] if "," in name else name.split()[-1] for name in names]
        who = last[0] if len(last) == 1 else " and ".join(last) if len(last) == 2 else f"{last[0]} et al."
        found[entry.split(",")[0]] = (
            who.removesuffix("and others"),
            re.search(r"year\s*=\s*\{(\d+)", entry)[1],
        )
    return found


def glued(notebook: NotebookNode) -> dict[str, str]:
    """The numbers that an executed page hands to its text, by name."""
    found = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            glue = output.get("metadata", {}).get("scrapbook")
            if glue:
                found[glue["name"]] = output["data"][glue.get("mime_prefix", "") + "text/plain"].strip("'\"")
    return found


class Cleaner:
    """Writes a page's text as plain Markdown.

    Args:
        page: its name.
        source: where the book is published.
        numbers: the measured numbers that the text inserts, by name.
    """

    def __init__(self, page: str, source: Source, numbers: dict[str, str]):
        self.page, self.source, self.numbers, self.places = page, source, numbers, places()

    def text(self, text: str) -> str:
        """The Markdown of a text."""
        pieces = [self.block(block) for block in parse(text) if block.kind not in ("label", "comment")]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(pieces)).strip("\n")

    def block(self, block: Block) -> str:
        """The Markdown of a block, indented as the block is."""
        if block.kind in ("text", "table"):
            return self.inline(block.text)
        if block.kind == "math":
            return indented(f"$$\n{block.text}{self.tag(block.name)}\n$$", block.indent)
        if block.kind == "code":
            return indented(f"```{block.name}\n{block.text}\n```", block.indent)
        return indented(self.directive(block), block.indent) if block.kind == "directive" else ""

    def tag(self, label: str) -> str:
        return rf" \tag{{{self.places[label].name.strip('()')}}}" if label else ""

    def directive(self, block: Block) -> str:
        """The Markdown of a directive.

        Raises:
            ValueError: there is no Markdown for it.
        """
        body = self.text(block.text)
        title = self.inline(block.argument)
        if block.folded:
            return f"<details>\n<summary>{as_html(title)}</summary>\n\n{body}\n\n</details>\n"
        if block.name in NOTES:
            return quoted(f"**{NOTES[block.name]}.** {title}{body}")
        if block.name == "admonition":
            return quoted(f"**{title}**\n\n{body}")
        if block.name == "math":
            return f"$$\n{block.text}\n$$"
        if block.name in ("code", "code-block"):
            return f"```{block.argument}\n{block.text}\n```"
        raise ValueError(f"{self.page}: a notebook has nothing for the directive {{{block.name}}}")

    def inline(self, text: str) -> str:
        """A paragraph with links in place of roles; formulas stay on one line, which a quotation needs."""
        kept: list[str] = []

        def keep(match):
            kept.append(" ".join(match[0].split()) if match.re is MATH else match[0])
            return f"\0{len(kept) - 1}\0"

        text = ROLE.sub(self.role, COMMENT.sub("", text))
        text = MATH.sub(keep, CODE.sub(keep, text))
        text = re.sub(r"\[([^\]]*)\]\(([^)\s]*)\)", self.reference, text)
        text = re.sub(r"\[([^\]]+)\]\{[.#][^}]*\}|^\{[.#][^}]*\}$", r"\1", text, flags=re.MULTILINE)
        while "\0" in text:
            text = re.sub("\0(\\d+)\0", lambda match: kept[int(match[1])], text)
        return text

    def role(self, match: re.Match) -> str:
        """Return the text or link that replaces a role."""
        kind, (words, target) = match[1], split_role(match[2])
        if kind.startswith("glue"):
            return self.numbers.get(target.split(":")[0], "…")
        if kind.startswith("cite"):
            names = [citations()[key.strip()] for key in target.split(",")]
            style = "{} ({})" if kind == "cite:t" else "{}, {}"
            cited = "; ".join(style.format(*name) for name in names)
            linked = self.source.link(cited, Place("book/references", "", ""))
            return linked if kind == "cite:t" else f"({linked})"
        if kind == "term":
            anchor = "term-" + re.sub(r"[^a-zA-Z0-9]+", "-", target).strip("-")
            return self.source.link(words or target, Place("book/glossary", anchor, target))
        if kind == "math":
            return f"${target}$"
        if kind == "doc":
            target = (
                target.lstrip("/") if target.startswith("/") else f"{self.page.rpartition('/')[0]}/{target}"
            )
        place = self.places.get(target)
        if kind.startswith("py:") or place is None:
            return (
                words or f"`{target.lstrip('~!').rpartition('.')[2] if target.startswith('~') else target}`"
            )
        return self.to(place, words or place.name, kind)

    def to(self, place: Place, words: str, kind: str = "ref") -> str:
        """The words for a place; a formula or figure of this page is above or below, so it needs no link."""
        if kind in ("eq", "numref"):
            if place.page == self.page:
                return words
            words = "a formula" if kind == "eq" else "a figure"
            words += f" in *{self.places[place.page].name}*"
        return self.source.link(words, place)

    def reference(self, match: re.Match) -> str:
        """A link of Markdown: into the book if it is one of the book's, unchanged if it leads out of it."""
        words, target = match[1], match[2]
        if re.match(r"https?:|mailto:|data:", target):
            return match[0]
        page, _, anchor = target.partition("#")
        if page:
            path = os.path.normpath(os.path.join(os.path.dirname(self.page), page))
            place = Place(path.removesuffix(".md"), anchor, page)
        else:
            place = self.places.get(anchor, Place(self.page, anchor, anchor))
        return self.source.link(words or place.name, place)


def indented(text: str, indent: str) -> str:
    return "\n".join(indent + line if line else line for line in text.split("\n")) if indent else text


def quoted(text: str) -> str:
    """A quotation, with each displayed formula on one line: Jupyter would typeset the quotation's marks."""
    text = re.sub(
        r"^\$\$\n(.*?)\n\$\$$",
        lambda m: f"$${' '.join(m[1].split())}$$",
        text,
        flags=re.MULTILINE | re.DOTALL,
    )
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def as_html(text: str) -> str:
    """Bold, code and links in a summary, which is not Markdown."""
    text = CODE.sub(r"<code>\2</code>", text)
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
    return re.sub(r"\[([^\]]*)\]\(([^)]*)\)", r'<a href="\2">\1</a>', text)


def caption_after(cell: NotebookNode, cleaner: Cleaner) -> list[NotebookNode]:
    """The caption of a figure, which a notebook does not show by itself."""
    figure = cell.metadata.get("mystnb", {}).get("figure", {})
    if "caption" not in figure:
        return []
    name = cleaner.places[figure["name"]].name if "name" in figure else "Figure"
    return [new_markdown_cell(f"*{name}.* {cleaner.inline(figure['caption'])}")]


def is_silent_glue(output: NotebookNode) -> bool:
    """Whether an output only hands a number to the text."""
    return bool(output.get("metadata", {}).get("scrapbook", {}).get("mime_prefix"))


def fold(cell: NotebookNode) -> None:
    """Close a cell that the book folds; checks say what they are, also in Colab."""
    tags = set(cell.metadata.get("tags", []))
    if "checks" in tags:
        cell.source = f"# @title Checks\n{cell.source}"
        cell.metadata["cellView"] = "form"
    if tags & {"checks", "hide-cell", "hide-input", "remove-input"}:
        cell.metadata["jupyter"] = {"source_hidden": True}


def clean(
    notebook: NotebookNode, page: str, source: Source, numbers: dict[str, str] | None = None
) -> NotebookNode:
    """A page as a notebook that any Jupyter shows.

    Args:
        notebook: the page, executed or not.
        page: its name in the table of contents.
        source: where the book is published.
        numbers: the measured numbers, for a notebook that has not been executed.
    """
    made = deepcopy(notebook)
    cleaner = Cleaner(page, source, glued(made) | (numbers or {}))
    install = (INSTALL if source.repository else INSTALL_HERE).format(package=source.package, beside=BESIDE)
    back = source.link(places()[page].name, places()[page])
    cells = [new_code_cell(install), new_markdown_cell(f"From the book *Pioneering Transformers*: {back}.")]
    for cell in made.cells:
        if "nbgrader" in cell.metadata:  # the grader knows it as it is
            cells.append(cell)
            continue
        if cell.cell_type == "markdown":
            cell.source = cleaner.text(cell.source)
        elif cell.cell_type == "code":
            cell.source = GLUE.sub(NO_GLUE, cell.source)
            cell["outputs"] = [output for output in cell.get("outputs", []) if not is_silent_glue(output)]
            fold(cell)
        captions = caption_after(cell, cleaner)
        cell.metadata.pop("mystnb", None)
        if cell.source:
            cells += [cell, *captions]
    for number, cell in enumerate(cells):
        named = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell["id"] = named or f"cell-{number}"  # the same at every build
    made.cells = cells
    for key in ("jupytext", "mystnb", "peak_memory"):
        made.metadata.pop(key, None)
    return made

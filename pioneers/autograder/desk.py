"""Make a graded notebook safe to show at the teacher's desk.

The formgrader renders text cells as they are, HTML included, in the origin of the teacher's Jupyter. So they
are rendered here, cleaned, and left as HTML on a single line, which Markdown hands on unchanged.
"""

import re
from html import escape

import nh3
from nbconvert.filters.markdown_mistune import (
    IPythonRenderer,
    MarkdownWithMath,
)
from nbformat import NotebookNode

from pioneers.autograder.submission import PICTURES

TAGS = {"b", "blockquote", "br", "code", "dd", "del", "details", "div", "dl", "dt", "em", "h1", "h2", "h3",
        "h4", "h5", "h6", "hr", "i", "li", "ol", "p", "pre", "strong", "sub", "summary", "sup", "table",
        "tbody", "td", "th", "thead", "tr", "ul"}  # fmt: skip
OTHER_TAG = re.compile(rf"<(?!/?({'|'.join(TAGS)})[\s/>])", re.IGNORECASE)  # nh3 would drop it and its text
PICTURE = re.compile(rf"data:({'|'.join(PICTURES)});base64,[A-Za-z0-9+/=\s]*")
# What lets a formula make links, load code, or take on styles and names of the page.
ACTIVE = re.compile(
    r"\\(?=(href|require|style|class|cssId|bbox|mmlToken|data|html\w*)(?![a-z]))", re.IGNORECASE
)
LONGEST = 20_000  # characters that are rendered; a longer text is shown as it was typed


def harmless(notebook: NotebookNode) -> NotebookNode:
    """Turn the text cells into HTML that has no scripts, links or styles and fetches nothing."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.source.strip():
            shown = _rendered(cell.source, cell.pop("attachments", {}))
            clean = nh3.clean(
                shown, tags=TAGS | {"img"}, attributes={"img": {"alt", "src"}}, url_schemes={"data"},
                attribute_filter=_attribute,
            )  # fmt: skip
            line = ACTIVE.sub("", clean).strip().replace("\n", "&#10;")
            cell.source = line if line.startswith("<div>") else f"<div>{line}</div>"
    return notebook


class _Renderer(IPythonRenderer):
    """Pictures come from attachments alone; a link is its text and its address; other tags are text."""

    def image(self, text: str, url: str, title: str | None = None) -> str:
        name = url.removeprefix("attachment:")
        forms = self.attachments.get(name, {}) if name != url else {}
        for kind in PICTURES:
            if kind in forms:
                return f'<img alt="{escape(text)}" src="data:{kind};base64,{escape(forms[kind])}">'
        return escape(f"[picture: {name}]")

    def link(self, text: str, url: str, title: str | None = None) -> str:
        return text if text == escape(url) else f"{text} ({escape(url)})"

    def block_html(self, html: str) -> str:
        return OTHER_TAG.sub("&lt;", html)

    def inline_html(self, html: str) -> str:
        return OTHER_TAG.sub("&lt;", html)


def _rendered(source: str, attachments: dict[str, dict[str, str]]) -> str:
    if len(source) <= LONGEST:
        renderer = _Renderer(escape=False, exclude_anchor_links=True, attachments=attachments)
        try:
            return MarkdownWithMath(renderer=renderer).render(source)
        except Exception:  # a stranger's text can be wrong in any way
            pass
    return f"<pre>{escape(source)}</pre>"


def _attribute(tag: str, attribute: str, value: str) -> str | None:
    return value if attribute != "src" or PICTURE.fullmatch(value) else None

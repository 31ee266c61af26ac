"""What others show of a page: search engines a sentence, messengers a sentence and a picture.

A picture is found by its full address only. A build on GitHub's machines knows where its site will be.
"""

import os
import re
from html import escape
from textwrap import shorten
from urllib.parse import urljoin

from docutils import nodes

LENGTH = 200  # characters of a description; search engines show fewer
PICTURE = "attention.webp"  # of a page without figures; html_extra_path puts it there


def know_address(app, config):
    owner, _, name = os.environ.get("GITHUB_REPOSITORY", "").partition("/")
    if name:
        config.html_baseurl = f"https://{owner.lower()}.github.io/{name}/"


def describe(doctree):
    """The first paragraph of a page's own text, without its formulas."""
    for paragraph in doctree.findall(nodes.paragraph):
        words = [text for text in paragraph.findall(nodes.Text) if not isinstance(text.parent, nodes.math)]
        if isinstance(paragraph.parent, nodes.section) and not paragraph["classes"]:
            return shorten("".join(words), LENGTH, placeholder=" …")
    return ""


def add_preview(app, pagename, templatename, context, doctree):
    title, book = re.sub("<.*?>", "", context.get("title", "")), context["docstitle"]
    words = (doctree and describe(doctree)) or f"{title} in {book}"
    figure = re.search(r'<img [^>]*?src="([^":]*_images/[^"]+)"', context.get("body", ""))
    picture = figure[1] if figure else context["pathto"](PICTURE, 1)
    tags = {
        "description": words,
        "og:title": title,
        "og:type": "article",
        "og:site_name": book,
        "og:description": words,
        "og:image": urljoin(context.get("pageurl") or "", picture),
    }
    lines = [
        f'<meta {"property" if ":" in name else "name"}="{name}" content="{escape(value)}">'
        for name, value in tags.items()
    ]
    context["metatags"] = "\n".join([context.get("metatags", ""), *lines])


def setup(app):
    app.connect("config-inited", know_address)
    app.connect("html-page-context", add_preview)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Definitions where a term is used: a page carries those of the terms it links, for `definitions.js`."""

import json
import re
from functools import cache

from docutils import nodes
from sphinx.addnodes import glossary

HOME = "book/glossary"
LINK = re.compile(r'<a class="reference internal" href="[^"]*#(term-[^"]+)"')


def flatten(definition):
    """The definition without links, and without the sentence at its end that only names a section."""
    for paragraph in definition.findall(nodes.paragraph):
        *_, before, link, after = [nodes.Text(""), nodes.Text(""), *paragraph.children]
        if isinstance(link, nodes.reference) and after.astext() == "." and before.astext().endswith("See "):
            paragraph.replace(before, nodes.Text(before.astext().removesuffix("See ").rstrip()))
            paragraph.remove(link)
            paragraph.remove(after)
    for link in list(definition.findall(nodes.reference)):
        link.replace_self(nodes.inline("", "", *link.children))
    return definition


@cache
def definitions(app):
    """Every term's place in the glossary and its definition as HTML."""
    page = app.env.get_and_resolve_doctree(HOME, app.builder)
    found = {}
    for item in [
        item for node in page.findall(glossary) for item in node.findall(nodes.definition_list_item)
    ]:
        shown = nodes.container("", *flatten(item[-1].deepcopy()).children)
        fragment = app.builder.render_partial(shown)["fragment"]
        found |= {place: fragment for term in item.findall(nodes.term) for place in term["ids"]}
    return found


def carry(app, pagename, templatename, context, doctree):
    places = sorted(set(LINK.findall(context.get("body", ""))))
    if places:
        known = {place: definitions(app)[place] for place in places}
        data = json.dumps(known, ensure_ascii=False).replace("<", r"\u003c")
        context["body"] += f'<script type="application/json" id="definitions">{data}</script>\n'
        app.add_js_file("definitions.js", loading_method="defer")


def setup(app):
    app.connect("html-page-context", carry)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

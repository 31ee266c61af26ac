"""Definitions where a term is used.

- The first mention of a term in a lecture leads to the glossary, unless the author has linked it. Terms of
  one plain word (key, value, block) also have everyday meanings: those are left to the author.
- A page carries the definitions of the terms that it links, for `definitions.js` to show.
"""

import json
import re
from functools import cache

from docutils import nodes
from sphinx.addnodes import glossary, pending_xref
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

HOME = "book/glossary"
LINK = re.compile(r'<a class="reference internal" href="[^"]*#(term-[^"]+)"')


class LinkTerms(SphinxPostTransform):
    default_priority = 5  # before references are resolved
    formats = ("html",)

    def run(self):
        if not self.env.docname.startswith("lectures/"):
            return
        objects = self.env.get_domain("std").objects.items()
        terms = {
            name: place for (kind, name), place in objects if kind == "term" and re.search("[^a-z]", name)
        }
        if not terms:  # a book without a glossary
            return
        self.places = {name.lower(): place for name, place in terms.items()}
        pattern = "|".join(map(re.escape, sorted(terms, key=len, reverse=True))).replace(r"\ ", r"\s+")
        self.mention = re.compile(rf"\b({pattern})(?=s?\b)", re.IGNORECASE)
        links = self.document.findall(pending_xref)
        self.linked = {link["reftarget"].lower() for link in links if link["reftype"] == "term"}
        for paragraph in self.document.findall(nodes.paragraph):
            for text in [child for child in paragraph.children if isinstance(child, nodes.Text)]:
                paragraph.replace(text, list(self.pieces(text.astext())))

    def pieces(self, text):
        start = 0
        for match in self.mention.finditer(text):
            name = " ".join(match[1].lower().split())
            if name not in self.linked:
                self.linked.add(name)
                here, words = self.env.docname, nodes.inline(text=match[1])
                yield nodes.Text(text[start : match.start()])
                yield make_refnode(self.app.builder, here, *self.places[name], words)
                start = match.end()
        yield nodes.Text(text[start:])


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
    page = next(app.env.get_and_resolve_doctree(HOME, app.builder).findall(glossary))
    found = {}
    for item in page.findall(nodes.definition_list_item):
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
    app.add_post_transform(LinkTerms)
    app.connect("html-page-context", carry)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

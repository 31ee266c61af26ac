"""What the theme and its extensions leave to do for readers who do not see the page, or do not use a mouse.

- The line that opens a hidden cell is named by its own words.
- The lines of a long signature are lines, not a list of definitions without terms.
- Entries of the bibliography are items of a list; the role that Docutils gives them is no longer in use.
- A source's links back to the reference lead there, from whichever module the reference takes a name. The
  list of sources has items only, no lists between them.
"""

import re

from myst_nb.sphinx_ import HideCodeCellNode, depart_HideCellInput, visit_HideCellInput

BACK = re.compile(r'(<div class="viewcode-block" id="([^"]+)">\n<a class="viewcode-back" href="[^"#]+#)[^"]+')
SIGNATURE = re.compile(r"<dl>\n((?:<dd>.*?</dd>\n)+)</dl>")


def visit_hidden(self, node):
    visit_HideCellInput(self, node)
    place = self.body.index('<summary aria-label="Toggle hidden content">\n', -4)
    self.body[place] = "<summary>\n"


def mend_markup(app, pagename, templatename, context, doctree):
    def lines(match):
        return re.sub(r"<(/?)dd>", r"<\1span>", match[1]).replace("<span><em", '<span class="sig-line"><em')

    if "body" in context:
        body = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')
        context["body"] = SIGNATURE.sub(lines, body)


def mend_sources(app, pagename, templatename, context, doctree):
    package, *inner = pagename.removeprefix("_modules/").split("/")
    modules = [".".join([package, *inner[:depth]]) for depth in range(len(inner), -1, -1)]
    known = app.env.get_domain("py").objects

    def mended(match):
        names = [f"{module}.{match[2]}" for module in modules]
        return match[1] + next(known[name].node_id for name in names if name in known)

    if pagename == "_modules/index":
        head, items = context["body"].split("<ul>", 1)
        context["body"] = f"{head}<ul>{re.sub('</?ul>', '', items)}</ul>"
    elif pagename.startswith("_modules/"):
        context["body"] = BACK.sub(mended, context["body"])


def setup(app):
    app.add_node(HideCodeCellNode, override=True, html=(visit_hidden, depart_HideCellInput))
    app.connect("html-page-context", mend_markup)
    app.connect("html-page-context", mend_sources)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

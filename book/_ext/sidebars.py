"""The list of pages in the sidebar, made without the headings of all pages.

For each page Sphinx would copy the headings of every other, and the theme takes them out again.
"""

from docutils import nodes
from sphinx import addnodes

PAGES = {}  # for each page, what the sidebars of all pages take of its table of contents


def without_headings(toc):
    """A page's table of contents, of which only its title and the pages below it are left."""
    below = [node.deepcopy() for node in toc.findall(addnodes.toctree)]
    entry = nodes.list_item("", toc[0][0].deepcopy(), *([nodes.bullet_list("", *below)] if below else []))
    return nodes.bullet_list("", entry)


def list_pages_only(app, pagename, templatename, context, doctree):
    make, env = context["toctree"], app.env

    def make_without_headings(**options):
        whole = env.tocs
        if not PAGES:
            PAGES.update({name: without_headings(toc) for name, toc in whole.items()})
        env.tocs = PAGES
        try:
            return make(**options)
        finally:
            env.tocs = whole

    context["toctree"] = make_without_headings


def setup(app):
    app.connect("html-page-context", list_pages_only, priority=400)  # before the theme uses it
    return {"parallel_read_safe": True, "parallel_write_safe": True}

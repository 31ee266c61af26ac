"""Decks of slides, one for each chapter's first page, from the pages as Sphinx has read them for the book.

``make slides`` writes them with sphinx-revealjs; `slides` has the rules. A deck needs only the files in its
folder: references to other pages are plain text. Notes have formulas as MathML, since the speaker's window
has no styles.
"""

from docutils import nodes
from myst_nb.core.render import base_render_priority
from slides import Notes, deck
from sphinx.writers.html5 import HTML5Translator
from sphinx_revealjs.builders import RevealjsHTMLBuilder
from sphinx_revealjs.writers import RevealjsSlideTranslator
from typeset import engine


class Translator(RevealjsSlideTranslator):
    # Coloured here, as in the book, and not by a script.
    visit_literal_block = HTML5Translator.visit_literal_block
    depart_literal_block = HTML5Translator.depart_literal_block


class Decks(RevealjsHTMLBuilder):
    name = "slides"
    default_translator_class = Translator

    def init(self):
        self.config.pygments_style, self.config.html_favicon = "a11y-high-contrast-light", None
        self.events.listeners.pop("html-page-context", None)  # what a page of the book needs
        super().init()
        # It has added its own folder, and the book's pages would be read again because of a changed setting.
        self.config.html_static_path = [*self.config.revealjs_static_path]
        self.config.revealjs_static_path.pop()

    def get_outdated_docs(self):
        names = sorted(self.env.found_docs)
        return [name for name in names if name.startswith("lectures/") and not name.endswith("_deeper")]

    def write(self, build_docnames, updated_docnames, method="update"):
        files = self.app.registry  # those of the book's theme and extensions
        for needless in (files.css_files, files.js_files, self._css_files, self._js_files):
            needless.clear()
        self.init_css_files()
        self.prepare_writing(set(build_docnames))
        self.copy_assets()
        self._write_serial(sorted(build_docnames))

    def finish(self):
        self.copy_image_files()


def make_deck(app, doctree, name):
    """Put slides in the place of the page."""
    if app.builder.name != Decks.name:
        return
    page = next(child for child in doctree.children if isinstance(child, nodes.section))
    made = deck(page)
    for link in list(made.findall(nodes.reference)):
        if "refuri" not in link or link.get("internal"):
            link.replace_self(link.children)
    for notes in made.findall(Notes):
        for formula in [*notes.findall(nodes.math), *notes.findall(nodes.math_block)]:
            tex = formula.astext()
            mathml = engine().call("katex.renderToString", tex, {"output": "mathml"})
            formula.replace_self(nodes.raw("", mathml, format="html"))
    doctree.children = []
    doctree += made


def visit_notes(self, node):
    self.body.append('<aside class="notes">')


def depart_notes(self, node):
    self.body.append("</aside>\n")


def show_outputs(app, config):
    """MyST-NB chooses what to show of an output by the name of the builder."""
    html = base_render_priority()["html"].items()
    config.nb_mime_priority_overrides = [(Decks.name, kind, place) for kind, place in html]


def setup(app):
    app.setup_extension("sphinx_revealjs")
    app.extensions["sphinx_revealjs"].parallel_read_safe = True  # which it is, but does not say
    app.add_builder(Decks)
    app.add_node(Notes, html=(visit_notes, depart_notes))
    app.connect("config-inited", show_outputs)
    app.connect("doctree-resolved", make_deck, priority=900)  # when all else is done
    return {"parallel_read_safe": True, "parallel_write_safe": True}

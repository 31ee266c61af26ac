"""Typeset formulas with KaTeX while the book is built.

Pages carry finished formulas: no script to load, nothing that jumps, and a formula that does not parse
is a warning that names its page and line, so it fails the build.
"""

from functools import lru_cache
from html import escape
from pathlib import Path

from docutils import nodes
from py_mini_racer import JSEvalException, MiniRacer
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

KATEX = Path(__file__).with_name("katex.min.js")
logger = logging.getLogger(__name__)


@lru_cache(1)
def engine():
    javascript = MiniRacer()
    javascript.eval(KATEX.read_text(encoding="utf-8"))
    return javascript


@lru_cache(None)
def to_html(tex, display):
    """Return the formula as HTML and MathML; raise JSEvalException where KaTeX cannot parse it."""
    return engine().call("katex.renderToString", tex, {"displayMode": display, "strict": "error"})


def typeset(node, display):
    tex = node.astext().strip()
    if display and r"\\" in tex and r"\begin{" not in tex:
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    try:
        return to_html(tex, display)
    except JSEvalException as error:
        message = next(line for line in str(error).splitlines() if "Error" in line)
        logger.warning("formula does not parse: %s", message, location=node, type="typeset")
        return f"<code>{escape(tex)}</code>"


def visit_math(self, node):
    self.body.append(self.starttag(node, "span", "", CLASS="math notranslate nohighlight"))
    self.body.append(typeset(node, display=False) + "</span>")
    raise nodes.SkipNode


def visit_displaymath(self, node):
    self.body.append(self.starttag(node, "div", CLASS="math notranslate nohighlight"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(typeset(node, display=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("katex", (visit_math, None), (visit_displaymath, None))
    app.add_css_file("katex/katex.min.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}

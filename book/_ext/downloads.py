"""Notebooks to take away: each page written as text offers the notebook that ran, in plain Markdown."""

from pathlib import Path

import nbformat
from clean import Source, clean


def offer_notebook(app, pagename, templatename, context, doctree):
    executed = Path(app.outdir).parent / "jupyter_execute" / f"{pagename}.ipynb"
    if context.get("page_source_suffix") == ".md" and executed.is_file():
        target = Path(app.outdir) / "_sources" / f"{pagename}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        notebook = nbformat.read(executed, as_version=4)
        nbformat.write(clean(notebook, pagename, Source.of_this_build()), target)
        context["ipynb_source"] = f"{pagename}.ipynb"


def setup(app):
    app.connect("html-page-context", offer_notebook, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

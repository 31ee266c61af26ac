"""How long a page takes: a line under the title of each lecture, and the tables of the status page.

Run times, dates and peak memory are those that the build recorded when it ran a page, not estimates.
"""

import importlib.metadata
import os
import platform
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import nbformat
import reading
from docutils import nodes
from jupyter_cache import get_cache
from myst_nb.ext.execution_tables import METADATA_KEY
from myst_nb.sphinx_ import NbMetadataCollector
from sphinx.util.docutils import SphinxDirective

LIBRARIES = ["pioneers", "torch", "numpy", "scikit-learn", "tokenizers", "matplotlib", "jupyter-book"]


def runs(env):
    """What is recorded of each page's run, by the page's name."""
    records = NbMetadataCollector.get_doc_data(env)
    return {name: data["exec_data"] for name, data in sorted(records.items()) if data.get("exec_data")}


def tell_times(app, doctree, name):
    run = runs(app.env).get(name)
    if name.startswith("lectures/") and run:
        minutes = reading.minutes(Path(app.env.doc2path(name)))
        text = f"About {minutes} minutes to read · runs in {run['runtime']:.0f} s"
        title = next(doctree.findall(nodes.title))
        title.parent.insert(title.parent.index(title) + 1, nodes.paragraph(text=text, classes=["page-times"]))


def peak_memory(env, name):
    """The most bytes that the page's process held, as the cache of results remembers it; None if unknown."""
    executed = Path(env.app.outdir).parent / "jupyter_execute" / f"{name}.ipynb"
    notebook = nbformat.read(executed, as_version=4)
    cache = get_cache(env.config.nb_execution_cache_path)
    with suppress(KeyError):  # a page that runs at every build is not in the cache
        record = cache.match_cache_notebook(notebook)
        notebook = cache.get_cache_bundle(record.pk).nb
    return notebook.metadata.get("peak_memory")


def table(head, rows):
    """A table whose cells are texts or nodes."""
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in head), cols=len(head))
    for part, lines in ((nodes.thead(), [head]), (nodes.tbody(), rows)):
        for line in lines:
            cells = [nodes.paragraph(text=cell) if isinstance(cell, str) else cell for cell in line]
            part += nodes.row("", *(nodes.entry("", cell) for cell in cells))
        group += part
    return nodes.table("", group, classes=["colwidths-auto"])


class Runs(nodes.General, nodes.Element):
    """Stands where the table of runs will be, once all pages have run."""


class RunsDirective(SphinxDirective):
    """The place of the table; its page is written again when another page has run."""

    def run(self):
        NbMetadataCollector.set_doc_data(self.env, self.env.docname, METADATA_KEY, True)
        return [Runs()]


def describe(app, name, run, home):
    address = app.builder.get_relative_uri(home, name)
    link = nodes.reference(text=app.env.titles[name].astext(), refuri=address, internal=True)
    peak = peak_memory(app.env, name)
    memory = f"{peak / 2**30:.2f} GiB" if peak else "not measured"
    when = datetime.fromtimestamp(run["mtime"]).strftime("%Y-%m-%d %H:%M")
    return nodes.paragraph("", "", link), f"{run['runtime']:.1f} s", memory, when


def fill_runs(app, doctree, name):
    for place in list(doctree.findall(Runs)):
        rows = [describe(app, page, run, name) for page, run in runs(app.env).items()]
        place.replace_self(table(["Page", "Run time", "Peak memory", "Last run"], rows))


class VersionsDirective(SphinxDirective):
    def run(self):
        machine = f"{platform.system()} on {platform.machine()}, {os.cpu_count()} processors"
        rows = [("machine", machine), ("Python", platform.python_version())]
        rows += [(name, importlib.metadata.version(name)) for name in LIBRARIES]
        return [table(["What", "Version"], rows)]


def setup(app):
    app.add_directive("page-runs", RunsDirective)
    app.add_directive("versions", VersionsDirective)
    app.connect("doctree-resolved", tell_times)
    app.connect("doctree-resolved", fill_runs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

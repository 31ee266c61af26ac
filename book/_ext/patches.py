"""Seven changes to the libraries that run notebooks and build the book, where they offer no other way.

- MyST-NB: what a cell prints in pieces is joined, neither broken into lines nor written twice.
- MyST-NB: the notebook it writes down has the outputs that came from the cache.
- nbclient: a run ends with a look at the most memory that its process held; the cache keeps the number.
- Sphinx: Jupyter Book has no option for reading pages in several processes. They are written in one, because
  the V8 that sets the formulas does not survive a fork.
- Sphinx: a build that reads some pages only would leave the glossary of all others out of the search.
- Pybtex: what styles there are is looked up once, not for each citation.
- nbclient: where a network may be used, the cells that need one are not skipped.

They reach into what is private there. ``tests/notebooks/test_patches.py`` says with which versions they work.
"""

import copy
import functools
import os
import re
from pathlib import Path

import pybtex.plugin
import warm
from myst_nb.core import render
from myst_nb.core.execute.cache import NotebookClientCache
from nbclient import NotebookClient
from nbconvert.preprocessors import CoalesceStreamsPreprocessor
from nbformat import NotebookNode
from network import QUIET, may_be_used
from sphinx.search import IndexBuilder

VERSIONS = {
    "myst-nb": "1.4.0",
    "nbclient": "0.11.0",
    "nbconvert": "7.17.2",
    "pybtex": "0.26.1",
    "sphinx": "7.4.7",
}


def join_pieces(outputs):
    """What a cell prints may come in pieces. MyST-NB would break lines between them, and write them twice."""
    cell = NotebookNode(outputs=copy.deepcopy(outputs))
    return CoalesceStreamsPreprocessor().preprocess_cell(cell, {}, 0)[0].outputs


def peak_memory(pid):
    """The most bytes that a process has held; None where the system keeps no such record."""
    status = Path(f"/proc/{pid}/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text() if status.is_file() else "")
    return int(found[1]) * 1024 if found else None


def record_memory():
    end = NotebookClient._async_cleanup_kernel

    async def record_and_end(client):
        client.nb.metadata["peak_memory"] = peak_memory(warm.kernel_of(client.km.provisioner.pid))
        await end(client)

    NotebookClient._async_cleanup_kernel = record_and_end


def keep_outputs():
    """MyST-NB writes down the notebook that it has read, which lacks the outputs that came from the cache."""
    start = NotebookClientCache.start_client

    def start_and_fill(client):
        read = client.notebook
        start(client)
        read.update(client.notebook)

    NotebookClientCache.start_client = start_and_fill


def keep_index_entries():
    """Sphinx does not take over the entries of the index, as it does titles and words."""
    load, prune = IndexBuilder.load, IndexBuilder.prune

    def load_all(index, stream, form):
        load(index, stream, form)
        stream.seek(0)
        index._index_entries.clear()
        frozen = (index.formats[form] if isinstance(form, str) else form).load(stream)
        for entry, places in frozen["indexentries"].items():
            for page, anchor, main in places:
                row = (entry, anchor, "main" if main else "")
                index._index_entries.setdefault(frozen["docnames"][page], []).append(row)

    def prune_all(index, pages):
        pages = set(pages)
        prune(index, pages)
        for page in index._index_entries.keys() - pages:
            del index._index_entries[page]

    IndexBuilder.load, IndexBuilder.prune = load_all, prune_all


def apply():
    """Change the libraries, once."""
    if render.coalesce_streams is not join_pieces:
        pybtex.plugin.find_plugin = functools.cache(pybtex.plugin.find_plugin)
        record_memory()
        keep_outputs()
        keep_index_entries()
        render.coalesce_streams = join_pieces
        if may_be_used():
            NotebookClient.skip_cells_with_tag = ""  # which no cell has
            os.environ.update(QUIET)


def read_in_parallel(app):
    # This one only numbers sections, after all pages are read, but does not say so.
    app.extensions["sphinx_multitoc_numbering"].parallel_read_safe = True
    app.parallel = min(4, os.cpu_count() or 1)


def write_alone(app, env):
    app.parallel = 1


def setup(app):
    apply()
    app.connect("builder-inited", read_in_parallel)
    app.connect("env-updated", write_alone)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

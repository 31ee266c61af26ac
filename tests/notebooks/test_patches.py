"""The private parts of libraries that are changed for the book, with the versions that were tried."""

import inspect
import json
import os
import sys
from copy import deepcopy
from importlib.metadata import version

import nbval.kernel
import pybtex.plugin
import pytest
from jupyter_client.manager import KernelManager
from myst_nb.core import render
from myst_nb.core.execute.cache import NotebookClientCache
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
from sphinx.application import Sphinx
from sphinx.search import IndexBuilder

from pioneers.keys import Sources

OURS = nbval.kernel.KernelManager  # the root's conftest has put it there


@pytest.fixture
def patches(root, monkeypatch):
    monkeypatch.syspath_prepend(root / "book" / "_ext")
    import patches

    yield patches
    for own in ("patches", "network", "results"):
        sys.modules.pop(own, None)


def pins(root):
    return dict(line.split("==") for line in (root / "constraints.txt").read_text().lower().split())


def test_the_libraries_are_those_that_were_tried(root, patches):
    tried = patches.VERSIONS | OURS.__globals__["VERSIONS"]
    assert set(tried) == {"myst-nb", "nbclient", "nbconvert", "nbval", "pybtex", "sphinx"}
    assert tried == {name: version(name) for name in tried}
    assert tried == {name: pins(root)[name] for name in tried}


def test_what_is_replaced_is_there_and_takes_what_ours_takes(patches):
    assert list(inspect.signature(render.coalesce_streams).parameters) == ["outputs"]
    assert list(inspect.signature(NotebookClientCache.start_client).parameters) == ["self"]
    assert inspect.iscoroutinefunction(NotebookClient._async_cleanup_kernel)
    assert list(inspect.signature(NotebookClient._async_cleanup_kernel).parameters) == ["self"]
    assert list(inspect.signature(pybtex.plugin.find_plugin).parameters) == [
        "plugin_group",
        "name",
        "filename",
    ]
    assert list(inspect.signature(IndexBuilder.load).parameters) == ["self", "stream", "format"]
    assert list(inspect.signature(IndexBuilder.prune).parameters) == ["self", "docnames"]


def test_nbvals_kernels_talk_through_files():
    manager = OURS()
    assert isinstance(manager, KernelManager)
    assert manager.transport == "ipc"


def test_a_cell_that_needs_a_network_runs_only_where_it_may_and_is_kept_apart(patches, root, monkeypatch):
    for owner, name in (
        (NotebookClient, "_async_cleanup_kernel"),
        (NotebookClient, "skip_cells_with_tag"),
        (NotebookClientCache, "start_client"),
        (render, "coalesce_streams"),
        (IndexBuilder, "load"),
        (IndexBuilder, "prune"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))  # as they are now again after the test
    monkeypatch.setattr(patches.os, "environ", dict(os.environ))
    import results

    monkeypatch.syspath_prepend(root)
    cells = [new_code_cell("1"), new_code_cell("2", metadata={"tags": ["skip-execution"]})]
    found, keys = [], []
    for allowed in ("0", "1"):
        patches.os.environ["PIONEERS_NETWORK"] = allowed
        monkeypatch.setattr(render, "coalesce_streams", None)
        patches.apply()
        notebook = NotebookClient(new_notebook(cells=deepcopy(cells)), kernel_name="python3").execute()
        found.append([len(cell.outputs) for cell in notebook.cells])
        keys.append(results.key_of(notebook, Sources(root)))
    assert found == [[1, 0], [1, 1]]
    assert keys[1] == f"{keys[0]}, with a network"
    notebook.cells.pop()
    assert results.key_of(notebook, Sources(root)) == keys[0]  # other pages do not depend on it


def test_the_search_keeps_the_glossary_of_pages_that_are_not_read_again(patches, tmp_path, monkeypatch):
    for name in ("load", "prune"):
        monkeypatch.setattr(IndexBuilder, name, getattr(IndexBuilder, name))
    patches.keep_index_entries()

    def build(**terms):
        for page, term in terms.items():
            text = f":orphan:\n\n{page}\n======\n\n.. glossary::\n\n   {term}\n      What it means.\n"
            (tmp_path / f"{page}.rst").write_text(text)
        out = tmp_path / "_build"
        Sphinx(tmp_path, None, out, out / "trees", "html", {"extensions": []}, status=None).build()
        found = json.loads((out / "searchindex.js").read_text().removeprefix("Search.setIndex(").rstrip(")"))
        return {entry: len(places) for entry, places in found["indexentries"].items()}

    assert build(index="mask", other="token", gone="head") == {"mask": 1, "token": 1, "head": 1}
    (tmp_path / "gone.rst").unlink()
    assert build(index="masked") == {"masked": 1, "token": 1}

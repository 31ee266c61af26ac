"""The private parts of libraries that are changed for the book, with the versions that were tried."""

import inspect
import sys
from importlib.metadata import version

import nbval.kernel
import pytest
from jupyter_client.manager import KernelManager
from myst_nb.core import render
from myst_nb.core.execute.cache import NotebookClientCache
from nbclient import NotebookClient

OURS = nbval.kernel.KernelManager  # the root's conftest has put it there


@pytest.fixture
def patches(root, monkeypatch):
    monkeypatch.syspath_prepend(root / "book" / "_ext")
    import patches

    yield patches
    sys.modules.pop("patches")


def pins(root):
    return dict(line.split("==") for line in (root / "constraints.txt").read_text().lower().split())


def test_the_libraries_are_those_that_were_tried(root, patches):
    tried = patches.VERSIONS | OURS.__globals__["VERSIONS"]
    assert set(tried) == {"myst-nb", "nbclient", "nbconvert", "nbval", "sphinx"}
    assert tried == {name: version(name) for name in tried}
    assert tried == {name: pins(root)[name] for name in tried}


def test_what_is_replaced_is_there_and_takes_what_ours_takes(patches):
    assert list(inspect.signature(render.coalesce_streams).parameters) == ["outputs"]
    assert list(inspect.signature(NotebookClientCache.start_client).parameters) == ["self"]
    assert inspect.iscoroutinefunction(NotebookClient._async_cleanup_kernel)
    assert list(inspect.signature(NotebookClient._async_cleanup_kernel).parameters) == ["self"]


def test_nbvals_kernels_talk_through_files():
    manager = OURS()
    assert isinstance(manager, KernelManager)
    assert manager.transport == "ipc"

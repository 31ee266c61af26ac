"""What makes the book's pages executable.

- Fresh results. They are cached under a key made of `pioneers`, the pinned versions and the running Python,
  because the cache itself looks at a notebook's own code only. When the key changes, every page runs again.
- Several pages at a time. Those that have changed run side by side before they are read one by one.
- Notebooks to take away. Each page written as text offers the notebook that the build ran.
- Solutions that open. An admonition of class `dropdown` becomes a `<details>` element; no script is needed.
- Figures that stay. Each states its size, so that the text below it does not jump when it arrives.
- Memory that is known. A run ends with a look at the most that its process held; the cache keeps the number.
"""

import copy
import hashlib
import os
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import imagesize
from docutils import nodes
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.executors.utils import single_nb_execution
from myst_nb.core import render
from myst_nb.core.execute.cache import NotebookClientCache
from myst_nb.core.read import create_nb_reader
from nbclient import NotebookClient
from nbconvert.preprocessors import CoalesceStreamsPreprocessor
from nbformat import NotebookNode
from sphinx.transforms.post_transforms import SphinxPostTransform
from tqdm import tqdm
from traitlets.config import Config

PAGES_AT_A_TIME = min(4, os.cpu_count() or 1)  # each computes with one thread, and may hold 2 GiB


def results_key(root):
    """Hash whatever the pages' results depend on beside their own text."""
    files = [*root.joinpath("pioneers").rglob("*"), root / "constraints.txt"]
    digest = hashlib.sha256(f"{sys.version} torch {version('torch')}".encode())
    for file in sorted(file for file in files if file.is_file() and "__pycache__" not in file.parts):
        digest.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def choose_cache(app, config):
    caches = Path(app.outdir).parent / ".jupyter_cache"
    current = caches / results_key(Path(app.srcdir))
    for stale in caches.glob("*"):
        if stale != current:
            shutil.rmtree(stale)
    current.mkdir(parents=True, exist_ok=True)
    config.nb_execution_cache_path = str(current)


def changed_notebooks(env, docnames, cache):
    """Path → notebook, of the pages whose results are not in the cache."""
    for path in (Path(env.doc2path(name)) for name in docnames):
        text = path.read_text(encoding="utf-8")
        reader = create_nb_reader(str(path), env.myst_config, env.mystnb_config, text)
        notebook = reader and reader.read(text)
        if notebook and "execution_mode" not in notebook.metadata.get("mystnb", {}):
            try:
                cache.match_cache_notebook(notebook)
            except KeyError:
                yield path, notebook


def run_ahead(app, env, docnames):
    """Run pages that have changed. Reading finds what they gave; one that failed runs again, and says why."""
    cache = get_cache(env.mystnb_config.execution_cache_path)
    with TemporaryDirectory() as sockets, ThreadPoolExecutor(PAGES_AT_A_TIME) as pool:

        def start(path, notebook):
            # Kernels talk through files: of two that start at once, one may choose the other's port.
            config = Config(KernelManager={"transport": "ipc", "ip": f"{sockets}/{id(notebook)}"})
            how = {"timeout": env.mystnb_config.execution_timeout, "allow_errors": False, "config": config}
            return pool.submit(single_nb_execution, notebook, cwd=str(path.parent), **how)

        runs = {start(*changed): changed[0] for changed in changed_notebooks(env, docnames, cache)}
        try:
            for run in tqdm(as_completed(runs), "pages", len(runs), disable=None, unit="page"):
                if not run.exception() and not run.result().err:
                    data = {"execution_seconds": run.result().time}
                    bundle = CacheBundleIn(run.result().nb, str(runs[run]), data=data)
                    cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
        finally:
            pool.shutdown(cancel_futures=True)


def offer_notebook(app, pagename, templatename, context, doctree):
    executed = Path(app.outdir).parent / "jupyter_execute" / f"{pagename}.ipynb"
    if context.get("page_source_suffix") == ".md" and executed.is_file():
        target = Path(app.outdir) / "_sources" / f"{pagename}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(executed, target)
        context["ipynb_source"] = f"{pagename}.ipynb"


def state_sizes(app, pagename, templatename, context, doctree):
    sources = {name: Path(app.srcdir, source) for source, name in app.builder.images.items()}

    def sized(match):
        width, height = imagesize.get(sources[Path(match["src"]).name])
        return f'{match[0]} width="{width}" height="{height}"' if width > 0 else match[0]

    if "body" in context:
        pattern = r'<img (?![^>]*\bwidth=)[^>]*?src="(?P<src>[^":]*_images/[^"]+)"'
        context["body"] = re.sub(pattern, sized, context["body"])


class Details(nodes.General, nodes.Element):
    pass


class Summary(nodes.General, nodes.TextElement):
    pass


class FoldDropdowns(SphinxPostTransform):
    default_priority = 200
    formats = ("html",)

    def run(self):
        for admonition in list(self.document.findall(nodes.Admonition)):
            if "dropdown" in admonition["classes"]:
                title, *body = admonition.children
                details = Details(classes=["admonition", *admonition["classes"]], ids=admonition["ids"])
                details += Summary("", "", *title.children, classes=["admonition-title"])
                details += body
                admonition.replace_self(details)


def visit_as(tag):
    def visit(self, node):
        self.body.append(self.starttag(node, tag))

    def depart(self, node):
        self.body.append(f"</{tag}>\n")

    return visit, depart


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
        client.nb.metadata["peak_memory"] = peak_memory(client.km.provisioner.pid)
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


def setup(app):
    record_memory()
    keep_outputs()
    render.coalesce_streams = join_pieces
    app.add_node(Details, html=visit_as("details"))
    app.add_node(Summary, html=visit_as("summary"))
    app.add_post_transform(FoldDropdowns)
    app.connect("config-inited", choose_cache)
    app.connect("env-before-read-docs", run_ahead)
    app.connect("html-page-context", offer_notebook, priority=400)
    app.connect("html-page-context", state_sizes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

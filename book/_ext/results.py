"""Fresh results: a page's results are kept until its code, or something that the code depends on, changes.

jupyter-cache looks at a notebook's own code only. Beside each result stands the key (`pioneers.keys`) of what
the code depends on; where it is no longer the same, the result is dropped and the page is run again.
`book/run.py` runs such pages before the book is built, several at a time; one that is still missing when
Sphinx reads it, because it failed, is run by MyST-NB, which says why.
"""

from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from myst_nb.core.config import NbParserConfig
from myst_nb.core.read import create_nb_reader
from myst_parser.config.main import MdParserConfig
from network import may_be_used, needed_by

from pioneers.keys import Sources


def cache_of(root):
    return get_cache(root / "_build" / ".jupyter_cache")


def read(path):
    """A page as the notebook that MyST-NB makes of it; None where nothing of it is run, or at every build."""
    text = path.read_text(encoding="utf-8")
    reader = create_nb_reader(str(path), MdParserConfig(), NbParserConfig(), text)
    notebook = reader and reader.read(text)
    return notebook if notebook and "execution_mode" not in notebook.metadata.get("mystnb", {}) else None


def key_of(notebook, sources):
    """The key of what a notebook's code depends on; that of code which is not Python is its own text."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    try:
        key = sources.key(*cells)
    except SyntaxError:
        key = "not Python"
    return f"{key}, with a network" if needed_by(notebook) and may_be_used() else key


def is_kept(cache, notebook, key):
    """Whether the cache has what this notebook gives today."""
    try:
        return cache.match_cache_notebook(notebook).data.get("key") == key
    except KeyError:
        return False


def drop(cache, path):
    """Forget what a page gave."""
    for record in cache.list_cache_records():
        if record.uri == str(path):
            cache.remove_cache(record.pk)


def keep(cache, path, result, key):
    """Keep what a run of a page gave, instead of what it gave before."""
    drop(cache, path)
    data = {"execution_seconds": result.time, "key": key}
    bundle = CacheBundleIn(result.nb, str(path), data=data)
    cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def choose_cache(app, config):
    config.nb_execution_cache_path = str(cache_of(Path(app.srcdir)).path)


def runs_always(path):
    """Whether a page looks at other pages, and is therefore run whenever one of them has changed."""
    return "execution_mode: force" in Path(path).read_text(encoding="utf-8")[:400]


def read_again(app, env, added, changed, removed):
    """Pages whose key has changed since Sphinx read them; stale results are dropped."""
    before, env.result_keys = getattr(env, "result_keys", {}), {}
    cache, sources = cache_of(Path(app.srcdir)), Sources(Path(app.srcdir))
    for name in sorted(env.found_docs):
        path = Path(env.doc2path(name))
        notebook = read(path)
        if notebook:
            env.result_keys[name] = key_of(notebook, sources)
            if not is_kept(cache, notebook, env.result_keys[name]):
                drop(cache, path)
    again = [name for name, key in env.result_keys.items() if before.get(name) != key]
    changed = {*again, *added, *changed, *removed}
    return again + [
        name
        for name in env.found_docs - env.result_keys.keys()
        if changed and runs_always(env.doc2path(name))
    ]


def setup(app):
    app.connect("config-inited", choose_cache)
    app.connect("env-get-outdated", read_again)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "env_version": 1}

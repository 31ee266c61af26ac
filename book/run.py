"""Run what has changed: the pages and the labs with their solutions, several at a time.

    python book/run.py                              # the pages, and the students' versions of the labs
    python book/run.py --solutions                  # the labs with their solutions, too
    python book/run.py lectures/09_gpt labs/04_gpt  # only these, to see whether they run

Results are kept in ``_build`` until what they depend on changes; the build of the book takes them from there.
A page that fails here fails again, and is named, when the book is built.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from jupyter_cache.executors.utils import single_nb_execution
from nbformat import NotebookNode
from tqdm import tqdm
from traitlets.config import Config

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "book" / "_ext"), str(ROOT / "labs")]

import patches  # noqa: E402 (they are no packages)
import release  # noqa: E402
import results  # noqa: E402
import warm  # noqa: E402

from pioneers.keys import Sources  # noqa: E402

AT_A_TIME = min(4, os.cpu_count() or 1)  # each computes with one thread, and may hold 2 GiB
TIMEOUT = 600  # seconds for a cell on a busy machine; tests/notebooks/test_times.py is stricter
WRITING = Lock()  # the cache is written by one at a time
Job = Callable[[], object]


def main(names: list[str]) -> int:
    """Run what is not up to date; returns the exit status, 1 when a lab or one of the ``names`` failed."""
    solutions, names = "--solutions" in names, [name for name in names if name != "--solutions"]
    unknown = [name for name in names if not source_of(name).is_file()]
    if unknown:
        print(f"there is no {', '.join(unknown)}; name a page as _toc.yml does, a lab as labs/NN_topic")
        return 2
    failed: list[str] = []
    os.environ |= {
        "OMP_NUM_THREADS": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }
    with TemporaryDirectory() as sockets, ThreadPoolExecutor(AT_A_TIME) as pool:
        todo = list(jobs(names, solutions, Path(sockets)))
        if len(todo) > AT_A_TIME:
            warm.warm_kernels(f"{sockets}/warm")
        runs = {pool.submit(job): name for name, job in todo}
        try:
            for run in tqdm(as_completed(runs), "pages and labs", len(runs), disable=None, unit="page"):
                if run.exception():
                    failed.append(runs[run])
                    print(f"{runs[run]} fails: {run.exception()}", file=sys.stderr)
        finally:
            pool.shutdown(cancel_futures=True)
    return int(any(names or name.startswith("labs") for name in failed))


def jobs(names: list[str], solutions: bool, sockets: Path) -> Iterator[tuple[str, Job]]:
    """What is not up to date, and how to bring it there; labs first, because some take longest."""
    labs = {name.removeprefix("labs/") for name in names if name.startswith("labs/")}
    if not names:
        yield "labs/student", partial(subprocess.run, [sys.executable, release.__file__], check=True)
    for source, key in release.stale_references(labs) if labs or solutions else []:
        yield f"labs/{source.parent.name}", partial(release.make_reference, source, key)
    cache, package = results.cache_of(ROOT), Sources(ROOT)
    chosen = [name for name in names or pages() if not name.startswith("labs/")]
    chosen.sort(key=lambda name: not name.startswith("book/command_line"))  # long ones; a core would wait
    for number, name in enumerate(chosen):
        notebook = results.read(source_of(name))
        if notebook:
            key = results.key_of(notebook, package)
            if not results.is_kept(cache, notebook, key):
                yield name, partial(run_page, source_of(name), notebook, key, sockets / str(number))


def run_page(path: Path, notebook: NotebookNode, key: str, socket: Path) -> None:
    """Run a page and keep what it gives.

    Raises:
        RuntimeError: a cell failed.
    """
    # Kernels talk through files: of two that start at once, one may choose the other's port.
    config = Config(KernelManager={"transport": "ipc", "ip": str(socket)})
    result = single_nb_execution(
        notebook, cwd=str(path.parent), timeout=TIMEOUT, allow_errors=False, config=config
    )
    if result.err:
        raise RuntimeError(result.exc_string)
    result.time += warm.spared()
    with WRITING:
        results.keep(results.cache_of(ROOT), path, result, key)


def pages() -> list[str]:
    """The pages of the book that are written as text, as its table of contents names them."""
    names = re.findall(r"(?:root|file): (\S+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [name for name in names if source_of(name).is_file()]


def source_of(name: str) -> Path:
    """The text of a page or a lab."""
    lab = name.startswith("labs/")
    return ROOT / (f"{name}/lab.md" if lab else f"{name}.md")


if __name__ == "__main__":
    patches.apply()
    sys.exit(main(sys.argv[1:]))

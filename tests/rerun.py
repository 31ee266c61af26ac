"""Run the executed notebooks again, those that have not passed as they are: they must print the same text.

    python tests/rerun.py [--all]

A notebook that has passed leaves a stamp in ``_build/passed``: a hash of the notebook, outputs and all, of
the key of what its code depends on, and of this file. While the stamp fits, the notebook is skipped.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from jupyter_cache import get_cache

from pioneers.keys import Sources

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "book" / "_ext"))

import warm  # noqa: E402 (it is in no package)

OPTIONS = ["--nbval", "--nbval-kernel-name=python3", "--nbval-cell-timeout=600", "-qp", "no:cacheprovider"]
AT_A_TIME = 2


def write_lectures(root: Path = ROOT) -> None:
    """Write the executed lectures as the build keeps them, with the numbers that it glues into the text."""
    cache, folder = get_cache(root / "_build" / ".jupyter_cache"), root / "_build" / "rerun" / "lectures"
    folder.mkdir(parents=True, exist_ok=True)
    for record in cache.list_cache_records():
        page = Path(record.uri)
        if page.parent == root / "lectures":
            nbformat.write(cache.get_cache_bundle(record.pk).nb, folder / f"{page.stem}.ipynb")


def notebooks(root: Path = ROOT) -> list[Path]:
    """The executed lectures and the labs' references."""
    lectures = [path.stem for path in (root / "lectures").glob("*.md")]
    labs = [path.parent.name for path in (root / "labs").glob("*/lab.md")]
    found = [root / "_build" / "rerun" / "lectures" / f"{name}.ipynb" for name in lectures]
    return sorted([*found, *(root / "_build" / "reference" / f"{name}.ipynb" for name in labs)])


def stamp_of(path: Path, sources: Sources) -> str:
    """What must be the same for a notebook to pass again: its code, its outputs, what they depend on."""
    notebook = nbformat.read(path, as_version=4)
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [cell.get("outputs", []) for cell in notebook.cells]
    key = sources.key(*cells)
    made_from = notebook.metadata.get("pioneers_source", "")  # of a lab: its exercises too
    own = Path(__file__).read_text(encoding="utf-8")
    return hashlib.sha256(repr([cells, outputs, key, made_from, own]).encode()).hexdigest()


def run(path: Path) -> subprocess.CompletedProcess[str]:
    """Run a notebook and compare what it prints."""
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), *OPTIONS, str(path)]
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }  # as in book/run.py
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Run what has to be run; returns the exit status, 1 when a notebook did not pass."""
    folder, sources, todo = root / "_build" / "passed", Sources(root), {}
    folder.mkdir(parents=True, exist_ok=True)
    for path in notebooks(root):
        stamp, file = stamp_of(path, sources), folder / path.stem
        if "--all" in arguments or not file.exists() or file.read_text() != stamp:
            file.unlink(missing_ok=True)
            todo[path] = stamp
    skipped = len(notebooks(root)) - len(todo)
    print(f"notebooks: {skipped} skipped, which have passed as they are; {len(todo)} to run", flush=True)
    failed = []
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        for path, done in zip(todo, pool.map(run, todo), strict=True):
            said = done.stdout.strip()
            print(f"{path.stem}: {said.splitlines()[-1] if said else done.stderr}", flush=True)
            if done.returncode:
                failed.append(path.stem)
                print(said, flush=True)
            else:
                (folder / path.stem).write_text(todo[path])
    print(f"failed: {', '.join(failed)}" if failed else "all notebooks print what they printed")
    return int(bool(failed))


if __name__ == "__main__":
    write_lectures()
    with TemporaryDirectory() as folder:
        warm.warm_kernels(folder)
        sys.exit(main(sys.argv[1:]))

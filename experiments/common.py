"""Shared by every experiment: several seeds of each case, saved as they finish, and one result file."""

import json
import math
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from pioneers.device import best_device
from pioneers.progress import progress

ROOT = Path(__file__).resolve().parents[1]
FINISHED = ROOT / "_build" / "experiments"  # one JSON line per finished run
RESULTS = ROOT / "pioneers" / "results"  # read by pioneers.analysis.experiment

# For the GNU C library: memory that a step frees stays with the process. That of a large tensor is given back
# otherwise, and the system clears new pages for the next one: nearly a third of a small GPT's time, measured.
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**34)}

Row = dict[str, Any]
Call = Callable[[], Mapping[str, Any]]


def run(
    name: str,
    cases: Mapping[str, Mapping[str, Any]],
    one_case: Callable[..., Mapping[str, Any]],
    *,
    config: Mapping[str, Any],
    seeds: Iterable[int] = range(5),
) -> Path:
    """Run every case with every seed and write ``pioneers/results/NAME.json``.

    A run that was interrupted goes on where it stopped; runs of another config or case are done again.
    Several run at a time, each with as many threads as torch is set to, also on one CUDA device.

    Args:
        name: of the experiment.
        cases: name of a case → keyword arguments that make it.
        one_case: called as ``one_case(seed=seed, **{**config, **case})``; returns numbers or lists of them.
            A function of a module, so that other processes find it.
        config: keyword arguments that all cases share; they are written into the result.
        seeds: which each case is run with.

    Returns:
        The path of the result file.
    """
    path = FINISHED / f"{name}.jsonl"
    finished = _read(path)
    wanted = [
        {"case": case, "seed": seed, "arguments": _plain({**config, **cases[case]})}
        for seed in seeds
        for case in cases
    ]
    # Case by case: two seeds each pretrain a model of their own, where two cases would wait for the same one.
    todo = [
        asked
        for case in cases
        for asked in wanted
        if asked["case"] == case and _find(asked, finished) is None
    ]
    calls = [partial(one_case, seed=asked["seed"], **{**config, **cases[asked["case"]]}) for asked in todo]
    for row in progress(_run(todo, calls), desc=name, total=len(wanted), initial=len(wanted) - len(todo)):
        finished.append(row)
        _write(path, "".join(json.dumps(r) + "\n" for r in finished))
    rows = [
        {key: value for key, value in row.items() if key != "arguments"}
        for asked in wanted
        if (row := _find(asked, finished)) is not None
    ]
    head = {
        "command": f"make experiments NAME={name}",
        "config": config,
        "cases": cases,
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "machine": f"{_device()}, {torch.get_num_threads()} thread(s)",
        "seconds": round(sum(row["seconds"] for row in rows), 1),
    }
    return _write(RESULTS / f"{name}.json", _layout(head, rows))


def _find(asked: Row, finished: Sequence[Row]) -> Row | None:
    return next((row for row in finished if row.items() >= asked.items()), None)


def _run(todo: Sequence[Row], calls: Sequence[Call]) -> Iterator[Row]:
    """The rows in the order in which they are done."""
    if _processes() == 1:
        yield from map(_timed, todo, calls)
        return
    threads = torch.get_num_threads()
    os.environ |= KEEP_MEMORY
    with ProcessPoolExecutor(_processes(), get_context("spawn"), _set_up, (threads,)) as pool:
        try:
            for future in as_completed(map(partial(pool.submit, _timed), todo, calls)):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _processes() -> int:
    if best_device().type == "mps":
        return 1
    # The cores that this process may use, where the system tells.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // torch.get_num_threads())


def _device() -> str:
    return torch.cuda.get_device_name() if best_device().type == "cuda" else platform.machine()


def _set_up(threads: int) -> None:
    """A process that computes: the bar belongs to the one that waits."""
    os.environ["TQDM_DISABLE"] = "1"
    torch.set_num_threads(threads)


def _timed(asked: Row, call: Call) -> Row:
    start = time.perf_counter()
    numbers = _plain(call())
    # A case that goes on where it was interrupted knows better how long it took.
    return {**asked, "seconds": round(time.perf_counter() - start, 1), **numbers}


def _layout(head: Mapping[str, Any], rows: list[Row]) -> str:
    """JSON with one line per row, so that a change of a number is a change of a line."""
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    return "{" + ",\n".join([*lines, '"rows": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]"]) + "}\n"


def _plain(value: Any) -> Any:
    """Tensors and tuples as lists, numbers to five digits: what JSON gives back as it was."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, torch.Tensor):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return float(f"{value:.5g}") if isinstance(value, float) and math.isfinite(value) else value


def _read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _write(path: Path, text: str) -> Path:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f"{path.suffix}.{os.getpid()}")
    unfinished.write_text(text)
    return unfinished.replace(path)

"""Timing: the contestants take turns in one process, so that whatever disturbs the machine disturbs all."""

import importlib.metadata
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from pioneers.bench.contests import Contest
from pioneers.device import autocast
from pioneers.progress import progress

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
WARM_UP = 2
PEAK_SIZE = 2048


@dataclass(frozen=True, kw_only=True)
class Row:
    """One contestant's result.

    Attributes:
        contest: name of the contest.
        precision: ``"fp32"`` or ``"bf16"``.
        library: the contestant.
        version: its version; of this package, that of the package.
        parameters: number of its model's parameters.
        seconds: median time of one step.
        per_second: tokens or images.
        peak_fraction: share of the matrix-product peak measured in the same run, counting the textbook
            form's operations.
        ratio: how many times faster this package is than this library: its median over ours.
    """

    contest: str
    precision: str
    library: str
    version: str
    parameters: int
    seconds: float
    per_second: float
    peak_fraction: float
    ratio: float


def compete(
    name: str, contest: Contest, precision: str, *, device: torch.device, rounds: int, peak: float
) -> tuple[list[Row], dict[str, str]]:
    """The results of one contest in one precision, and why a library could not take part.

    Args:
        rounds: number of timed steps of each contestant; the median counts.
        peak: floating-point operations per second of a matrix product in this precision.
    """
    steps: dict[str, Callable[[], Any]] = {}
    parameters: dict[str, int] = {}
    absent: dict[str, str] = {}
    for library, make in contest.entrants.items():
        torch.manual_seed(0)
        try:
            model, function = make(device)
        except ModuleNotFoundError as error:
            absent[library] = str(error).splitlines()[0]
            continue
        parameters[library] = sum(p.numel() for p in model.parameters())
        if contest.trains:
            steps[library] = _training_step(model, function, device, precision)
        else:
            model.to(DTYPES[precision])
            steps[library] = torch.no_grad()(function)
    medians = _take_turns(steps, rounds=rounds, device=device, title=f"{name} {precision}")
    flops = contest.flops()
    rows = [
        Row(
            contest=name,
            precision=precision,
            library=library,
            version=_version(library),
            parameters=parameters[library],
            seconds=seconds,
            per_second=contest.amount / seconds,
            peak_fraction=flops / seconds / peak,
            ratio=seconds / medians["pioneers"],
        )
        for library, seconds in medians.items()
    ]
    return rows, absent


def _training_step(
    model: torch.nn.Module, loss: Callable[[], torch.Tensor], device: torch.device, precision: str
) -> Callable[[], None]:
    """Forward, backward and the same optimiser for everybody."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with autocast(device, precision):
            value = loss()
        value.backward()
        optimizer.step()

    return step


def _take_turns(
    steps: dict[str, Callable[[], Any]], *, rounds: int, device: torch.device, title: str
) -> dict[str, float]:
    times: dict[str, list[float]] = {library: [] for library in steps}
    for turn in progress(range(WARM_UP + rounds), desc=title, leave=False):
        for library, step in steps.items():
            seconds = _seconds(step, device)
            if turn >= WARM_UP:
                times[library].append(seconds)
    return {library: statistics.median(each) for library, each in times.items()}


def _seconds(step: Callable[[], Any], device: torch.device) -> float:
    _wait_for(device)
    start = time.perf_counter()
    step()
    _wait_for(device)
    return time.perf_counter() - start


def _wait_for(device: torch.device) -> None:
    if device.type != "cpu":
        torch.accelerator.synchronize(device)


def matmul_peak(precision: str, device: torch.device, *, rounds: int = 25) -> float:
    """Floating-point operations per second of the best of some large matrix products: the ceiling."""
    size = PEAK_SIZE if device.type == "cpu" else 4 * PEAK_SIZE
    a, b = torch.randn(2, size, size, device=device, dtype=DTYPES[precision])
    times = [_seconds(lambda: a @ b, device) for _ in range(WARM_UP + rounds)]
    return 2 * size**3 / min(times)


def machine(device: torch.device) -> dict[str, Any]:
    """What was measured on."""
    here = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": str(device),
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
    if device.type != "cpu":
        here["device"] = torch.get_device_module(device).get_device_name(device)
    return here


def as_json(rows: list[Row]) -> list[dict[str, Any]]:
    """Rows for a file, rounded to what was measured."""
    return [{k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in asdict(r).items()} for r in rows]


def _processor() -> str:
    """The processor's name; /proc has it on Linux, where the standard library has none."""
    return next(_names(Path("/proc/cpuinfo")), platform.processor() or platform.machine())


def _names(path: Path) -> Iterator[str]:
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.startswith("model name"):
            yield line.split(":", 1)[1].strip()


def _version(library: str) -> str:
    return importlib.metadata.version("torch" if library == "torch.nn" else library)

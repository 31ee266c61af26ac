"""Timing. The libraries take turns in one process, so that a disturbance of the machine affects them all."""

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

from pioneers.bench.benchmarks import Benchmark
from pioneers.device import autocast
from pioneers.progress import progress

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
WARM_UP = 2
PEAK_SIZE = 2048


@dataclass(frozen=True, kw_only=True)
class Row:
    """The result of one library.

    Attributes:
        benchmark: name of the benchmark.
        precision: ``"fp32"`` or ``"bf16"``.
        library: its name.
        version: its version; of this package, that of the package.
        parameters: parameter count of its model.
        seconds: median time of one step.
        per_second: tokens or images.
        peak_fraction: share of the matrix-product peak measured in the same run, counting the textbook
            form's operations.
        ratio: median time of this library over that of this package; above 1, this package is faster.
    """

    benchmark: str
    precision: str
    library: str
    version: str
    parameters: int
    seconds: float
    per_second: float
    peak_fraction: float
    ratio: float


def measure(
    name: str, benchmark: Benchmark, precision: str, *, device: torch.device, rounds: int, peak: float
) -> tuple[list[Row], dict[str, str]]:
    """Run one benchmark in one precision; returns the results, and for each missing library the reason.

    Args:
        rounds: number of timed steps of each library; the median counts.
        peak: floating-point operations per second of a matrix product in this precision.
    """
    steps: dict[str, Callable[[], Any]] = {}
    parameters: dict[str, int] = {}
    absent: dict[str, str] = {}
    for library, make in benchmark.implementations.items():
        torch.manual_seed(0)
        try:
            model, function = make(device)
        except ModuleNotFoundError as error:
            absent[library] = str(error).splitlines()[0]
            continue
        parameters[library] = sum(p.numel() for p in model.parameters())
        if benchmark.trains:
            steps[library] = _training_step(model, function, device, precision)
        else:
            model.to(DTYPES[precision])
            steps[library] = torch.no_grad()(function)
    medians = _take_turns(steps, rounds=rounds, device=device, title=f"{name} {precision}")
    flops = benchmark.flops()
    rows = [
        Row(
            benchmark=name,
            precision=precision,
            library=library,
            version=_version(library),
            parameters=parameters[library],
            seconds=seconds,
            per_second=benchmark.amount / seconds,
            peak_fraction=flops / seconds / peak,
            ratio=seconds / medians["pioneers"],
        )
        for library, seconds in medians.items()
    ]
    return rows, absent


def _training_step(
    model: torch.nn.Module, loss: Callable[[], torch.Tensor], device: torch.device, precision: str
) -> Callable[[], None]:
    """Make a step: forward, backward and the same optimiser for every library."""
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
    """Measure the ceiling: operations per second of the fastest of several large matrix products."""
    size = PEAK_SIZE if device.type == "cpu" else 4 * PEAK_SIZE
    a, b = torch.randn(2, size, size, device=device, dtype=DTYPES[precision])
    times = [_seconds(lambda: a @ b, device) for _ in range(WARM_UP + rounds)]
    return 2 * size**3 / min(times)


def machine(device: torch.device) -> dict[str, Any]:
    """Describe the machine."""
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

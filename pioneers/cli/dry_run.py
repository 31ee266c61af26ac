"""``pioneers train ... --dry-run``: what a run would take. Nothing is written."""

import shutil
import statistics
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from pioneers.analysis.memory import training_memory
from pioneers.cli.prepare import prepare
from pioneers.cli.run_folder import COPIES, RunFolder
from pioneers.cli.tasks import Task
from pioneers.config import Config
from pioneers.device import autocast, low_precision
from pioneers.training import TrainConfig
from pioneers.training.train_step import TrainStep, first_tensor, split_batch

SECONDS, FEWEST = 3.0, 3  # a measurement lasts so long, and has so many steps
PRECISION = {None: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}


class _NoFolder(RunFolder):
    """In the place of the folder of a run."""

    def check_room(self, weights: int) -> None:
        """The disk that counts is another one."""


def dry_run(args: Namespace, device: torch.device) -> None:
    """Print size, memory, operations, time and disk of the run that the arguments describe."""
    out = Path(args.out)
    with tempfile.TemporaryDirectory() as place:
        args.out = str(Path(place) / "run")
        _, task, config, training = prepare(args, device, _NoFolder)
        size = sum(p.numel() for p in task.model.parameters())
        print(f"{type(task.model).__name__} of {size:,} parameters on {device}, trained on {task.size_text}")
        print(_memory(task, config, training, device))
        print(_operations(task, training))
        print(_time(task, training, device))
    print(_disk(out, 4 * size))
    print("nothing was written")


def _memory(task: Task, config: Config, training: TrainConfig, device: torch.device) -> str:
    batch = task.batches(0)
    rows = first_tensor(batch)
    assert rows is not None
    sizes: Any = getattr(task.model, "config", config)
    length = rows.shape[1] if rows.ndim == 2 else 1 + (sizes.image_size // sizes.patch_size) ** 2
    memory = training_memory(
        task.model,
        batch=-(-len(rows) // training.accumulate),
        seq_len=length,
        precision=PRECISION[low_precision(device, training.precision)],
    )
    parts = ", ".join(f"{value / 1e6:,.1f} of {name}" for name, value in memory._asdict().items())
    return f"memory: {memory.total / 1e6:,.1f} MB ({parts}), by formula"


def _operations(task: Task, training: TrainConfig) -> str:
    batch = split_batch(task.batches(0), training.accumulate)[0]
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        task.loss_fn(task.model, batch).backward()
    each = counter.get_total_flops() * training.accumulate
    return (
        f"operations: {each:.2e} in a step, {each * training.max_steps:.2e} in {training.max_steps:,} steps"
    )


def _time(task: Task, training: TrainConfig, device: torch.device) -> str:
    step = TrainStep(task.model, task.loss_fn, training, task.count, device)
    task.model.train()
    numbers = iter(range(training.max_steps + FEWEST))

    def update() -> None:
        number = next(numbers)
        step(task.batches(number), number)[0].item()

    def evaluate() -> None:
        task.model.eval()
        with torch.no_grad(), autocast(device, training.precision):
            task.evaluate(task.model)

    update()  # the first takes longer
    each = _seconds(update, training.max_steps)
    rows = -(-training.max_steps // training.log_every) + 1
    total = training.max_steps * each + rows * _seconds(evaluate, 1)
    return (
        f"time: {each:.3g} s for a step, {_duration(total)} in all, with {rows} evaluations, as measured now"
    )


def _seconds(call: Callable[[], None], most: int) -> float:
    times: list[float] = []
    while len(times) < min(FEWEST, most) or (len(times) < most and sum(times) < SECONDS):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 2:
        return f"{seconds:.0f} seconds"
    return f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.1f} hours"


def _disk(out: Path, weights: int) -> str:
    there = next(folder for folder in (out.absolute(), *out.absolute().parents) if folder.exists())
    free = shutil.disk_usage(there).free
    return f"disk: {COPIES * weights / 1e6:,.1f} MB, of {free / 1e6:,.0f} MB left"

"""Metrics of a run in progress: a file with one JSON object per line, and the speed."""

import contextlib
import json
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pioneers.training.distributed import rank
from pioneers.training.train_step import first_tensor

Row = dict[str, float]


def read_metrics(path: str | Path) -> list[Row]:
    """Read the rows of the metrics file at ``path``; an unfinished last line is ignored.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a line is damaged.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there are no metrics at {path}; fit(..., metrics=path) writes them")
    whole = path.read_text(errors="replace").split("\n")[:-1]
    return [_row(path, number, line) for number, line in enumerate(whole, start=1) if line]


def _row(path: Path, number: int, line: str) -> Row:
    with contextlib.suppress(json.JSONDecodeError):
        row = json.loads(line)
        if isinstance(row, dict) and "step" in row:
            return row
    raise ValueError(f"{path}, line {number} is damaged: delete this line, which begins {line[:20]!r}")


class MetricsFile:
    """A file to which rows are appended, one JSON object per line, each before the next step begins.

    Args:
        path: the file; with ``None``, and in all processes but the first, nothing is written.
        history: the rows of the run so far. The file is rewritten to hold exactly these, so that a resumed
            run repeats none and a new one begins with an empty file.
        tensorboard: a folder to which the rows are written for TensorBoard too, which forgets those that a
            resumed run repeats.

    Raises:
        ModuleNotFoundError: TensorBoard is not installed.
        OSError: the file cannot be written; the message names it.
    """

    def __init__(
        self, path: str | Path | None, history: list[Row], tensorboard: str | Path | None = None
    ) -> None:
        self.path = None if path is None or rank() else Path(path)
        self.board: Any = None
        if tensorboard is not None and rank() == 0:
            begin = int(history[-1]["step"]) + 1 if history else 0
            self.board = summary_writer()(str(tensorboard), purge_step=begin)
        if self.path is None:
            return
        with _named(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            written = {row["step"]: row for row in read_metrics(self.path)} if self.path.exists() else {}
            partial = self.path.with_name(self.path.name + ".partial")
            partial.write_text("".join(_line(written.get(row["step"], row)) for row in history))
            os.replace(partial, self.path)

    def write(self, row: Row) -> None:
        """Append a row.

        Raises:
            OSError: it cannot be written; the message names the file.
        """
        if self.path is not None:
            with _named(self.path), open(self.path, "a") as file:
                file.write(_line(row))
        if self.board is not None:
            for name, value in row.items():
                self.board.add_scalar(name, value, int(row["step"]))
            self.board.flush()


def summary_writer() -> type:
    """Return the class that writes files for TensorBoard.

    Raises:
        ModuleNotFoundError: TensorBoard is not installed.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ModuleNotFoundError("TensorBoard is not installed: pip install tensorboard") from error
    return SummaryWriter


class Speed:
    """Tokens, or rows, per second since the last :meth:`restart`."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Reset the counter."""
        self.count, self.unit, self.since = 0, "rows", time.perf_counter()

    def add(self, batch: Any) -> None:
        """Count a batch: the tokens if its first tensor holds integers ``(B, T)``, else its rows."""
        rows = first_tensor(batch)
        if rows is None:
            return
        tokens = rows.ndim == 2 and not rows.is_floating_point()
        self.count += rows.numel() if tokens else len(rows)
        self.unit = "tokens" if tokens else "rows"

    def rate(self) -> dict[str, float]:
        """Return the rate under its unit, ``"tokens/s"`` or ``"rows/s"``."""
        return {f"{self.unit}/s": self.count / (time.perf_counter() - self.since)}


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(
            f"cannot write the metrics to {path} ({error.strerror}); fix that and start again: a run with a "
            f"checkpoint resumes from it"
        ) from error


def _line(row: Row) -> str:
    finite = {name: value if math.isfinite(value) else None for name, value in row.items()}
    return json.dumps(finite) + "\n"

"""The folder of a training run. It stores the command's settings, so that only the same command resumes."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from pioneers.cli.config_file import SOURCES, config_to_text, read_config
from pioneers.tokenizers import FastBPE, WordPiece
from pioneers.training import TrainConfig
from pioneers.training.distributed import rank
from pioneers.training.resume import checkpoint_to_resume
from pioneers.weights import load_tokenizer, save_tokenizer
from pioneers.weights.files import CONFIG
from pioneers.weights.tokenizer import AnyTokenizer

COPIES = 8  # of the weights: in the checkpoint (with two moments) and its successor, the best, the result
KEPT = 4  # more of them, from before a cool-down
SETTINGS, CHECKPOINT, LOCK, LEFT_OUT = "run.yaml", "checkpoint.safetensors", ".lock", "left_out.json"
OURS = (f"{SETTINGS}.partial", LOCK, ".writable")  # files that a run which was killed at once leaves
FREE = (*SOURCES, "shard", "tensorboard")  # options that may change when a run resumes
LENGTH = ("steps", "schedule", "cooldown_steps")  # options that may change if it can be made longer
TOKENIZER_FILES = ("tokenizer.json", "vocab.txt")


class RunFolder:
    """A folder reserved for one run.

    Args:
        path: the folder; created if missing.
        settings: values of the options, by name; anything YAML can hold.
        training: the configuration of the training that the settings ask for.

    Raises:
        ValueError: the folder belongs to another run, or contains other files.
        OSError: the folder cannot be written to.
    """

    def __init__(self, path: Path, settings: dict[str, Any], training: TrainConfig) -> None:
        self.path, self.settings = path, settings
        self.checkpoint, self.metrics = path / CHECKPOINT, path / "metrics.jsonl"
        try:
            path.mkdir(parents=True, exist_ok=True)
            (path / ".writable").touch()
            (path / ".writable").unlink()
        except OSError as error:
            raise OSError(f"cannot write to {path} ({error.strerror}); give another --out") from error
        self.saved = saved_settings(path)
        self.begun = self._same_run(training)
        self.lock = FileLock(path / LOCK, timeout=0)

    def check_room(self, weights: int) -> None:
        """Check that the disk has room for the run beyond its existing files; ``weights`` is in bytes.

        Raises:
            OSError: the disk has too little space.
        """
        there = sum(file.stat().st_size for file in self.path.glob("*.safetensors"))
        copies = COPIES + (KEPT if self.settings.get("cooldown_steps") else 0)
        needed, free = copies * weights - there, shutil.disk_usage(self.path).free
        if free < needed:
            raise OSError(
                f"the run needs about {needed / 1e6:,.0f} MB and the disk of {self.path} has "
                f"{free / 1e6:,.0f} MB left; make room, or give another --out"
            )

    def claim(self, tokenizer: AnyTokenizer | None, left_out: dict[str, list[int]] | None = None) -> None:
        """Write the run's settings, tokenizer and what is left out of the data to the folder, and lock it.

        From here on the first process holds ``lock``; the caller must release it.

        Raises:
            ValueError: another process is training in the folder.
        """
        if rank() == 0:
            try:
                self.lock.acquire()
            except Timeout as error:
                raise ValueError(
                    f"another process is training in {self.path}; wait for it, or give another --out"
                ) from error
        if rank() > 0 and not self.begun:
            raise ValueError(
                f"{self.path} is not what process 0 has made there: give --out a folder that all machines "
                f"share, and the same options and data to each"
            )
        if rank() == 0:
            self._write(tokenizer, left_out or {})

    def _write(self, tokenizer: AnyTokenizer | None, left_out: dict[str, list[int]]) -> None:
        if self.saved != self.settings:
            partial = self.path / f"{SETTINGS}.partial"
            partial.write_text(config_to_text(self.settings), encoding="utf-8")
            os.replace(partial, self.path / SETTINGS)
        if any(left_out.values()):
            (self.path / LEFT_OUT).write_text(json.dumps(left_out))
        if tokenizer is None or (self.begun and self._has_tokenizer()):
            return
        if isinstance(tokenizer, FastBPE):
            tokenizer.save(self.path / "tokenizer.json")
        elif isinstance(tokenizer, WordPiece) and tokenizer.lowercase:
            tokenizer.save(self.path / "vocab.txt")
        else:
            save_tokenizer(tokenizer, self.path)

    def tokenizer(self, make: Callable[[], Any]) -> Any:
        """Return the tokenizer of the run, or for a new run the one that ``make`` learns or reads."""
        return load_tokenizer(self.path) if self.begun and self._has_tokenizer() else make()

    def _has_tokenizer(self) -> bool:
        return any((self.path / name).exists() for name in TOKENIZER_FILES)

    def _same_run(self, training: TrainConfig) -> bool:
        """Return True if the folder holds this run, and False if a run may begin in it."""
        if self.saved is None:
            if any(other.name not in OURS for other in self.path.iterdir()):
                raise ValueError(f"{self.path} contains other files but no run; give --out a new folder")
            return False
        changed = [name for name in self.settings if name not in FREE and self._changed(name)]
        if not changed or not has_trained(self.path):
            return not changed
        if set(changed) <= set(LENGTH) and self.checkpoint.exists():
            self._check_longer(training)
            return True
        differences = ", ".join(self._difference(name) for name in changed)
        raise ValueError(
            f"{self.path} holds a run with {differences}; give the same options to "
            f"resume it, or give --out a new folder"
        )

    def _check_longer(self, training: TrainConfig) -> None:
        try:
            checkpoint_to_resume(self.checkpoint, training)
        except ValueError as error:
            differences = ", ".join(self._difference(name) for name in LENGTH if self._changed(name))
            raise ValueError(
                f"{self.path} holds a run with {differences}, whose learning rate was planned for its steps: "
                f"only a run with --schedule constant can be made longer; give --out a new folder"
            ) from error

    def _changed(self, name: str) -> bool:
        return (self.saved or {}).get(name) != self.settings[name]

    def _difference(self, name: str) -> str:
        before = (self.saved or {}).get(name)
        if name == "sha256":
            return "other data"
        if name == "model":
            return f"the model {before} (now {self.settings[name]})"
        return f"--{name.replace('_', '-')} {before} (now {self.settings[name]})"


def saved_settings(path: Path) -> dict[str, Any] | None:
    """Return the settings of the run in a folder, or None if there is none.

    Raises:
        ValueError: they are damaged.
    """
    if not (path / SETTINGS).exists():
        return None
    try:
        return read_config(path / SETTINGS)
    except ValueError as error:
        raise ValueError(f"{path / SETTINGS} is damaged ({error}); give --out a new folder") from error


def has_trained(path: Path) -> bool:
    """Return True if the run in a folder has something to lose: a checkpoint, or a model."""
    return any((path / name).exists() for name in (CHECKPOINT, CONFIG))

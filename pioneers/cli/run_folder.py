"""The folder of a training run. It stores the command's settings, so that only the same command resumes."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from pioneers.tokenizers import FastBPE, WordPiece
from pioneers.training.distributed import rank
from pioneers.weights import load_tokenizer, save_tokenizer
from pioneers.weights.files import CONFIG
from pioneers.weights.tokenizer import AnyTokenizer

COPIES = 8  # of the weights: in the checkpoint (with two moments) and its successor, the best, the result
PARTIAL, LOCK, LEFT_OUT = "run.json.partial", ".lock", "left_out.json"


TOKENIZER_FILES = ("tokenizer.json", "vocab.txt")


class RunFolder:
    """A folder reserved for one run.

    Args:
        path: the folder; created if missing.
        settings: values of the options, by name; anything JSON can hold.

    Raises:
        ValueError: the folder belongs to another run, or contains other files.
        OSError: the folder cannot be written to.
    """

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path, self.settings = path, settings
        self.checkpoint, self.metrics = path / "checkpoint.safetensors", path / "metrics.jsonl"
        try:
            path.mkdir(parents=True, exist_ok=True)
            (path / ".writable").touch()
            (path / ".writable").unlink()
        except OSError as error:
            raise OSError(f"cannot write to {path} ({error.strerror}); give another --out") from error
        self.begun = self._saved() == settings
        self.lock = FileLock(path / LOCK, timeout=0)

    def check_room(self, weights: int) -> None:
        """Check that the disk has room for the run beyond its existing files; ``weights`` is in bytes.

        Raises:
            OSError: the disk has too little space.
        """
        there = sum(file.stat().st_size for file in self.path.glob("*.safetensors"))
        needed, free = COPIES * weights - there, shutil.disk_usage(self.path).free
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
        if not self.begun:
            partial = self.path / PARTIAL
            partial.write_text(json.dumps(self.settings, indent=2))
            os.replace(partial, self.path / "run.json")
        if left_out and any(left_out.values()):
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

    def _saved(self) -> dict[str, Any] | None:
        """Return the settings of the run in the folder, or None if a run may begin."""
        file = self.path / "run.json"
        if not file.exists():
            if any(other.name not in (PARTIAL, LOCK) for other in self.path.iterdir()):
                raise ValueError(f"{self.path} contains other files but no run; give --out a new folder")
            return None
        try:
            saved: dict[str, Any] = dict.fromkeys(self.settings) | json.loads(file.read_text())
        except json.JSONDecodeError as error:
            raise ValueError(f"{file} is damaged ({error}); give --out a new folder") from error
        trained = self.checkpoint.exists() or (self.path / CONFIG).exists()
        if saved != self.settings and trained:
            changed = [_difference(name, saved, self.settings) for name in self.settings]
            raise ValueError(
                f"{self.path} holds a run with {', '.join(filter(None, changed))}; give the same options to "
                f"resume it, or give --out a new folder"
            )
        return saved


def _difference(name: str, saved: dict[str, Any], asked: dict[str, Any]) -> str:
    if saved.get(name) == asked[name]:
        return ""
    if name == "data":
        return "other data"
    if name == "model":
        return f"the model {saved.get(name)} (now {asked[name]})"
    return f"--{name.replace('_', '-')} {saved.get(name)} (now {asked[name]})"

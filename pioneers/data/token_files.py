"""Tokens prepared once, in files that are mapped into memory: a text of any size trains in little of it."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock
from torch import Tensor

from pioneers.data.corpus import PIECE, SMALL, Corpus, cache_error, file_state
from pioneers.data.download import cache_folder
from pioneers.progress import progress
from pioneers.tokenizers.bulk import Encodes, encode_all, id_dtype, tokenizer_sha256

FORMAT = 1  # of what is kept; another number makes everything anew
MANY = 64 << 20  # characters from which several processes are worth their start
ABOUT = "about.json"


class TokenFile:
    """A long stream of tokens in a file, in the place of a tensor ``(L,)`` for :class:`RandomWindows`.

    The file is mapped into memory anew for each batch, so that the pages of earlier ones are given back.

    Args:
        path: a file of nothing but token ids.
        dtype: their type, ``"uint16"`` or ``"uint32"``.
        device: where what is read goes.
    """

    ndim = 1

    def __init__(self, path: str | Path, *, dtype: str, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)
        self._dtype = np.dtype(dtype)
        self._file = Path(path).open("rb")  # noqa: SIM115 - stays open, since the cache may be emptied
        self._length = os.fstat(self._file.fileno()).st_size // self._dtype.itemsize

    def __len__(self) -> int:
        """Return the number of tokens L."""
        return self._length

    def __getitem__(self, places: Tensor) -> Tensor:
        """Return the tokens at ``places``, as int64 in the same shape."""
        mapped = np.memmap(self._file, self._dtype, mode="r")
        return torch.from_numpy(mapped[places.numpy(force=True)].astype(np.int64)).to(self.device)

    @property
    def shape(self) -> tuple[int]:
        """``(L,)``."""
        return (self._length,)


def corpus_tokens(
    corpus: Corpus,
    tokenizer: Encodes,
    *,
    end_id: int | None = None,
    device: torch.device | str = "cpu",
    processes: int = 1,
) -> tuple[Tensor | TokenFile, Tensor | TokenFile]:
    """Encode the two parts of a text: of a short one in memory, of a long one in the cache, and only once.

    The cache is ``~/.cache/pioneers/tokens``, or below ``XDG_CACHE_HOME``, and may be emptied at any time.
    What is kept belongs to this text and this tokenizer. It appears whole or not at all, and a second process
    waits for the first; files that were cut or changed are noticed and made again.

    Args:
        corpus: the text.
        tokenizer: any of :mod:`pioneers.tokenizers`.
        end_id: token to put after each document; needed if the text consists of documents.
        device: where the batches go.
        processes: that encode a long text, see :func:`pioneers.tokenizers.bulk.encode_all`.

    Returns:
        The tokens to learn from and those held out.

    Raises:
        ValueError: a part of the text would be empty, or the documents have no ``end_id``.
        OSError: the cache cannot be written.
    """
    if corpus.documents is not None and end_id is None:
        raise ValueError(f"{corpus.name} has documents: give end_id, the token that ends each of them")
    end_id = end_id if corpus.documents is not None else None
    if corpus.characters <= SMALL:
        arrays = (_encoded(corpus, part, tokenizer, end_id, 1) for part in ("train", "test"))
        train, test = (
            torch.from_numpy(np.concatenate([*array]).astype(np.int64)).to(device) for array in arrays
        )
        return train, test
    folder = _prepared(corpus, tokenizer, end_id, processes if corpus.characters >= MANY else 1)
    dtype = id_dtype(tokenizer).name
    train_file, test_file = (
        TokenFile(folder / f"{part}.bin", dtype=dtype, device=device) for part in ("train", "test")
    )
    return train_file, test_file


def _prepared(corpus: Corpus, tokenizer: Encodes, end_id: int | None, processes: int) -> Path:
    """The folder in the cache that holds the tokens, made if need be."""
    parts = (FORMAT, corpus.sha256, corpus.documents, tokenizer_sha256(tokenizer), end_id)
    folder = cache_folder() / "tokens" / hashlib.sha256(repr(parts).encode()).hexdigest()[:24]
    if _is_intact(folder):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):
            if not _is_intact(folder):
                _make(folder, corpus, tokenizer, end_id, processes)
    except OSError as error:
        raise cache_error(error) from error
    return folder


def _make(folder: Path, corpus: Corpus, tokenizer: Encodes, end_id: int | None, processes: int) -> None:
    partial = folder.with_name(folder.name + ".partial")
    for old in (folder, partial):
        shutil.rmtree(old, ignore_errors=True)
    partial.mkdir()
    try:
        bar = progress((), desc="encoding", total=corpus.characters, unit="ch", unit_scale=True, leave=False)
        with bar:
            for part in ("train", "test"):
                with (partial / f"{part}.bin").open("wb") as stream:
                    for ids in _encoded(corpus, part, tokenizer, end_id, processes, bar):
                        ids.tofile(stream)
        about = {"text": corpus.name, "sha256": corpus.sha256, "files": _states(partial)}
        (partial / ABOUT).write_text(json.dumps(about, indent=2))
        os.replace(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _is_intact(folder: Path) -> bool:
    try:
        saved = json.loads((folder / ABOUT).read_text())
        return bool(saved["files"] == _states(folder))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _states(folder: Path) -> dict[str, Any]:
    return {path.name: file_state(path) for path in sorted(folder.glob("*.bin"))}


def _encoded(
    corpus: Corpus, part: str, tokenizer: Encodes, end_id: int | None, processes: int, bar: Any = None
) -> Iterator[np.ndarray]:
    return encode_all(_groups(corpus.pieces(part), bar), tokenizer, end_id, processes=processes)


def _groups(pieces: Iterator[str], bar: Any) -> Iterator[list[str]]:
    """Group short documents, which would not be worth a message to another process each."""
    group: list[str] = []
    size = 0
    for piece in pieces:
        group.append(piece)
        size += len(piece)
        if size >= PIECE // 2:
            yield group
            group, size = [], 0
        if bar is not None:
            bar.update(len(piece))
    yield group

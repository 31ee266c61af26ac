"""Many texts into arrays of token ids: each distinct word is encoded once, and the rest is array work."""

import hashlib
import multiprocessing
import os
import signal
import threading
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any, Protocol

import numpy as np

from pioneers.tokenizers.bert_text import WORD
from pioneers.tokenizers.bpe import CHUNK, ByteLevelBPE
from pioneers.tokenizers.wordpiece import WordPiece

MOST_WORDS = 1 << 18  # kept; the table then starts again


class Encodes(Protocol):
    """A tokenizer, as far as it is needed here; ``special_ids`` are the ids of its special tokens."""

    special_ids: dict[str, int]

    @property
    def vocab_size(self) -> int:
        """Number of tokens."""

    def encode(self, text: str) -> list[int]:
        """Encode a text as token ids."""


class BulkEncoder:
    """Encodes long texts as arrays, with the same ids as the tokenizer's own ``encode``, but much faster.

    Byte-level BPE and WordPiece treat each chunk of a text, roughly a word, by itself. So a table keeps the
    ids of the chunks met so far; a text is cut into chunks, each is looked up, and NumPy copies the ids.
    With another tokenizer this is ``encode``.

    Args:
        tokenizer: any of :mod:`pioneers.tokenizers`.
        end_id: token to put after each text.

    Example:
        >>> tokenizer = ByteLevelBPE.train("low lower lowest low low", vocab_size=258)
        >>> BulkEncoder(tokenizer)("low flow").tolist() == tokenizer.encode("low flow")
        True
    """

    def __init__(self, tokenizer: Encodes, end_id: int | None = None) -> None:
        self.tokenizer, self.end_id = tokenizer, end_id
        self.dtype = id_dtype(tokenizer)
        self._cut: Callable[[str], list[str]] | None = None
        if isinstance(tokenizer, ByteLevelBPE):
            self._cut = CHUNK.findall
        elif isinstance(tokenizer, WordPiece):
            self._cut = WORD.findall
        self._table = _Table(tokenizer, end_id)

    def __call__(self, *texts: str) -> np.ndarray:
        """Encode ``texts``, one after the other; the type of the ids is the smallest for the vocabulary."""
        end = [] if self.end_id is None else [self.end_id]
        if self._cut is None:
            return np.array([i for text in texts for i in (*self.tokenizer.encode(text), *end)], self.dtype)
        if len(self._table) > MOST_WORDS:
            self._table = _Table(self.tokenizer, self.end_id)
        words: list[str | None] = []
        for text in texts:
            words += self._cut(text)
            words += [None] * len(end)
        rows = np.fromiter(map(self._table.__getitem__, words), np.int64, len(words))
        starts, ids = (np.array(column) for column in (self._table.starts, self._table.ids))
        lengths = starts[rows + 1] - starts[rows]
        ends = np.cumsum(lengths)
        places = np.repeat(starts[rows] - ends + lengths, lengths) + np.arange(lengths.sum())
        return ids.astype(self.dtype)[places]


class _Table(dict[str | None, int]):
    """Word → row; the ids of row i are ``ids[starts[i] : starts[i + 1]]``. A new word gets a row.

    The key None is the end of a text.
    """

    def __init__(self, tokenizer: Encodes, end_id: int | None) -> None:
        self.tokenizer, self.end_id = tokenizer, end_id
        self.ids, self.starts = array("q"), array("q", [0])

    def __missing__(self, word: str | None) -> int:
        self.ids.extend([self.end_id or 0] if word is None else self.tokenizer.encode(word))
        self.starts.append(len(self.ids))
        self[word] = len(self)
        return len(self) - 1


def id_dtype(tokenizer: Encodes) -> np.dtype[Any]:
    """Return the smallest unsigned type that holds the ids of ``tokenizer``: two bytes, or four."""
    return np.dtype(np.uint16 if tokenizer.vocab_size <= 1 << 16 else np.uint32)


def tokenizer_sha256(tokenizer: Any) -> str:
    """Return the sha256 of all that makes up ``tokenizer``: two that encode alike have the same."""
    kind, parts = tokenizer.__reduce__()[:2]
    return hashlib.sha256(repr((kind.__name__, parts)).encode("utf-8", "surrogatepass")).hexdigest()


def encode_all(
    groups: Iterable[Sequence[str]], tokenizer: Encodes, end_id: int | None = None, *, processes: int = 1
) -> Iterator[np.ndarray]:
    """Encode groups of texts in their order, in several processes if asked; only a few are held at a time.

    Args:
        groups: each becomes one array.
        tokenizer: see :class:`BulkEncoder`.
        end_id: token to put after each text.
        processes: their number; 1 encodes in this process. A script that asks for more must be importable,
            with its work under ``if __name__ == "__main__"``.
    """
    encoder = BulkEncoder(tokenizer, end_id)
    if processes == 1:
        yield from (encoder(*group) for group in groups)
        return
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=spawn, initializer=_begin, initargs=(tokenizer, end_id))
    waiting: deque[Future[np.ndarray]] = deque()
    try:
        for group in groups:
            waiting.append(pool.submit(_encode, group))
            if len(waiting) > 2 * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


_encoder: BulkEncoder | None = None


def _begin(tokenizer: Encodes, end_id: int | None) -> None:
    """Prepare a process of the pool: Ctrl-C is for the first process, and without that one it ends."""
    global _encoder
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _encoder = BulkEncoder(tokenizer, end_id)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _encode(group: Sequence[str]) -> np.ndarray:
    assert _encoder is not None
    return _encoder(*group)

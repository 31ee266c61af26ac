"""A text to learn from, read piece by piece: one stream or many documents, in a file of any size."""

import hashlib
import itertools
import json
import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pioneers.data.download import cache_folder
from pioneers.data.records import is_table, read_records
from pioneers.data.streams import text_blocks
from pioneers.progress import progress

PIECE = 1 << 20  # characters encoded at a time
SMALL = 8 << 20  # bytes; what is known of a larger file is kept for the next time
PROBES, PROBE = 16, 1 << 12  # parts of a file, and their bytes, that show whether it is still the same
CUT = re.compile(r"(?<=[^\W_])[ \n]")  # no token of ours goes across the border before it


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """A text that is read anew each time, so that memory does not grow with its length.

    Attributes:
        name: where it comes from.
        blocks: makes an iterator over the parts of the text, or over the documents.
        characters: their number.
        documents: number of documents; None if the text is one stream.
        sha256: of the text as UTF-8.

    Example:
        >>> corpus = Corpus.of("one two three four 5")
        >>> list(corpus.pieces("train")), list(corpus.pieces("test"))
        (['one two three four'], [' 5'])
    """

    name: str
    blocks: Callable[[], Iterator[str]]
    characters: int
    documents: int | None
    sha256: str

    @classmethod
    def of(cls, text: str, name: str = "text") -> "Corpus":
        """Make a corpus of a ``text`` in memory, with any ``name``."""
        return cls(
            name=name,
            blocks=lambda: (text[i : i + PIECE] for i in range(0, len(text), PIECE)),
            characters=len(text),
            documents=None,
            sha256=hashlib.sha256(text.encode()).hexdigest(),
        )

    @classmethod
    def read(cls, path: str | Path, *, column: str = "text") -> "Corpus":
        """Read a UTF-8 file once, to check and to count it; a large one that has not changed is not read.

        Args:
            path: a text, or a table with a document in each row (:func:`read_records`), plain or ``.gz``.
            column: of the table, with the documents.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is empty, not UTF-8, or a broken table; the message says where.
        """
        path = Path(path)
        if is_table(path):
            facts = _known(path, column, lambda: _documents(path, column))
            return cls(name=str(path), blocks=lambda: _documents(path, column), **facts)
        facts = _known(path, None, lambda: text_blocks(path))
        return cls(name=str(path), blocks=lambda: text_blocks(path), **facts)

    def pieces(self, part: str) -> Iterator[str]:
        """Read the pieces of a part; each, a document or a million characters, may be encoded by itself.

        Args:
            part: ``"train"``, or ``"test"`` for the last tenth of the characters or documents.

        Raises:
            ValueError: a part would be empty.
        """
        total = self.characters if self.documents is None else self.documents
        cut = round(total * 0.9) if self.documents is None else min(total - 1, round(total * 0.9))
        if not 0 < cut < total:
            what = "character" if self.documents is None else "document"
            raise ValueError(
                f"{self.name} has {total} {what}{'s' * (total != 1)}, too few to hold a tenth of them out"
            )
        first, last = (0, cut) if part == "train" else (cut, total)
        if self.documents is not None:
            return itertools.islice(self.blocks(), first, last)
        return _at_words(_characters(self.blocks(), first, last))

    def sample(self, characters: int) -> str:
        """Return the part to learn from, or of a longer one about ``characters`` taken evenly all over it."""
        share = min(1.0, characters / (0.9 * self.characters))
        taken = (piece[: math.ceil(share * len(piece))] for piece in self.pieces("train"))
        return ("" if self.documents is None else "\n").join(taken)


def _characters(blocks: Iterator[str], first: int, last: int) -> Iterator[str]:
    """The characters from ``first`` to ``last``."""
    place = 0
    for block in blocks:
        yield block[max(0, first - place) : max(0, last - place)]
        place += len(block)
        if place >= last:
            return


def _at_words(blocks: Iterator[str]) -> Iterator[str]:
    """The same text in pieces of at most ``PIECE`` characters, cut between two words, if there are words."""
    rest = ""
    for block in blocks:
        rest += block
        while len(rest) > PIECE and (cut := _last_cut(rest[:PIECE])):
            yield rest[:cut]
            rest = rest[cut:]
    if rest:
        yield rest


def _last_cut(text: str) -> int:
    """The place of the last border between words, 0 if there is none."""
    for start in (len(text) - 1000, 0):
        places = [match.start() for match in CUT.finditer(text, max(start, 0))]
        if places:
            return places[-1]
    return 0


def _documents(path: Path, column: str) -> Iterator[str]:
    return (record.values[0] for record in read_records(path, [column]) if record.values[0].strip())


def _known(path: Path, column: str | None, read: Callable[[], Iterator[str]]) -> dict[str, Any]:
    """What there is to know about a text: from the last time, if the file is the same, or by reading it."""
    if not path.is_file() or path.stat().st_size < SMALL:
        return _count(path, column, read)
    key = hashlib.sha256(f"{path.resolve()}\0{column}".encode("utf-8", "surrogateescape")).hexdigest()[:24]
    file, now = cache_folder() / "texts" / f"{key}.json", file_state(path)
    try:
        saved = json.loads(file.read_text())
        if saved["state"] == now:
            return dict(saved["facts"])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # the first time, or damaged: read it again
    facts = _count(path, column, read)
    write_atomically(file, json.dumps({"path": str(path.resolve()), "state": now, "facts": facts}))
    return facts


def _count(path: Path, column: str | None, read: Callable[[], Iterator[str]]) -> dict[str, Any]:
    digest, characters, documents, blank = hashlib.sha256(), 0, 0, True
    for block in progress(read(), desc=f"reading {path.name}", leave=False):
        digest.update(block.encode())
        if column is not None:
            digest.update(b"\xff")  # in no UTF-8 text: between two documents
        characters += len(block)
        documents += 1
        blank = blank and not block.strip()
    if blank:
        raise ValueError(f"{path} contains no text; choose another file")
    count = None if column is None else documents
    return {"characters": characters, "documents": count, "sha256": digest.hexdigest()}


def file_state(path: Path) -> list[Any]:
    """Return what changes if a file does: size, time, and the sha256 of parts all over it."""
    size = path.stat().st_size
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        for i in range(PROBES):
            stream.seek(max(0, size - PROBE) * i // (PROBES - 1))
            digest.update(stream.read(PROBE))
    return [size, path.stat().st_mtime_ns, digest.hexdigest()]


def write_atomically(path: Path, text: str) -> None:
    """Write a file of the cache in one step.

    Raises:
        OSError: the cache cannot be written.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text)
        os.replace(partial, path)
    except OSError as error:
        raise cache_error(error) from error


def cache_error(error: OSError) -> OSError:
    """Return the error that says that the cache cannot be written, and what to do."""
    return OSError(
        f"the cache {cache_folder()} cannot be written ({error.strerror or error}); set XDG_CACHE_HOME to a "
        f"folder of your own with room in it"
    )

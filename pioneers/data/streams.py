"""Texts read piece by piece, so that memory does not grow with the file; errors name file and line."""

import codecs
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

BLOCK = 1 << 20  # bytes read at a time


@contextmanager
def open_bytes(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed if its name ends in ``.gz``.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the gzip file is truncated or damaged.
    """
    path = Path(path)
    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "does not exist"
        raise FileNotFoundError(f"{path.absolute()} {what}; correct the path")
    try:
        with path.open("rb") as raw:
            yield cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if path.suffix == ".gz" else raw
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is a truncated or damaged gzip file ({error}); get it again") from error


def text_blocks(path: str | Path) -> Iterator[str]:
    r"""Read a UTF-8 file as blocks, with ``\n`` line ends and no byte order mark.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not UTF-8; the message says where.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    line, held = 1, ""  # a carriage return is held until the next block shows what follows it
    with open_bytes(path) as stream:
        while True:
            raw = stream.read(BLOCK)
            try:
                text = held + decoder.decode(raw, final=not raw)
            except UnicodeDecodeError as error:
                raise not_utf8(path, error, line) from error
            line += text.count("\n")
            held = "\r" if raw and text.endswith("\r") else ""
            yield text.removesuffix(held).replace("\r\n", "\n")
            if not raw:
                return


def text_lines(path: str | Path) -> Iterator[str]:
    r"""Read the lines of a UTF-8 file, each with its ``\n``; only a line feed ends a line.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not UTF-8; the message says where.
    """
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, start=1):
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise not_utf8(path, error, number) from error
            yield text.replace("\r\n", "\n")


def not_utf8(path: str | Path, error: UnicodeDecodeError, line: int) -> ValueError:
    """Return the error that says where a file is not UTF-8; the bytes in ``error`` begin in ``line``."""
    line += error.object[: error.start].count(b"\n")
    byte = f"0x{error.object[error.start]:02x}"
    return ValueError(f"{path}, line {line}: byte {byte} is not UTF-8; save the file again as UTF-8")

"""What a command reads: a file, or standard input."""

import sys
from collections.abc import Iterator, Sequence

from pioneers.data import text_file

STANDARD_INPUT = "-"


def text_of(name: str) -> str:
    """The text of a UTF-8 file, plain or .gz, or of standard input for ``-``, without its last line end.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not UTF-8, or the file is empty.
    """
    if name != STANDARD_INPUT:
        return text_file(name).removesuffix("\n")
    raw = sys.stdin.buffer.read()
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"standard input, byte {error.start + 1}: 0x{raw[error.start]:02x} is not UTF-8; convert it "
            "first, for instance with iconv -t UTF-8"
        ) from error


def texts_of(given: Sequence[str]) -> list[str]:
    """The texts that were given or, without any, the lines of standard input that are not empty.

    Raises:
        ValueError: there are none, or standard input is not UTF-8.
    """
    texts = list(given) or text_of(STANDARD_INPUT).split("\n")
    found = [text for text in texts if text.strip()]
    if not found:
        raise ValueError("there is no text: give some, or write lines to standard input")
    return found


def input_lines() -> Iterator[str]:
    """Yield the lines of standard input as they come, without their ends.

    Raises:
        ValueError: it is not UTF-8.
    """
    try:
        for line in sys.stdin:
            yield line.removesuffix("\n")
    except UnicodeDecodeError as error:
        raise ValueError(
            "standard input is not UTF-8; convert it first, for instance with iconv -t UTF-8"
        ) from error

"""Named columns of CSV, TSV and JSON lines files, read row by row."""

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pioneers.data.streams import text_lines

SEPARATORS = {".csv": ",", ".tsv": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
LONGEST_FIELD = 1 << 30  # of a CSV file; the module's own limit is 128 kB


class Record(NamedTuple):
    """One row of a table.

    Attributes:
        line: where it ends in the file, from 1 on.
        values: of the columns asked for, as text; numbers of JSON are written as JSON writes them.
    """

    line: int
    values: tuple[str, ...]


def is_table(path: str | Path) -> bool:
    """Return True if ``path`` ends as a table does: in ``.csv``, ``.tsv`` or ``.jsonl``, and maybe ``.gz``.

    Example:
        >>> is_table("reviews.jsonl.gz"), is_table("reviews.txt")
        (True, False)
    """
    return _kind(path) in (*SEPARATORS, *JSON_LINES)


def read_records(path: str | Path, columns: Sequence[str]) -> Iterator[Record]:
    """Read columns of a table by their names, one row at a time, so that memory does not grow with the file.

    In a CSV or TSV file the first line names the columns; fields may be quoted as spreadsheets do it. In a
    JSON lines file every line is an object with the columns as keys. Empty lines are skipped.

    Args:
        path: a file whose name ends in ``.csv``, ``.tsv`` or ``.jsonl``, plain or followed by ``.gz``.
        columns: the names, in the order in which the values are wanted.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the name ends in something else, a column is missing, or a row is broken; the message
            names the line.
    """
    kind = _kind(path)
    if kind in JSON_LINES:
        return _json_lines(Path(path), columns)
    if kind in SEPARATORS:
        return _separated(Path(path), columns, SEPARATORS[kind])
    raise ValueError(f"{path} is not a table: its name must end in .csv, .tsv or .jsonl, plain or with .gz")


def _kind(path: str | Path) -> str:
    return Path(str(path).removesuffix(".gz")).suffix.lower()


def _json_lines(path: Path, columns: Sequence[str]) -> Iterator[Record]:
    for number, line in enumerate(text_lines(path), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}, line {number}: not JSON ({error.msg}); correct the line") from error
        if not isinstance(row, dict):
            raise ValueError(f"{path}, line {number}: not an object with named columns; write {{...}}")
        _require(path, number, columns, list(row))
        yield Record(number, tuple(_as_text(row[name], path, number, name) for name in columns))


def _as_text(value: Any, path: Path, line: int, name: str) -> str:
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if not isinstance(value, str):
        raise ValueError(f"{path}, line {line}: the column {name!r} is {json.dumps(value)[:40]}, not a text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{path}, line {line}: the column {name!r} has half a surrogate pair") from error
    return value


def _separated(path: Path, columns: Sequence[str], separator: str) -> Iterator[Record]:
    csv.field_size_limit(LONGEST_FIELD)
    rows = csv.reader(text_lines(path), delimiter=separator, strict=True)
    places: list[int] | None = None
    header: list[str] = []
    try:
        for row in rows:
            if places is None:
                _require(path, rows.line_num, columns, row)
                header, places = row, [row.index(name) for name in columns]
            elif row:
                if len(row) != len(header):
                    raise ValueError(
                        f"{path}, line {rows.line_num}: {len(row)} fields where the first line names "
                        f"{len(header)}; put quotes around a field that contains a separator"
                    )
                yield Record(rows.line_num, tuple(row[place] for place in places))
    except csv.Error as error:
        raise ValueError(f"{path}, line {rows.line_num}: broken row ({error}); correct the line") from error


def _require(path: Path, line: int, columns: Sequence[str], found: Sequence[str]) -> None:
    missing = [name for name in columns if name not in found]
    if missing:
        raise ValueError(
            f"{path}, line {line}: no column {', '.join(map(repr, missing))}, only "
            f"{', '.join(map(repr, found)) or 'nothing'}; name the right ones"
        )

"""Pairs to learn a translation from; long and broken ones are named, or left out and counted."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pioneers.data import is_table, multi30k, read_records, translation_pairs
from pioneers.data.formats import read_lines

TRAIN_PAIRS, TEST_PAIRS = 20_000, 1_000
GENERATED = ("dates", "numbers")
PAIRS = (*GENERATED, "multi30k")
COLUMNS = "source,target"

Pair = tuple[str, str]
Pairs = list[Pair]
PairIds = tuple[list[int], list[int]]


class PairSet(NamedTuple):
    """Pairs for training and validation.

    Attributes:
        train: to learn from.
        test: held out.
        lines: for each pair, train before test, its line in the file; empty where there is none.
        broken: lines that were left out because they are not a source and a target.
    """

    train: Pairs
    test: Pairs
    lines: Sequence[int] = ()
    broken: Sequence[int] = ()


def named_pairs(name: str, target: str) -> PairSet:
    """Make or load the pairs of one of ``PAIRS``, from English to ``target``."""
    if name == "multi30k":
        return PairSet(multi30k("train", target=target), multi30k("validation", target=target))
    return PairSet(
        translation_pairs(name, target=target, count=TRAIN_PAIRS, split="train"),
        translation_pairs(name, target=target, count=TEST_PAIRS, split="test"),
    )


def pairs_in_file(path: str, columns: str | None, *, drop_broken: bool) -> PairSet:
    """Read pairs from a file; the last tenth is held out.

    Args:
        path: lines of source, tab, target; or a ``.csv`` or ``.jsonl`` table.
        columns: of a table, two names with a comma between them; by default ``COLUMNS``.
        drop_broken: leave out lines that are not a source and a target.

    Raises:
        ValueError: such a line is there and is not to be left out, or there are fewer than two pairs.
    """
    rows = _table_rows(path, columns) if _has_columns(path) else _tab_rows(path, columns)
    faults = {line: fault for line, sides in rows if (fault := _fault(sides))}
    if faults and not drop_broken:
        line = min(faults)
        many = f"; {len(faults)} lines are broken, and --drop-broken leaves them out"
        one = "; --drop-broken leaves it out"
        raise ValueError(f"{path}, line {line}: {faults[line]}{many if len(faults) > 1 else one}")
    kept = [(line, sides[0], sides[1]) for line, sides in rows if line not in faults]
    if len(kept) < 2:
        raise ValueError(
            f"{path} contains {'one pair' if kept else 'no pair'}; at least two are needed, one of them for "
            "validation"
        )
    cut = min(len(kept) - 1, round(len(kept) * 0.9))
    pairs = [(source, target) for _, source, target in kept]
    return PairSet(pairs[:cut], pairs[cut:], [line for line, *_ in kept], sorted(faults))


def fitting(
    ids: Sequence[list[PairIds]], data: PairSet, longest: int, *, drop_long: bool
) -> tuple[list[list[PairIds]], list[int]]:
    """Leave out pairs with a side of more than ``longest`` tokens, if asked; else refuse them.

    Args:
        ids: tokens of both parts.
        data: the same pairs as text.
        longest: tokens that fit; a target needs one more, to begin with.
        drop_long: leave them out.

    Returns:
        What fits of both parts, and the lines (or numbers, from 1 on) of the others.

    Raises:
        ValueError: a pair is too long and is not to be left out, or nothing fits in a part.
    """
    sizes = [[max(len(source), 1 + len(target)) for source, target in part] for part in ids]
    flat = [size for part in sizes for size in part]
    long = [data.lines[i] if data.lines else i + 1 for i, size in enumerate(flat) if size > longest]
    if long and not drop_long:
        where = "line" if data.lines else "pair"
        raise ValueError(
            f"{len(long):,} of {len(flat):,} pairs have a side of more than --seq-len {longest} tokens, the "
            f"first in {where} {long[0]}, the longest with {max(flat)}: give --seq-len {max(flat)}, or "
            "--drop-long to leave them out"
        )
    kept = [
        [pair for pair, size in zip(part, of_part, strict=True) if size <= longest]
        for part, of_part in zip(ids, sizes, strict=True)
    ]
    if not all(kept):
        raise ValueError(f"no pair is left with sides of at most {longest} tokens; give a larger --seq-len")
    return kept, long


def _has_columns(path: str) -> bool:
    return is_table(path) and ".tsv" not in Path(path).name.lower()  # a .tsv of pairs has no first line


def _table_rows(path: str, columns: str | None) -> list[tuple[int, Sequence[str]]]:
    names = (columns or COLUMNS).split(",")
    if len(names) != 2:
        raise ValueError(f"--columns {columns} must name two columns, as in --columns {COLUMNS}")
    return [(record.line, record.values) for record in read_records(path, names)]


def _tab_rows(path: str, columns: str | None) -> list[tuple[int, Sequence[str]]]:
    if columns:
        raise ValueError(
            f"--columns goes with a .csv or .jsonl file; the columns of {path} are source, tab, target"
        )
    return [(number, line.split("\t")) for number, line in enumerate(read_lines(path), start=1)]


def _fault(sides: Sequence[str]) -> str:
    if len(sides) != 2:
        return f"{len(sides)} tab-separated columns where 2 are expected"
    return "" if all(side.strip() for side in sides) else "one side is empty; give it a source and a target"

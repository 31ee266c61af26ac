"""Labelled examples from files: texts with labels, words with tags, questions with answers."""

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch

from pioneers.data import Answer, Question, TaggedSentence, is_table, read_records
from pioneers.data.formats import read_lines, read_squad

T = TypeVar("T")

CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
CONLL = (".conll", ".conllu", ".conllup", ".bio", ".iob", ".txt")
GLOBAL = "# global.columns ="


class Example(NamedTuple):
    """One text or two, and their label."""

    texts: tuple[str, ...]
    label: str


def read_examples(path: str, texts: Sequence[str], label: str) -> list[Example]:
    """Read labelled texts from a table.

    Args:
        path: a CSV, TSV or JSON lines file.
        texts: the names of one or two columns of texts; in a CSV or TSV without names, their numbers from 1.
        label: the column of the label, likewise.

    Raises:
        ValueError: a column is missing, a row is broken, or a text or label is empty; the message says where.
    """
    found = []
    for line, values in _rows(path, [*texts, label]):
        if not all(value.strip() for value in values):
            empty = [name for name, value in zip([*texts, label], values, strict=True) if not value.strip()]
            raise ValueError(
                f"{path}, line {line}: the column {empty[0]!r} is empty; fill it or delete the line"
            )
        found.append(Example(values[:-1], values[-1].strip()))
    return _some(found, path)


def read_tagged(path: str, word: str | None, tag: str | None) -> list[TaggedSentence]:
    """Read sentences with a tag for every word.

    Args:
        path: a file of CoNLL's kind (a word a line, an empty line after each sentence), or JSON lines with
            lists.
        word: the column of the words: its name in CoNLL-U, in JSON lines and where the file names it, else
            its number from 1. By default ``form``, ``tokens`` or the first.
        tag: the column of the tags, likewise. By default ``upos``, ``tags`` or the last.

    Raises:
        ValueError: a column is missing, or a line is broken; the message says where.
    """
    if Path(path).suffix in (".jsonl", ".ndjson"):
        return _some(list(_tagged_json(path, word or "tokens", tag or "tags")), path)
    if Path(path.removesuffix(".gz")).suffix.lower() not in CONLL:
        raise ValueError(f"{path} has no tagged words: its name must end in .conllu, .conll or .jsonl")
    return _some(list(_conll(path, word, tag)), path)


def read_questions(path: str, columns: Sequence[str]) -> list[Question]:
    """Read questions with the texts that answer them, from SQuAD's JSON or from a table.

    Args:
        path: a ``.json`` file of SQuAD, or a CSV, TSV or JSON lines file.
        columns: of a table, those of the question, the text and the answer, which is its first occurrence in
            the text, or nothing where the text has no answer.

    Raises:
        ValueError: a column is missing, or an answer is not in its text; the message says where.
    """
    if Path(path).suffix == ".json":
        return _some(read_squad(path), path)
    found = []
    for line, (question, context, answer) in _rows(path, columns):
        start = context.find(answer)
        if start < 0:
            raise ValueError(
                f"{path}, line {line}: the answer {answer[:40]!r} is not in the text; copy it exactly"
            )
        answers = (Answer(answer, start),) if answer else ()
        found.append(Question(f"{line}", context, question, answers))
    return _some(found, path)


def split_examples(rows: Sequence[T], path: str) -> tuple[list[T], list[T]]:
    """Hold out a tenth of the rows, at least one, drawn with the same seed always.

    Raises:
        ValueError: there is one row.
    """
    if len(rows) < 2:
        raise ValueError(f"{path} holds one example; at least two are needed, one of them for validation")
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0)).tolist()
    held = max(1, len(rows) // 10)
    return [rows[i] for i in order[held:]], [rows[i] for i in order[:held]]


def names_of(labels: Sequence[str]) -> tuple[str, ...]:
    """List different labels in order: numbers by size, others by letters."""
    found = {*labels}
    return tuple(sorted(found, key=int) if all(label.isdecimal() for label in found) else sorted(found))


def _rows(path: str, columns: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The lines and the values of named columns, or of numbered ones where nothing names them."""
    if not is_table(path):
        raise ValueError(f"{path} is not a table: its name must end in .csv, .tsv or .jsonl")
    kind = Path(path.removesuffix(".gz")).suffix.lower()
    if kind not in (".csv", ".tsv") or not all(name.isdecimal() for name in columns):
        for record in read_records(path, columns):
            yield record.line, record.values
        return
    lines = read_lines(path)
    rows: Any = csv.reader(lines) if kind == ".csv" else (line.split("\t") for line in lines)
    places = [int(name) - 1 for name in columns]
    for number, row in enumerate(rows, start=1):
        if not 0 <= min(places) <= max(places) < len(row):
            raise ValueError(
                f"{path}, line {number}: {len(row)} columns, and {max(columns, key=int)} is asked for; "
                f"give numbers from 1 to {len(row)}, or names where the first line names the columns"
            )
        yield number, tuple(row[place] for place in places)


def _tagged_json(path: str, word: str, tag: str) -> Iterator[TaggedSentence]:
    for number, line in enumerate(read_lines(path), start=1):
        try:
            row = json.loads(line)
            words, tags = row[word], row[tag]
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}, line {number}: not JSON ({error.msg}); correct the line") from error
        except (KeyError, TypeError) as error:
            raise ValueError(f"{path}, line {number}: no column {error}; name the right ones") from error
        texts = all(
            isinstance(side, list) and all(isinstance(x, str) for x in side) for side in (words, tags)
        )
        if not texts or len(words) != len(tags) or not words:
            raise ValueError(f"{path}, line {number}: {word} and {tag} must be lists of equally many texts")
        yield TaggedSentence(tuple(words), tuple(tags))


def _conll(path: str, word: str | None, tag: str | None) -> Iterator[TaggedSentence]:
    names: tuple[str, ...] = CONLLU if path.removesuffix(".gz").endswith(".conllu") else ()
    sentence: list[tuple[str, str]] = []
    for number, line in enumerate([*read_lines(path), ""], start=1):
        if line.startswith(GLOBAL):
            names = tuple(line.removeprefix(GLOBAL).lower().split())
        columns = line.split("\t") if "\t" in line else line.split()
        if not columns or columns[0] == "-DOCSTART-":
            if sentence:
                yield TaggedSentence(*zip(*sentence, strict=True))
            sentence = []
        elif not line.startswith("# ") and (names != CONLLU or columns[0].isdigit()):
            where = f"{path}, line {number}"
            places = (
                _place(word, "form", 0, names, columns, where),
                _place(tag, "upos", -1, names, columns, where),
            )
            sentence.append((columns[places[0]], columns[places[1]]))


def _place(
    asked: str | None, usual: str, otherwise: int, names: Sequence[str], columns: Sequence[str], where: str
) -> int:
    """Where the column that is asked for, or the usual one, is among the columns of a line."""
    if asked is None and usual not in names:
        place: int | None = otherwise
    elif asked is not None and asked.isdecimal():
        place = int(asked) - 1
    else:
        name = (asked or usual).lower()
        place = names.index(name) if name in names else None
    if place is None or not -1 <= place < len(columns) or len(columns) < 2:
        there = ", ".join(names) if names else f"1 to {len(columns)}"
        raise ValueError(f"{where}: no column {asked or usual!r} in {len(columns)}; there are: {there}")
    return place


def _some(rows: list[T], path: str) -> list[T]:
    if not rows:
        raise ValueError(f"{path} holds no examples; choose another file")
    return rows

"""Readers of the data sets' file formats; errors name the file and, if possible, the line."""

import json
from math import prod
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pioneers.data.streams import open_bytes, text_blocks


def read_bytes(path: str | Path) -> bytes:
    """Read a file, decompressed if its name ends in ``.gz``.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the gzip file is truncated or damaged.
    """
    with open_bytes(path) as stream:
        return stream.read()


def text_file(path: str | Path) -> str:
    r"""Read the UTF-8 file at ``path``, plain or gzip, with ``\n`` line ends and no byte order mark.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is empty or not UTF-8; the message says where.
    """
    text = "".join(text_blocks(path))
    if not text.strip():
        raise ValueError(f"{path} contains no text; choose another file")
    return text


def read_lines(path: str | Path) -> list[str]:
    """Read the lines of a text file. Only a line feed ends a line, so that parallel files stay aligned."""
    return text_file(path).removesuffix("\n").split("\n")


def read_table(path: str | Path, *, columns: int) -> list[list[str]]:
    """Read a file with one row per line and tab-separated columns; quotes have no meaning.

    Raises:
        ValueError: a line has another number of columns.
    """
    rows = [line.split("\t") for line in read_lines(path)]
    for number, row in enumerate(rows, start=1):
        if len(row) != columns:
            raise ValueError(
                f"{path}, line {number}: {len(row)} tab-separated columns where {columns} are expected"
            )
    return rows


def read_json(path: str | Path) -> Any:
    """Read a JSON file.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        return json.loads(text_file(path))
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{path}, line {error.lineno}, column {error.colno}: not JSON ({error.msg})"
        ) from error


def read_idx(path: str | Path, *, ndim: int) -> Tensor:
    """Read an IDX file (the format of MNIST) as a uint8 tensor of ``ndim`` dimensions.

    Raises:
        ValueError: the header is wrong, or the number of bytes does not match it.
    """
    raw = read_bytes(path)
    start = 4 + 4 * ndim
    if raw[:4] != bytes([0, 0, 8, ndim]) or len(raw) < start:
        raise ValueError(f"{path} is not an IDX file of bytes with {ndim} dimensions")
    shape = np.frombuffer(raw, dtype=">u4", offset=4, count=ndim).tolist()
    if len(raw) != start + prod(shape):
        raise ValueError(
            f"{path} has {len(raw) - start:,} bytes of data where its header promises {prod(shape):,}"
        )
    return torch.from_numpy(np.frombuffer(raw, dtype=np.uint8, offset=start).reshape(shape).copy())


class TaggedSentence(NamedTuple):
    """A sentence with a tag for every word, such as its part of speech.

    Attributes:
        words: as written.
        tags: one for each.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]


def read_conllu(path: str | Path, tags: Literal["parts", "relations"] = "parts") -> list[TaggedSentence]:
    """Read the sentences of a CoNLL-U file, as word forms and tags.

    Lines of words written together (``1-2``) and of words left out (``8.1``) are skipped: the parts of
    the former have lines of their own, the latter are not in the text.

    Args:
        path: of the file.
        tags: universal parts of speech, such as ``NOUN``, or each word's universal relation to the word that
            it depends on, such as ``nsubj``, without a language's own subtype.

    Raises:
        ValueError: a line has not ten columns, or there are no such tags.
    """
    places = {"parts": 3, "relations": 7}
    if tags not in places:
        raise ValueError(f"tags: {tags!r} is not among {', '.join(places)}")
    sentences: list[TaggedSentence] = []
    words: list[tuple[str, str]] = []
    for number, line in enumerate([*read_lines(path), ""], start=1):
        if not line:
            if words:
                sentences.append(TaggedSentence(*zip(*words, strict=True)))
            words = []
        elif not line.startswith("#"):
            columns = line.split("\t")
            if len(columns) != 10:
                raise ValueError(f"{path}, line {number}: {len(columns)} columns where CoNLL-U has 10")
            if columns[0].isdigit():
                words.append((columns[1], columns[places[tags]].partition(":")[0]))
    return sentences


class Answer(NamedTuple):
    """A span of the context: ``context[start : start + len(text)] == text``."""

    text: str
    start: int


class Question(NamedTuple):
    """A question about a paragraph.

    Attributes:
        id: its number in the data set.
        context: the paragraph.
        question: what is asked.
        answers: the accepted answers; none if the paragraph does not answer it.
    """

    id: str
    context: str
    question: str
    answers: tuple[Answer, ...]


def read_squad(path: str | Path) -> list[Question]:
    """Read the questions of a SQuAD file, version 1.1 or 2.0.

    Raises:
        ValueError: the file is not JSON, or not in SQuAD's format.
    """
    articles = read_json(path)
    try:
        return [
            Question(
                entry["id"],
                paragraph["context"],
                entry["question"],
                tuple(Answer(answer["text"], answer["answer_start"]) for answer in entry["answers"]),
            )
            for article in articles["data"]
            for paragraph in article["paragraphs"]
            for entry in paragraph["qas"]
        ]
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} is not in SQuAD's format: {type(error).__name__} {error}") from error

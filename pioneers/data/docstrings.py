"""The texts that ship with every Python, split into sentences: docstrings and the language reference."""

import ast
import functools
import gc
import inspect
import os
import re
import sysconfig
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pioneers.data.embedded import language_reference

REFERENCE = "reference"
# Installed only on some machines, or not written for readers.
LEFT_OUT = {
    *("distutils", "ensurepip", "idlelib", "lib2to3", "tkinter", "turtledemo"),
    *("site-packages", "dist-packages", "test", "tests"),
}
SPLITS = ("train", "test")

Definition = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"*])")


class Document(NamedTuple):
    """A docstring of the standard library, or a paragraph of the language reference.

    Attributes:
        package: its package or module; ``"reference"`` for the language reference.
        sentences: its prose, without examples and headings. No sentence is in two documents.
    """

    package: str
    sentences: tuple[str, ...]


def documents(split: str) -> list[Document]:
    """Return the standard library's docstrings and the language reference's paragraphs, about 1.3 MB.

    They are in the order of their files, so neighbours are mostly about the same topic. All tasks on these
    texts, such as :func:`docstring_packages`, are made from them and share their split: a model may be
    pretrained on all of ``documents("train")``. The texts differ a little between Python versions.

    Args:
        split: ``"train"``, or ``"test"`` for a fifth of the documents.

    Raises:
        ValueError: there is no such split.
        RuntimeError: this Python was installed without its help texts.

    Example:
        >>> sum(document.package == "asyncio" for document in documents("test")) > 20
        True
    """
    if split not in SPLITS:
        raise ValueError(f"documents has no split {split!r}; it has: {', '.join(SPLITS)}")
    return [d for d in _documents() if (number_of(" ".join(d.sentences)) % 5 == 0) == (split == "test")]


def number_of(text: str) -> int:
    """Hash a text to a number, the same on every machine."""
    return zlib.crc32(text.encode())


@functools.cache
def _documents() -> tuple[Document, ...]:
    texts = [*_docstrings(), *((REFERENCE, text) for text in re.split(r"\n\s*\n", language_reference()))]
    found: list[Document] = []
    seen: set[str] = set()
    for package, text in texts:
        sentences = split_sentences(text)
        unquoted = [sentence.replace('"', "") for sentence in sentences]
        if sentences and seen.isdisjoint(unquoted):  # skip duplicates
            found.append(Document(package, sentences))
        seen.update(unquoted)
    return tuple(found)


def _docstrings() -> Iterator[tuple[str, str]]:
    for package, node in definitions():
        yield package, ast.get_docstring(node) or ""


def definitions() -> Iterator[tuple[str, Definition]]:
    """Yield package and syntax tree of every module, class and function of the standard library."""
    library = Path(sysconfig.get_paths()["stdlib"])
    paths: list[Path] = []
    for folder, folders, names in os.walk(library):
        folders[:] = set(folders) - LEFT_OUT
        paths += (Path(folder, name) for name in names if name.endswith(".py") and name[:-3] not in LEFT_OUT)
    for path in sorted(paths):
        package = path.relative_to(library).with_suffix("").parts[0]
        for node in _statements(_parse(path)):
            if isinstance(node, Definition):
                yield package, node


def _parse(path: Path) -> ast.Module:
    """Parse a file without collecting cycles: a tree has none, and the search doubles the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_bytes())
    finally:
        if collects:
            gc.enable()


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Walk a tree like ``ast.walk``, but skip expressions: they are most of it and hold no docstrings."""
    level: list[ast.AST] = [tree]
    while level:
        yield from level
        children = (child for node in level for child in ast.iter_child_nodes(node))
        level = [child for child in children if not isinstance(child, ast.expr)]


def split_sentences(text: str) -> tuple[str, ...]:
    """Split the prose paragraphs into sentences; examples, headings and tables are skipped."""
    paragraphs = [inspect.cleandoc(paragraph) for paragraph in re.split(r"\n\s*\n", text)]
    prose = [
        " ".join(p.split()) for p in paragraphs if not re.search(r">>>|::=|[=*~-]{4}|^\s{4}", p, re.MULTILINE)
    ]
    return tuple(s for p in prose for s in SENTENCE_END.split(p) if len(s.split()) > 2)

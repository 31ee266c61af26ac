"""Embedded tasks: questions whose answers the authors of Python's own texts have given. Nothing to fetch."""

import ast
import functools
import inspect
import re
import sysconfig
import zlib
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from pioneers.data.embedded import language_reference
from pioneers.data.formats import Answer, Question, TaggedSentence
from pioneers.data.public import LabelledPair, LabelledText

PACKAGES = ("asyncio", "email", "http", "importlib", "logging", "multiprocessing", "unittest", "xml")
REFERENCE = "reference"
# Installed on some machines only, or not written for readers.
LEFT_OUT = {
    *("distutils", "ensurepip", "idlelib", "lib2to3", "tkinter", "turtledemo"),
    *("site-packages", "dist-packages", "test", "tests"),
}
SPLITS = ("train", "test")

SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"*])")
CODE_WORD = re.compile(r'(\W*)"([^"\s]+)"(\W*)')
LONG_WORD = re.compile(r"\b[A-Za-z]{5,}\b")
BLANK = "____"


class Document(NamedTuple):
    """A docstring of the standard library, or a paragraph of the language reference.

    Attributes:
        package: the package or module it stands in; ``"reference"`` for the language reference.
        sentences: its prose, without examples and headings. No sentence stands in two documents.
    """

    package: str
    sentences: tuple[str, ...]


class Choice(NamedTuple):
    """A beginning and several ways to go on.

    Attributes:
        context: the beginning.
        choices: one of them is what really follows.
        label: which.
    """

    context: str
    choices: tuple[str, ...]
    label: int


def documents(split: str) -> list[Document]:
    """The docstrings of the standard library and the paragraphs of the language reference, about 1.5 MB.

    They come in the order of their files, so that neighbours are mostly about the same thing.
    All tasks of this module are made from them, so what is held out here is held out everywhere: a model may
    be pretrained on the whole of ``documents("train")``. The texts differ a little between Python versions.

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
    return [d for d in _documents() if (_number(" ".join(d.sentences)) % 5 == 0) == (split == "test")]


def docstring_packages(split: str) -> list[LabelledText]:
    """Docstrings, and which of eight packages each stands in: a task with one text.

    The label is the place of the package, from 0, in ``pioneers.data.tasks.PACKAGES``: ``asyncio``,
    ``email``, ``http``, ``importlib``, ``logging``, ``multiprocessing``, ``unittest``, ``xml``.

    Args:
        split: ``"train"`` or ``"test"``, as for :func:`documents`.
    """
    return [
        LabelledText(" ".join(document.sentences), PACKAGES.index(document.package))
        for document in documents(split)
        if document.package in PACKAGES
    ]


def following_sentences(split: str) -> list[LabelledPair]:
    """Two sentences; 1 = the second follows the first in its document, 0 = it is taken from another one.

    The other document is of the same package and its sentence is a second one too, so that neither topic nor
    style gives the answer away.

    Args:
        split: ``"train"`` or ``"test"``, as for :func:`documents`.
    """
    return [
        LabelledPair(choice.context, choice.choices[0], int(choice.label == 0))
        for choice in continuations(split, num_choices=2)
    ]


def continuations(split: str, *, num_choices: int = 4) -> list[Choice]:
    """The first sentence of a document, and several that may follow: a task of multiple choice.

    Args:
        split: ``"train"`` or ``"test"``, as for :func:`documents`.
        num_choices: how many; all but one are second sentences of other documents of the same package.
    """
    found = []
    by_package: dict[str, list[Document]] = {}
    for document in documents(split):
        if len(document.sentences) > 1:
            by_package.setdefault(document.package, []).append(document)
    for group in by_package.values():
        for document in group:
            first, second = document.sentences[:2]
            others = sorted({other.sentences[1] for other in group} - {second})
            if len(others) >= num_choices - 1:
                random = Random(_number(first + second))
                label = random.randrange(num_choices)
                choices = random.sample(others, num_choices - 1)
                found.append(Choice(first, (*choices[:label], second, *choices[label:]), label))
    return found


def code_words(split: str) -> list[TaggedSentence]:
    """Sentences of the language reference and which of their words are ``CODE``, the others being ``TEXT``.

    The authors put code words between quotation marks, which are taken away here.

    Args:
        split: ``"train"`` or ``"test"``, as for :func:`documents`.

    Example:
        >>> sentence = next(s for s in code_words("train") if "with" in s.words)
        >>> len(sentence.words) == len(sentence.tags)
        True
    """
    sentences = []
    for document in documents(split):
        for sentence in document.sentences if document.package == REFERENCE else ():
            parts = [(CODE_WORD.fullmatch(word), word) for word in sentence.split()]
            words = tuple("".join(match.groups()) if match else word for match, word in parts)
            if not any('"' in word for word in words):  # sentences with code of several words are left out
                tags = tuple("CODE" if match else "TEXT" for match, _ in parts)
                sentences.append(TaggedSentence(words, tags))
    return sentences


def cloze_questions(split: str) -> list[Question]:
    """A sentence with a word left out, and the rest of its document, in which the word stands once.

    Args:
        split: ``"train"`` or ``"test"``, as for :func:`documents`.

    Example:
        >>> question = cloze_questions("test")[0]
        >>> text, start = question.answers[0]
        >>> question.context[start : start + len(text)] == text and "____" in question.question
        True
    """
    questions = []
    for number, document in enumerate(documents(split)):
        for place, sentence in enumerate(document.sentences):
            rest = document.sentences[:place] + document.sentences[place + 1 :]
            question = _cloze(f"{split}-{number}-{place}", sentence, " ".join(rest))
            if question is not None:
                questions.append(question)
                break
    return questions


def _cloze(name: str, sentence: str, context: str) -> Question | None:
    """The first long word that stands once in each of the two, left out of the sentence."""
    there = [] if sentence in context else LONG_WORD.findall(context)
    for match in LONG_WORD.finditer(sentence):
        word = match.group()
        if there.count(word) == context.count(word) == sentence.count(word) == 1 and len(there) > 4:
            blanked = sentence[: match.start()] + BLANK + sentence[match.end() :]
            return Question(name, context, blanked, (Answer(word, context.index(word)),))
    return None


@functools.cache
def _documents() -> tuple[Document, ...]:
    texts = [*_docstrings(), *((REFERENCE, text) for text in re.split(r"\n\s*\n", language_reference()))]
    found: list[Document] = []
    seen: set[str] = set()
    for package, text in texts:
        sentences = _sentences(text)
        unquoted = [sentence.replace('"', "") for sentence in sentences]
        if sentences and seen.isdisjoint(unquoted):  # many a text is copied from another
            found.append(Document(package, sentences))
        seen.update(unquoted)
    return tuple(found)


def _docstrings() -> Iterator[tuple[str, str]]:
    """Package and docstring of every module, class and function of the standard library."""
    library = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(library.rglob("*.py")):
        parts = path.relative_to(library).with_suffix("").parts
        if LEFT_OUT.intersection(parts):
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield parts[0], ast.get_docstring(node) or ""


def _sentences(text: str) -> tuple[str, ...]:
    """The sentences of the prose paragraphs; examples, headings and tables are passed over."""
    paragraphs = [inspect.cleandoc(paragraph) for paragraph in re.split(r"\n\s*\n", text)]
    prose = [
        " ".join(p.split()) for p in paragraphs if not re.search(r">>>|::=|[=*~-]{4}|^\s{4}", p, re.MULTILINE)
    ]
    return tuple(s for p in prose for s in SENTENCE_END.split(p) if len(s.split()) > 2)


def _number(text: str) -> int:
    """The same for the same text, on every machine."""
    return zlib.crc32(text.encode())

"""Toy tasks built from Python's own documentation; nothing to download."""

import re
from random import Random
from typing import NamedTuple

from pioneers.data.docstrings import REFERENCE, documents, number_of
from pioneers.data.formats import Answer, Question, TaggedSentence
from pioneers.data.public import LabelledText

PACKAGES = ("asyncio", "email", "http", "importlib", "logging", "multiprocessing", "unittest", "xml")
MARKED_WORD = re.compile(r"(.*?\w\W*?)([,.;:!?]*)")  # and the punctuation after it
CODE_WORD = re.compile(r'(\W*)"([^"\s]+)"(\W*)')
RUN_ON = "how does the second sentence begin"


class Choice(NamedTuple):
    """A beginning and several possible continuations.

    Attributes:
        context: the beginning.
        choices: the continuations, one of which is the real one.
        label: index of the real one.
    """

    context: str
    choices: tuple[str, ...]
    label: int


def docstring_packages(split: str) -> list[LabelledText]:
    """Label docstrings with the package they come from, one of eight: classification of one text.

    The label is the index of the package in ``pioneers.data.tasks.PACKAGES``.

    Args:
        split: ``"train"`` or ``"test"``, as for :func:`documents`.
    """
    return [
        LabelledText(" ".join(document.sentences), PACKAGES.index(document.package))
        for document in documents(split)
        if document.package in PACKAGES
    ]


def code_words(split: str) -> list[TaggedSentence]:
    """Tag the words of the language reference as ``CODE`` or ``TEXT``.

    The authors put code in quotation marks, which are removed here.

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
            if not any('"' in word for word in words):  # skip sentences with code of several words
                tags = tuple("CODE" if match else "TEXT" for match, _ in parts)
                sentences.append(TaggedSentence(words, tags))
    return sentences


def unmarked(word: str) -> tuple[str, str]:
    """Split a word from the punctuation after it."""
    match = MARKED_WORD.fullmatch(word)
    return (match[1], match[2]) if match else (word, "")


def sentence_boundary_qa(split: str) -> list[Question]:
    """Ask how the second of two sentences begins; they are joined in lower case, without punctuation.

    The context is the end of a document's first sentence and the beginning of its second, 4 to 14 words of
    each (sampled; all of a shorter one). So the answer, the first two words of the second sentence, has no
    fixed position.

    Args:
        split: ``"train"`` or ``"test"``, as for :func:`documents`.

    Example:
        >>> question = sentence_boundary_qa("test")[0]
        >>> text, start = question.answers[0]
        >>> question.context[start : start + len(text)] == text and len(text.split()) == 2
        True
    """
    questions = []
    for number, document in enumerate(documents(split)):
        words = [[unmarked(word)[0].lower() for word in text.split()] for text in document.sentences[:2]]
        if len(words) == 2 and min(map(len, words)) > 3:
            random = Random(number_of(" ".join(document.sentences)))
            before = " ".join(words[0][-random.randint(4, 14) :])
            after = " ".join(words[1][: random.randint(4, 14)])
            answer = Answer(" ".join(words[1][:2]), len(before) + 1)
            questions.append(Question(f"{split}-{number}", f"{before} {after}", RUN_ON, (answer,)))
    return questions

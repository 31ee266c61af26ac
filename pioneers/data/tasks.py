"""Toy tasks built from Python's own documentation; nothing to download."""

import re
from random import Random
from typing import NamedTuple

from pioneers.data.docstrings import REFERENCE, Document, documents, number_of
from pioneers.data.formats import Answer, Question, TaggedSentence
from pioneers.data.public import LabelledPair, LabelledText

PACKAGES = ("asyncio", "email", "http", "importlib", "logging", "multiprocessing", "unittest", "xml")
MARKED_WORD = re.compile(r"(.*?\w\W*?)([,.;:!?]*)")  # and the punctuation after it
CODE_WORD = re.compile(r'(\W*)"([^"\s]+)"(\W*)')
LONG_WORD = re.compile(r"\b[A-Za-z]{5,}\b")
BLANK = "____"
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


def next_sentence_pairs(split: str) -> list[LabelledPair]:
    """Pair sentences: 1 = the second follows the first in its document, 0 = it comes from another one.

    The other document is from the same package, and its sentence is a second one too, so that neither topic
    nor style gives the answer away.

    Args:
        split: ``"train"`` or ``"test"``, as for :func:`documents`.
    """
    return [
        LabelledPair(choice.context, choice.choices[0], int(choice.label == 0))
        for choice in continuations(split, num_choices=2)
    ]


def continuations(split: str, *, num_choices: int = 4) -> list[Choice]:
    """Offer several continuations of the first sentence of a document: multiple choice.

    Args:
        split: ``"train"`` or ``"test"``, as for :func:`documents`.
        num_choices: all but one are second sentences of other documents of the same package.
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
                random = Random(number_of(first + second))
                label = random.randrange(num_choices)
                choices = random.sample(others, num_choices - 1)
                found.append(Choice(first, (*choices[:label], second, *choices[label:]), label))
    return found


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


def punctuation(split: str) -> list[TaggedSentence]:
    """Remove the punctuation and tag each word with what followed it: ``NONE``, ``COMMA`` or ``STOP``.

    At most the first 40 words of each document, without the last one, which a full stop always follows.

    Args:
        split: ``"train"`` or ``"test"``, as for :func:`documents`.
    """
    rows = []
    for document in documents(split):
        words = " ".join(document.sentences).split()[:-1][:40]
        parts = [_unmarked(word) for word in words]
        if len(parts) > 10:
            tags = tuple({"": "NONE", ",": "COMMA"}.get(marks[-1:], "STOP") for _, marks in parts)
            rows.append(TaggedSentence(tuple(word for word, _ in parts), tags))
    return rows


def _unmarked(word: str) -> tuple[str, str]:
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
        words = [[_unmarked(word)[0].lower() for word in text.split()] for text in document.sentences[:2]]
        if len(words) == 2 and min(map(len, words)) > 3:
            random = Random(number_of(" ".join(document.sentences)))
            before = " ".join(words[0][-random.randint(4, 14) :])
            after = " ".join(words[1][: random.randint(4, 14)])
            answer = Answer(" ".join(words[1][:2]), len(before) + 1)
            questions.append(Question(f"{split}-{number}", f"{before} {after}", RUN_ON, (answer,)))
    return questions


def cloze_questions(split: str) -> list[Question]:
    """Blank out a word of a sentence; it is found in the rest of the document, where it occurs once.

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
    """Blank out the first long word that occurs exactly once in both sentence and context."""
    there = [] if sentence in context else LONG_WORD.findall(context)
    for match in LONG_WORD.finditer(sentence):
        word = match.group()
        if there.count(word) == context.count(word) == sentence.count(word) == 1 and len(there) > 4:
            blanked = sentence[: match.start()] + BLANK + sentence[match.end() :]
            return Question(name, context, blanked, (Answer(word, context.index(word)),))
    return None

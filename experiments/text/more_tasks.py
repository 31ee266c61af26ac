"""Tasks made of documentation that only experiments use; their results are on the deeper pages."""

import re
from random import Random

from pioneers.data import LabelledPair, Question, TaggedSentence, documents
from pioneers.data.docstrings import Document, number_of
from pioneers.data.formats import Answer
from pioneers.data.tasks import Choice, unmarked

LONG_WORD = re.compile(r"\b[A-Za-z]{5,}\b")
BLANK = "____"


def next_sentence_pairs(split: str) -> list[LabelledPair]:
    """Pair sentences: 1 = the second follows the first in its document, 0 = it comes from another one.

    The other document is from the same package, and its sentence is a second one too, so that neither topic
    nor style gives the answer away.

    Args:
        split: ``"train"`` or ``"test"``, as for ``documents``.
    """
    return [
        LabelledPair(choice.context, choice.choices[0], int(choice.label == 0))
        for choice in continuations(split, num_choices=2)
    ]


def continuations(split: str, *, num_choices: int = 4) -> list[Choice]:
    """Offer several continuations of the first sentence of a document: multiple choice.

    Args:
        split: ``"train"`` or ``"test"``, as for ``documents``.
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


def punctuation(split: str) -> list[TaggedSentence]:
    """Remove the punctuation and tag each word with what followed it: ``NONE``, ``COMMA`` or ``STOP``.

    At most the first 40 words of each document, without the last one, which a full stop always follows.

    Args:
        split: ``"train"`` or ``"test"``, as for ``documents``.
    """
    rows = []
    for document in documents(split):
        words = " ".join(document.sentences).split()[:-1][:40]
        parts = [unmarked(word) for word in words]
        if len(parts) > 10:
            tags = tuple({"": "NONE", ",": "COMMA"}.get(marks[-1:], "STOP") for _, marks in parts)
            rows.append(TaggedSentence(tuple(word for word, _ in parts), tags))
    return rows


def cloze_questions(split: str) -> list[Question]:
    """Blank out a word of a sentence; it is found in the rest of the document, where it occurs once.

    Args:
        split: ``"train"`` or ``"test"``, as for ``documents``.

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

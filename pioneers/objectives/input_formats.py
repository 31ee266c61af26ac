"""RoBERTa's four ways to fill a sequence with the sentences of documents."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from pioneers.objectives.bert_inputs import fit
from pioneers.objectives.next_sentence import Sentence, SentencePair, next_sentence
from pioneers.tokenizers import WordPiece
from pioneers.tokenizers.wordpiece import BERTInput

Documents = Sequence[Sequence[Sentence]]


class FormattedText(NamedTuple):
    """A sequence for a BERT, at most as long as asked for; :func:`padded_inputs` makes a batch of them.

    Attributes:
        inputs: token ids with [CLS] and [SEP], and the segments: 0, and 1 for the second part of a pair.
        is_next: True if the second part follows the first; None without next-sentence prediction.
    """

    inputs: BERTInput
    is_next: bool | None


def segment_pairs(
    documents: Documents, tokenizer: WordPiece, *, max_seq_len: int, seed: int = 0
) -> list[FormattedText]:
    """SEGMENT-PAIR + NSP, as in BERT: ``[CLS] segment [SEP] segment [SEP]``, each of several sentences.

    Sentences of one document are gathered until the sequence is full and divided in two at a random place.
    In half of the cases, and always if there is only one sentence, the second segment begins anywhere in
    another document, and the sentences it replaces begin the next sequence. The longer segment loses its end
    if they do not fit. Liu et al. 2019, section 4.2; Devlin et al. 2019, appendix A.2, without its 10% of
    shorter sequences.

    Args:
        documents: each a list of sentences, each a list of token ids.
        tokenizer: knows the special tokens.
        max_seq_len: T, including special tokens.
        seed: of the sampling.

    Raises:
        ValueError: there are fewer than two documents with sentences, or there is no room for a token of each
            segment.
    """
    room = _room(max_seq_len, special=3, texts=2)
    random, filled = Random(seed), [document for document in documents if document]
    if len(filled) < 2:
        raise ValueError("segment_pairs needs at least two documents, to sample a segment from another one")
    pairs = []
    for index, document in enumerate(filled):
        start = 0
        while start < len(document):
            gathered = _gather(document[start:], room)
            cut = random.randint(1, max(1, len(gathered) - 1))
            is_next = len(gathered) > 1 and random.random() < 0.5
            if is_next:
                second = gathered[cut:]
            else:
                other = filled[(index + random.randrange(1, len(filled))) % len(filled)]
                second = _gather(other[random.randrange(len(other)) :], room - len(_joined(gathered[:cut])))
            pairs.append(SentencePair(_joined(gathered[:cut]), _joined(second), is_next))
            start += len(gathered) if is_next else cut
    return [_pair(pair, tokenizer, room) for pair in pairs]


def sentence_pairs(
    documents: Documents, tokenizer: WordPiece, *, max_seq_len: int, seed: int = 0
) -> list[FormattedText]:
    """SENTENCE-PAIR + NSP: the pairs of :func:`next_sentence`, one sentence each, much shorter than T.

    Liu et al. 2019, section 4.2. The arguments and errors are those of :func:`segment_pairs`.
    """
    room = _room(max_seq_len, special=3, texts=2)
    return [_pair(pair, tokenizer, room) for pair in next_sentence(documents, seed=seed)]


def full_sentences(documents: Documents, tokenizer: WordPiece, *, max_seq_len: int) -> list[FormattedText]:
    """FULL-SENTENCES: as many sentences in a row as fit, across the ends of documents, without NSP.

    ``[CLS] sentences [SEP]``, with another [SEP] between two documents. A sentence that is longer than a
    sequence is divided. Liu et al. 2019, section 4.2. The arguments are those of :func:`segment_pairs`.

    Raises:
        ValueError: there is no room for a token.

    Example:
        >>> tokenizer = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdef"])
        >>> documents = [[[5, 6], [7, 8]], [[9], [10]]]
        >>> [text.inputs.input_ids for text in full_sentences(documents, tokenizer, max_seq_len=9)]
        [[2, 5, 6, 7, 8, 3, 9, 10, 3]]
    """
    room = _room(max_seq_len, special=2, texts=1)
    sep = tokenizer.special_ids["[SEP]"]
    rows: list[list[int]] = [[]]
    for document in documents:
        separator = [sep] if rows[-1] else []
        for sentence in _divided(document, room):
            if len(rows[-1]) + len(separator) + len(sentence) > room:
                rows.append([])
                separator = []
            rows[-1] += [*separator, *sentence]
            separator = []
    return [FormattedText(tokenizer.assemble(row), None) for row in rows if row]


def doc_sentences(documents: Documents, tokenizer: WordPiece, *, max_seq_len: int) -> list[FormattedText]:
    """DOC-SENTENCES: like :func:`full_sentences`, but a sequence ends with its document.

    The last one of a document may be short; RoBERTa's authors put more of these into a batch. Liu et al.
    2019, section 4.2. The arguments and errors are those of :func:`full_sentences`.

    Example:
        >>> tokenizer = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdef"])
        >>> documents = [[[5, 6], [7, 8]], [[9], [10]]]
        >>> [text.inputs.input_ids for text in doc_sentences(documents, tokenizer, max_seq_len=9)]
        [[2, 5, 6, 7, 8, 3], [2, 9, 10, 3]]
    """
    return [
        text
        for document in documents
        for text in full_sentences([document], tokenizer, max_seq_len=max_seq_len)
    ]


def _room(max_seq_len: int, *, special: int, texts: int) -> int:
    room = max_seq_len - special
    if room < texts:
        raise ValueError(
            f"max_seq_len={max_seq_len} has no room for {special} special tokens and {texts} more: "
            f"use at least {special + texts}"
        )
    return room


def _joined(sentences: Sequence[Sentence]) -> list[int]:
    return [token for sentence in sentences for token in sentence]


def _gather(sentences: Sequence[Sentence], room: int) -> Sequence[Sentence]:
    """The first sentences, until they fill the room; the last one may go beyond it."""
    length = 0
    for count, sentence in enumerate(sentences, 1):
        length += len(sentence)
        if length >= room:
            return sentences[:count]
    return sentences


def _divided(document: Sequence[Sentence], room: int) -> list[Sentence]:
    return [sentence[i : i + room] for sentence in document for i in range(0, len(sentence), room)]


def _pair(pair: SentencePair, tokenizer: WordPiece, room: int) -> FormattedText:
    return FormattedText(tokenizer.assemble(*fit([pair.first, pair.second], room)), pair.is_next)

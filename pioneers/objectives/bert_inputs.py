"""Collate the texts of a task for BERT: between [CLS] and [SEP], padded."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from pioneers.layers import padding_mask
from pioneers.tokenizers import WordPiece
from pioneers.tokenizers.wordpiece import BERTInput


class BERTInputs(NamedTuple):
    """A batch for a BERT.

    Attributes:
        input_ids: token ids ``(B, T)``, padded after the last [SEP] of each row.
        segment_ids: ``(B, T)``, 0 for the first text and 1 for the second.
        lengths: ``(B,)``, number of tokens of each row, including special ones.
    """

    input_ids: Tensor
    segment_ids: Tensor
    lengths: Tensor

    @property
    def mask(self) -> Tensor:
        """Return the mask of real keys, ``(B, 1, 1, T)``."""
        return padding_mask(self.lengths, self.input_ids.shape[1])


class QuestionInputs(NamedTuple):
    """A batch of questions, each with the text to search.

    Attributes:
        inputs: the question is segment 0, its context segment 1.
        starts: ``(B,)``, position of the answer's first token; 0, that of [CLS], if there is none or it was
            cut off.
        ends: ``(B,)``, position of its last token; 0 likewise.
        allowed: ``(B, T)``, True at the tokens of the context and at [CLS].
        places: ``(B, T, 2)``, half-open range of characters of the context that a token covers; empty outside
            the context.
    """

    inputs: BERTInputs
    starts: Tensor
    ends: Tensor
    allowed: Tensor
    places: Tensor

    def answers(self, contexts: Sequence[str], spans: Tensor) -> list[str]:
        """Return the text of ``spans (B, 2)`` of start and end in the ``contexts``.

        It is empty for [CLS] and any other span that begins or ends outside the context.

        Example:
            >>> tokenizer = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "in", "paris", "where"])
            >>> asked = question_inputs(["Where"], ["In Paris"], [(3, 8)], tokenizer, max_seq_len=9)
            >>> asked.answers(["In Paris"], torch.stack([asked.starts, asked.ends], dim=1))
            ['Paris']
        """
        rows = torch.arange(len(spans), device=spans.device)
        first, last = (self.places[rows, spans[:, i]].tolist() for i in (0, 1))
        found = zip(contexts, first, last, strict=True)
        return [context[a:b] if a < inside else "" for context, (a, inside), (_, b) in found]


def text_inputs(texts: Sequence[str], tokenizer: WordPiece, *, max_seq_len: int) -> BERTInputs:
    """Collate one text per label: ``[CLS] text [SEP]``. Devlin et al. 2019, figure 4 (b).

    Args:
        texts: B texts.
        tokenizer: encodes them.
        max_seq_len: maximum length of a row; longer texts lose their end, never a special token.

    Raises:
        ValueError: there are no texts, or there is no room for the special tokens.

    Example:
        >>> tokenizer = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"])
        >>> text_inputs(["a b", "a"], tokenizer, max_seq_len=4).input_ids
        tensor([[2, 5, 6, 3],
                [2, 5, 3, 0]])
    """
    return _assemble([[tokenizer.encode(text)] for text in texts], tokenizer, max_seq_len)


def pair_inputs(
    first: Sequence[str], second: Sequence[str], tokenizer: WordPiece, *, max_seq_len: int
) -> BERTInputs:
    """Collate two texts per label: ``[CLS] first [SEP] second [SEP]``, in segments 0 and 1.

    Devlin et al. 2019, figure 4 (a). ``first`` and ``second`` have equally many texts; a pair that is too
    long loses the end of its longer text. Other arguments and errors are those of :func:`text_inputs`.

    Example:
        >>> tokenizer = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"])
        >>> pair_inputs(["a a a a"], ["b"], tokenizer, max_seq_len=6).segment_ids
        tensor([[0, 0, 0, 0, 1, 1]])
    """
    pairs = zip(first, second, strict=True)
    return _assemble([[tokenizer.encode(text) for text in pair] for pair in pairs], tokenizer, max_seq_len)


def padded_inputs(rows: Sequence[BERTInput], tokenizer: WordPiece) -> BERTInputs:
    """Collate ``rows`` that are already assembled; ``tokenizer`` knows the padding.

    Example:
        >>> tokenizer = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"])
        >>> padded_inputs([tokenizer.assemble([5]), tokenizer.assemble([5, 6])], tokenizer).input_ids
        tensor([[2, 5, 3, 0],
                [2, 5, 6, 3]])
    """
    pad = tokenizer.special_ids["[PAD]"]
    return BERTInputs(
        pad_sequence([torch.tensor(row.input_ids) for row in rows], batch_first=True, padding_value=pad),
        pad_sequence([torch.tensor(row.segment_ids) for row in rows], batch_first=True),
        torch.tensor([len(row.input_ids) for row in rows]),
    )


def tagging_inputs(
    sentences: Sequence[Sequence[str]],
    tags: Sequence[Sequence[int]],
    tokenizer: WordPiece,
    *,
    max_seq_len: int,
) -> tuple[BERTInputs, Tensor]:
    """Collate sentences of tagged words: returns the inputs and the tags of their tokens, ``(B, T)``.

    Devlin et al. 2019, figure 4 (d) and section 5.3. The first piece of a word has its tag; other pieces,
    special tokens and padding have -100. A word without pieces, such as one of control characters only, is
    left out with its tag. ``sentences`` are lists of words and ``tags`` lists of as many numbers.
    The other arguments and the errors are those of :func:`text_inputs`.

    Example:
        >>> tokenizer = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "un", "##til"])
        >>> inputs, tags = tagging_inputs([["until", "a"]], [[1, 0]], tokenizer, max_seq_len=6)
        >>> inputs.input_ids, tags
        (tensor([[2, 6, 7, 5, 3]]), tensor([[-100,    1, -100,    0, -100]]))
    """
    texts: list[list[list[int]]] = []
    marks: list[list[int]] = []
    for words, numbers in zip(sentences, tags, strict=True):
        tagged = [(tokenizer.encode(word), tag) for word, tag in zip(words, numbers, strict=True)]
        texts.append([[i for pieces, _ in tagged for i in pieces]])
        marks.append([-100 if later else tag for pieces, tag in tagged for later, _ in enumerate(pieces)])
    inputs = _assemble(texts, tokenizer, max_seq_len)
    targets = torch.full_like(inputs.input_ids, -100)
    for row, length, known in zip(targets, inputs.lengths.tolist(), marks, strict=True):
        row[1 : length - 1] = torch.tensor(known[: length - 2])
    return inputs, targets


def question_inputs(
    questions: Sequence[str],
    contexts: Sequence[str],
    answers: Sequence[tuple[int, int] | None],
    tokenizer: WordPiece,
    *,
    max_seq_len: int,
) -> QuestionInputs:
    """Collate questions and the texts to search: ``[CLS] question [SEP] context [SEP]``.

    Devlin et al. 2019, figure 4 (c).

    Args:
        questions: B questions.
        contexts: B texts, one to search for each question.
        answers: half-open ranges of characters of the contexts; None if there is no answer.
        tokenizer: encodes them.
        max_seq_len: maximum length of a row; a pair that is too long loses the end of its longer text.

    Raises:
        ValueError: as in :func:`text_inputs`.
    """
    searched = [tokenizer.encode_with_offsets(context) for context in contexts]
    asked = [tokenizer.encode(question) for question in questions]
    inputs = _assemble(
        [[a, found.ids] for a, found in zip(asked, searched, strict=True)], tokenizer, max_seq_len
    )
    places = torch.zeros(*inputs.input_ids.shape, 2, dtype=torch.long)
    allowed = inputs.segment_ids == 1
    spans = torch.zeros(len(asked), 2, dtype=torch.long)
    for row, (found, answer) in enumerate(zip(searched, answers, strict=True)):
        begin, end = inputs.segment_ids[row].tolist().index(1), int(inputs.lengths[row]) - 1
        places[row, begin:end] = torch.tensor(found.offsets[: end - begin]).view(-1, 2)
        allowed[row, [0, end]] = torch.tensor([True, False])
        inside = [i for i, (a, b) in enumerate(found.offsets) if answer and a < answer[1] and b > answer[0]]
        if inside and begin + inside[-1] < end:
            spans[row] = torch.tensor([begin + inside[0], begin + inside[-1]])
    return QuestionInputs(inputs, spans[:, 0], spans[:, 1], allowed, places)


def _assemble(
    examples: Sequence[Sequence[Sequence[int]]], tokenizer: WordPiece, max_seq_len: int
) -> BERTInputs:
    """Assemble one or two texts per example, cutting the longer one until they fit."""
    if not examples:
        raise ValueError("a task needs at least one text")
    rows = []
    for texts in examples:
        room = max_seq_len - len(texts) - 1
        if room < 0:
            raise ValueError(f"max_seq_len={max_seq_len} has no room for {len(texts) + 1} special tokens")
        rows.append(tokenizer.assemble(*fit(texts, room)))
    return padded_inputs(rows, tokenizer)


def fit(texts: Sequence[Sequence[int]], room: int) -> list[Sequence[int]]:
    """Cut the end off the longer of one or two ``texts`` until they are ``room`` tokens together."""
    first, *second = texts
    kept = first[: max(room - sum(map(len, second)), room // 2)]  # what the other leaves, or half
    return [kept, *(text[: room - len(kept)] for text in second)]

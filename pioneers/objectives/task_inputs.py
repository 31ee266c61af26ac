"""Collate the texts of a task for GPT: joined by special tokens."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

Text = Sequence[int]
First = TypeVar("First")
Second = TypeVar("Second")


class TaskTokens(NamedTuple):
    """Ids of the special tokens that fine-tuning adds.

    Attributes:
        start: the first token.
        delimiter: between two texts.
        extract: the last token, where the answer is read.
    """

    start: int
    delimiter: int
    extract: int


class TaskInputs(NamedTuple):
    """Sequences of a task, and the position in each where the answer is read.

    ``input_ids`` is ``(B, T)``, or ``(B, R, T)`` if an example needs several sequences, padded with 0
    after the extract token. ``extract`` is ``(B,)`` or ``(B, R)``, the position of that token.
    """

    input_ids: Tensor
    extract: Tensor

    def lm_targets(self) -> Tensor:
        """Return the targets of the auxiliary loss, ``(rows, T)``: the next token, -100 from ``extract`` on.

        Example:
            >>> classification_inputs([[7, 8]], TaskTokens(1, 2, 3), max_seq_len=9).lm_targets()
            tensor([[   7,    8,    3, -100]])
        """
        ids, extract = self.input_ids.flatten(0, -2), self.extract.flatten()
        positions = torch.arange(ids.shape[1], device=ids.device)
        return ids.roll(-1, dims=1).masked_fill(positions >= extract[:, None], -100)


def classification_inputs(texts: Sequence[Text], tokens: TaskTokens, *, max_seq_len: int) -> TaskInputs:
    """Collate one text per label: ``start text extract``, ``(B, T)``. Radford et al. 2018, section 3.3.

    Args:
        texts: token ids of each text.
        tokens: the special tokens.
        max_seq_len: maximum length; longer texts lose their end, never a special token.

    Raises:
        ValueError: there are no texts, or there is no room for the special tokens.

    Example:
        >>> classification_inputs([[7, 8, 9], [7]], TaskTokens(1, 2, 3), max_seq_len=4)
        TaskInputs(input_ids=tensor([[1, 7, 8, 3],
                [1, 7, 3, 0]]), extract=tensor([3, 2]))
    """
    return _pad([_join([text], tokens, max_seq_len) for text in texts])


def entailment_inputs(
    premises: Sequence[Text], hypotheses: Sequence[Text], tokens: TaskTokens, *, max_seq_len: int
) -> TaskInputs:
    """Collate premises and hypotheses: ``start premise delimiter hypothesis extract``, ``(B, T)``.

    Radford et al. 2018, section 3.3. ``premises`` and ``hypotheses`` are token ids, equally many; a pair
    that is too long loses the end of its longer text. The other arguments and the errors are those of
    :func:`classification_inputs`.

    Example:
        >>> entailment_inputs([[7, 8, 9]], [[5]], TaskTokens(1, 2, 3), max_seq_len=6).input_ids
        tensor([[1, 7, 8, 2, 5, 3]])
    """
    return _pad([_join(pair, tokens, max_seq_len) for pair in _pairs(premises, hypotheses)])


def similarity_inputs(
    first: Sequence[Text], second: Sequence[Text], tokens: TaskTokens, *, max_seq_len: int
) -> TaskInputs:
    """Collate unordered pairs, each in both orders, ``(B, 2, T)``.

    Radford et al. 2018, section 3.3. ``first`` and ``second`` are token ids, equally many. The other
    arguments and the errors are those of :func:`entailment_inputs`.

    Example:
        >>> similarity_inputs([[7, 8]], [[5]], TaskTokens(1, 2, 3), max_seq_len=6).input_ids
        tensor([[[1, 7, 8, 2, 5, 3],
                 [1, 5, 2, 7, 8, 3]]])
    """
    orders = [order for a, b in _pairs(first, second) for order in ((a, b), (b, a))]
    return _by_example(_pad([_join(order, tokens, max_seq_len) for order in orders]), 2)


def multiple_choice_inputs(
    contexts: Sequence[Text], choices: Sequence[Sequence[Text]], tokens: TaskTokens, *, max_seq_len: int
) -> TaskInputs:
    """Collate one sequence per choice, ``start context delimiter choice extract``: ``(B, C, T)``.

    Radford et al. 2018, section 3.3.

    Args:
        contexts: token ids of each context, including the question.
        choices: the C answers to choose from, for each context.
        tokens: the special tokens.
        max_seq_len: maximum length; a pair that is too long loses the end of its longer text.

    Raises:
        ValueError: as in :func:`classification_inputs`, or the examples differ in the number of choices.

    Example:
        >>> multiple_choice_inputs([[7]], [[[4], [5, 6]]], TaskTokens(1, 2, 3), max_seq_len=6)
        TaskInputs(input_ids=tensor([[[1, 7, 2, 4, 3, 0],
                 [1, 7, 2, 5, 6, 3]]]), extract=tensor([[4, 5]]))
    """
    counts = {len(answers) for answers in choices}
    if len(counts) > 1:
        raise ValueError(f"every example needs the same number of choices, got {sorted(counts)}")
    pairs = [(context, choice) for context, answers in _pairs(contexts, choices) for choice in answers]
    return _by_example(_pad([_join(pair, tokens, max_seq_len) for pair in pairs]), *counts)


def _pairs(first: Sequence[First], second: Sequence[Second]) -> list[tuple[First, Second]]:
    if len(first) != len(second):
        raise ValueError(f"the two parts of the examples differ in number: {len(first)} and {len(second)}")
    return list(zip(first, second, strict=True))


def _join(texts: Sequence[Text], tokens: TaskTokens, max_seq_len: int) -> list[int]:
    """``start text extract`` or ``start text delimiter text extract``, the longer text cut to fit."""
    room = max_seq_len - len(texts) - 1
    if room < 0:
        raise ValueError(f"max_seq_len={max_seq_len} has no room for the {len(texts) + 1} special tokens")
    kept = [list(text) for text in texts]
    while sum(map(len, kept)) > room:
        max(kept, key=len).pop()
    inner = [token for text in kept for token in (tokens.delimiter, *text)]
    return [tokens.start, *inner[1:], tokens.extract]


def _pad(rows: Sequence[Sequence[int]]) -> TaskInputs:
    if not rows:
        raise ValueError("a task needs at least one text")
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
    return TaskInputs(ids, torch.tensor([len(row) - 1 for row in rows]))


def _by_example(inputs: TaskInputs, rows: int) -> TaskInputs:
    ids, extract = inputs
    return TaskInputs(ids.unflatten(0, (-1, rows)), extract.unflatten(0, (-1, rows)))

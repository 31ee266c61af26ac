"""The embedded documents character by character, and what the frozen states of their words tell."""

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from sklearn.metrics import matthews_corrcoef
from torch import Tensor

from pioneers.data import TaggedSentence, code_words, documents, ud_english_ewt


class Words(NamedTuple):
    """Tagged words as rows of characters.

    Attributes:
        input_ids: ``(B, T)``.
        word: of each character, ``(B * T,)``: the number of its word, -1 for what is between words.
        tags: of each word, ``(N,)``.
    """

    input_ids: Tensor
    word: Tensor
    tags: Tensor


@functools.cache
def text(split: str) -> str:
    """The documents of a split, a sentence a line."""
    return "\n".join(sentence for one in documents(split) for sentence in one.sentences).lower()


@functools.cache
def characters() -> dict[str, int]:
    """The numbers of the characters that occur a hundred times; 0 is a gap, and the last any other one."""
    frequent = [c for c, n in Counter(text("train")).most_common() if n >= 100]
    return {c: i for i, c in enumerate(["[MASK]", *frequent, "[UNK]"])}


def encode(letters: str) -> Tensor:
    """The ids of characters, ``(T,)``."""
    known = characters()
    return torch.tensor([known.get(letter, len(known) - 1) for letter in letters])


@functools.cache
def corpus(split: str) -> Tensor:
    """The ids of a split, ``(T,)``."""
    return encode(text(split))


@functools.cache
def tagged(task: str, seq_len: int) -> tuple[Words, Words, int]:
    """Words to fit the linear map with, words to judge it by, and the number of tags."""
    if task in ("ewt", "relations"):
        tags: Literal["parts", "relations"] = "parts" if task == "ewt" else "relations"
        train, test = ud_english_ewt("validation", tags), ud_english_ewt("test", tags)
    else:
        train, test = code_words("train"), code_words("test")
    names = sorted({tag for sentence in (*train, *test) for tag in sentence.tags})
    return words(train, names, seq_len), words(test, names, seq_len), len(names)


def words(sentences: Sequence[TaggedSentence], names: Sequence[str], seq_len: int) -> Words:
    """Sentences one after the other, cut into at most 6,000 rows."""
    parts: list[str] = []
    word: list[int] = []
    tags: list[int] = []
    for sentence in sentences:
        for one, tag in zip(sentence.words, sentence.tags, strict=True):
            parts.append(one.lower() + " ")
            word += [len(tags)] * len(one.lower()) + [-1]
            tags.append(names.index(tag))
        parts[-1] = parts[-1][:-1] + "\n"
    letters = "".join(parts)
    ids = encode(letters[: min(len(letters) // seq_len, 6000) * seq_len])
    kept = torch.tensor(word[: len(ids)])
    return Words(ids.view(-1, seq_len), kept, torch.tensor(tags[: int(kept.max()) + 1]))


@torch.inference_mode()
def word_states(read: Callable[[Tensor], Tensor], given: Words) -> Tensor:
    """The mean of what is read of each word's characters, ``(N, D)``."""
    rows = [read(given.input_ids[i : i + 128]) for i in range(0, len(given.input_ids), 128)]
    states, inside = torch.cat(rows).flatten(0, 1), given.word >= 0
    sums = states.new_zeros(len(given.tags), states.shape[1])
    sums.index_add_(0, given.word[inside], states[inside])
    return (sums / given.word[inside].bincount(minlength=len(sums))[:, None]).double()


def probe(read: Callable[[Tensor], Tensor], task: str, seq_len: int) -> float:
    """Least squares from frozen states to tags: accuracy, and for code or not Matthews' correlation.

    The squares are ridged a little, since some states may be sums of others.
    """
    train, test, count = tagged(task, seq_len)
    seen, asked = word_states(read, train), word_states(read, test)
    centre, scale = seen.mean(0), seen.std(0)
    seen, asked = (F.pad((states - centre) / scale, (0, 1), value=1.0) for states in (seen, asked))
    ridge = 1e-3 * len(seen) * torch.eye(seen.shape[1], dtype=seen.dtype)
    answers = seen.T @ F.one_hot(train.tags, count).double()
    found = (asked @ torch.linalg.solve(seen.T @ seen + ridge, answers)).argmax(-1)
    if task != "code words":
        return (found == test.tags).double().mean().item()
    return float(matthews_corrcoef(test.tags, found))

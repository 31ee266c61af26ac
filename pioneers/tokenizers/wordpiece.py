"""WordPiece, BERT's tokenizer, written to be read."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

from pioneers.progress import progress
from pioneers.tokenizers.bert_text import basic_tokens, token_counts, words
from pioneers.tokenizers.ids import known_ids
from pioneers.tokenizers.pairs import MostFrequent, PairCounts

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
MAX_WORD = 100  # longer words are not looked up piece by piece: they are [UNK]


class Pieces(NamedTuple):
    """The pieces of a text.

    Attributes:
        ids: token ids.
        offsets: for each token, the half-open range of characters of the text it covers.
    """

    ids: list[int]
    offsets: list[tuple[int, int]]


class BERTInput(NamedTuple):
    """The input of BERT.

    Attributes:
        input_ids: token ids.
        segment_ids: the segment each token belongs to, 0 or 1.
    """

    input_ids: list[int]
    segment_ids: list[int]


def likelihood(ab: int, a: int, b: int) -> float:
    """Score a pair as WordPiece does: ``ab / (a * b)``, its count over those of its two pieces.

    This is how much more often the two are adjacent than their own counts explain.
    """
    return ab / (a * b)


def frequency(ab: int, a: int, b: int) -> float:
    """Score a pair as byte-pair encoding does: by its count ``ab``; ``a`` and ``b`` are ignored."""
    return ab


class WordPiece:
    """A tokenizer that spells each word with the longest pieces of a vocabulary; ``##`` marks a continuation.

    Text is cleaned, lower-cased, stripped of accents, and split at white space, punctuation and Chinese
    characters. A word with a part that no piece spells, or of more than 100 characters, becomes [UNK].
    Schuster & Nakajima 2012; Wu et al. 2016, section 4.1; Devlin et al. 2019, section 3.

    Args:
        vocab: the pieces in the order of their ids, with [PAD], [UNK], [CLS], [SEP] and [MASK] among them.
        lowercase: lower-case the text and strip accents; False for BERT's cased vocabularies.

    Raises:
        ValueError: a special token is missing, or a piece occurs twice.

    Example:
        >>> tokenizer = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##want", "##ed", "!"])
        >>> tokenizer.encode("Unwanted!")
        [5, 6, 7, 8]
        >>> tokenizer.decode([5, 6, 7, 8])
        'unwanted !'
    """

    def __init__(self, vocab: Sequence[str], *, lowercase: bool = True) -> None:
        self.vocab, self.lowercase = list(vocab), lowercase
        self._ids = {piece: i for i, piece in enumerate(self.vocab)}
        if missing := [token for token in SPECIAL_TOKENS if token not in self._ids]:
            raise ValueError(f"the vocabulary has no {', '.join(missing)}: is it one of BERT's?")
        if len(self._ids) < len(self.vocab):
            twice = next(piece for piece, count in Counter(self.vocab).items() if count > 1)
            raise ValueError(f"the vocabulary has {twice!r} twice; each piece needs one id")
        self.special_ids = {token: self._ids[token] for token in SPECIAL_TOKENS}
        self._encode_word = lru_cache(maxsize=100_000)(self._spell_word)

    @property
    def vocab_size(self) -> int:
        """Number of pieces, including special tokens."""
        return len(self.vocab)

    @classmethod
    def from_vocab(cls, path: str | Path, *, lowercase: bool = True) -> Self:
        """Read the ``vocab.txt`` at ``path``: one piece per line, in id order; ``lowercase`` as above.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is not a vocabulary like BERT's.
        """
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(f"there is no vocabulary at {path}; BERT's is published as vocab.txt")
        try:
            return cls(path.read_text(encoding="utf-8").rstrip("\n").split("\n"), lowercase=lowercase)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    def save(self, path: str | Path) -> None:
        """Write the vocabulary as ``vocab.txt``, atomically; a missing folder is created."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + ".partial")
        partial.write_text("".join(f"{piece}\n" for piece in self.vocab), encoding="utf-8")
        os.replace(partial, path)

    @classmethod
    def train(
        cls, text: str, vocab_size: int, *, score: Callable[[int, int, int], float] = likelihood
    ) -> Self:
        """Learn a vocabulary: special tokens, all characters, then repeatedly the best pair.

        The best pair has the highest ``score(count(ab), count(a), count(b))``; ties go to the smaller ids.
        Google never published its trainer. The library ``tokenizers`` joins by ``frequency`` in what it calls
        a WordPiece trainer, and breaks ties by an order that differs from run to run. Raw ``likelihood``
        loves rare pairs: two characters seen once each, side by side, score 1, the maximum.

        Args:
            text: any text; it is normalised and split as ``encode`` does.
            vocab_size: number of pieces to stop at; training stops earlier when no pair is left.
            score: :func:`~pioneers.tokenizers.wordpiece.likelihood`,
                :func:`~pioneers.tokenizers.wordpiece.frequency`, or your own.

        Raises:
            ValueError: there is no word in the text, or its characters alone exceed the vocabulary.
        """
        counts = token_counts(text)
        spelled = [[token[0], *(f"##{char}" for char in token[1:])] for token in counts]
        vocab = [*SPECIAL_TOKENS, *sorted({piece for word in spelled for piece in word})]
        if not counts:
            raise ValueError("cannot train a tokenizer on a text without words")
        if vocab_size < len(vocab):
            raise ValueError(
                f"vocab_size={vocab_size} is too small: the special tokens and the characters of this text "
                f"need {len(vocab)}"
            )
        ids = {piece: i for i, piece in enumerate(vocab)}
        state = PairCounts([[ids[piece] for piece in word] for word in spelled], list(counts.values()))
        most_frequent = MostFrequent(state)
        for new_id in progress(range(len(vocab), vocab_size), desc="pieces", leave=False):
            if not state.pairs:
                break
            a, b = most_frequent() if score is frequency else state.best(score)
            state.join((a, b), new_id)
            vocab.append(vocab[a] + vocab[b].removeprefix("##"))
        return cls(vocab)

    def encode(self, text: str) -> list[int]:
        """Encode a text as token ids, without [CLS] and [SEP]: see :meth:`assemble`.

        A text cannot smuggle in a special token: ``"[MASK]"`` is read as three tokens. Insert
        ``special_ids["[MASK]"]`` yourself.
        """
        return [i for word, _ in words(text) for i in self._encode_word(word).ids]

    def encode_with_offsets(self, text: str) -> Pieces:
        """Encode a text and return each token's range of characters, as answers to questions are given.

        Example:
            >>> tokenizer = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "in", "pa", "##ris"])
            >>> ids, offsets = tokenizer.encode_with_offsets("In Paris")
            >>> offsets
            [(0, 2), (3, 5), (5, 8)]
            >>> answer = 3, 8  # the characters of "Paris"; its tokens overlap them
            >>> [i for i, (start, end) in enumerate(offsets) if start < answer[1] and end > answer[0]]
            [1, 2]
        """
        ids: list[int] = []
        offsets: list[tuple[int, int]] = []
        for word, place in words(text):
            pieces = self._encode_word(word)
            ids += pieces.ids
            offsets += [(place + start, place + end) for start, end in pieces.offsets]
        return Pieces(ids, offsets)

    def assemble(self, first: Sequence[int], second: Sequence[int] | None = None) -> BERTInput:
        """Assemble ``[CLS] first [SEP]`` or ``[CLS] first [SEP] second [SEP]``: Devlin et al. 2019, figure 2.

        ``first`` and ``second`` are token ids from :meth:`encode`, already cut to fit.

        Example:
            >>> WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]).assemble([5], [6, 6])
            BERTInput(input_ids=[2, 5, 3, 6, 6, 3], segment_ids=[0, 0, 0, 1, 1, 1])
        """
        cls_id, sep_id = self.special_ids["[CLS]"], self.special_ids["[SEP]"]
        a = [cls_id, *first, sep_id]
        b = [] if second is None else [*second, sep_id]
        return BERTInput(a + b, [0] * len(a) + [1] * len(b))

    def decode(self, ids: Iterable[int]) -> str:
        """Decode token ids to words separated by spaces; case, accents and spacing are lost.

        Raises:
            ValueError: an id is not in the vocabulary.
        """
        return " ".join(self.vocab[i] for i in known_ids(ids, self.vocab_size)).replace(" ##", "")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the cache."""
        return _make, (type(self), self.vocab, self.lowercase)

    def _spell_word(self, word: str) -> Pieces:
        """Split a word into pieces; offsets count from its beginning."""
        ids: list[int] = []
        offsets: list[tuple[int, int]] = []
        for token, places in basic_tokens(word, lowercase=self.lowercase):
            ends = self._longest_match(token)
            start = 0
            for i, end in ends:
                ids.append(i)
                offsets.append((places[start], places[end - 1] + 1))
                start = end
        return Pieces(ids, offsets)

    def _longest_match(self, token: str) -> list[tuple[int, int]]:
        """Match a token from left to right, always with the longest piece; returns piece ids and ends."""
        unknown = [(self.special_ids["[UNK]"], len(token))]
        if len(token) > MAX_WORD:
            return unknown
        pieces: list[tuple[int, int]] = []
        start = 0
        while start < len(token):
            for end in range(len(token), start, -1):
                piece = token[start:end] if start == 0 else f"##{token[start:end]}"
                if piece in self._ids:
                    pieces.append((self._ids[piece], end))
                    start = end
                    break
            else:
                return unknown
        return pieces


def _make(cls: type[WordPiece], vocab: Sequence[str], lowercase: bool) -> WordPiece:
    return cls(vocab, lowercase=lowercase)

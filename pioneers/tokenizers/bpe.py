"""Byte-level byte-pair encoding, to be read. Sennrich et al. 2016; Radford et al. 2019, section 2.2."""

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Self

import regex
from tqdm.auto import tqdm

# GPT-2 cuts text into chunks before merging, so that no token spans two words: contractions, then letters,
# digits or other signs, each with at most one space in front, then white space.
CHUNK = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")

# The 256 byte tokens in GPT-2's order: printable bytes first. Token id → byte.
PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTES = bytes(PRINTABLE + [b for b in range(256) if b not in PRINTABLE])

Pair = tuple[int, int]


class ByteLevelBPE:
    """A tokenizer whose smallest tokens are the 256 bytes: every text can be encoded, nothing is unknown.

    Args:
        merges: pairs of ids in the order they were learned; merge number i makes the token 256 + i.

    Example:
        >>> tokenizer = ByteLevelBPE.train("low lower lowest low low", vocab_size=258)
        >>> [tokenizer.decode([i]) for i in tokenizer.encode("low flow")]
        ['low', ' ', 'f', 'low']
    """

    def __init__(self, merges: Sequence[Pair]) -> None:
        self.merges = [(int(a), int(b)) for a, b in merges]
        self.vocab = [BYTES[i : i + 1] for i in range(256)]
        for rank, (a, b) in enumerate(self.merges):
            if not (0 <= a < 256 + rank and 0 <= b < 256 + rank):
                raise ValueError(f"merge {rank} joins {a} and {b}, which are not tokens yet")
            self.vocab.append(self.vocab[a] + self.vocab[b])
        self._rank = {pair: rank for rank, pair in enumerate(self.merges)}
        self._encode_chunk = lru_cache(maxsize=100_000)(self._merge_chunk)

    @property
    def vocab_size(self) -> int:
        """Number of tokens: 256 bytes and one per merge."""
        return len(self.vocab)

    @classmethod
    def train(cls, text: str, vocab_size: int) -> Self:
        """Learn ``vocab_size - 256`` merges: again and again, join the most frequent pair of neighbours.

        Of pairs equally frequent the one with the smaller ids is joined. Training stops early when no pair
        is left.

        Raises:
            ValueError: the text is empty, or the vocabulary is smaller than the 256 bytes.
        """
        if vocab_size < 256:
            raise ValueError(
                f"vocab_size={vocab_size} is too small: the 256 bytes are always in the vocabulary"
            )
        if not text:
            raise ValueError("cannot train a tokenizer on an empty text")
        counts = Counter(CHUNK.findall(text))
        words = [to_byte_ids(chunk) for chunk in counts]
        frequencies = list(counts.values())
        pairs: Counter[Pair] = Counter()
        where: defaultdict[Pair, set[int]] = defaultdict(set)
        for i, word in enumerate(words):
            for pair in pairwise(word):
                pairs[pair] += frequencies[i]
                where[pair].add(i)
        merges: list[Pair] = []
        for new_id in tqdm(range(256, vocab_size), desc="merges", leave=False):
            best = max(pairs, key=lambda pair: (pairs[pair], -pair[0], -pair[1]), default=None)
            if best is None:
                break
            merges.append(best)
            for i in where.pop(best):
                _replace(words, i, best, new_id, frequencies[i], pairs, where)
        return cls(merges)

    def encode(self, text: str) -> list[int]:
        """Token ids of a text; ``decode`` gives the text back."""
        return [token for chunk in CHUNK.findall(text) for token in self._encode_chunk(chunk)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of token ids; bytes that are not UTF-8 (half a character) become the sign �.

        Raises:
            ValueError: an id is not in the vocabulary.
        """
        return self.decode_bytes(ids).decode("utf-8", errors="replace")

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of token ids, exactly."""
        ids = list(ids)
        for i in ids:
            if not 0 <= i < self.vocab_size:
                raise ValueError(f"token id {i} is not in the vocabulary of {self.vocab_size} tokens")
        return b"".join(self.vocab[i] for i in ids)

    def save(self, path: str | Path) -> None:
        """Write the merges as JSON; the file appears whole or not at all."""
        path = Path(path)
        partial = path.with_name(path.name + ".partial")
        partial.write_text(json.dumps({"type": "byte-level BPE", "merges": self.merges}))
        os.replace(partial, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is not such a tokenizer.
        """
        try:
            return cls(json.loads(Path(path).read_text())["merges"])
        except FileNotFoundError:
            raise FileNotFoundError(f"no tokenizer at {path}; train one and save it there first") from None
        except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is not a saved tokenizer, or is damaged ({error})") from error

    def _merge_chunk(self, chunk: str) -> list[int]:
        """Apply the merges to one chunk, earliest learned first."""
        ids = to_byte_ids(chunk)
        while len(ids) > 1:
            pairs = pairwise(ids)
            best = min(pairs, key=lambda pair: self._rank.get(pair, len(self.merges)))
            if best not in self._rank:
                break
            ids = merge(ids, best, 256 + self._rank[best])
        return ids


def to_byte_ids(text: str) -> list[int]:
    """The byte tokens of a text before any merge.

    Example:
        >>> to_byte_ids("ab!")
        [64, 65, 0]
    """
    return [BYTES.index(byte) for byte in text.encode("utf-8")]


def merge(ids: Sequence[int], pair: Pair, new_id: int) -> list[int]:
    """Replace every occurrence of ``pair`` in ``ids``, from the left, by ``new_id``.

    Example:
        >>> merge([1, 1, 1, 2], (1, 1), 9)
        [9, 1, 2]
    """
    out: list[int] = []
    i = 0
    while i < len(ids):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            out.append(new_id)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


def _replace(
    words: list[list[int]],
    i: int,
    pair: Pair,
    new_id: int,
    frequency: int,
    pairs: Counter[Pair],
    where: defaultdict[Pair, set[int]],
) -> None:
    """Merge ``pair`` in word ``i`` and bring the pair counts up to date."""
    old, new = words[i], merge(words[i], pair, new_id)
    for neighbours in pairwise(old):
        pairs[neighbours] -= frequency
        if not pairs[neighbours]:
            del pairs[neighbours]
    for neighbours in pairwise(new):
        pairs[neighbours] += frequency
        where[neighbours].add(i)
    words[i] = new

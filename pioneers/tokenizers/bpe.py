"""Byte-level byte-pair encoding, written to be read."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import regex

from pioneers.progress import progress
from pioneers.tokenizers.ids import known_ids
from pioneers.tokenizers.pairs import Pair, PairCounts, merge

# GPT-2 cuts text into chunks before merging, so that no token spans two words: contractions, then letters,
# digits or other signs, each with at most one space in front, then white space.
CHUNK = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")

# The 256 byte tokens in GPT-2's order: printable bytes first. Token id → byte.
PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTES = bytes(PRINTABLE + [b for b in range(256) if b not in PRINTABLE])

# How GPT-2's files write each byte token: a printable byte as itself, the others as the signs from U+0100 on.
SYMBOLS = [chr(b) for b in PRINTABLE] + [chr(256 + i) for i in range(256 - len(PRINTABLE))]


class ByteLevelBPE:
    """A tokenizer whose smallest tokens are the 256 bytes: every text can be encoded, nothing is unknown.

    Sennrich et al. 2016, section 3.2; Radford et al. 2019, section 2.2.

    Args:
        merges: pairs of ids in the order they were learned; merge number i makes the token 256 + i.
        special_tokens: names of tokens that are not text, such as the end of a document; their ids follow
            those of the merges. ``encode`` never produces them, so no text can smuggle one in: insert the
            id from ``special_ids`` yourself.

    Raises:
        ValueError: a merge joins ids that are not tokens yet.

    Example:
        >>> tokenizer = ByteLevelBPE.train("low lower lowest low low", vocab_size=258)
        >>> [tokenizer.decode([i]) for i in tokenizer.encode("low flow")]
        ['low', ' ', 'f', 'low']
    """

    def __init__(self, merges: Sequence[Pair], special_tokens: Sequence[str] = ()) -> None:
        self.merges = [(int(a), int(b)) for a, b in merges]
        self.vocab = [BYTES[i : i + 1] for i in range(256)]
        for rank, (a, b) in enumerate(self.merges):
            if not (0 <= a < 256 + rank and 0 <= b < 256 + rank):
                raise ValueError(f"merge {rank} joins {a} and {b}, which are not tokens yet")
            self.vocab.append(self.vocab[a] + self.vocab[b])
        self.special_ids = {name: len(self.vocab) + i for i, name in enumerate(special_tokens)}
        self.vocab += [name.encode() for name in special_tokens]
        self._rank = {pair: rank for rank, pair in enumerate(self.merges)}
        self._encode_chunk = lru_cache(maxsize=100_000)(self._merge_chunk)

    @property
    def vocab_size(self) -> int:
        """Number of tokens (256 bytes, one per merge, and the special tokens)."""
        return len(self.vocab)

    @classmethod
    def train(cls, text: str, vocab_size: int) -> Self:
        """Learn ``vocab_size - 256`` merges of ``text`` by repeatedly joining the most frequent pair.

        Ties go to the pair with the smaller ids. Training stops early if no pair is left.

        Raises:
            ValueError: the text is empty, or the vocabulary is smaller than the 256 bytes.
        """
        if vocab_size < 256:
            raise ValueError(
                f"vocab_size={vocab_size} is too small: the 256 bytes are always in the vocabulary"
            )
        if not text:
            raise ValueError("cannot train a tokenizer on an empty text")
        return cls(cls._learn(text, vocab_size))

    @classmethod
    def from_gpt2(cls, merges_path: str | Path, vocab_path: str | Path) -> Self:
        """Read a tokenizer from GPT-2's two files; ids are GPT-2's.

        Args:
            merges_path: the merges, called ``vocab.bpe`` by OpenAI and ``merges.txt`` by Hugging Face.
            vocab_path: the ids, called ``encoder.json`` or ``vocab.json``. They follow from the merges; the
                file adds the special token ``<|endoftext|>``, and the two are checked against each other.

        Raises:
            FileNotFoundError: a file is not there.
            ValueError: a file is damaged, or numbers its tokens differently from GPT-2.
        """
        return cls(*_read_gpt2(Path(merges_path), Path(vocab_path)))

    def save_gpt2(self, merges_path: str | Path, vocab_path: str | Path) -> None:
        """Write the tokenizer as GPT-2's two files, which :meth:`from_gpt2` and other libraries read.

        Args:
            merges_path: the merges.
            vocab_path: the ids.

        Raises:
            ValueError: two tokens have the same spelling, which these files cannot express.
        """
        ordinary, special = self.vocab[: 256 + len(self.merges)], self.vocab[256 + len(self.merges) :]
        written = ["".join(SYMBOLS[BYTES.index(byte)] for byte in token) for token in ordinary]
        ids = {token: i for i, token in enumerate([*written, *(name.decode() for name in special)])}
        if len(ids) < len(self.vocab):
            raise ValueError(
                "two tokens have the same spelling, which GPT-2's files cannot express: use save"
            )
        lines = ["#version: 0.2", *(f"{written[a]} {written[b]}" for a, b in self.merges)]
        Path(merges_path).write_text("\n".join(lines) + "\n", encoding="utf-8")
        Path(vocab_path).write_text(json.dumps(ids, ensure_ascii=False), encoding="utf-8")

    def encode(self, text: str) -> list[int]:
        """Encode a text as token ids; ``decode`` restores it."""
        return [token for chunk in CHUNK.findall(text) for token in self._encode_chunk(chunk)]

    def encode_bytes(self, data: bytes) -> list[int]:
        """Encode any bytes, UTF-8 or not; ``decode_bytes`` restores them.

        Example:
            >>> tokenizer = ByteLevelBPE([])
            >>> tokenizer.decode_bytes(tokenizer.encode_bytes(bytes([255, 0, 128])))
            b'\\xff\\x00\\x80'
        """
        return self.encode(data.decode("utf-8", errors="surrogateescape"))

    def decode(self, ids: Iterable[int]) -> str:
        """Decode token ids to text; bytes that are not UTF-8 (half a character) become �.

        Raises:
            ValueError: an id is not in the vocabulary.
        """
        return self.decode_bytes(ids).decode("utf-8", errors="replace")

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """Decode token ids to their exact bytes.

        Raises:
            ValueError: an id is not in the vocabulary.
        """
        return b"".join(self.vocab[i] for i in known_ids(ids, self.vocab_size))

    def save(self, path: str | Path) -> None:
        """Write the merges as JSON, atomically; a missing folder is created."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        saved = {"type": "byte-level BPE", "merges": self.merges, "special_tokens": list(self.special_ids)}
        partial = path.with_name(path.name + ".partial")
        partial.write_text(json.dumps(saved))
        os.replace(partial, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is not such a tokenizer.
        """
        try:
            saved = json.loads(Path(path).read_text())
            return cls(saved["merges"], saved.get("special_tokens", ()))
        except FileNotFoundError:
            raise FileNotFoundError(f"no tokenizer at {path}; train one and save it there first") from None
        except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is not a saved tokenizer, or is damaged ({error})") from error

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the cache."""
        return type(self), (self.merges, list(self.special_ids))

    @staticmethod
    def _learn(text: str, vocab_size: int) -> list[Pair]:
        """Learn the merges for :meth:`train`."""
        chunks = Counter(CHUNK.findall(text))
        counts = PairCounts([to_byte_ids(chunk) for chunk in chunks], list(chunks.values()))
        merges: list[Pair] = []
        for new_id in progress(range(256, vocab_size), desc="merges", leave=False):
            if not counts.pairs:
                break
            most = max(counts.pairs.values())
            best = min(pair for pair, count in counts.pairs.items() if count == most)
            counts.join(best, new_id)
            merges.append(best)
        return merges

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
    """Return the byte tokens of a text before any merge; surrogate escapes become their bytes.

    Example:
        >>> to_byte_ids("ab!")
        [64, 65, 0]
    """
    return [BYTES.index(byte) for byte in text.encode("utf-8", errors="surrogateescape")]


def _read_gpt2(merges_path: Path, vocab_path: Path) -> tuple[list[Pair], list[str]]:
    """Read merges as pairs of ids, and the names of the special tokens, from GPT-2's two files."""
    for path in (merges_path, vocab_path):
        if not path.is_file():
            raise FileNotFoundError(
                f"no file {path}; GPT-2's tokenizer is published as vocab.bpe and encoder.json, "
                "or as merges.txt and vocab.json"
            )
    ids = {symbol: i for i, symbol in enumerate(SYMBOLS)}
    merges: list[Pair] = []
    for number, line in enumerate(merges_path.read_text(encoding="utf-8").split("\n"), start=1):
        if not line or (number == 1 and line.startswith("#version")):
            continue
        left, _, right = line.partition(" ")
        if left not in ids or right not in ids:
            raise ValueError(f"{merges_path}, line {number}: {line!r} does not join two tokens known so far")
        merges.append((ids[left], ids[right]))
        ids[left + right] = 255 + len(merges)
    try:
        published = {str(token): int(i) for token, i in json.loads(vocab_path.read_text("utf-8")).items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"{vocab_path} does not map tokens to ids ({error})") from error
    special = sorted(published.keys() - ids.keys(), key=published.__getitem__)
    ids |= {token: 256 + len(merges) + i for i, token in enumerate(special)}
    if ids != published:
        raise ValueError(
            f"{vocab_path} does not number its tokens as GPT-2 does: bytes, merges of {merges_path}, "
            "special tokens; are both files of the same model, and is it GPT-2?"
        )
    return merges, special

"""Published tokenizers that the `tokenizers` library runs, as their ``tokenizer.json`` describes them."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from tokenizers import Tokenizer

from pioneers.tokenizers.bpe import BYTES, SYMBOLS
from pioneers.tokenizers.ids import known_ids

BYTE_OF_SYMBOL = dict(zip(SYMBOLS, BYTES, strict=True))


class LibraryTokenizer:
    """A tokenizer that is what a ``tokenizer.json`` says, with the interface of the others here.

    Args:
        description: the text of such a file.

    Raises:
        ValueError: the library cannot read it.
    """

    def __init__(self, description: str) -> None:
        try:
            self._library: Any = Tokenizer.from_str(description)
        except Exception as error:  # the library has no class of its own for its errors
            raise ValueError(f"the library `tokenizers` cannot read this description ({error})") from error
        self._library.no_padding()
        self._library.no_truncation()
        self._library.encode_special_tokens = True  # as text, not as what they mean
        self._added = self._library.get_added_tokens_decoder()
        size = max([self._library.get_vocab_size(), *(i + 1 for i in self._added)])
        self.vocab = [self._library.id_to_token(i) or "" for i in range(size)]
        self.special_ids = {token.content: i for i, token in sorted(self._added.items()) if token.special}

    @property
    def vocab_size(self) -> int:
        """Number of tokens, including special tokens."""
        return len(self.vocab)

    def encode(self, text: str) -> list[int]:
        """Encode a text as token ids, without special tokens: none is added, and none can be smuggled in."""
        return list(self._library.encode(text, add_special_tokens=False).ids)

    def decode(self, ids: Iterable[int]) -> str:
        """Decode token ids to text; special tokens become their names.

        Raises:
            ValueError: an id is not in the vocabulary.
        """
        return str(self._library.decode(known_ids(ids, self.vocab_size), skip_special_tokens=False))

    def save(self, path: str | Path) -> None:
        """Write the ``tokenizer.json``, atomically; a missing folder is created."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + ".partial")
        partial.write_text(self._library.to_str(pretty=True), encoding="utf-8")
        os.replace(partial, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a ``tokenizer.json``.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the library cannot read it.
        """
        return cls(Path(path).read_text(encoding="utf-8"))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the description."""
        return type(self), (self._library.to_str(),)


class LibraryBPE(LibraryTokenizer):
    """A byte-level BPE that cuts texts or numbers its tokens in its own way: that of Llama 3, Qwen3 or BART.

    Args:
        description: the text of a ``tokenizer.json``.

    Raises:
        ValueError: the library cannot read it.
    """

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """Decode token ids to their exact bytes.

        Raises:
            ValueError: an id is not in the vocabulary.
        """
        return b"".join(
            self.vocab[i].encode()
            if i in self._added
            else bytes(BYTE_OF_SYMBOL[symbol] for symbol in self.vocab[i])
            for i in known_ids(ids, self.vocab_size)
        )

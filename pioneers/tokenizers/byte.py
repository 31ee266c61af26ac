"""ByT5's tokenizer, which is none: a token is a byte."""

from collections.abc import Iterable

from pioneers.tokenizers.ids import known_ids

SPECIAL_TOKENS = ("<pad>", "</s>", "<unk>")


class ByteTokenizer:
    """A tokenizer without a vocabulary to learn: the id of a byte is its value plus 3.

    The ids 0, 1 and 2 are padding, the end of a text and "unknown", which never occurs. ByT5 marks the spans
    that it has to restore by the last 100 ids, though these are bytes as well. Xue et al. 2022, section 3.1.

    Example:
        >>> tokenizer = ByteTokenizer()
        >>> tokenizer.encode("né")
        [113, 198, 172]
        >>> tokenizer.decode([113, 198, 172])
        'né'
    """

    def __init__(self) -> None:
        self.vocab = [*(name.encode() for name in SPECIAL_TOKENS), *(bytes([byte]) for byte in range(256))]
        self.special_ids = {name: i for i, name in enumerate(SPECIAL_TOKENS)}

    @property
    def vocab_size(self) -> int:
        """Number of tokens, 259; the vocabulary of ByT5's matrices is rounded up to 384."""
        return len(self.vocab)

    def encode(self, text: str) -> list[int]:
        """Encode a text as token ids; ``decode`` restores it."""
        return [len(SPECIAL_TOKENS) + byte for byte in text.encode("utf-8", errors="surrogateescape")]

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

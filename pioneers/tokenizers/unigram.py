"""The unigram tokenizer of SentencePiece: pieces have probabilities, and the likeliest cut of a text wins."""

import json
import math
from collections.abc import Mapping
from typing import Self

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from pioneers.tokenizers.library import LibraryTokenizer

SPECIAL_TOKENS = ("<pad>", "</s>", "<unk>")  # T5's, with its ids
UNKNOWN_PENALTY = 10.0


def viterbi(text: str, log_probs: Mapping[str, float]) -> list[str]:
    """Cut ``text`` into the pieces whose ``log_probs`` have the highest sum: Kudo 2018, section 3.2.

    The best cut of a beginning of the text ends in some piece, and what precedes that piece is cut best, too.
    So the best cuts of all beginnings follow from one another, shortest first; this is Viterbi's algorithm.
    A character outside the vocabulary counts as a piece whose log-probability is 10 below the lowest.

    Raises:
        ValueError: there are no pieces.

    Example:
        >>> viterbi("unlike", {"un": -2.0, "like": -3.0, "unli": -2.0, "ke": -4.0})
        ['un', 'like']
    """
    if not log_probs:
        raise ValueError("a text can only be cut into pieces if there are some: log_probs is empty")
    unknown = min(log_probs.values()) - UNKNOWN_PENALTY
    longest = max(map(len, log_probs))
    best = [0.0] + [-math.inf] * len(text)  # best[end]: the highest sum for text[:end]
    last = [0] * (len(text) + 1)  # last[end]: where its last piece begins
    for end in range(1, len(text) + 1):
        for start in range(max(0, end - longest), end):
            piece = text[start:end]
            score = best[start] + log_probs.get(piece, unknown if len(piece) == 1 else -math.inf)
            if score > best[end]:
                best[end], last[end] = score, start
    pieces, end = [], len(text)
    while end > 0:
        pieces.append(text[last[end] : end])
        end = last[end]
    return pieces[::-1]


class Unigram(LibraryTokenizer):
    """A tokenizer that cuts each text into its most probable pieces: that of T5, mT5, ALBERT and XLNet.

    Each piece has a log-probability, and a text is cut into the pieces with the highest sum, which
    :func:`~pioneers.tokenizers.unigram.viterbi` finds. A space is a character like others, written ``▁``, and
    one is put in front of the text. Training begins with many pieces, estimates their probabilities by
    expectation–maximisation, and drops those whose loss costs the text least, until few enough are left. Kudo
    2018, section 3.2; the library `tokenizers` does it all.

    Args:
        description: the text of a ``tokenizer.json``.

    Raises:
        ValueError: the library cannot read it, or it describes another model.

    Example:
        >>> tokenizer = Unigram.train("low lower lowest slow slower " * 9, vocab_size=18)
        >>> tokenizer.decode(tokenizer.encode("slow low"))
        'slow low'
    """

    def __init__(self, description: str) -> None:
        super().__init__(description)
        model = json.loads(self._library.to_str())["model"]
        if model["type"] != "Unigram":
            raise ValueError(f"this describes a tokenizer of the type {model['type']}, not Unigram")
        self.log_probs = {piece: float(score) for piece, score in model["vocab"]}
        self.unk_id = int(model["unk_id"])

    @classmethod
    def train(cls, text: str, vocab_size: int) -> Self:
        """Learn at most ``vocab_size`` pieces of ``text``, the special tokens of T5 among them.

        The library adds numbers up in an order that differs from run to run. So log-probabilities differ in
        their fourth decimal, and pieces that are equally likely may change places: save what was trained.

        Raises:
            ValueError: the text is empty, or its characters alone exceed the vocabulary.
        """
        if not text.strip():
            raise ValueError("cannot train a tokenizer on an empty text")
        library = Tokenizer(models.Unigram())
        spaces = normalizers.Replace(Regex(" {2,}"), " ")
        library.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
        library.pre_tokenizer, library.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=vocab_size, special_tokens=list(SPECIAL_TOKENS), unk_token="<unk>", show_progress=False
        )
        try:
            library.train_from_iterator(text.splitlines(), trainer)
        except Exception as error:  # the library has no class of its own for its errors
            raise ValueError(f"vocab_size={vocab_size} is too small for this text: {error}") from error
        library.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", 1)])
        return cls(library.to_str())

    def encode(self, text: str) -> list[int]:
        """Encode a text as token ids, without special tokens.

        None is added, and none can be smuggled in: the name of one is spelled character by character.
        """
        special = {i: name for name, i in self.special_ids.items() if i != self.unk_id}
        return [spelled for i in super().encode(text) for spelled in self._spell(special.get(i)) or [i]]

    def _spell(self, name: str | None) -> list[int]:
        """The ids of the characters of a special token's name."""
        found = [self._library.token_to_id(character) for character in name or ""]
        return [self.unk_id if i is None else i for i in found]

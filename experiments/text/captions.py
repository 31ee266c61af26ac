"""Captions in two languages, as the multilingual BERT of ``cross_lingual`` reads them."""

import functools
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from pioneers.data import multi30k
from pioneers.device import best_device
from pioneers.objectives import masked_lm
from pioneers.tokenizers import WordPiece
from pioneers.tokenizers.wordpiece import frequency

LANGUAGES = ENGLISH, GERMAN = (0, 1)  # as the sides of a pair
HALF = 14_500  # training pairs
MASKED = 0.3  # share of the pieces: twice BERT's, for so short a training
WIDTH = 22  # tokens of a row: longer captions, about one in six, are cut
TOPICS = {
    "water": "water beach ocean pool swim swims swimming lake river wave waves surfer surfing boat sea",
    "street": "street road sidewalk car cars bus truck traffic city",
    "sport": "soccer football baseball basketball tennis hockey volleyball player players game team",
    "dog": "dog dogs puppy",
    "music": "music guitar guitars band sing sings singing singer microphone drum drums piano violin concert",
    "food": "food eat eats eating cook cooks cooking kitchen restaurant meal",
}
Pair = tuple[str, str]


def topic(caption: str) -> int | None:
    """The number of the only topic of which an English caption has a keyword, if there is exactly one."""
    words = set(re.findall("[a-z]+", caption.lower()))
    found = [i for i, keywords in enumerate(TOPICS.values()) if words & set(keywords.split())]
    return found[0] if len(found) == 1 else None


@functools.cache
def captions(part: str) -> list[Pair]:
    """Pairs of captions: ``"first"`` or ``"second"`` half of the training set, or ``"held out"``."""
    if part == "held out":
        return [*multi30k("test"), *multi30k("validation")]
    pairs = multi30k("train")
    return pairs[:HALF] if part == "first" else pairs[HALF:]


@functools.cache
def vocabulary(size: int) -> WordPiece:
    """One vocabulary for both languages, from every fourth pair of captions."""
    pairs = [*captions("first"), *captions("second")][::4]
    return WordPiece.train("\n".join(text for pair in pairs for text in pair), size, score=frequency)


class Reader:
    """From captions to ids, a caption as [CLS] pieces [SEP], padded to ``WIDTH``.

    Args:
        tokenizer: of both languages.
        shared: whether the languages have the same ids; otherwise the German ones begin behind the English.
    """

    def __init__(self, tokenizer: WordPiece, shared: bool) -> None:
        self.tokenizer, self.special = tokenizer, tokenizer.special_ids
        self.offset = 0 if shared else tokenizer.vocab_size
        self.vocab_size = tokenizer.vocab_size + self.offset

    def rows(self, pairs: Sequence[Pair], language: int) -> Tensor:
        """The ids of one side of each pair, ``(N, WIDTH)``."""
        rows = torch.full((len(pairs), WIDTH), self.special["[PAD]"])
        for row, pair in zip(rows, pairs, strict=True):
            found = [i + language * self.offset for i in self.tokenizer.encode(pair[language])[: WIDTH - 2]]
            row[: len(found) + 2] = torch.tensor([self.special["[CLS]"], *found, self.special["[SEP]"]])
        return rows

    def inner(self, ids: Tensor) -> Tensor:
        """Which ids are pieces of a caption."""
        outside = [self.special[name] for name in ("[PAD]", "[CLS]", "[SEP]")]
        return ~torch.isin(ids, torch.tensor(outside, device=ids.device))

    def hide(self, ids: Tensor, seed: int) -> tuple[Tensor, Tensor]:
        """Ids with gaps and targets, both ``(B, T)``."""
        return masked_lm(
            ids,
            mask_id=self.special["[MASK]"],
            vocab_size=self.vocab_size,
            special_ids=self.special.values(),
            mask_prob=MASKED,
            generator=torch.Generator(ids.device).manual_seed(seed),
        )


def trimmed(ids: Tensor) -> Tensor:
    """Rows without the columns at the end that hold only padding, whose id is 0."""
    return ids[:, : int(ids.any(dim=0).nonzero().max()) + 1]


class Texts:
    """Step → ids with gaps and targets, both ``(B, T)``; half of the captions of a step are English.

    Args:
        reader: of the captions.
        joined: read the German captions of the same pairs instead of those of the other half, and in every
            other step join each to its translation: the first ``WIDTH`` columns are English.
        rows: captions in a step, an even number.
        seed: of the batches.
    """

    def __init__(self, reader: Reader, joined: bool, *, rows: int, seed: int) -> None:
        self.reader, self.joined, self.num, self.seed = reader, joined, rows // 2, seed
        self.english = reader.rows(captions("first"), ENGLISH)
        self.german = reader.rows(captions("first" if joined else "second"), GERMAN)

    def __call__(self, step: int) -> tuple[Tensor, Tensor]:
        """The batch of one step."""
        places = np.random.default_rng((self.seed, step)).integers(len(self.english), size=self.num)
        english, german = self.english[places], self.german[places]
        ids = torch.cat([english, german], dim=1 if self.joined and step % 2 else 0)
        return self.reader.hide(trimmed(ids).to(best_device()), 100_003 * self.seed + step)


def labelled(part: str) -> tuple[list[Pair], Tensor]:
    """The pairs that have a topic, and their topics."""
    found = [(pair, topic(pair[ENGLISH])) for pair in captions(part)]
    pairs, topics = zip(*(row for row in found if row[1] is not None), strict=True)
    return list(pairs), torch.tensor(topics)


@functools.cache
def shared_pieces(tokenizer: WordPiece) -> dict[str, float]:
    """Which share of the pieces of German training captions occurs in English ones.

    ``"kinds"`` counts each piece once, ``"tokens"`` as often as it occurs, and ``"words"`` likewise, but only
    pieces of at least three letters that begin a word, which can be the same word in both languages.
    """
    pairs = [*captions("first"), *captions("second")]
    english, german = (Counter(i for p in pairs for i in tokenizer.encode(p[side])) for side in LANGUAGES)
    words = [i for i in german if re.fullmatch(r"\w{3,}", tokenizer.vocab[i])]

    def share(pieces: Sequence[int]) -> float:
        return sum(german[i] for i in pieces if english[i]) / sum(german[i] for i in pieces)

    return {
        "kinds": sum(i in english for i in german) / len(german),
        "tokens": share(list(german)),
        "words": share(words),
    }

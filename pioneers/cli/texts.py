"""What a GPT and a BERT learn from: a text, its tokenizer, learned or given, and its tokens."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pioneers.data import Corpus, fetch
from pioneers.tokenizers import ByteLevelBPE, FastBPE, LibraryBPE, WordPiece
from pioneers.tokenizers.wordpiece import frequency
from pioneers.weights import load_tokenizer

LEARN_FROM = 16_000_000  # characters: more would hardly change the vocabulary, and take memory and minutes
END = "<|endoftext|>"
ENDS = (END, "<|end_of_text|>", "</s>", "[SEP]")
MOST_PROCESSES = 8
PUBLISHED: dict[str, Callable[[], Any]] = {
    "gpt2": lambda: FastBPE.from_gpt2(fetch("gpt2/vocab.bpe"), fetch("gpt2/encoder.json")),
    "bert-base-uncased": lambda: WordPiece.from_vocab(fetch("bert/bert-base-uncased-vocab.txt")),
}
KINDS: dict[type, tuple[type, ...]] = {FastBPE: (ByteLevelBPE, LibraryBPE), WordPiece: (WordPiece,)}


def given_tokenizer(name: str, kind: type) -> Any:
    """Read a published tokenizer by name, or one from a file or a model folder.

    Args:
        name: one of ``PUBLISHED``, a path, or a name on the hub.
        kind: ``FastBPE`` or ``WordPiece``: what the model needs, or what is like it.

    Raises:
        ValueError: the tokenizer is of another kind.
    """
    tokenizer = PUBLISHED[name]() if name in PUBLISHED and not Path(name).exists() else load_tokenizer(name)
    if not isinstance(tokenizer, KINDS[kind]):
        needed = "WordPiece, as BERT's" if kind is WordPiece else "byte-level BPE, as GPT-2's"
        raise ValueError(f"--tokenizer {name} is a {type(tokenizer).__name__}; this model needs {needed}")
    return tokenizer


def learn_tokenizer(corpus: Corpus, kind: type, vocab_size: int) -> Any:
    """Learn a ``FastBPE`` or ``WordPiece`` from a text, or from an even sample of a long one."""
    sample = corpus.sample(LEARN_FROM)
    if kind is WordPiece:
        return WordPiece.train(sample, vocab_size, score=frequency)
    if corpus.documents is None:
        return FastBPE.train(sample, vocab_size)
    return FastBPE(FastBPE.train(sample, vocab_size - 1).merges, [END])


def end_id(corpus: Corpus, tokenizer: Any) -> int | None:
    """Return the token that ends a document; None for a text without documents.

    Raises:
        ValueError: the tokenizer has none.
    """
    if corpus.documents is None:
        return None
    found = [tokenizer.special_ids[name] for name in ENDS if name in tokenizer.special_ids]
    if not found:
        raise ValueError(
            f"the tokenizer has none of {', '.join(ENDS)} to put between documents; give another "
            "--tokenizer, or join the documents to one text"
        )
    return int(found[0])


def processes() -> int:
    """Return how many processes encode a long text."""
    return min(MOST_PROCESSES, os.cpu_count() or 1)


def describe(corpus: Corpus, *, learned: bool) -> str:
    """Say how much there is to learn from, and that the tokenizer has seen a sample only, if so.

    Args:
        corpus: the text.
        learned: whether the tokenizer was learned from it.
    """
    whole = round(0.9 * corpus.characters)
    if corpus.documents is None:
        said = f"{whole:,} characters"
    else:
        train = min(corpus.documents - 1, round(0.9 * corpus.documents))
        said = f"{train:,} documents" if train != 1 else "1 document"
    sampled = f" (its tokenizer on {LEARN_FROM:,} characters, taken evenly from all)"
    return said + (sampled if learned and whole > LEARN_FROM else "")

"""BERT's text normalisation before word pieces: clean, lower-case, split. Devlin et al. 2019."""

import unicodedata
from collections import Counter
from collections.abc import Iterator

import regex

WORD = regex.compile(r"[^\t\n\r\p{Z}]+")
REMOVED = regex.compile(r"[\p{Cc}\p{Cf}\p{Co}\p{Cs}\uFFFD]")
ACCENT = regex.compile(r"\p{Mn}")
# Punctuation (which for BERT includes all ASCII signs) and Chinese characters are words of their own. The
# ranges of Chinese are those of BERT's published code; Japanese and Korean letters are not among them.
ALONE = (
    r"\p{P}!-/:-@\[-`{-~"
    r"\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\U00020000-\U0002A6DF"
    r"\U0002A700-\U0002B73F\U0002B740-\U0002B81F\U0002B820-\U0002CEAF\U0002F800-\U0002FA1F"
)
TOKEN = regex.compile(f"[{ALONE}]|[^{ALONE}]+")


def words(text: str) -> Iterator[tuple[str, int]]:
    """Yield the words between white space, each with its start."""
    return ((match[0], match.start()) for match in WORD.finditer(text))


def basic_tokens(word: str, *, lowercase: bool) -> Iterator[tuple[str, list[int]]]:
    """Normalise a word and split it at punctuation; each character keeps its position in the word.

    Example:
        >>> list(basic_tokens("Café!", lowercase=True))
        [('cafe', [0, 1, 2, 3]), ('!', [4])]
    """
    normal, places = normalize(word, lowercase=lowercase)
    for match in TOKEN.finditer(normal):
        yield match[0], places[match.start() : match.end()]


def token_counts(text: str) -> Counter[str]:
    """Count the lower-case tokens of a text, in the order in which they first occur.

    Example:
        >>> token_counts("The end. the END")
        Counter({'the': 2, 'end': 2, '.': 1})
    """
    counts: Counter[str] = Counter()
    for word, times in Counter(word for word, _ in words(text)).items():
        for token, _ in basic_tokens(word, lowercase=True):
            counts[token] += times
    return counts


def normalize(word: str, *, lowercase: bool) -> tuple[str, list[int]]:
    """Drop control characters and, with ``lowercase``, case and accents; also return original positions.

    Characters are treated one by one: a Greek Σ becomes σ even at the end of a word.

    Example:
        >>> normalize("É\\u200Bß", lowercase=True)
        ('eß', [0, 2])
    """
    normal: list[str] = []
    places: list[int] = []
    for place, char in enumerate(word):
        if REMOVED.match(char):
            continue
        plain = ACCENT.sub("", unicodedata.normalize("NFD", char)) if lowercase else char
        for letter in plain:
            lower = letter.lower() if lowercase else letter
            normal += lower
            places += [place] * len(lower)
    return "".join(normal), places

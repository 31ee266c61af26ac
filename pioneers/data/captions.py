"""Pictures with captions and nothing to download: handwritten digits and their names in fifteen languages."""

import functools
import random
from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from pioneers.data.embedded import ImageSet
from pioneers.extras import import_extra

# What is said of a digit besides its name alone. The name keeps its basic form in all of these phrases.
TEMPLATES = {
    "ca": ("el número {}", "una imatge del número {}"),
    "cs": ("číslo {}", "obrázek čísla {}"),
    "da": ("tallet {}", "et billede af tallet {}"),
    "de": ("die Zahl {}", "ein Bild der Zahl {}"),
    "en": ("the number {}", "a picture of the number {}"),
    "es": ("el número {}", "una imagen del número {}"),
    "fi": ("numero {}", "kuva numerosta {}"),
    "fr": ("le chiffre {}", "une image du chiffre {}"),
    "it": ("il numero {}", "un'immagine del numero {}"),
    "nl": ("het getal {}", "een plaatje van het getal {}"),
    "no": ("tallet {}", "et bilde av tallet {}"),
    "pl": ("liczba {}", "obraz liczby {}"),
    "pt": ("o número {}", "uma imagem do número {}"),
    "ro": ("numărul {}", "o imagine a numărului {}"),
    "sv": ("siffran {}", "en bild av siffran {}"),
}


class CaptionedDigits(NamedTuple):
    """Images of digits, each with a caption that names it.

    Attributes:
        images: ``(B, C, height, width)``.
        captions: B texts.
        languages: the language of each, as a code such as ``"de"``.
        labels: the digits ``(B,)``.
    """

    images: Tensor
    captions: list[str]
    languages: list[str]
    labels: Tensor


def digit_captions(language: str) -> list[list[str]]:
    """List all captions of the digits 0 to 9 in a language, three each: the name, and two phrases with it.

    The names are num2words'.

    Args:
        language: ``"ca"``, ``"cs"``, ``"da"``, ``"de"``, ``"en"``, ``"es"``, ``"fi"``, ``"fr"``, ``"it"``,
            ``"nl"``, ``"no"``, ``"pl"``, ``"pt"``, ``"ro"`` or ``"sv"``.

    Raises:
        ValueError: the language is another.
        ModuleNotFoundError: the extra ``data`` (num2words) is not installed.

    Example:
        >>> digit_captions("de")[3]
        ['drei', 'die Zahl drei', 'ein Bild der Zahl drei']
    """
    return [list(ways) for ways in _captions(language)]


@functools.cache
def _captions(language: str) -> tuple[tuple[str, ...], ...]:
    if language not in TEMPLATES:
        raise ValueError(f"there are no captions in {language!r}; there are: {', '.join(TEMPLATES)}")
    names = [import_extra("num2words", "data").num2words(digit, lang=language) for digit in range(10)]
    return tuple((name, *(template.format(name) for template in TEMPLATES[language])) for name in names)


def captioned_digits(
    digits: ImageSet, *, languages: Sequence[str] = tuple(TEMPLATES), seed: int = 0
) -> CaptionedDigits:
    """Give every image a caption in a random language, one of three at random.

    Args:
        digits: images and labels from 0 to 9, such as a part of :func:`digits` or :func:`mnist`.
        languages: codes, as for :func:`digit_captions`.
        seed: of the drawing.

    Raises:
        ValueError: there is no language, or there are no captions in one of them.
        ModuleNotFoundError: as for :func:`digit_captions`.

    Example:
        >>> from pioneers.data import digits
        >>> train, _ = digits()
        >>> pairs = captioned_digits(train, languages=["en", "pt"])
        >>> pairs.captions[0], pairs.languages[0], int(pairs.labels[0])
        ('uma imagem do número três', 'pt', 3)
    """
    if not languages:
        raise ValueError("captions need at least one language")
    known = {language: _captions(language) for language in languages}
    rng = random.Random(f"captions {seed}")
    drawn = [rng.choice(languages) for _ in digits.labels]
    pairs = zip(drawn, digits.labels.tolist(), strict=True)
    captions = [rng.choice(known[language][label]) for language, label in pairs]
    return CaptionedDigits(digits.images, captions, drawn, digits.labels)

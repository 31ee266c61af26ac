"""Endless real parallel text: dates and numbers, written by Babel (from Unicode's CLDR) and num2words."""

import datetime
import random
import zlib
from collections.abc import Callable
from functools import cache

from pioneers.extras import import_extra

# English of four countries, which differ in the order of day and month and in commas.
SOURCE_LOCALES = ("en_US", "en_GB", "en_IE", "en_ZA")
# Source width → target width: the target names the day of the week exactly where the source does.
WIDTHS = {"full": "full", "long": "long", "medium": "long"}
FIRST_DAY = datetime.date(1900, 1, 1).toordinal()
LAST_DAY = datetime.date(2099, 12, 31).toordinal()
MAX_DIGITS = 6
TEST_SHARE = 10  # one value in this many is held out
# num2words 0.5.14 writes these with stray spaces or not at all; "am" fails from 1,100 on, "te" from 50 on.
INCOMPLETE = {"am", "te"}


def translation_pairs(
    kind: str, *, target: str = "fr", count: int, split: str = "train", seed: int = 0
) -> list[tuple[str, str]]:
    """Generate pairs (English, target language) that are correct by construction.

    ``"dates"`` are days from 1900 to 2099. The English side varies between the formats of several
    countries, with and without the day of the week: ``"Friday, March 1, 2024"``, ``"1 Mar 2024"``. The other
    side follows CLDR: ``"vendredi 1 mars 2024"``, ``"2024年3月1日金曜日"``.

    ``"numbers"`` are integers of one to six digits in words, every length equally frequent:
    ``"fifty-four"``, ``"vierundfünfzig"``.

    Whether a day or a number belongs to train or test (one in ten) is fixed, the same for every seed and
    language, so that no value is ever in both. With the same seed, the pairs of all languages have the same
    English sides.

    Args:
        kind: ``"dates"`` or ``"numbers"``.
        target: language code, such as ``"fr"``, ``"de"`` or ``"ja"``.
        count: number of pairs; values may repeat.
        split: ``"train"`` or ``"test"``.
        seed: of the sampling.

    Raises:
        ValueError: there is no such kind, split or language, or ``count`` is not positive.
        ModuleNotFoundError: the extra ``data`` (Babel and num2words) is not installed.

    Example:
        >>> pairs = translation_pairs("numbers", target="de", count=200)
        >>> dict(pairs)["seven"]
        'sieben'
    """
    kinds: dict[str, tuple[Callable[[random.Random], int], Callable[..., tuple[str, str]]]] = {
        "dates": (_draw_day, _write_date),
        "numbers": (_draw_number, _write_number),
    }
    if kind not in kinds:
        raise ValueError(f"kind must be 'dates' or 'numbers', not {kind!r}")
    if split not in ("train", "test"):
        raise ValueError(f"split must be 'train' or 'test', not {split!r}")
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    if target not in _languages():
        raise ValueError(f"there is no target language {target!r}; there are: {', '.join(_languages())}")
    draw, write = kinds[kind]
    rng = random.Random(f"{kind} {split} {seed}")
    pairs: list[tuple[str, str]] = []
    while len(pairs) < count:
        value = draw(rng)
        if _is_test(kind, value) == (split == "test"):
            pairs.append(write(value, target, rng))
    return pairs


@cache
def _languages() -> tuple[str, ...]:
    """List the languages that both libraries support, without English."""
    written = set(import_extra("num2words", "data").CONVERTER_CLASSES) - INCOMPLETE - {"en"}
    exists = import_extra("babel.localedata", "data").exists
    return tuple(sorted(code for code in written if "_" not in code and exists(code)))


def _is_test(kind: str, value: int) -> bool:
    return zlib.crc32(f"{kind} {value}".encode()) % TEST_SHARE == 0


def _draw_day(rng: random.Random) -> int:
    return rng.randint(FIRST_DAY, LAST_DAY)


def _draw_number(rng: random.Random) -> int:
    digits = rng.randint(1, MAX_DIGITS)
    return rng.randrange(10 ** (digits - 1) if digits > 1 else 0, 10**digits)


def _write_date(value: int, target: str, rng: random.Random) -> tuple[str, str]:
    dates = import_extra("babel.dates", "data")
    day = datetime.date.fromordinal(value)
    locale, width = rng.choice(SOURCE_LOCALES), rng.choice(list(WIDTHS))
    return (
        dates.format_date(day, width, locale=locale),
        dates.format_date(day, WIDTHS[width], locale=target),
    )


def _write_number(value: int, target: str, rng: random.Random) -> tuple[str, str]:
    write = import_extra("num2words", "data").num2words
    return write(value, lang="en"), write(value, lang=target)

import datetime
import re
import sys

import pytest

from pioneers.data import translation_pairs

MONTHS = [datetime.date(2001, month, 1).strftime("%B") for month in range(1, 13)]


def read_english(text):
    """The day an English date names, read without Babel: words are months, four digits are the year."""
    month = next(i for i, name in enumerate(MONTHS, start=1) if re.search(rf"\b{name[:3]}", text))
    year, day = re.search(r"\b\d{4}\b", text)[0], re.search(r"\b\d{1,2}\b", text)[0]
    return datetime.date(int(year), month, int(day))


def test_a_japanese_date_is_the_same_day_and_names_the_weekday_exactly_where_the_english_does():
    weekdays = "月火水木金土日"
    named = 0
    for english, japanese in translation_pairs("dates", target="ja", count=211):
        day = read_english(english)
        expected = f"{day.year}年{day.month}月{day.day}日"
        if f"{day:%A}" in english:
            expected += f"{weekdays[day.weekday()]}曜日"
            named += 1
        assert japanese == expected
    assert 211 / 4 < named < 211 / 2


def test_word_order_and_names_change_in_french_and_german():
    sources = [english for english, _ in translation_pairs("dates", count=4999)]
    french, german = (dict(translation_pairs("dates", target=target, count=4999)) for target in ("fr", "de"))
    source = next(s for s in sources if re.match(r"Friday, March \d{1,2}, \d{4}$", s))
    day, year = re.findall(r"\d+", source)
    assert french[source] == f"vendredi {day} mars {year}"
    assert german[source] == f"Freitag, {day}. März {year}"


def test_the_english_side_is_no_lookup():
    shapes = {
        re.sub(r"\d+", "9", re.sub(r"[A-Z]\w\w\b", "Abc", re.sub(r"[A-Z]\w{3,}", "Abcdef", english)))
        for english, _ in translation_pairs("dates", count=997)
    }
    assert {
        "Abcdef, Abcdef 9, 9",
        "Abcdef, 9 Abcdef 9",
        "Abcdef 9 Abcdef 9",
        "Abcdef 9, 9",
        "9 Abcdef 9",
        "Abc 9, 9",
        "9 Abc 9",
    } <= shapes


def test_numbers_of_every_length_in_words():
    french = dict(translation_pairs("numbers", count=1999))
    assert french["seventy-one"] == "soixante et onze"
    assert french["seven"] == "sept"
    german = dict(translation_pairs("numbers", target="de", count=1999))
    assert german["seventy-one"] == "einundsiebzig"
    japanese = dict(translation_pairs("numbers", target="ja", count=1999))
    assert japanese["seventy-one"] == "七十一"
    assert list(french) == list(german) == list(japanese)
    assert 1999 / 3 < sum("thousand" in english for english in french) < 1999


@pytest.mark.parametrize("kind", ["dates", "numbers"])
def test_no_value_is_in_train_and_test_whatever_the_seed(kind):
    def values(**options):
        pairs = translation_pairs(kind, target="ja", count=1499, **options)
        return {re.sub(".曜日", "", text) for _, text in pairs}

    train = values(seed=0) | values(seed=1)
    test = values(split="test", seed=0) | values(split="test", seed=2)
    assert not train & test
    assert len(test) > 997


def test_the_draw_depends_on_the_seed_alone():
    first = translation_pairs("dates", count=31, seed=5)
    assert first == translation_pairs("dates", count=31, seed=5)
    assert first == translation_pairs("dates", count=61, seed=5)[:31]
    assert first != translation_pairs("dates", count=31, seed=6)
    german = translation_pairs("dates", target="de", count=31, seed=5)
    assert [source for source, _ in first] == [source for source, _ in german]


@pytest.mark.parametrize("target", ["ar", "ce", "cs", "cy", "he", "hu", "ko", "pl", "ru", "th", "tr", "uk"])
@pytest.mark.parametrize("kind", ["dates", "numbers"])
def test_other_languages_write_every_value(kind, target):
    for _, text in translation_pairs(kind, target=target, count=97):
        assert text == text.strip() != ""
        assert bool(re.search(r"\d", text)) == (kind == "dates")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "times", "count": 1}, "kind must be 'dates' or 'numbers', not 'times'"),
        ({"kind": "dates", "count": 1, "split": "dev"}, "split must be 'train' or 'test', not 'dev'"),
        ({"kind": "dates", "count": 0}, "count must be at least 1, got 0"),
        ({"kind": "dates", "count": 1, "target": "xx"}, "no target language 'xx'; there are: ar, .*fr, .*ja"),
        ({"kind": "dates", "count": 1, "target": "en"}, "no target language 'en'"),
        ({"kind": "numbers", "count": 1, "target": "te"}, "no target language 'te'"),
    ],
)
def test_what_does_not_exist_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        translation_pairs(**arguments)


@pytest.mark.parametrize(("kind", "missing"), [("dates", "babel.dates"), ("numbers", "num2words")])
def test_a_missing_library_is_named(monkeypatch, kind, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(
        ModuleNotFoundError, match=rf"^{missing}\S* is not installed; .*pip install 'pioneers\[data\]'$"
    ):
        translation_pairs(kind, count=1)

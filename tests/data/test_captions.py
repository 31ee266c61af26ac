import pytest
import torch

from pioneers.data import ImageSet, captioned_digits, digit_captions
from pioneers.data.captions import TEMPLATES


def some_digits(count=600):
    return ImageSet(torch.rand(count, 1, 4, 4), torch.arange(count) % 10)


def test_every_language_names_ten_digits_in_three_ways():
    everything = set()
    for language in TEMPLATES:
        captions = digit_captions(language)
        assert [len(ways) for ways in captions] == 10 * [3]
        assert all(ways[0] in way for ways in captions for way in ways)
        assert len({way for ways in captions for way in ways}) == 30, language
        everything.add(tuple(ways[2] for ways in captions))
    assert len(everything) == len(TEMPLATES) == 15
    assert digit_captions("pt")[3] == ["três", "o número três", "uma imagem do número três"]


def test_a_caption_names_its_digit_in_its_language():
    digits = some_digits()
    pairs = captioned_digits(digits, seed=1)
    assert torch.equal(pairs.images, digits.images)
    assert torch.equal(pairs.labels, digits.labels)
    for caption, language, label in zip(pairs.captions, pairs.languages, pairs.labels, strict=True):
        assert caption in digit_captions(language)[label]
    assert set(pairs.languages) == set(TEMPLATES)


def test_the_seed_draws_the_captions():
    first, again, other = (captioned_digits(some_digits(), seed=seed).captions for seed in (1, 1, 2))
    assert first == again != other


def test_only_the_languages_asked_for_are_used():
    assert set(captioned_digits(some_digits(), languages=["es", "fi"]).languages) == {"es", "fi"}
    with pytest.raises(ValueError, match="no captions in 'tlh'; there are: ca, cs"):
        captioned_digits(some_digits(), languages=["en", "tlh"])
    with pytest.raises(ValueError, match="at least one language"):
        captioned_digits(some_digits(), languages=[])

import builtins
import sys

import pytest
import torch
from sklearn.datasets import load_sample_image

from pioneers.data import RandomWindows, digits, language_reference, photographs, split_text


def test_language_reference_is_real_english():
    text = language_reference()
    assert len(text) > 300_000
    assert "Assert statements are a convenient way to insert debugging assertions" in text
    assert text == language_reference()


def test_a_python_without_its_help_texts_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "pydoc_data.topics", raising=False)
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("pydoc_data"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(RuntimeError, match="apt install libpython3-stdlib"):
        language_reference()


def test_digits_are_split_by_class_without_overlap():
    train, test = digits()
    assert train.images.shape == (1437, 1, 8, 8)
    assert test.images.shape == (360, 1, 8, 8)
    assert train.images.min() == 0
    assert train.images.max() == 1
    assert (test.labels.bincount() - 36).abs().max() <= 1
    assert torch.equal(digits()[1].labels, test.labels)
    assert not torch.equal(digits(seed=1)[1].labels, test.labels)


def test_photographs_are_the_two_of_scikit_learn():
    temple, flower = photographs()
    for picture, name in ((temple, "china.jpg"), (flower, "flower.jpg")):
        assert picture.shape == (3, 427, 640)
        assert picture.is_contiguous()
        pixels = load_sample_image(name)
        assert (picture[:, 211, 307] * 255).round().tolist() == pixels[211, 307].tolist()
        assert (picture.min(), picture.max()) == (pixels.min() / 255, 1)


@pytest.mark.parametrize(
    ("package", "load"), [("PIL", photographs), ("sklearn", photographs), ("sklearn", digits)]
)
def test_without_its_package_an_embedded_set_names_the_extra_to_install(package, load, monkeypatch):
    for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    message = rf"^{package}\S* is not installed; .*pip install 'pioneers\[data\]'$"
    with pytest.raises(ModuleNotFoundError, match=message):
        load()


def test_split_keeps_every_character():
    text = "abcdefghij" * 7
    train, test = split_text(text, test_fraction=0.3)
    assert train + test == text
    assert len(test) == 21
    with pytest.raises(ValueError, match="a text of 0 characters cannot be split"):
        split_text("")


def test_windows_are_runs_of_the_stream_and_reach_both_ends():
    source = RandomWindows(torch.arange(20), seq_len=4, batch_size=50)
    windows = source(step=0)
    assert windows.shape == (50, 5)
    assert (windows.diff(dim=1) == 1).all()
    assert (windows.min(), windows.max()) == (0, 19)


def test_windows_depend_on_seed_and_step_alone():
    tokens = torch.arange(1000)
    first = RandomWindows(tokens, seq_len=4, batch_size=3, seed=1)
    again = RandomWindows(tokens, seq_len=4, batch_size=3, seed=1)
    first(step=0)
    assert torch.equal(first(step=9), again(step=9))
    assert not torch.equal(first(step=9), first(step=8))
    assert not torch.equal(first(step=9), RandomWindows(tokens, seq_len=4, batch_size=3, seed=2)(step=9))


def test_a_text_shorter_than_the_context_is_refused():
    assert RandomWindows(torch.arange(8), seq_len=7, batch_size=2)(0).tolist() == [list(range(8))] * 2
    with pytest.raises(
        ValueError, match=r"7 tokens.*seq_len \+ 1 = 8: use a longer text or a smaller seq_len"
    ):
        RandomWindows(torch.arange(7), seq_len=7, batch_size=2)
    with pytest.raises(ValueError, match=r"one stream \(L,\), got shape \(1, 9\)"):
        RandomWindows(torch.arange(9)[None], seq_len=7, batch_size=2)

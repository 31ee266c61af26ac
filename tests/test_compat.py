import importlib.util

import pytest
import torch

from pioneers.compat import _operators_load, import_torchvision


def test_torchvision_imports_whatever_torch_it_was_built_for():
    if importlib.util.find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed")
    torchvision = import_torchvision()
    assert torchvision is import_torchvision()
    flipped = torchvision.transforms.functional.hflip(torch.tensor([[[1, 2]]]))
    assert flipped.tolist() == [[[2, 1]]]


def test_a_missing_torchvision_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install torchvision"):
        import_torchvision()


def test_operators_count_as_there_when_they_are_declared_and_no_file_refuses_to_load(tmp_path):
    if importlib.util.find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed")
    import_torchvision()
    assert _operators_load(tmp_path)
    (tmp_path / "_C.so").write_text("built for another machine")
    assert not _operators_load(tmp_path)

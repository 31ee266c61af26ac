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


def test_augmentation_runs_without_compiled_operators():
    """What the recipe of DeiT needs: RandAugment, MixUp, CutMix and random erasing."""
    if importlib.util.find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed")
    import_torchvision()
    v2 = importlib.import_module("torchvision.transforms.v2")
    images, labels = torch.randint(256, (5, 3, 11, 13), dtype=torch.uint8), torch.arange(5)
    assert v2.RandAugment()(images).shape == images.shape
    assert (v2.RandomErasing(p=1.0)(images + 1.0) == 0).any()
    for mix in (v2.MixUp(alpha=0.8, num_classes=7), v2.CutMix(alpha=1.0, num_classes=7)):
        mixed, shares = mix(images.float(), labels)
        assert mixed.shape == images.shape
        assert shares.shape == (5, 7)
        torch.testing.assert_close(shares.sum(-1), torch.ones(5))


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

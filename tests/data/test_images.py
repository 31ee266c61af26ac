"""Images through torchvision, on small files of the published form, and folders of images."""

import hashlib
import pickle

import numpy as np
import pytest
import torch
from PIL import Image

from pioneers import data
from pioneers.compat import import_torchvision


@pytest.fixture
def published(monkeypatch, tmp_path):
    """A folder of public data that does not have any yet, and no network."""
    monkeypatch.setenv("PIONEERS_DATA", str(tmp_path / "public"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TQDM_DISABLE", "1")
    (tmp_path / "public").mkdir()
    return tmp_path / "public"


def test_fashion_mnist_is_scaled_to_one(published):
    folder = published / "FashionMNIST" / "raw"
    folder.mkdir(parents=True)
    pixels = np.arange(2 * 28 * 28, dtype=np.uint8).reshape(2, 28, 28)
    for split in ("train", "t10k"):
        head = bytes([0, 0, 8, 3]) + np.array([2, 28, 28], ">i4").tobytes()
        (folder / f"{split}-images-idx3-ubyte").write_bytes(head + pixels.tobytes())
        head = bytes([0, 0, 8, 1]) + np.array([2], ">i4").tobytes()
        (folder / f"{split}-labels-idx1-ubyte").write_bytes(head + bytes([9, 3]))
    images, labels = data.fashion_mnist("test")
    torch.testing.assert_close(images[:, 0], torch.from_numpy(pixels).float() / 255)
    assert labels.tolist() == [9, 3]


def test_cifar10_has_its_channels_first(published, monkeypatch):
    cifar10 = import_torchvision().datasets.CIFAR10
    pixels = np.arange(2 * 3 * 32 * 32, dtype=np.uint8).reshape(2, -1)
    folder = published / "cifar-10-batches-py"
    folder.mkdir()
    made = {}
    for name, content in {
        "test_batch": {"data": pixels, "labels": [6, 1]},
        "batches.meta": {"label_names": ["plane"] * 10},
    }.items():
        raw = pickle.dumps(content)
        (folder / name).write_bytes(raw)
        made[name] = hashlib.md5(raw).hexdigest()
    monkeypatch.setattr(cifar10, "train_list", [])
    monkeypatch.setattr(cifar10, "test_list", [["test_batch", made["test_batch"]]])
    meta = {"filename": "batches.meta", "key": "label_names", "md5": made["batches.meta"]}
    monkeypatch.setattr(cifar10, "meta", meta)
    images, labels = data.cifar10("test")
    torch.testing.assert_close(images, torch.from_numpy(pixels).view(2, 3, 32, 32).float() / 255)
    assert labels.tolist() == [6, 1]


@pytest.mark.parametrize("loader", [data.fashion_mnist, data.cifar10])
def test_without_files_and_network_the_error_says_what_to_do(loader, published, monkeypatch):
    datasets = import_torchvision().datasets

    def refuse(*args, **kwargs):
        raise OSError("no network")

    for module in (datasets.mnist, datasets.cifar):
        monkeypatch.setattr(module, "download_and_extract_archive", refuse)
    with pytest.raises(
        RuntimeError, match=r"could not be downloaded \((no network|Error downloading).*PIONEERS_DATA=FOLDER"
    ):
        loader("train")
    with pytest.raises(ValueError, match="has the splits train and test, not 'validation'"):
        loader("validation")


def test_a_folder_gives_squares_from_the_middle_and_the_names_of_its_subfolders(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
    wide = np.zeros((10, 30, 3), np.uint8)
    wide[:, 10:20] = [255, 0, 0]  # only the middle is red
    Image.fromarray(wide).save(tmp_path / "dog" / "wide.png")
    Image.new("L", (8, 8), 255).save(tmp_path / "cat" / "grey.png")
    (images, labels), classes = data.image_folder(tmp_path, size=10)
    assert classes == ("cat", "dog")
    assert labels.tolist() == [0, 1]
    assert images.shape == (2, 3, 10, 10)
    assert torch.equal(images[0], torch.ones(3, 10, 10))
    assert torch.equal(images[1], torch.tensor([1.0, 0, 0])[:, None, None].expand(3, 10, 10))


def test_what_is_wrong_with_a_folder_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        data.image_folder(tmp_path / "none", size=8)
    with pytest.raises(FileNotFoundError, match="one subfolder of images for each class"):
        data.image_folder(tmp_path, size=8)
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "broken.png").write_bytes(b"this is not an image")
    with pytest.raises(ValueError, match=r"cat.broken\.png is not an image that can be read"):
        data.image_folder(tmp_path, size=8)
    with pytest.raises(ValueError, match="size must be positive, not 0"):
        data.image_folder(tmp_path, size=0)

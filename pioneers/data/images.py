"""Images through torchvision: its data sets, and a folder of your own."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

from pioneers.compat import import_torchvision
from pioneers.data.download import DATA_VARIABLE, cache_folder
from pioneers.data.embedded import ImageSet
from pioneers.progress import progress


class ImageFolder(NamedTuple):
    """The images of a folder.

    Attributes:
        images: with their labels; an ImageSet.
        classes: the names of the classes, in the order of the labels.
    """

    images: ImageSet
    classes: tuple[str, ...]


def fashion_mnist(split: str) -> ImageSet:
    """Load pictures of clothes in ten classes, ``(B, 1, 28, 28)`` in [0, 1] (Xiao et al. 2017).

    Args:
        split: ``"train"`` (60,000 images) or ``"test"`` (10,000).

    Raises:
        ValueError: there is no such split.
        RuntimeError: the files are not here and cannot be downloaded; the message says what to do.
    """
    found = _published("FashionMNIST", "FashionMNIST/raw", split)
    return ImageSet(found.data[:, None].float() / 255, found.targets.long())


def cifar10(split: str) -> ImageSet:
    """Load small photographs in ten classes, ``(B, 3, 32, 32)`` in [0, 1] (Krizhevsky 2009).

    Args:
        split: ``"train"`` (50,000 images) or ``"test"`` (10,000).

    Raises:
        ValueError: there is no such split.
        RuntimeError: the files are not here and cannot be downloaded; the message says what to do.
    """
    found = _published("CIFAR10", "cifar-10-batches-py", split)
    images = torch.from_numpy(found.data).permute(0, 3, 1, 2).float() / 255
    return ImageSet(images.contiguous(), torch.tensor(found.targets))


def image_folder(path: str | Path, *, size: int) -> ImageFolder:
    """Load a folder of images whose subfolders are the classes, as ``torchvision.datasets.ImageFolder`` does.

    The shorter side of an image is scaled to ``size`` and the longer one cut to it, around the middle.

    Args:
        path: a folder such as ``pets`` with ``pets/cat/1.jpg`` and ``pets/dog/2.png``.
        size: height and width in pixels; images become ``(B, 3, size, size)`` in [0, 1].

    Raises:
        FileNotFoundError: there is no such folder, it has no subfolders, or one of them has no images.
        ValueError: the size is not positive, or a file is not an image; the message names it.
    """
    if size < 1:
        raise ValueError(f"size must be positive, not {size}")
    if not Path(path).is_dir():
        raise FileNotFoundError(f"there is no folder {str(path)!r}")
    torchvision: Any = import_torchvision()
    try:
        found = torchvision.datasets.ImageFolder(str(path))
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{path} needs one subfolder of images for each class, such as {path}/cat/1.jpg: {error}"
        ) from error
    cut = fitting_transform(size)
    files = progress([file for file, _ in found.samples], desc=str(path))
    images = [fitted_image(file, found.loader, cut) for file in files]
    return ImageFolder(
        ImageSet(torch.stack(images).float() / 255, torch.tensor(found.targets)), tuple(found.classes)
    )


def fitting_transform(size: int) -> Any:
    """Return what scales the shorter side of an image to ``size`` and cuts the longer one to it."""
    transforms: Any = import_torchvision().transforms
    return transforms.Compose(
        [transforms.Resize(size), transforms.CenterCrop(size), transforms.PILToTensor()]
    )


def fitted_image(path: str | Path, load: Callable[[str], Any], cut: Any) -> torch.Tensor:
    """Load one image and fit it.

    Args:
        path: its file.
        load: path → image.
        cut: from :func:`fitting_transform`.

    Raises:
        ValueError: the file is not an image.
    """
    try:
        return cut(load(str(path)))
    except OSError as error:
        raise ValueError(
            f"{path} is not an image that can be read ({error}); remove it or replace it"
        ) from error


def _published(name: str, folder: str, split: str) -> Any:
    """One of torchvision's data sets, from ``PIONEERS_DATA`` if it is there, else from the cache."""
    if split not in ("train", "test"):
        raise ValueError(f"{name} has the splits train and test, not {split!r}")
    supplied = Path(os.environ.get(DATA_VARIABLE) or "").expanduser()
    root = supplied if os.environ.get(DATA_VARIABLE) and (supplied / folder).is_dir() else cache_folder()
    torchvision: Any = import_torchvision()
    try:
        return getattr(torchvision.datasets, name)(str(root), train=split == "train", download=True)
    except (OSError, RuntimeError) as error:
        raise RuntimeError(
            f"{name} is not in {root} and could not be downloaded ({error}). Where there is a network run "
            f"torchvision.datasets.{name}(FOLDER, download=True), copy the folder here, and set "
            f"{DATA_VARIABLE}=FOLDER"
        ) from error

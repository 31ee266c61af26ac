"""Images from files, as a ViT reads them."""

from typing import Any

import torch
from torch import Tensor

from pioneers.compat import import_torchvision
from pioneers.data import ImageSet, image_folder
from pioneers.models import ViTConfig


def prepared(images: Tensor, config: ViTConfig) -> Tensor:
    """Bring images ``(B, 3, …)`` in [0, 1] to the channels and the scale that a ViT was trained on.

    Raises:
        ValueError: they have another size.
    """
    if images.shape[-1] != config.image_size:
        raise ValueError(
            f"the images are {images.shape[-1]} pixels wide, and the model reads {config.image_size}"
        )
    if images.shape[1] != config.in_channels and config.in_channels == 1:
        images = images.mean(dim=1, keepdim=True)
    images = images.expand(-1, config.in_channels, -1, -1)
    if not config.image_mean:
        return images
    mean, std = (torch.tensor(values)[:, None, None] for values in (config.image_mean, config.image_std))
    return (images - mean) / std


def labelled_images(folder: str, config: ViTConfig) -> ImageSet:
    """Read a folder with a subfolder for each class, numbered as the model numbers its classes.

    Raises:
        ValueError: the model does not know a class.
    """
    images, classes = image_folder(folder, size=config.image_size)
    known = config.labels or tuple(map(str, range(config.num_classes)))
    unknown = [name for name in classes if name not in known]
    if unknown:
        raise ValueError(f"{folder} has the class {unknown[0]!r}; the model knows {', '.join(known)}")
    numbers = torch.tensor([known.index(name) for name in classes])
    return ImageSet(prepared(images.images, config), numbers[images.labels])


def read_picture(path: str, config: ViTConfig) -> Tensor:
    """Read an image ``(1, C, size, size)``: its shorter side is scaled, the longer one cut around the middle.

    Raises:
        ValueError: the file is not an image.
        FileNotFoundError: there is no such file.
    """
    torchvision: Any = import_torchvision()
    transforms, size = torchvision.transforms, config.image_size
    cut = transforms.Compose([transforms.Resize(size), transforms.CenterCrop(size), transforms.PILToTensor()])
    try:
        image = cut(torchvision.datasets.folder.default_loader(path))
    except FileNotFoundError as error:
        raise FileNotFoundError(f"there is no image {path!r}; correct the path") from error
    except OSError as error:
        raise ValueError(f"{path} is not an image that can be read ({error})") from error
    return prepared(image[None].float() / 255, config)

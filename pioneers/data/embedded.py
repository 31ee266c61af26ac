"""Real data that is already on the machine: nothing to download."""

from typing import NamedTuple

import torch
from torch import Tensor

from pioneers.extras import import_extra


def language_reference() -> str:
    """Return the Python language reference, which every CPython ships for ``help()``: 0.5 MB of English.

    Its sections are in alphabetical order. The text differs a little between Python versions.

    Raises:
        RuntimeError: this Python was installed without its help texts.

    Example:
        >>> "The \\"if\\" statement" in language_reference()
        True
    """
    try:
        from pydoc_data.topics import topics
    except ImportError as error:
        raise RuntimeError(
            "this Python has no pydoc_data package (the texts behind help()); install the complete "
            "standard library, on Debian and Ubuntu: apt install libpython3-stdlib"
        ) from error
    return "\n".join(topics[name] for name in sorted(topics))


class ImageSet(NamedTuple):
    """Images and their labels, as one batch.

    Attributes:
        images: ``(B, C, H, W)``, float32 in [0, 1].
        labels: ``(B,)``, int64 from 0 on.
    """

    images: Tensor
    labels: Tensor


def digits(*, test_fraction: float = 0.2, seed: int = 0) -> tuple[ImageSet, ImageSet]:
    """Load scikit-learn's 1,797 handwritten digits of 8 x 8 pixels (Alpaydin & Kaynak 1998), train and test.

    Args:
        test_fraction: fraction held out, the same from each class up to rounding.
        seed: of the split.

    Raises:
        ModuleNotFoundError: the extra ``data`` (scikit-learn) is not installed.

    Example:
        >>> train, test = digits()
        >>> train.images.shape, test.labels.shape
        (torch.Size([1437, 1, 8, 8]), torch.Size([360]))
    """
    images, labels = import_extra("sklearn.datasets", "data").load_digits(return_X_y=True)
    split = import_extra("sklearn.model_selection", "data").train_test_split
    parts = split(images, labels, test_size=test_fraction, random_state=seed, stratify=labels)
    x_train, x_test, y_train, y_test = (torch.as_tensor(part) for part in parts)
    return (
        ImageSet((x_train / 16).float().view(-1, 1, 8, 8), y_train.long()),
        ImageSet((x_test / 16).float().view(-1, 1, 8, 8), y_test.long()),
    )


class Photographs(NamedTuple):
    """Two photographs ``(C, H, W)`` = ``(3, 427, 640)``, float32 in [0, 1].

    Attributes:
        china: a temple in China.
        flower: a flower.
    """

    china: Tensor
    flower: Tensor


def photographs() -> Photographs:
    """Load scikit-learn's two photographs, a temple in China and a flower.

    "China" is by danielbuechele (https://www.flickr.com/photos/danielbuechele/6061409035) and "flower" by
    vultilion (https://www.flickr.com/photos/vultilion/6056698931), both under the licence CC BY 2.0
    (https://creativecommons.org/licenses/by/2.0/).

    Raises:
        ModuleNotFoundError: the extra ``data`` (scikit-learn and Pillow) is not installed.
    """
    import_extra("PIL.Image", "data")  # scikit-learn reads JPEG files with it
    load = import_extra("sklearn.datasets", "data").load_sample_image
    pictures = [torch.from_numpy(load(f"{name}.jpg").copy()) for name in Photographs._fields]
    return Photographs(*(picture.movedim(-1, 0).contiguous().float() / 255 for picture in pictures))

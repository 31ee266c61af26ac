"""Images of your own as arrays in one file, or named in a table."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pioneers.compat import import_torchvision
from pioneers.data.embedded import ImageSet
from pioneers.data.images import ImageFolder, fitted_image, fitting_transform
from pioneers.data.records import read_records
from pioneers.progress import progress

# Names of the arrays: ours, Keras's, MedMNIST's.
NAMES = (
    ("images", "labels", "test_images", "test_labels"),
    ("x_train", "y_train", "x_test", "y_test"),
    ("train_images", "train_labels", "test_images", "test_labels"),
)
CHANNELS = (1, 3, 4)


def image_arrays(path: str | Path) -> tuple[ImageSet, ImageSet | None]:
    """Load images and labels from an ``.npz`` file, for training and, if it has them, for a test.

    The arrays are called ``images`` and ``labels``, and ``test_images`` and ``test_labels``; or, as in files
    of Keras and MedMNIST, ``x_train`` and ``y_train`` or ``train_images`` and ``train_labels``.

    Args:
        path: the file. Images are ``(B, H, W)``, ``(B, H, W, C)`` or ``(B, C, H, W)``, bytes or numbers in
            [0, 1]; labels are integers from 0 on.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged, or its arrays are not images and labels.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, EOFError, zipfile.BadZipFile, AttributeError) as error:
        raise ValueError(f"{path} is not an .npz file of plain arrays ({error}); save it again") from error
    for names in NAMES:
        if {*names[:2]} <= arrays.keys():
            train, test = (_image_set(path, arrays, *pair) for pair in (names[:2], names[2:]))
            assert train is not None
            return train, test
    raise ValueError(f"{path} has the arrays {', '.join(arrays)}; call them images and labels")


def image_table(path: str | Path, *, size: int) -> ImageFolder:
    """Load the images that a table names, with the columns ``image``, a file beside the table, and ``label``.

    Args:
        path: a CSV, TSV or JSON lines file, see :func:`read_records`.
        size: height and width in pixels; images become ``(B, 3, size, size)`` in [0, 1].

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the table is broken or empty, or an image cannot be read; the message names it.
    """
    rows = [record.values for record in read_records(path, ["image", "label"])]
    if not rows:
        raise ValueError(f"{path} names no images; give it rows with an image and a label")
    classes = tuple(sorted({label for _, label in rows}))
    load = import_torchvision().datasets.folder.default_loader
    cut = fitting_transform(size)
    files = (Path(path).parent / image for image, _ in rows)
    images = [fitted_image(file, load, cut) for file in progress(files, desc=str(path), total=len(rows))]
    labels = torch.tensor([classes.index(label) for _, label in rows])
    return ImageFolder(ImageSet(torch.stack(images).float() / 255, labels), classes)


def _image_set(path: str | Path, arrays: dict[str, Any], images: str, labels: str) -> ImageSet | None:
    if images not in arrays or labels not in arrays:
        return None
    pixels, classes = arrays[images], arrays[labels]
    if pixels.ndim == 3:
        pixels = pixels[:, None]
    elif pixels.ndim == 4 and pixels.shape[3] in CHANNELS and pixels.shape[1] not in CHANNELS:
        pixels = pixels.transpose(0, 3, 1, 2)
    if pixels.ndim != 4 or pixels.shape[1] not in CHANNELS or pixels.shape[2] != pixels.shape[3]:
        raise ValueError(
            f"{path}: {images} has the shape {arrays[images].shape}; give square images (B, H, W, C)"
        )
    classes = classes.reshape(len(classes), -1)
    if classes.shape != (len(pixels), 1) or classes.dtype.kind not in "iu" or classes.min(initial=0) < 0:
        raise ValueError(f"{path}: {labels} must be one integer from 0 on for each of {len(pixels)} images")
    values = torch.from_numpy(np.ascontiguousarray(pixels)).float()
    values = values / 255 if pixels.dtype == np.uint8 else values
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"{path}: {images} must be bytes, or numbers from 0 to 1")
    return ImageSet(values, torch.from_numpy(classes[:, 0].astype(np.int64)))

import numpy as np
import pytest
import torch
from PIL import Image

from pioneers.data import digits, image_arrays, image_folder, image_table

PIXELS = np.arange(5 * 7 * 7 * 3, dtype=np.uint8).reshape(5, 7, 7, 3)
LABELS = np.array([0, 2, 1, 0, 2])


@pytest.mark.parametrize(
    ("names", "pixels"),
    [
        (("images", "labels"), PIXELS),
        (("x_train", "y_train"), PIXELS.transpose(0, 3, 1, 2)),
        (("train_images", "train_labels"), PIXELS.astype(np.float32) / 255),
    ],
)
def test_arrays_of_every_layout_give_the_same_images(names, pixels, tmp_path):
    labels = LABELS[:, None] if names[0] == "train_images" else LABELS
    np.savez(tmp_path / "a.npz", **dict(zip(names, (pixels, labels), strict=True)))
    found, test = image_arrays(tmp_path / "a.npz")
    assert test is None
    assert torch.allclose(found.images, torch.from_numpy(PIXELS.transpose(0, 3, 1, 2) / 255).float())
    assert found.labels.tolist() == LABELS.tolist()


def test_gray_images_and_a_test_set(tmp_path):
    sets = digits()
    arrays = {
        f"x_{name}": part.images[:, 0].numpy() for name, part in zip(("train", "test"), sets, strict=True)
    }
    labels = {f"y_{name}": part.labels.numpy() for name, part in zip(("train", "test"), sets, strict=True)}
    np.savez(tmp_path / "a.npz", **arrays, **labels)
    for found, expected in zip(image_arrays(tmp_path / "a.npz"), sets, strict=True):
        assert torch.equal(found.images, expected.images)
        assert torch.equal(found.labels, expected.labels)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"pixels": PIXELS}, "has the arrays pixels; call them images and labels"),
        (
            {"images": PIXELS[:, :6], "labels": LABELS},
            "images has the shape .5, 6, 7, 3.; give square images",
        ),
        (
            {"images": PIXELS, "labels": LABELS[:4]},
            "labels must be one integer from 0 on for each of 5 images",
        ),
        ({"images": PIXELS, "labels": LABELS / 2}, "labels must be one integer"),
        ({"images": PIXELS, "labels": LABELS - 1}, "labels must be one integer from 0 on"),
        ({"images": PIXELS * 1.0, "labels": LABELS}, "images must be bytes, or numbers from 0 to 1"),
        ({"images": np.array([{}]), "labels": LABELS}, "is not an .npz file of plain arrays"),
    ],
)
def test_arrays_that_are_not_images_are_refused(arrays, message, tmp_path):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        image_arrays(tmp_path / "a.npz")


def test_a_cut_file_of_arrays_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", images=PIXELS, labels=LABELS)
    raw = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(raw[: len(raw) // 2])
    with pytest.raises(ValueError, match=r"is not an \.npz file of plain arrays"):
        image_arrays(tmp_path / "a.npz")


def test_a_table_names_the_images_of_a_folder(tmp_path):
    lines = ["image,label"]
    for name, colour in (("cat", 250), ("dog", 5)):
        (tmp_path / "pets" / name).mkdir(parents=True)
        for number in range(3):
            file = f"pets/{name}/{number}.png"
            Image.new("RGB", (9 + number, 7), (colour, colour, 100)).save(tmp_path / file)
            lines.append(f"{file},{name}")
    (tmp_path / "pets.csv").write_text("\n".join(lines))
    found, expected = image_table(tmp_path / "pets.csv", size=6), image_folder(tmp_path / "pets", size=6)
    assert found.classes == expected.classes
    assert all(torch.equal(a, b) for a, b in zip(found.images, expected.images, strict=True))
    (tmp_path / "pets.csv").write_text("image,label\nnone.png,cat\n")
    with pytest.raises(ValueError, match=r"none\.png is not an image that can be read"):
        image_table(tmp_path / "pets.csv", size=6)
    (tmp_path / "pets.csv").write_text("image,label\n")
    with pytest.raises(ValueError, match="names no images"):
        image_table(tmp_path / "pets.csv", size=6)

"""CLIP from scratch on images of digits and their names in many languages, with one language left out.

    make experiments NAME=clip_digits

The image tower sees the embedded digits of 8 × 8 pixels, the text tower reads captions byte by byte. Each
batch draws images, and for each a caption: one of three, in one of the languages. Afterwards the test images
are classified by captions alone, in every language, also in the one that no caption of the training was in.
Left out are a language with close relatives among the others (Portuguese), one with more distant ones
(Dutch), and one with a single loan word in common (Finnish). Beside it stands what spelling alone would tell:
for each name of the language that is left out, the digit whose name in another language is the fewest edits
away. Without Portuguese the model is also trained with the temperature held at 1.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.common import run
from pioneers.data import ImageSet, digit_captions, digits
from pioneers.data.captions import TEMPLATES
from pioneers.models import CLIP, CLIPConfig
from pioneers.objectives import contrastive_loss
from pioneers.tokenizers import ByteTokenizer
from pioneers.training import TrainConfig, fit

# The learning rate was the best of 1e-3, 2e-3 and 5e-3 for one seed.
CONFIG = {"width": 48, "num_layers": 2, "steps": 250, "batch_size": 64, "lr": 2e-3}
CASES: dict[str, dict[str, Any]] = {
    "none": {"left_out": None},
    "Portuguese": {"left_out": "pt"},
    "Dutch": {"left_out": "nl"},
    "Finnish": {"left_out": "fi"},
    "Portuguese, temperature 1": {"left_out": "pt", "temperature": 1.0},
}
END = ByteTokenizer().special_ids["</s>"]
MAX_LEN = 48  # bytes of a caption, with its end


@functools.cache
def images() -> tuple[ImageSet, ImageSet]:
    """The digits to train with and those to judge with."""
    return digits()


@functools.cache
def captions(language: str) -> Tensor:
    """All captions of a language as bytes ``(10, 3, T)``, with an end and padded."""
    tokenizer = ByteTokenizer()
    rows = [[[*tokenizer.encode(way), END] for way in ways] for ways in digit_captions(language)]
    return torch.tensor([[ids + [0] * (MAX_LEN - len(ids)) for ids in ways] for ways in rows])


def batches(languages: list[str], batch_size: int, seed: int) -> Callable[[int], tuple[Tensor, Tensor]]:
    """Step → images, and a caption in a random language for each, as bytes."""
    train, _ = images()
    known = torch.stack([captions(language) for language in languages])  # (L, 10, 3, T)

    def batch(step: int) -> tuple[Tensor, Tensor]:
        draw = torch.Generator().manual_seed(step + 1_000_003 * seed)
        rows, language, way = (
            torch.randint(size, (batch_size,), generator=draw) for size in (len(train.labels), len(known), 3)
        )
        ids = known[language, train.labels[rows], way]
        return train.images[rows], ids[:, : int((ids != 0).sum(1).max())]

    return batch


def clip(width: int, num_layers: int) -> CLIP:
    """A CLIP with towers of the same size."""
    return CLIP(
        CLIPConfig(
            image_size=8, patch_size=2, in_channels=1, image_d_model=width, image_layers=num_layers,
            image_heads=4, vocab_size=ByteTokenizer().vocab_size, max_seq_len=MAX_LEN, text_d_model=width,
            text_layers=num_layers, text_heads=4, d_embed=width, end_id=END,
        )
    )  # fmt: skip


def loss_fn(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    """The symmetric loss of a batch of pairs."""
    return contrastive_loss(model(*batch))


def class_vectors(model: CLIP, language: str) -> Tensor:
    """The ten digits as a language names them, ``(10, E)``: the mean of three captions each."""
    vectors = model.encode_texts(captions(language).flatten(0, 1))
    return F.normalize(F.normalize(vectors, dim=-1).view(10, 3, -1).mean(1), dim=-1)


@torch.inference_mode()
def judge(model: CLIP, left_out: str | None) -> dict[str, Any]:
    """Zero-shot accuracy on the test images by language, and what the names alone tell."""
    _, test = images()
    pictures = F.normalize(model.encode_images(test.images), dim=-1)
    classes = {language: class_vectors(model, language) for language in TEMPLATES}
    found: dict[str, Any] = {
        language: ((pictures @ vectors.T).argmax(1) == test.labels).float().mean().item()
        for language, vectors in classes.items()
    }
    found["scale"] = model.scale.item()
    if left_out is not None:
        known = torch.stack([vectors for language, vectors in classes.items() if language != left_out])
        nearest = (classes[left_out] @ known.mean(0).T).argmax(1)
        found["names_right"] = int((nearest == torch.arange(10)).sum())
        found["names_right_by_spelling"] = by_spelling(left_out)
    return found


def edits(a: str, b: str) -> int:
    """The fewest insertions, deletions and replacements that turn one text into the other: Levenshtein."""
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        before, row = row, [i]
        for j, other in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != other)))
    return row[-1]


def by_spelling(left_out: str) -> float:
    """How many of ten names are fewest edits away from the same digit's name in another language.

    Edits count per letter of the longer name; of several nearest names, the share that is right counts.
    """
    others = [(n, digit_captions(code)[n][0]) for code in TEMPLATES if code != left_out for n in range(10)]
    right = 0.0
    for digit, (name, *_) in enumerate(digit_captions(left_out)):
        distances = [edits(name, other) / max(len(name), len(other)) for _, other in others]
        nearest = [
            n for (n, _), distance in zip(others, distances, strict=True) if distance == min(distances)
        ]
        right += nearest.count(digit) / len(nearest)
    return right


def one_case(
    *, seed: int, left_out: str | None, width: int, num_layers: int, steps: int, batch_size: int, lr: float,
    temperature: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Train one CLIP without a language, and judge it in all of them. A given temperature is not trained."""
    torch.manual_seed(seed)
    model = clip(width, num_layers)
    if temperature is not None:
        nn.init.constant_(model.log_scale, -math.log(temperature)).requires_grad_(False)
    languages = [language for language in TEMPLATES if language != left_out]
    recipe = TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=steps // 10, schedule="cosine", betas=(0.9, 0.98),
        weight_decay=0.1, log_every=steps // 5, seed=seed,
    )  # fmt: skip
    history = fit(model, loss_fn, batches(languages, batch_size, seed), recipe)
    return {"loss": [row["loss"] for row in history], **judge(model, left_out)}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("clip_digits", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

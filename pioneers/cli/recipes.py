"""The recipes of ``pioneers train``: presets, sizes, defaults and help for each model."""

import argparse
import dataclasses
from collections.abc import Callable
from typing import Any

from pioneers.cli.pairs import COLUMNS as PAIR_COLUMNS
from pioneers.cli.pairs import PAIRS
from pioneers.cli.parser import positive_int
from pioneers.cli.run_context import RunContext
from pioneers.cli.sources import IMAGES, TEXTS, Dataset, read_images, read_pairs, read_text
from pioneers.cli.tasks import (
    Task,
    image_classification,
    language_modelling,
    masked_modelling,
    translation,
)
from pioneers.cli.texts import PUBLISHED
from pioneers.config import Config
from pioneers.models import BERTConfig, GPTConfig, TransformerConfig, ViTConfig

Arguments = argparse.Namespace
Changes = dict[str, Any]

SIZES = {  # in the order of the help
    "num_layers": "{} layers",
    "d_model": "width {}",
    "num_heads": "{} heads",
    "max_seq_len": "sequences of {} tokens",
    "vocab_size": "a vocabulary of {:,}",
    "dropout": "dropout {:g}",
}
ABOUT_TEXT = """\
A text is one stream; the rows of a .jsonl, .csv or .tsv file (or of one of these with .gz) are
documents, kept apart by an end-of-text token. The last tenth of the text or of the documents is
held out, so shuffle dissimilar ones; this tenth must have more than --seq-len tokens. The tokens of
a text of more than 8 MB are made once and kept in ~/.cache/pioneers/tokens; they are mapped into
memory, so that it does not grow with the text. shakespeare is downloaded once, to ~/.cache/pioneers."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
    """One model as the command line offers it.

    Attributes:
        about: the paragraph its help begins with.
        next_command: a command to try next; may be empty.
        config: class of its configuration.
        defaults: default values of the options.
        add_source: adds the options that name the data.
        read: arguments → data.
        build: data, configuration, frame → task.
        sizes: arguments and data → derived fields of the configuration.
    """

    about: str
    next_command: str
    config: type[Config]
    defaults: Changes
    add_source: Callable[[Any], None]
    read: Callable[[Arguments], Dataset]
    build: Callable[[Any, Any, RunContext], Task]
    sizes: Callable[[Arguments, Any], Changes] = lambda args, data: {}

    def about_presets(self) -> str:
        """Describe the default preset, for the help of ``--preset``."""
        name = self.defaults["preset"]
        sizes = dataclasses.asdict(self.config.preset(name))
        said = ", ".join(words.format(sizes[field]) for field, words in SIZES.items() if field in sizes)
        return f"a published size, or {name}: {said}. The other defaults suit {name}"

    def configure(self, args: Arguments, data: Any) -> Any:
        """Make the configuration from preset and arguments.

        Raises:
            ValueError: there is no such preset, or the sizes do not fit together.
        """
        names = {field.name for field in dataclasses.fields(self.config)}
        asked = {name: value for name, value in vars(args).items() if name in names and value is not None}
        return self.config.preset(args.preset, **asked, **self.sizes(args, data))


def add_text(group: Any) -> None:
    """Add the options that name a text."""
    names = ", ".join(TEXTS)
    group.description = ABOUT_TEXT
    group.add_argument(
        "--text", required=True, metavar="TEXT", help=f"a UTF-8 file, plain or .gz, or one of: {names}"
    )
    group.add_argument(
        "--column", metavar="NAME", help="of a .jsonl, .csv or .tsv file, with the documents (default: text)"
    )


def _add_text_and_vocabulary(group: Any) -> None:
    add_text(group)
    group.add_argument(
        "--tokenizer",
        metavar="NAME",
        help=f"a published one ({', '.join(PUBLISHED)} or a name on the hub), a tokenizer.json or vocab.txt, "
        "or a model folder (default: learned from the text)",
    )
    _add_vocab_size(group)


def _add_vocab_size(group: Any) -> None:
    group.add_argument(
        "--vocab-size",
        type=positive_int,
        metavar="V",
        help="maximum number of tokens (default: the preset's)",
    )


def add_pairs(group: Any) -> None:
    """Add the options of pairs: where they are, and what becomes of long and broken ones."""
    group.add_argument(
        "--pairs",
        required=True,
        metavar="PAIRS",
        help="a UTF-8 file with source, tab, target in each line, a .csv or .jsonl file, or one of: "
        f"{', '.join(PAIRS)}",
    )
    group.add_argument(
        "--target",
        default="fr",
        metavar="LANG",
        help="language of dates and numbers, such as de, ja or tr, or of multi30k: de or fr",
    )
    group.add_argument("--columns", metavar="A,B", help=f"of a .csv or .jsonl file (default: {PAIR_COLUMNS})")
    group.add_argument(
        "--drop-long",
        action="store_true",
        default=None,
        help="leave out pairs with a side of more than --seq-len tokens; left_out.json has their lines",
    )
    group.add_argument(
        "--drop-broken",
        action="store_true",
        default=None,
        help="leave out lines that are not a source and a target; left_out.json has them",
    )


def _add_pairs_and_size(group: Any) -> None:
    add_pairs(group)
    _add_vocab_size(group)


def _add_images(group: Any) -> None:
    group.add_argument(
        "--images",
        required=True,
        metavar="IMAGES",
        help="a folder with a subfolder of images for each class (pets/cat/1.jpg), an .npz file with the "
        "arrays images and labels, a .csv or .jsonl file with the columns image and label, or one of: "
        f"{', '.join(IMAGES)} (digits is here already, the others are downloaded once)",
    )
    group.add_argument(
        "--image-size",
        dest="side",
        type=positive_int,
        default=64,
        metavar="N",
        help="side in pixels to which the images of a folder are scaled",
    )


def _read_text(args: Arguments) -> Dataset:
    if args.tokenizer and args.vocab_size:
        raise ValueError("--tokenizer brings a vocabulary of its own; leave out --vocab-size")
    return read_text(args.text, args.column)


def _feed_forward(args: Arguments, data: Any) -> Changes:
    return {} if args.d_model is None else {"d_ff": 4 * args.d_model}


def _pictures(args: Arguments, data: Any) -> Changes:
    images, labels = data.train
    size = images.shape[-1]
    sizes = {
        "image_size": size,
        "in_channels": images.shape[1],
        "num_classes": len(data.classes) or int(labels.max()) + 1,
        "labels": data.classes,
    }
    return sizes if args.patch_size else sizes | {"patch_size": _patch_size(size)}


def _patch_size(size: int) -> int:
    """The divisor of the side that is nearest to a seventh of it, at least 2 where that divides it."""
    return min((n for n in range(2, size + 1) if size % n == 0), key=lambda n: abs(n - size / 7), default=1)


RECIPES: dict[str, Recipe] = {
    "gpt": Recipe(
        about="Train a GPT: a model that continues texts. Its tokenizer (byte-level BPE) is learned from\n"
        "the same text; the last tenth of the text is held out for validation.\n"
        "The preset gpt, of the first GPT, is post-norm: Hugging Face's layout does not have it.",
        next_command='pioneers generate {out} --prompt "The "',
        config=GPTConfig,
        defaults={"preset": "mini", "steps": 500, "batch_size": 16, "lr": 4e-3},
        add_source=_add_text_and_vocabulary,
        read=_read_text,
        build=language_modelling,
    ),
    "bert": Recipe(
        about="Train a BERT: a model that reads texts in both directions, by guessing words hidden from it.\n"
        "Its vocabulary (WordPiece) is learned from the same text; the last tenth of the text is held\n"
        "out for validation. The next-sentence head is not trained.",
        next_command="",
        config=BERTConfig,
        defaults={"preset": "mini", "steps": 1000, "batch_size": 32, "lr": 2e-3},
        add_source=_add_text_and_vocabulary,
        read=_read_text,
        build=masked_modelling,
    ),
    "transformer": Recipe(
        about="Train a Transformer: an encoder-decoder that translates. One vocabulary (byte-level BPE) is\n"
        "learned from both sides of the pairs; some pairs are held out for validation.",
        next_command='pioneers translate {out} "Friday, March 1, 2024"',
        config=TransformerConfig,
        defaults={"preset": "mini", "steps": 400, "batch_size": 64, "lr": 2e-3},
        add_source=_add_pairs_and_size,
        read=lambda args: read_pairs(
            args.pairs, args.target, args.columns, drop_broken=bool(args.drop_broken)
        ),
        build=translation,
        sizes=_feed_forward,
    ),
    "vit": Recipe(
        about="Train a ViT: a model that says what an image shows. Validation uses the test images, or\n"
        "one image in ten of a folder.",
        next_command="",
        config=ViTConfig,
        defaults={"preset": "digits", "steps": 500, "batch_size": 64, "lr": 2e-3},
        add_source=_add_images,
        read=lambda args: read_images(args.images, args.side),
        build=image_classification,
        sizes=_pictures,
    ),
}

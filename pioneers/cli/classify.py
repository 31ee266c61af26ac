"""``pioneers classify``: say which class texts or images belong to."""

from argparse import Namespace

import torch
from torch import Tensor

from pioneers.cli.batches import classified, moved, run_encoder
from pioneers.cli.examples import Example
from pioneers.cli.inputs import texts_of
from pioneers.cli.origin import Origin
from pioneers.cli.parser import Parser, positive_int
from pioneers.cli.pictures import read_picture
from pioneers.device import best_device
from pioneers.models import BERTClassifier, ViT

DESCRIPTION = """\
Classify texts with a BERT, or images with a ViT. A line of the output has the class, its probability
and the input, with tabs between them. Without an INPUT, each line of standard input is one. The two
texts of a pair have a tab between them."""
EPILOG = """\
examples:
  pioneers classify runs/reviews "A charming film." "Two hours of my life."
  pioneers classify runs/pets photo.jpg --top 3
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments: model and inputs."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument(
        "model", metavar="MODEL", help="a BERT classifier or a ViT: a folder, or a name on the hub"
    )
    parser.add_argument("inputs", nargs="*", metavar="INPUT", help="a text, or the file of an image")
    parser.add_argument(
        "--top", type=positive_int, default=1, metavar="N", help="classes to show, likeliest first"
    )


@torch.no_grad()
def run(args: Namespace) -> int:
    """Print the classes."""
    given = texts_of(args.inputs)
    origin = Origin.of(args.model).require(
        (BERTClassifier, ViT), "only a BERT classifier or a ViT classifies"
    )
    model = origin.model.to(best_device())
    images = isinstance(model, ViT)
    count = model.config.num_classes if images else model.num_classes
    names = (model.config.labels if images else model.labels) or tuple(map(str, range(count)))
    if not names:
        raise ValueError(f"{args.model} is a ViT without a head: fine-tune it first")
    for text in given:
        logits = _of_image(origin, text) if images else _of_text(origin, text)
        best = logits[0].softmax(-1).topk(min(args.top, len(names)))
        for share, number in zip(best.values.tolist(), best.indices.tolist(), strict=True):
            print(f"{names[number]}\t{share:.3f}\t{text}", flush=True)
    return 0


def _of_image(origin: Origin, path: str) -> Tensor:
    return origin.model(read_picture(path, origin.model.config).to(best_device()))


def _of_text(origin: Origin, text: str) -> Tensor:
    body = origin.encoder("only a BERT reads texts here")
    texts = tuple(text.split("\t"))
    if len(texts) > 2:
        raise ValueError(f"{text[:40]!r} has {len(texts)} parts: a pair has one tab")
    inputs, _ = classified([Example(texts, "")], (), origin.tokenizer, body.config.max_seq_len)
    return run_encoder(origin.model, moved(inputs, best_device()))

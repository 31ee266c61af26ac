"""``pioneers embed``: a vector for each text or image."""

import json
from argparse import Namespace

import torch
from torch import Tensor

from pioneers.cli.batches import moved, run_encoder
from pioneers.cli.inputs import texts_of
from pioneers.cli.origin import Origin
from pioneers.cli.parser import Parser
from pioneers.cli.pictures import read_picture
from pioneers.device import best_device
from pioneers.models import ViT
from pioneers.objectives import text_inputs

DESCRIPTION = """\
Print a vector for each text or image, a JSON list in each line: the mean of a BERT's last states over
the tokens of the text, or a ViT's last state of its class token. Without an INPUT, each line of
standard input is one. A text that is too long for the model loses its end."""
EPILOG = """\
examples:
  pioneers embed runs/bert "The value of an expression" "A class"
  pioneers embed runs/digits three.png > vectors.jsonl
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments: model and inputs."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("model", metavar="MODEL", help="a BERT or a ViT: a folder, or a name on the hub")
    parser.add_argument("inputs", nargs="*", metavar="INPUT", help="a text, or the file of an image")


@torch.no_grad()
def run(args: Namespace) -> int:
    """Print the vectors."""
    given = texts_of(args.inputs)
    origin = Origin.of(args.model)
    origin.model.to(best_device())
    vector = _of_image if isinstance(origin.model, ViT) else _of_text
    for text in given:
        print(json.dumps([round(number, 6) for number in vector(origin, text).tolist()]), flush=True)
    return 0


def _of_image(origin: Origin, path: str) -> Tensor:
    model = origin.model
    return model.hidden_states(read_picture(path, model.config).to(best_device()))[0, 0]


def _of_text(origin: Origin, text: str) -> Tensor:
    body = origin.encoder("only a BERT or a ViT makes a vector of its input here")
    inputs = moved(text_inputs([text], origin.tokenizer, max_seq_len=body.config.max_seq_len), best_device())
    return run_encoder(body, inputs)[0].mean(dim=0)

"""``pioneers convert``: write a model in the other layout."""

from argparse import Namespace

from pioneers.cli.parser import Parser
from pioneers.weights import (
    from_pretrained,
    load_tokenizer,
    save_huggingface,
    save_pretrained,
    save_tokenizer,
)

DESCRIPTION = """\
Write a model to a new folder in this package's layout or, with --to huggingface, in the layout
that transformers and many other libraries read. A tokenizer goes with it.

It reads models made by pioneers train, and Hugging Face's gpt2, bert and vit with their common heads.
A FROM that is not a folder is looked up on the hub. A GPT (pre-norm), a BERT or a ViT, with or without
a head, can be written for Hugging Face, a Transformer cannot. Weights are written in float32."""
EPILOG = """\
examples:
  pioneers convert gpt2 models/gpt2
  pioneers convert runs/gpt exported/gpt --to huggingface
  pioneers convert exported/gpt runs/gpt-again
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments: source, destination and layout."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("source", metavar="FROM", help="a folder in either layout, or a name on the hub")
    parser.add_argument("folder", metavar="TO", help="the new folder")
    parser.add_argument(
        "--to",
        choices=("pioneers", "huggingface"),
        default="pioneers",
        help="the layout to write; that of FROM is detected",
    )


def run(args: Namespace) -> int:
    """Read the model, write it, and say what was written."""
    model = from_pretrained(args.source)
    try:
        tokenizer = load_tokenizer(args.source)
    except FileNotFoundError:
        tokenizer = None
    try:
        (save_huggingface if args.to == "huggingface" else save_pretrained)(model, args.folder)
    except TypeError as error:  # a model that Hugging Face does not have
        raise ValueError(error) from error
    if tokenizer is not None:
        save_tokenizer(tokenizer, args.folder)
    what = type(model).__name__ + ("" if tokenizer is None else " with its tokenizer")
    reader = "transformers" if args.to == "huggingface" else "pioneers"
    print(f"{args.folder} holds the {what}, for {reader} to read")
    return 0

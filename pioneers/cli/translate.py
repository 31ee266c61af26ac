"""``pioneers translate``: translate texts, or the lines of standard input, with a Transformer."""

from argparse import Namespace

import torch

from pioneers.cli.inputs import input_lines
from pioneers.cli.parser import Parser, non_negative_float, positive_int
from pioneers.cli.tasks import SPECIAL
from pioneers.device import best_device
from pioneers.generation import translate
from pioneers.models import Transformer
from pioneers.tokenizers import ByteLevelBPE
from pioneers.weights import from_pretrained, load_tokenizer

DESCRIPTION = """\
Translate each TEXT with a Transformer or, without any, each line of standard input. Each translation
is one line of standard output."""
EPILOG = """\
examples:
  pioneers train transformer --pairs dates --target fr --out runs/dates
  pioneers translate runs/dates "Friday, March 1, 2024" "1 Mar 2024"
  pioneers translate runs/dates --beams 1 < dates.txt > jours.txt
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments: model, texts and search."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    model = parser.add_argument_group("the model and the texts")
    model.add_argument("model", metavar="FOLDER", help="a folder made by pioneers train transformer")
    model.add_argument("texts", nargs="*", metavar="TEXT", help="texts to translate")
    search = parser.add_argument_group("the search")
    search.add_argument(
        "--beams", type=positive_int, default=4, metavar="N", help="width of the beam; 1 is greedy"
    )
    search.add_argument(
        "--alpha",
        type=non_negative_float,
        default=0.6,
        metavar="X",
        help="length penalty; larger favours longer translations",
    )


def run(args: Namespace) -> int:
    """Print the translations."""
    model = from_pretrained(args.model).to(best_device())
    if not isinstance(model, Transformer):
        raise ValueError(f"{args.model} is a {type(model).__name__}, and only a Transformer translates")
    tokenizer = load_tokenizer(args.model)
    if not isinstance(tokenizer, ByteLevelBPE) or not set(SPECIAL) <= set(tokenizer.special_ids):
        raise ValueError(f"{args.model} was not made by pioneers train transformer: no {', '.join(SPECIAL)}")
    for text in args.texts or input_lines():
        print(translation(model, tokenizer, text, beams=args.beams, alpha=args.alpha), flush=True)
    return 0


def translation(model: Transformer, tokenizer: ByteLevelBPE, text: str, *, beams: int, alpha: float) -> str:
    """Translate one text; an empty line stays empty.

    Raises:
        ValueError: the text is longer than the model can read.
    """
    ids, most = tokenizer.encode(text), model.config.max_seq_len
    if not ids:
        return ""
    if len(ids) > most:
        raise ValueError(
            f"{text[:40]!r}... has {len(ids)} tokens but the model reads at most {most}: split it"
        )
    pad_id, start_id, stop_id = (tokenizer.special_ids[name] for name in SPECIAL)
    found = translate(
        model,
        torch.tensor([ids], device=best_device()),
        most - 1,
        start_id=start_id,
        stop_id=stop_id,
        num_beams=beams,
        alpha=alpha,
        pad_id=pad_id,
    )
    special = set(tokenizer.special_ids.values())
    return tokenizer.decode([i for i in found[0].tolist() if i not in special])

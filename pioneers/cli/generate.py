"""``pioneers generate``: continue a text with a GPT or a Llama, printed as it is generated."""

from argparse import Namespace

import torch

from pioneers.cli.parser import Parser, non_negative_float, non_negative_int, positive_int
from pioneers.device import best_device
from pioneers.generation import spell, stream
from pioneers.models import GPT, Llama
from pioneers.tokenizers import ByteLevelBPE, LibraryBPE
from pioneers.weights import from_pretrained, load_tokenizer

DEFAULT_TOKENS = 200
DESCRIPTION = """\
Continue a text with a GPT or a Llama. The prompt and then the text are printed as they are
generated; nothing else is written to standard output."""
EPILOG = """\
examples:
  pioneers generate runs/gpt --prompt "The value of"
  pioneers generate runs/gpt --prompt "A class is" --greedy --tokens 40
  pioneers generate gpt2 --prompt "Once upon a time" --top-p 0.9 --stop "." > story.txt

The same seed gives the same text on the same machine.
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments: model, prompt and sampling."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    model = parser.add_argument_group("the model and the text")
    model.add_argument("model", metavar="MODEL", help="a model folder, or a name on the hub: gpt2")
    model.add_argument("--prompt", required=True, metavar="TEXT", help="what to continue")
    model.add_argument(
        "--tokens",
        type=positive_int,
        metavar="N",
        help=f"number to add; a word has one or more (default: {DEFAULT_TOKENS}, or as many as fit)",
    )
    model.add_argument(
        "--stop", action="append", default=[], metavar="TEXT", help="end before TEXT; may be given repeatedly"
    )
    choice = parser.add_argument_group("how tokens are chosen")
    choice.add_argument(
        "--temperature", type=non_negative_float, default=1.0, metavar="X", help="1 as learned, 0 greedy"
    )
    choice.add_argument(
        "--top-k", type=positive_int, metavar="K", help="sample from the K most likely tokens (default: all)"
    )
    choice.add_argument(
        "--top-p",
        type=non_negative_float,
        metavar="P",
        help="sample from the smallest set with a total probability of P (default: all)",
    )
    choice.add_argument("--greedy", action="store_true", help="always the most likely token")
    choice.add_argument(
        "--seed", type=non_negative_int, default=0, metavar="N", help="another seed, another text"
    )


def run(args: Namespace) -> int:
    """Print the prompt and its continuation."""
    model = from_pretrained(args.model).to(best_device())
    if not isinstance(model, GPT | Llama):
        raise ValueError(f"{args.model} is a {type(model).__name__}; only a GPT or a Llama continues texts")
    tokenizer = load_tokenizer(args.model)
    if not isinstance(tokenizer, ByteLevelBPE | LibraryBPE):
        raise ValueError(
            f"{args.model} has a {type(tokenizer).__name__}; restore the model's own, a byte-level BPE"
        )
    ids = tokenizer.encode(args.prompt)
    if not ids:
        raise ValueError("the prompt is empty: give --prompt a few words")
    room = model.config.max_seq_len - len(ids)
    if room < (args.tokens or 1):
        raise ValueError(
            f"the prompt has {len(ids)} tokens and the model holds {model.config.max_seq_len}, which leaves "
            f"room for {max(room, 0)}: shorten the prompt or give a smaller --tokens"
        )
    special = set(tokenizer.special_ids.values())
    greedy = args.greedy or args.temperature == 0
    tokens = stream(
        model,
        torch.tensor([ids], device=best_device()),
        args.tokens or min(room, DEFAULT_TOKENS),
        temperature=1.0 if greedy else args.temperature,
        top_k=1 if greedy else args.top_k,
        top_p=args.top_p,
        seed=args.seed,
        stop_ids=list(special),
    )
    pieces = spell((token for token in tokens if token not in special), tokenizer, stop=args.stop)
    print(args.prompt + next(pieces, ""), end="", flush=True)  # only once there is something to print
    for piece in pieces:
        print(piece, end="", flush=True)
    print()
    return 0

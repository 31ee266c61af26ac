"""``pioneers generate``: continue a text with a GPT or a Llama, printed as it is generated."""

from argparse import Namespace
from typing import Any

from pioneers.cli.inputs import text_of
from pioneers.cli.parser import Parser, non_negative_float, non_negative_int, positive_int
from pioneers.device import best_device
from pioneers.generation import stream_text
from pioneers.models import GPT, Llama
from pioneers.tokenizers import ByteLevelBPE, LibraryBPE
from pioneers.weights import from_pretrained, load_tokenizer

BETWEEN = "-" * 15  # two samples
DESCRIPTION = """\
Continue a text with a GPT or a Llama. The prompt and then the text are printed as they are
generated; nothing else is written to standard output. A text may be longer than the model's
context: the model then reads its end, the last three quarters of the context or more."""
EPILOG = """\
examples:
  pioneers generate runs/gpt --prompt "The value of"
  pioneers generate runs/gpt --prompt "A class is" --greedy --tokens 500
  pioneers generate runs/gpt --prompt-file chapter.txt --samples 3
  pioneers generate gpt2 --prompt "Once upon a time" --top-p 0.9 --stop "." > story.txt

The same seed gives the same text on the same machine.
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments: model, prompt and sampling."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    model = parser.add_argument_group("the model and the text")
    model.add_argument("model", metavar="MODEL", help="a model folder, or a name on the hub: gpt2")
    prompt = model.add_mutually_exclusive_group(required=True)
    prompt.add_argument("--prompt", metavar="TEXT", help="what to continue")
    prompt.add_argument(
        "--prompt-file",
        metavar="FILE",
        help="read it from a UTF-8 file, or from standard input if FILE is -, without the last line end",
    )
    model.add_argument(
        "--tokens", type=positive_int, default=200, metavar="N", help="number to add; a word has one or more"
    )
    model.add_argument(
        "--samples",
        type=positive_int,
        default=1,
        metavar="N",
        help=f"texts to write, a line of {BETWEEN[:3]} apart",
    )
    model.add_argument(
        "--stop", action="append", default=[], metavar="TEXT", help="end before TEXT; may be given repeatedly"
    )
    _add_choice(parser.add_argument_group("how tokens are chosen"))


def _add_choice(choice: Any) -> None:
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
        "--seed",
        type=non_negative_int,
        default=0,
        metavar="N",
        help="another seed, another text; that of the first sample, the next has one more",
    )


def run(args: Namespace) -> int:
    """Print the prompt and its continuation, as often as asked."""
    prompt = args.prompt if args.prompt_file is None else text_of(args.prompt_file)
    if not prompt:
        raise ValueError("the prompt is empty: give --prompt a few words")
    model = from_pretrained(args.model).to(best_device())
    if not isinstance(model, GPT | Llama):
        raise ValueError(f"{args.model} is a {type(model).__name__}; only a GPT or a Llama continues texts")
    tokenizer = load_tokenizer(args.model)
    if not isinstance(tokenizer, ByteLevelBPE | LibraryBPE):
        raise ValueError(
            f"{args.model} has a {type(tokenizer).__name__}; restore the model's own, a byte-level BPE"
        )
    greedy = args.greedy or args.temperature == 0
    for number in range(args.samples):
        pieces = stream_text(
            model,
            tokenizer,
            prompt,
            args.tokens,
            stop=args.stop,
            temperature=1.0 if greedy else args.temperature,
            top_k=1 if greedy else args.top_k,
            top_p=args.top_p,
            seed=args.seed + number,
        )
        start = f"{BETWEEN}\n" if number else ""
        print(start + prompt + next(pieces, ""), end="", flush=True)  # only once there is something to print
        for piece in pieces:
            print(piece, end="", flush=True)
        print()
    return 0

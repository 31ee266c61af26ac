"""The command line: which commands there are, and how each of them ends."""

import functools
import importlib
import os
import sys
from collections.abc import Sequence

import pioneers
from pioneers.cli.parser import Parser
from pioneers.extras import import_extra

COMMANDS = {
    "train": "train a GPT, BERT, Transformer or ViT; stop and go on at any time",
    "generate": "let a GPT continue a text",
    "translate": "let a Transformer translate",
    "convert": "carry weights over to Hugging Face's layout, or from it",
    "bench": "measure speed side by side with other libraries",
    "grade": "grade a lab of a class, each submission in a jail",
    "doctor": "see what works on this machine, and what to install",
}
DESCRIPTION = "Transformers to train, to use and to take apart, from the book Pioneering Transformers."
EPILOG = """\
examples:
  pioneers doctor
  pioneers train gpt --text language-reference --out runs/gpt
  pioneers generate runs/gpt --prompt "The value of"

Each command explains itself: pioneers COMMAND --help. PIONEERS_DEVICE=cpu chooses the device,
PIONEERS_DATA may name a folder that holds the public data sets, and PIONEERS_DEBUG=1 shows where an
error came from. TQDM_DISABLE=1 turns the progress bars off.
"""
MORE_MEMORY = "; a smaller --batch-size needs less memory"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status: 0, 1 for what went wrong, 130 for Ctrl-C.

    Args:
        argv: what stands behind ``pioneers``; the arguments of the process when left out.

    Raises:
        SystemExit: after ``--help`` (status 0), or the arguments are wrong (status 2).
    """
    smaller = ""
    try:
        args = make_parser().parse_args(argv)
        smaller = MORE_MEMORY if hasattr(args, "batch_size") else ""
        return int(args.run(args))
    except KeyboardInterrupt as stop:
        if os.environ.get("RANK", "0") == "0":  # of several processes one speaks
            print(f"\npioneers: {str(stop) or 'interrupted'}", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if os.environ.get("PIONEERS_DEBUG"):
            raise
        print(f"pioneers: error: {one_line(error, smaller)}", file=sys.stderr)
        return 1


def make_parser() -> Parser:
    """The parser of the whole command line; a command's own arguments are added when it is used."""
    parser = Parser(prog="pioneers", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"pioneers {pioneers.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        commands.add_parser(name, help=summary, fill=functools.partial(_fill, name))
    return parser


def one_line(error: Exception, smaller: str = "") -> str:
    """What went wrong, on one line. Errors of kinds that nobody foresaw also say what kind they are.

    Args:
        error: what went wrong.
        smaller: what to say behind a lack of memory.
    """
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return "not enough memory" + (f" ({text})" if text else "") + smaller
    if not isinstance(error, ValueError | RuntimeError | OSError | ImportError | ArithmeticError):
        return f"{type(error).__name__}: {text}; PIONEERS_DEBUG=1 shows where, please report it"
    return text + (smaller if "memory" in text and isinstance(error, RuntimeError) else "")


def _fill(name: str, parser: Parser) -> None:
    if name == "grade":
        command = import_extra("pioneers.cli.grade", "grader")
    else:
        command = importlib.import_module(f"pioneers.cli.{name}")
    command.add_arguments(parser)
    parser.set_defaults(run=command.run)

"""The command line: its commands, and how each of them ends."""

import atexit
import functools
import gc
import importlib
import os
import sys
from collections.abc import Sequence

import pioneers
from pioneers.cli.parser import Parser
from pioneers.cli.stopping import PeerEnded
from pioneers.extras import import_extra

COMMANDS = {
    "train": "train a GPT, BERT, Transformer or ViT; stop and resume at any time",
    "finetune": "go on training a model, or give it a task",
    "evaluate": "measure a model on data it has not seen",
    "generate": "let a GPT continue a text",
    "translate": "let a Transformer translate",
    "fill": "let a BERT fill gaps in a text",
    "classify": "classify texts with a BERT, images with a ViT",
    "tag": "let a BERT tag words",
    "answer": "let a BERT find answers in a text",
    "embed": "make a vector of a text or an image",
    "convert": "convert weights to Hugging Face's layout, or from it",
    "compare": "find where a model differs from its counterpart in transformers",
    "bench": "measure speed next to other libraries",
    "grade": "grade a lab for a class, each submission in a jail",
    "doctor": "check what works on this machine, and what to install",
}
DESCRIPTION = "Transformers to train, to use and to take apart, from the book Pioneering Transformers."
EPILOG = """\
examples:
  pioneers doctor
  pioneers train gpt --text language-reference --out runs/gpt
  pioneers generate runs/gpt --prompt "The value of"

Help on each command: pioneers COMMAND --help. PIONEERS_DEVICE=cpu chooses the device,
PIONEERS_DATA may name a folder with the public data sets, and PIONEERS_DEBUG=1 shows where an
error came from. TQDM_DISABLE=1 turns the progress bars off.
"""
MORE_MEMORY = "; a smaller --batch-size needs less memory"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status: 0, 1 after an error, 130 after Ctrl-C, 143 after SIGTERM.

    Args:
        argv: the arguments after ``pioneers``; by default those of the process.

    Raises:
        SystemExit: after ``--help`` (status 0), or if the arguments are wrong (status 2).
    """
    if argv is None:
        atexit.register(gc.freeze)  # or this process, as it ends, looks for garbage in torch for a second
    smaller, first = "", os.environ.get("RANK", "0") == "0"  # of several processes, the first one prints
    try:
        args = make_parser().parse_args(argv)
        smaller = MORE_MEMORY if hasattr(args, "batch_size") else ""
        return int(args.run(args))
    except KeyboardInterrupt as stop:
        if first:
            print(f"\npioneers: {str(stop) or 'interrupted'}", file=sys.stderr)
        return 130 if type(stop) is KeyboardInterrupt else 143
    except BrokenPipeError:  # the reader of our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if os.environ.get("PIONEERS_DEBUG"):
            raise
        if first or not isinstance(error, PeerEnded | ArithmeticError):  # all processes have these
            print(f"pioneers: error: {one_line(error, smaller)}", file=sys.stderr)
        return 1


def make_parser() -> Parser:
    """Make the parser of the command line; a command's own arguments are added when it is used."""
    parser = Parser(prog="pioneers", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"pioneers {pioneers.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        commands.add_parser(name, help=summary, fill=functools.partial(_fill, name))
    return parser


def one_line(error: Exception, smaller: str = "") -> str:
    """Format an error on one line; unexpected kinds of error also name their type.

    Args:
        error: the error.
        smaller: advice to append if memory ran out.
    """
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return "not enough memory" + (f" ({text})" if text else "") + smaller
    if not isinstance(error, ValueError | RuntimeError | OSError | ImportError | ArithmeticError):
        return f"{type(error).__name__}: {text}; PIONEERS_DEBUG=1 shows where, please report it"
    return text + (smaller if "memory" in text and isinstance(error, RuntimeError) else "")


def _fill(name: str, parser: Parser) -> None:
    module = f"pioneers.cli.{name}"
    command = import_extra(module, "grader") if name == "grade" else importlib.import_module(module)
    command.add_arguments(parser)
    parser.set_defaults(run=command.run)

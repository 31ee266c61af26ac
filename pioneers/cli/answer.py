"""``pioneers answer``: find the answer to a question in a text."""

from argparse import Namespace

from pioneers.cli.batches import found_answers
from pioneers.cli.inputs import text_of
from pioneers.cli.origin import Origin
from pioneers.cli.parser import Parser
from pioneers.data import Question
from pioneers.device import best_device
from pioneers.models import BERTReader

DESCRIPTION = """\
Find the answer to each question in a text; a line of the output has an answer, or nothing where the
model finds none. A text that is too long for the model loses its end."""
EPILOG = """\
examples:
  pioneers answer runs/reader --question "Who wrote it?" --context "It was written by Ada Lovelace."
  pioneers answer runs/reader --question "Who?" --question "When?" --context-file article.txt
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments: model, questions and text."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("model", metavar="MODEL", help="a BERT reader: a folder, or a name on the hub")
    parser.add_argument(
        "--question", action="append", required=True, metavar="TEXT", help="may be given repeatedly"
    )
    context = parser.add_mutually_exclusive_group(required=True)
    context.add_argument("--context", metavar="TEXT", help="the text to search")
    context.add_argument(
        "--context-file", metavar="FILE", help="a UTF-8 file with it, or - for standard input"
    )


def run(args: Namespace) -> int:
    """Print the answers."""
    context = args.context if args.context_file is None else text_of(args.context_file)
    if not context.strip() or not all(question.strip() for question in args.question):
        raise ValueError("the question or the text is empty: give both")
    origin = Origin.of(args.model).require(BERTReader, "only a BERT reader answers questions")
    body, model = origin.encoder(""), origin.model.to(best_device())
    for question in args.question:
        row = Question("", context, question, ())
        print(*found_answers(model, [row], origin.tokenizer, body.config.max_seq_len), flush=True)
    return 0

"""``pioneers tag``: tag the words of a text."""

from argparse import Namespace

from pioneers.cli.batches import found_tags
from pioneers.cli.inputs import texts_of
from pioneers.cli.origin import Origin
from pioneers.cli.parser import Parser
from pioneers.device import best_device
from pioneers.models import BERTTagger

DESCRIPTION = """\
Tag the words of each TEXT, or of each line of standard input; spaces separate words. The output has
a word, a tab and its tag in each line, and an empty line after each text."""
EPILOG = """\
examples:
  pioneers tag runs/tagger "Berlin is a city ."
  pioneers tag runs/tagger < sentences.txt > tagged.conll
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments: model and texts."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("model", metavar="MODEL", help="a BERT tagger: a folder, or a name on the hub")
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="words with spaces between them")


def run(args: Namespace) -> int:
    """Print words and tags."""
    texts = texts_of(args.texts)
    origin = Origin.of(args.model).require(BERTTagger, "only a BERT tagger tags words")
    body, model = origin.encoder(""), origin.model.to(best_device())
    names = [*(model.labels or map(str, range(model.num_tags))), ""]
    for text in texts:
        words = text.split()
        (numbers,) = found_tags(model, [words], origin.tokenizer, body.config.max_seq_len)
        if -1 in numbers:
            word = words[numbers.index(-1)]
            raise ValueError(
                f"the word {word!r} cannot be tagged: the text is longer than the model reads, "
                f"{body.config.max_seq_len} tokens, or the word has no letter; split the text or correct it"
            )
        for word, number in zip(words, numbers, strict=True):
            print(f"{word}\t{names[number]}")
        print(flush=True)
    return 0

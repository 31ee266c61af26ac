"""``pioneers evaluate``: measure a model on data it has not seen."""

import json
from argparse import Namespace
from typing import Any

from pioneers.cli import measures
from pioneers.cli.examples import read_examples, read_questions, read_tagged
from pioneers.cli.origin import Origin
from pioneers.cli.parser import Parser, positive_int
from pioneers.cli.pictures import labelled_images
from pioneers.cli.sources import TEXTS
from pioneers.cli.tasks import SPECIAL
from pioneers.data import text_file
from pioneers.data.formats import read_table
from pioneers.device import best_device
from pioneers.models import GPT, BERTClassifier, BERTReader, BERTTagger, Llama, Transformer, ViT

DESCRIPTION = """\
Measure a model on data it has not learned from:

  GPT, Llama     --text    loss in nats per token, perplexity, bits per character; the text is cut
                           into windows that do not overlap
  classifier     --data    loss, accuracy, macro_f1: the mean of the classes' F1
  tagger         --data    accuracy; span_f1, as seqeval counts, for tags such as B-PER, I-PER and O;
                           else macro_f1 of words
  reader         --data    exact_match and f1, as SQuAD counts
  ViT            --images  loss, accuracy, macro_f1
  Transformer    --pairs   bleu and chrf by sacrebleu, with its signatures: pip install
                           'pioneers[metrics]'

Columns are named as in pioneers finetune."""
EPILOG = """\
examples:
  pioneers evaluate runs/gpt --text held_out.txt
  pioneers evaluate runs/reviews --data test.csv --json
  pioneers evaluate runs/dates --pairs test.tsv --beams 1
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments: model, data and what is printed."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("model", metavar="MODEL", help="a model folder, or a name on the hub")
    data = parser.add_argument_group("the data")
    source = data.add_mutually_exclusive_group(required=True)
    source.add_argument("--text", metavar="TEXT", help=f"a UTF-8 file, or one of: {', '.join(TEXTS)}")
    source.add_argument("--data", metavar="FILE", help="labelled texts, tagged sentences or questions")
    source.add_argument("--images", metavar="FOLDER", help="with a subfolder of images for each class")
    source.add_argument("--pairs", metavar="FILE", help="source, tab, target in each line")
    for name in ("text", "pair", "label", "word", "tag", "question", "context", "answer"):
        data.add_argument(f"--{name}-column", metavar="NAME", help="of --data")
    parser.add_argument(
        "--seq-len", type=positive_int, metavar="T", help="longest sequence, in tokens (default: the model's)"
    )
    parser.add_argument("--batch-size", type=positive_int, default=32, metavar="B", help="examples at a time")
    parser.add_argument("--beams", type=positive_int, default=4, metavar="N", help="for --pairs; 1 is greedy")
    parser.add_argument("--json", action="store_true", help="print one line of JSON, with all digits")


def run(args: Namespace) -> int:
    """Print the measures."""
    kind = next(name for name in ("text", "data", "images", "pairs") if getattr(args, name) is not None)
    origin = Origin.of(args.model)
    origin.model.to(best_device())
    for models, needed, measure in MEASURES:
        if isinstance(origin.model, models):
            if needed != kind:
                raise ValueError(
                    f"{args.model} is a {type(origin.model).__name__}, which is measured with --{needed}"
                )
            return _print(args, measure(args, origin))
    raise ValueError(
        f"{args.model} is a {type(origin.model).__name__}, which has no task to measure; fine-tune it for one"
    )


def _print(args: Namespace, numbers: measures.Measures) -> int:
    if args.json:
        print(json.dumps({"model": args.model, **numbers}))
        return 0
    for name, value in numbers.items():
        said = (
            f"{value:.4f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value
        )
        print(f"{name:20}{said}")
    return 0


def _length(args: Namespace, model: Any) -> int:
    most = int(getattr(model, "bert", model).config.max_seq_len)
    if args.seq_len is not None and args.seq_len > most:
        raise ValueError(f"--seq-len {args.seq_len} is more than {args.model} reads: give at most {most}")
    return args.seq_len or most


def _text(args: Namespace, origin: Origin) -> measures.Measures:
    if origin.tokenizer is None:
        raise ValueError(f"{args.model} has no tokenizer: put that of the model beside it")
    text = TEXTS[args.text]() if args.text in TEXTS else text_file(args.text)
    length = _length(args, origin.model)
    return measures.of_text(origin.model, origin.tokenizer, text, length, args.batch_size)


def _classifier(args: Namespace, origin: Origin) -> measures.Measures:
    texts = [args.text_column or "text", *filter(None, [args.pair_column])]
    rows = read_examples(args.data, texts, args.label_column or "label")
    return measures.of_texts(*_with_words(args, origin), rows, _length(args, origin.model), args.batch_size)


def _tagger(args: Namespace, origin: Origin) -> measures.Measures:
    rows = read_tagged(args.data, args.word_column, args.tag_column)
    return measures.of_tags(*_with_words(args, origin), rows, _length(args, origin.model), args.batch_size)


def _reader(args: Namespace, origin: Origin) -> measures.Measures:
    columns = (
        args.question_column or "question",
        args.context_column or "context",
        args.answer_column or "answer",
    )
    rows = read_questions(args.data, columns)
    return measures.of_questions(
        *_with_words(args, origin), rows, _length(args, origin.model), args.batch_size
    )


def _with_words(args: Namespace, origin: Origin) -> tuple[Any, Any]:
    origin.encoder("this command measures a BERT's heads")
    return origin.model, origin.tokenizer


def _images(args: Namespace, origin: Origin) -> measures.Measures:
    return measures.of_images(
        origin.model, labelled_images(args.images, origin.model.config), args.batch_size
    )


def _pairs(args: Namespace, origin: Origin) -> measures.Measures:
    pairs = [(source, target) for source, target in read_table(args.pairs, columns=2)]
    if not set(SPECIAL) <= set(getattr(origin.tokenizer, "special_ids", ())):
        raise ValueError(f"{args.model} was not made by pioneers train transformer: no {', '.join(SPECIAL)}")
    return measures.of_pairs(origin.model, origin.tokenizer, pairs, args.beams)


MEASURES: tuple[tuple[Any, str, Any], ...] = (
    ((GPT, Llama), "text", _text),
    (BERTClassifier, "data", _classifier),
    (BERTTagger, "data", _tagger),
    (BERTReader, "data", _reader),
    (ViT, "images", _images),
    (Transformer, "pairs", _pairs),
)

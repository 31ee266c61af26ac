"""``pioneers finetune``: go on training a model, or give it a task, in the loop of ``train``."""

import dataclasses
import functools
from argparse import Namespace as Arguments
from collections.abc import Callable
from typing import Any

from pioneers.cli import tuning
from pioneers.cli.examples import names_of, read_examples, read_questions, read_tagged, split_examples
from pioneers.cli.finetune_help import DESCRIPTION, EXAMPLES, SUMMARIES
from pioneers.cli.origin import Origin
from pioneers.cli.parser import Parser, positive_int
from pioneers.cli.pictures import prepared
from pioneers.cli.recipes import Recipe, add_pairs, add_text
from pioneers.cli.sources import Dataset, read_images, read_pairs, read_text
from pioneers.cli.tasks import SPECIAL
from pioneers.cli.train import run
from pioneers.cli.train_options import add_results, add_training
from pioneers.cli.tuning import Plan, Rows
from pioneers.config import Config
from pioneers.models import GPT, Llama, Transformer, ViT

__all__ = ["add_arguments", "run"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tuning(Recipe):
    """A way of fine-tuning as the command line offers it; its data come with the :class:`Plan`."""

    config: type[Config] = Config

    def configure(self, args: Arguments, data: Any) -> Any:
        """Return the plan."""
        return data[1]


def add_arguments(parser: Parser) -> None:
    """Add one subcommand per task."""
    parser.description = DESCRIPTION
    parser.epilog = "examples:\n" + "\n".join(text.split("\n")[0] for text in EXAMPLES.values())
    tasks = parser.add_subparsers(title="tasks", metavar="TASK", required=True)
    for name, summary in SUMMARIES.items():
        tasks.add_parser(name, help=summary, fill=functools.partial(_add_options, name))


def _add_options(name: str, parser: Parser) -> None:
    recipe = TUNINGS[name]
    parser.description, parser.epilog = recipe.about, f"examples:\n{EXAMPLES[name]}\n"
    source = parser.add_argument_group("the model and what to learn from")
    source.add_argument("--init-from", required=True, metavar="MODEL", help="a folder, or a name on the hub")
    recipe.add_source(source)
    if name != "vit":
        source.add_argument(
            "--seq-len",
            dest="max_seq_len",
            type=positive_int,
            metavar="T",
            help="longest sequence, in tokens; longer texts lose their end (default: the model's)",
        )
    source.add_argument(
        "--lora",
        type=positive_int,
        metavar="RANK",
        help="train adapters of this rank beside the query and value projections, and the head, alone; "
        "they are merged into the model when it is saved",
    )
    add_results(parser)
    add_training(parser)
    parser.set_defaults(model=name, recipe=recipe, **recipe.defaults)


def _add_data(kinds: str, *columns: tuple[str, str | None, str]) -> Callable[[Any], None]:
    def add(group: Any) -> None:
        group.add_argument("--data", required=True, metavar="FILE", help=kinds)
        group.add_argument("--val", metavar="FILE", help="held-out data (default: a tenth of --data)")
        for name, default, about in columns:
            group.add_argument(f"--{name}-column", default=default, metavar="NAME", help=about)

    return add


def _add_images(group: Any) -> None:
    group.add_argument(
        "--images",
        required=True,
        metavar="FOLDER",
        help="with a subfolder of images for each class: pets/cat/1.jpg",
    )


def _planned(args: Arguments, origin: Origin, data: Any, sha256: str = "") -> Dataset:
    """Put data and plan together, with a hash over both; that of the data may be known."""
    plan = Plan(origin, args.lora, getattr(args, "max_seq_len", None))
    return Dataset((data, plan), tuning.fingerprint([sha256] if sha256 else data, origin.sha256))


def _read_rows(
    args: Arguments, read: Callable[[str], list[Any]], labels: Callable[[Any], list[str]]
) -> Dataset:
    rows = read(args.data)
    train, test = (rows, read(args.val)) if args.val else split_examples(rows, args.data)
    names = names_of([label for row in rows for label in labels(row)])
    if len(names) == 1:
        raise ValueError(f"{args.data} has one label, {names[0]!r}; there is nothing to tell apart")
    unknown = {label for row in test for label in labels(row)} - set(names)
    if unknown:
        raise ValueError(f"{args.val} has the label {min(unknown)!r}, which {args.data} does not have")
    return _planned(args, Origin.of(args.init_from), Rows(train, test, names))


def _read_classifier(args: Arguments) -> Dataset:
    texts = [args.text_column, *filter(None, [args.pair_column])]
    return _read_rows(
        args, lambda path: read_examples(path, texts, args.label_column), lambda row: [row.label]
    )


def _read_tagger(args: Arguments) -> Dataset:
    return _read_rows(
        args, lambda path: read_tagged(path, args.word_column, args.tag_column), lambda row: list(row.tags)
    )


def _read_reader(args: Arguments) -> Dataset:
    columns = (args.question_column, args.context_column, args.answer_column)
    return _read_rows(args, lambda path: read_questions(path, columns), lambda row: [])


def _read_gpt(args: Arguments) -> Dataset:
    corpus, sha256 = read_text(args.text, args.column)
    origin = Origin.of(args.init_from).require((GPT, Llama), "only a GPT or a Llama goes on with a text")
    if origin.tokenizer is None:
        raise ValueError(f"{args.init_from} has no tokenizer: put that of the model beside it")
    return _planned(args, origin, corpus, sha256)


def _read_vit(args: Arguments) -> Dataset:
    origin = Origin.of(args.init_from).require(ViT, "only a ViT classifies images")
    config = origin.model.config
    train, test, labels = read_images(args.images, config.image_size).data
    parts = [part._replace(images=prepared(part.images, config)) for part in (train, test)]
    return _planned(args, origin, (*parts, labels))


def _read_transformer(args: Arguments) -> Dataset:
    pairs = read_pairs(args.pairs, args.target, args.columns, drop_broken=bool(args.drop_broken)).data
    origin = Origin.of(args.init_from).require(Transformer, "only a Transformer translates")
    if not set(SPECIAL) <= set(getattr(origin.tokenizer, "special_ids", ())):
        raise ValueError(
            f"{args.init_from} was not made by pioneers train transformer: no {', '.join(SPECIAL)}"
        )
    return _planned(args, origin, pairs)


def _tuning(about: str, next_command: str, add_source: Any, read: Any, build: Any, **defaults: Any) -> Tuning:
    return Tuning(
        about=about,
        next_command=next_command,
        defaults={"steps": 300, "batch_size": 16, "lr": 3e-4} | defaults,
        add_source=add_source,
        read=read,
        build=lambda data, plan, context: build(data[0], plan, context),
    )


TABLE = "a CSV, TSV or JSON lines file, plain or .gz"
TUNINGS = {
    "gpt": _tuning(
        "Go on training a GPT or a Llama on a text, with its own tokenizer.",
        'pioneers generate {out} --prompt "The "',
        add_text,
        _read_gpt,
        tuning.language_model,
    ),
    "classifier": _tuning(
        "Put a new head on a BERT and train both to classify texts, or pairs of texts. Where a CSV or TSV\n"
        "does not name its columns, give their numbers, from 1 on. The labels are kept in the model.",
        'pioneers classify {out} "..."',
        _add_data(
            TABLE,
            ("text", "text", "the texts"),
            ("pair", None, "their second texts, if there are two"),
            ("label", "label", "the labels"),
        ),
        _read_classifier,
        tuning.text_classifier,
    ),
    "tagger": _tuning(
        "Put a new head on a BERT and train both to tag words. Columns go by name in CoNLL-U, in JSON\n"
        "lines, and where a line '# global.columns = ...' names them; else by number, from 1 on.",
        'pioneers tag {out} "..."',
        _add_data(
            "a word a line, .conllu or .conll, or JSON lines with lists",
            ("word", None, "the words (default: form, tokens or the first)"),
            ("tag", None, "the tags (default: upos, tags or the last)"),
        ),
        _read_tagger,
        tuning.word_tagger,
    ),
    "reader": _tuning(
        "Put a new head on a BERT and train both to find the answer to a question in a text. An empty\n"
        "answer says that the text has none.",
        'pioneers answer {out} --question "..." --context "..."',
        _add_data(
            f"SQuAD's JSON, or {TABLE}",
            ("question", "question", "the questions"),
            ("context", "context", "the texts"),
            ("answer", "answer", "the answers, as they are in the texts"),
        ),
        _read_reader,
        tuning.question_reader,
    ),
    "vit": _tuning(
        "Train a ViT on the images of a folder, scaled to the size it reads. If the classes are others\n"
        "than before, it gets a new head. One image in ten is held out.",
        "pioneers classify {out} IMAGE",
        _add_images,
        _read_vit,
        tuning.image_classifier,
    ),
    "transformer": _tuning(
        "Go on training a Transformer on pairs, with its own tokenizer. The last tenth is held out.",
        'pioneers translate {out} "..."',
        add_pairs,
        _read_transformer,
        tuning.translator,
    ),
}

"""The options of ``pioneers train MODEL``, and the training configuration they ask for."""

from argparse import BooleanOptionalAction, Namespace
from typing import Any

from pioneers.cli.parser import Parser, non_negative_float, non_negative_int, positive_int
from pioneers.cli.recipes import RECIPES
from pioneers.cli.train_help import EXAMPLES, RESULTS
from pioneers.training import TrainConfig
from pioneers.training.config import SCHEDULES


def add_options(name: str, parser: Parser) -> None:
    """Add the options of ``pioneers train NAME``, in groups."""
    recipe = RECIPES[name]
    parser.description = recipe.about
    parser.epilog = f"examples:\n{EXAMPLES[name]}\n{RESULTS}"
    recipe.add_source(parser.add_argument_group("what to learn from"))
    add_results(parser)
    sizes = parser.add_argument_group("the model", "Sizes default to those of the preset.")
    sizes.add_argument("--preset", choices=recipe.config.presets, help=recipe.about_presets())
    sizes.add_argument("--d-model", type=positive_int, metavar="D", help="width")
    sizes.add_argument("--num-layers", type=positive_int, metavar="N", help="blocks in each stack")
    sizes.add_argument(
        "--num-heads", type=positive_int, metavar="H", help="heads; they must divide the width"
    )
    sizes.add_argument(
        "--dropout",
        type=non_negative_float,
        metavar="P",
        help="fraction of values set to 0 in training, such as 0.1",
    )
    if name == "vit":
        sizes.add_argument(
            "--patch-size", type=positive_int, metavar="N", help="pixels (default: about a seventh)"
        )
    else:
        sizes.add_argument(
            "--seq-len",
            dest="max_seq_len",
            type=positive_int,
            metavar="T",
            help="longest sequence, in tokens",
        )
    add_training(parser)
    parser.set_defaults(model=name, recipe=recipe, **recipe.defaults)


def add_training(parser: Parser) -> None:
    """Add the options of the training itself."""
    training = parser.add_argument_group("the training")
    _add_steps(training)
    _add_speed(training)
    _add_records(training)
    parser.set_defaults(names={action.dest: option for option, action in parser.options().items()})


def add_results(parser: Parser) -> None:
    """Add the options of where the results go, and of where options come from."""
    option = parser.add_argument_group("the results").add_argument
    option("--out", required=True, metavar="FOLDER", help="created if missing")
    option(
        "--config",
        metavar="FILE",
        help="take options from a YAML file, such as the run.yaml of a run; those given here win",
    )
    option(
        "--dry-run", action="store_true", help="print size, memory, operations and time, and write nothing"
    )
    option(
        "--tensorboard",
        action=BooleanOptionalAction,
        default=False,
        help="also write the numbers for TensorBoard, which must be installed",
    )


def _add_steps(group: Any) -> None:
    option = group.add_argument
    option("--steps", type=positive_int, metavar="N", help="updates of the weights")
    option(
        "--batch-size",
        type=positive_int,
        metavar="B",
        help="sequences, pairs or images in one update, over all processes",
    )
    option(
        "--lr",
        type=non_negative_float,
        metavar="X",
        help="peak learning rate, after the warm-up",
    )
    option(
        "--schedule",
        default="cosine",
        choices=SCHEDULES,
        help="of the learning rate after its peak; a run with a constant one can be made longer",
    )
    option(
        "--cooldown-steps",
        type=non_negative_int,
        default=0,
        metavar="N",
        help="of a constant learning rate: last steps, in which it falls to 0",
    )
    option(
        "--warmup-steps",
        type=non_negative_int,
        metavar="N",
        help="steps to the peak (default: a tenth of --steps)",
    )
    option("--weight-decay", type=non_negative_float, default=0.1, metavar="X", help="of AdamW, on matrices")


def _add_speed(group: Any) -> None:
    option = group.add_argument
    option(
        "--accumulate",
        type=positive_int,
        default=1,
        metavar="N",
        help="split each batch into N parts to save memory; the update is the same",
    )
    option(
        "--compile",
        action=BooleanOptionalAction,
        default=False,
        help="compile the model by torch.compile: minutes to begin, then faster steps",
    )
    option(
        "--shard",
        action=BooleanOptionalAction,
        default=False,
        help="under torchrun: divide the model itself over the processes, not only the batch",
    )
    option(
        "--precision",
        default="auto",
        choices=("auto", "fp32", "bf16", "fp16"),
        help="auto is bf16 if the processor supports it, fp16 on older CUDA cards, else fp32",
    )


def _add_records(group: Any) -> None:
    option = group.add_argument
    option(
        "--patience",
        type=positive_int,
        metavar="N",
        help="stop after N evaluations without a new best (default: never)",
    )
    option("--seed", type=non_negative_int, default=0, metavar="N", help="random seed")
    option(
        "--log-every",
        type=positive_int,
        metavar="N",
        help="steps between evaluations, each a line of metrics.jsonl (default: --steps / 25)",
    )
    option(
        "--checkpoint-every", type=positive_int, default=100, metavar="N", help="steps between checkpoints"
    )


def train_config(args: Namespace) -> TrainConfig:
    """Make the training configuration that the options ask for.

    Raises:
        ValueError: options do not go together.
    """
    if args.cooldown_steps and args.schedule != "constant":
        raise ValueError("--cooldown-steps goes with --schedule constant: give both or neither")
    if args.cooldown_steps > args.steps:
        raise ValueError(
            f"--cooldown-steps {args.cooldown_steps} is more than --steps {args.steps}; give less"
        )
    return TrainConfig(
        max_steps=args.steps,
        lr=args.lr,
        warmup_steps=args.warmup_steps,
        schedule=args.schedule,
        cooldown_steps=args.cooldown_steps,
        weight_decay=args.weight_decay,
        accumulate=args.accumulate,
        compile=args.compile,
        shard=args.shard,
        precision=args.precision,
        patience=args.patience,
        seed=args.seed,
        log_every=args.log_every,
        checkpoint_every=args.checkpoint_every,
        watch="val_loss",
    )

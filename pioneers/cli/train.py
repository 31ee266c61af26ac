"""``pioneers train``: train a model on a text, pairs or images; interrupted runs resume."""

import functools
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch
from torch import nn

from pioneers.cli.parser import Parser
from pioneers.cli.recipes import RECIPES, Recipe
from pioneers.cli.run_folder import LEFT_OUT, RunFolder
from pioneers.cli.tasks import RunContext, Task
from pioneers.cli.train_help import EXAMPLES, SUMMARIES
from pioneers.cli.train_options import add_options, train_config
from pioneers.device import autocast, best_device, seed_everything
from pioneers.training import TrainConfig, best_path, fit, load_weights, saved_step
from pioneers.training.checkpoint import saved_progress
from pioneers.training.distributed import broadcast_object, init_process_group, is_distributed, rank
from pioneers.training.loop import exhausted
from pioneers.training.metrics import Row
from pioneers.weights import save_pretrained

T = TypeVar("T")

OTHERWISE = "give a lower --lr, more --warmup-steps or --precision fp32, and another --out"
UNLIKE = (
    "run",
    "out",
    "text",
    "pairs",
    "images",
    "model",
    "shard",
)  # options that may change when a run resumes


def add_arguments(parser: Parser) -> None:
    """Add one subcommand per model."""
    parser.description = "Train a model. The result is a folder, which the other commands read."
    parser.epilog = "examples:\n" + "\n".join(text.split("\n")[0] for text in EXAMPLES.values())
    models = parser.add_subparsers(title="models", metavar="MODEL", required=True)
    for name, summary in SUMMARIES.items():
        models.add_parser(name, help=summary, fill=functools.partial(add_options, name))


def run(args: Namespace) -> int:
    """Train, or resume training."""
    if args.shard and not is_distributed():
        raise ValueError(
            "--shard divides the model over several processes, and there is one: start them with "
            "torchrun --nproc-per-node N -m pioneers train ..., or leave out --shard"
        )
    recipe = RECIPES[args.model]
    device = best_device()
    init_process_group(device)
    config = train_config(args)
    folder, task = _first_process_first(lambda: _prepare(args, recipe, device))
    try:
        _announce(folder, task, config, device)
        history = _train(folder, task, config, device)
        _conclude(args, recipe, folder, history)
    finally:
        folder.lock.release()
    return 0


def _train(folder: RunFolder, task: Task, config: TrainConfig, device: torch.device) -> list[Row]:
    """Run the training loop and save the best model in the folder."""

    def evaluate(model: nn.Module) -> dict[str, float]:
        with autocast(device, config.precision):
            return task.evaluate(model)

    try:
        history = fit(
            task.model,
            task.loss_fn,
            task.batches,
            config,
            evaluate=evaluate,
            checkpoint=folder.checkpoint,
            metrics=folder.metrics,
            count=task.count,
        )
    except KeyboardInterrupt:
        if folder.checkpoint.exists() and not is_distributed():  # several processes stop at different steps
            _save_best(folder, task)
        raise KeyboardInterrupt(_how_to_go_on(folder, config.max_steps)) from None
    except FloatingPointError as error:
        what = str(error).split(":")[0]
        raise FloatingPointError(f"{what}. The same command would fail there again: {OTHERWISE}") from error
    _save_best(folder, task)
    return history


def _save_best(folder: RunFolder, task: Task) -> None:
    load_weights(best_path(folder.checkpoint), task.model)
    save_pretrained(task.model, folder.path)


def _prepare(args: Namespace, recipe: Recipe, device: torch.device) -> tuple[RunFolder, Task]:
    """Do everything that can fail before training, cheapest first; then claim the folder."""
    dataset = recipe.read(args)
    config = recipe.configure(args, dataset.data)
    asked = {name: value for name, value in vars(args).items() if name not in UNLIKE}
    asked["seq_len"] = asked.pop("max_seq_len", None)
    folder = RunFolder(Path(args.out), {"model": args.model, **asked, "data": dataset.sha256})
    seed_everything(args.seed)
    names = ("batch_size", "seed", "shard", "tokenizer", "drop_long")
    how = {name: getattr(args, name) for name in names if hasattr(args, name)}
    context = RunContext(folder=folder, device=device, **how)
    task = recipe.build(dataset.data, config, context)
    folder.claim(task.tokenizer, task.left_out)
    return folder, task


def _first_process_first(make: Callable[[], T]) -> T:
    """Call ``make`` in every process, in the first one first: the others find what it wrote."""
    if rank() == 0:
        made = make()
    broadcast_object(None)
    return made if rank() == 0 else make()


def _announce(folder: RunFolder, task: Task, config: TrainConfig, device: torch.device) -> None:
    saved = broadcast_object(saved_progress(folder.checkpoint))
    size = sum(p.numel() for p in task.model.parameters())
    _say(f"{type(task.model).__name__} of {size:,} parameters on {device}, trained on {task.size_text}")
    for why, lines in task.left_out.items():
        if lines:
            _say(f"left out {len(lines):,} {why} pair{'s' * (len(lines) != 1)}: {folder.path / LEFT_OUT}")
    if saved is None:
        _say(f"starts in {folder.path}")
    elif saved["step"] == config.max_steps:
        _say(f"has already made all {config.max_steps} steps in {folder.path}")
    elif exhausted(saved["history"], config):
        _say(f"had stopped early in {folder.path}, after step {saved['step']}: --patience {config.patience}")
    else:
        _say(f"resumes in {folder.path} after step {saved['step']} of {config.max_steps}")


def _how_to_go_on(folder: RunFolder, steps: int) -> str:
    done = saved_step(folder.checkpoint)
    if done is None:
        return "interrupted before anything was saved; the same command starts again"
    return f"interrupted; {done} of {steps} steps are in {folder.path}: the same command resumes from there"


def _conclude(args: Namespace, recipe: Recipe, folder: RunFolder, history: list[Row]) -> None:
    """Draw the curve and report the result."""
    if rank() > 0:
        return
    best = min(history, key=lambda row: row["val_loss"])
    numbers = ", ".join(f"{name} {best[name]:.3f}" for name in ("val_loss", "accuracy") if name in best)
    _say(f"best after step {best['step'] + 1}: {numbers}")
    _say(_draw_curve(history, folder.path / "curve.png"))
    _say(f"the model is in {folder.path}")
    if recipe.next_command:
        _say(f"try: {recipe.next_command.format(out=args.out)}")


def _draw_curve(history: list[Row], path: Path) -> str:
    try:
        import matplotlib
    except ImportError:
        return "no curve, because matplotlib is not installed: pip install matplotlib"
    matplotlib.use("Agg")
    from matplotlib import pyplot

    from pioneers.analysis.plots import plot_history, use_book_style

    with pyplot.rc_context():
        use_book_style()
        figure, ax = pyplot.subplots()
        plot_history(ax, history, "loss", "val_loss")
        figure.savefig(path)
        pyplot.close(figure)
    return f"the curve is {path}"


def _say(line: str) -> None:
    if rank() == 0:
        print(line, flush=True)

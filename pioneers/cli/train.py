"""``pioneers train``: train a model on a text, pairs or images; interrupted runs resume."""

import functools
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import torch
from torch import nn

from pioneers.cli.commands import one_line
from pioneers.cli.dry_run import dry_run
from pioneers.cli.parser import Parser
from pioneers.cli.prepare import prepare
from pioneers.cli.recipes import Recipe
from pioneers.cli.run_folder import LEFT_OUT, RunFolder
from pioneers.cli.stopping import PeerEnded, Terminated, terminable
from pioneers.cli.tasks import Task
from pioneers.cli.train_help import EXAMPLES, SUMMARIES
from pioneers.cli.train_options import add_options
from pioneers.device import autocast, best_device
from pioneers.training import TrainConfig, best_path, fit, load_weights, saved_step
from pioneers.training.checkpoint import saved_progress
from pioneers.training.distributed import (
    broadcast_object,
    gather,
    init_process_group,
    is_distributed,
    leave_process_group,
    lost_peer,
    rank,
)
from pioneers.training.loop import exhausted
from pioneers.training.metrics import Row, summary_writer
from pioneers.training.resume import checkpoint_to_resume

T = TypeVar("T")

OTHERWISE = "give a lower --lr, more --warmup-steps or --precision fp32, and another --out"
ANOTHER = "another process of the run has ended"


def add_arguments(parser: Parser) -> None:
    """Add one subcommand per model."""
    parser.description = "Train a model. The result is a folder, which the other commands read."
    parser.epilog = "examples:\n" + "\n".join(text.split("\n")[0] for text in EXAMPLES.values())
    models = parser.add_subparsers(title="models", metavar="MODEL", required=True)
    for name, summary in SUMMARIES.items():
        models.add_parser(name, help=summary, fill=functools.partial(add_options, name))


def run(args: Namespace) -> int:
    """Train, or resume training."""
    _check_processes(args)
    device = best_device()
    init_process_group(device)
    with terminable():
        if args.dry_run:
            dry_run(args, device)
            return 0
        try:
            folder, task, config = _first_process_first(lambda: _prepare(args, device))
        except RuntimeError as error:
            raise (PeerEnded(f"{ANOTHER}; its own line says why") if lost_peer(error) else error) from None
        try:
            _announce(folder, task, config, device)
            history = _train(args, folder, task, config, device)
            _conclude(args, args.recipe, folder, history)
        finally:
            folder.lock.release()
    return 0


def _check_processes(args: Namespace) -> None:
    if args.shard and not is_distributed():
        raise ValueError(
            "--shard divides the model over several processes, and there is one: start them with "
            "torchrun --nproc-per-node N -m pioneers train ..., or leave out --shard"
        )
    if args.dry_run and is_distributed():
        raise ValueError("--dry-run measures one process; leave out torchrun")
    if args.tensorboard:
        summary_writer()


def _train(
    args: Namespace, folder: RunFolder, task: Task, config: TrainConfig, device: torch.device
) -> list[Row]:
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
            tensorboard=folder.path / "tensorboard" if args.tensorboard else None,
            count=task.count,
        )
    except (KeyboardInterrupt, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not (Terminated.asked or lost_peer(error)):
            raise (_compiler_missing(error) if args.compile else error) from None
        raise _stopped(error, args, folder, task) from None
    except FloatingPointError as error:
        what = str(error).split(":")[0]
        raise FloatingPointError(f"{what}. The same command would fail there again: {OTHERWISE}") from error
    _save_best(folder, task)
    return history


def _stopped(error: BaseException, args: Namespace, folder: RunFolder, task: Task) -> BaseException:
    """Say what is left of a run that did not end, and save its model if this process can do so alone."""
    first = rank() == 0
    leave_process_group()
    if first and folder.checkpoint.exists() and not args.shard:
        _save_best(folder, task)
    if Terminated.asked:
        return Terminated(_how_to_go_on(folder, args.steps, "terminated"))
    if isinstance(error, KeyboardInterrupt):
        return KeyboardInterrupt(_how_to_go_on(folder, args.steps, "interrupted"))
    return PeerEnded(_how_to_go_on(folder, args.steps, ANOTHER))


def _compiler_missing(error: RuntimeError) -> RuntimeError:
    from torch._dynamo.exc import TorchDynamoException

    if not isinstance(error, TorchDynamoException):
        return error
    reason = str(error).strip().splitlines()[0]
    return RuntimeError(
        f"--compile failed ({reason}): install a C++ compiler, such as g++, or leave out --compile, and give "
        f"another --out"
    )


def _save_best(folder: RunFolder, task: Task) -> None:
    load_weights(best_path(folder.checkpoint), task.model)
    task.save(task.model, folder.path)


def _prepare(args: Namespace, device: torch.device) -> tuple[RunFolder, Task, TrainConfig]:
    folder, task, _, training = prepare(args, device)
    folder.claim(task.tokenizer, task.left_out)
    return folder, task, training


def _first_process_first(make: Callable[[], T]) -> T:
    """Call ``make`` in every process, in the first one first: the others find what it wrote.

    If it fails anywhere, all processes end, and the first one says why.
    """
    made, error = _attempt(make) if rank() == 0 else (None, None)
    failed = broadcast_object(error is not None)
    if rank() > 0 and not failed:
        made, error = _attempt(make)
    errors = gather(None if error is None else one_line(error))
    if error is not None and rank() == 0:
        raise error
    for number, text in enumerate(errors):
        if text is not None and rank() == 0:
            raise ValueError(f"process {number}: {text}")
    if any(errors):
        raise SystemExit(1)
    return cast(T, made)


def _attempt(make: Callable[[], T]) -> tuple[T | None, Exception | None]:
    try:
        return make(), None
    except Exception as error:
        return None, error


def _announce(folder: RunFolder, task: Task, config: TrainConfig, device: torch.device) -> None:
    found = checkpoint_to_resume(folder.checkpoint, config)
    saved = broadcast_object(None if found is None else saved_progress(found))
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


def _how_to_go_on(folder: RunFolder, steps: int, why: str) -> str:
    done = saved_step(folder.checkpoint)
    if done is None:
        return f"{why} before anything was saved; the same command starts again"
    return f"{why}; {done} of {steps} steps are in {folder.path}: the same command resumes from there"


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

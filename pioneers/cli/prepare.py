"""From the arguments of ``pioneers train`` to a folder, a task and a configuration."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import torch

from pioneers.cli.config_file import NOT_SETTINGS, check_data
from pioneers.cli.run_context import RunContext
from pioneers.cli.run_folder import RunFolder, has_trained, saved_settings
from pioneers.cli.tasks import Task
from pioneers.cli.train_options import train_config
from pioneers.config import Config
from pioneers.device import seed_everything
from pioneers.training import TrainConfig


def prepare(
    args: Namespace, device: torch.device, kind: type[RunFolder] = RunFolder
) -> tuple[RunFolder, Task, Config, TrainConfig]:
    """Do everything that can fail before training, cheapest first.

    Args:
        args: the arguments.
        device: where to train.
        kind: of the folder.

    Returns:
        The folder, not yet claimed, the task, and the configurations of the model and of training.
    """
    _complete(args)
    training = train_config(args)
    recipe = args.recipe
    dataset = recipe.read(args)
    check_data(args, dataset.sha256)
    config = recipe.configure(args, dataset.data)
    folder = kind(Path(args.out), _settings(args) | {"sha256": dataset.sha256}, training)
    seed_everything(args.seed)
    names = ("batch_size", "seed", "shard", "tokenizer", "drop_long")
    how = {name: getattr(args, name) for name in names if hasattr(args, name)}
    context = RunContext(folder=folder, device=device, **how)
    return folder, recipe.build(dataset.data, config, context), config, training


def _complete(args: Namespace) -> None:
    """Fill in what depends on ``--steps``; a run that is made longer keeps what it began with."""
    folder = Path(args.out)
    saved = (saved_settings(folder) or {}) if has_trained(folder) else {}
    if saved.get("steps") == args.steps:
        saved = {}
    by_default = {"warmup_steps": args.steps // 10, "log_every": max(1, args.steps // 25)}
    for name, value in by_default.items():
        if getattr(args, name) is None:
            setattr(args, name, saved.get(name, value))


def _settings(args: Namespace) -> dict[str, Any]:
    """Return the options by name, as in the command line."""
    given = {name: getattr(args, dest) for dest, name in args.names.items() if name not in NOT_SETTINGS}
    return {"model": args.model, **given}

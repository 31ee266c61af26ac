"""The training loop, written out. It knows no model: it needs only a loss function and batches."""

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from pioneers.device import autocast, best_device, seed_everything
from pioneers.progress import progress
from pioneers.training.checkpoint import load_checkpoint, save_checkpoint, save_weights
from pioneers.training.config import TrainConfig
from pioneers.training.distributed import (
    all_reduce_sum,
    broadcast_object,
    init_process_group,
    is_distributed,
    rank,
)
from pioneers.training.metrics import MetricsFile, Row, Speed
from pioneers.training.resume import best_path, checkpoint_to_resume, copy_best, stable_path
from pioneers.training.train_step import LossFunction, TrainStep, count_rows

Evaluate = Callable[[nn.Module], dict[str, float]]


def fit(
    model: nn.Module,
    loss_fn: LossFunction,
    batches: Callable[[int], Any],
    config: TrainConfig,
    *,
    evaluate: Evaluate | None = None,
    checkpoint: str | Path | None = None,
    metrics: str | Path | None = None,
    tensorboard: str | Path | None = None,
    count: Callable[[Any], int] = count_rows,
) -> list[Row]:
    """Train a model in place with AdamW and return the history, with one row per ``log_every`` steps.

    Under ``torchrun`` every process trains on its part of each batch, and the result is that of one process
    with the full batch; the same script works for both. The model is left in eval mode, and the global random
    generators of Python, NumPy and torch are seeded with ``config.seed`` plus the rank of the process. The
    environment variable ``TQDM_DISABLE`` turns the progress bar off.

    Args:
        model: already on its device; with ``config.shard`` it may still be on the CPU and larger than a card.
        loss_fn: model and batch → scalar loss.
        batches: step → batch, on the model's device. Because a batch depends on the step alone, a resumed run
            sees exactly the batches the interrupted one would have seen. Every process receives full batches.
        config: see :class:`TrainConfig`.
        evaluate: called at every logged step with the model in eval mode; its numbers go into the history.
        checkpoint: file to save to every ``checkpoint_every`` steps and at the end. If it exists, training
            resumes from it, on a CPU bit for bit as if it had never stopped. With ``config.watch``, the
            weights of the best row are saved beside it, see :func:`best_path`. A finished run whose schedule
            is constant goes on when ``config.max_steps`` is raised; a cool-down is then taken back first.
        metrics: file to which each row is appended at once, as a line of JSON, with learning rate and speed;
            a resumed run continues it, a new run overwrites it. Read by :func:`read_metrics`.
        tensorboard: folder to which each row is also written for TensorBoard, if that is installed.
        count: batch → number of terms its loss is a mean over, which weighs the parts of a split batch: its
            rows, unless the loss ignores padding or the like.

    Returns:
        A row for every ``log_every``-th step from 0 on, and for the last: ``step``; ``loss``, that of the
        step's batch alone, before the update; ``grad_norm``, the length of its gradient before clipping; and
        the numbers of ``evaluate``, after the update. A resumed run returns the earlier rows too.

    Raises:
        FloatingPointError: the loss or the gradient is no longer finite; the last good checkpoint is kept.
        ValueError: the checkpoint is damaged or belongs to another model or training configuration, a batch
            has too few rows to be split, or ``evaluate`` does not give what ``config.watch`` names.
        ModuleNotFoundError: ``tensorboard`` is given, and TensorBoard is not installed.
        OSError: the checkpoint or the metrics cannot be written; the message names the file.

    Example:
        >>> def loss_fn(model, x):
        ...     return (model(x) - 3 * x).square().mean()
        >>> recipe = TrainConfig(max_steps=100, lr=0.1, weight_decay=0.0, precision="fp32")
        >>> history = fit(nn.Linear(1, 1), loss_fn, lambda step: torch.ones(4, 1), recipe)
        >>> history[-1]["loss"] < 0.1 * history[0]["loss"]
        True
    """
    # long: a training loop is easiest to understand in one piece
    device = best_device() if config.shard and is_distributed() else next(model.parameters()).device
    init_process_group(device)
    seed_everything(config.seed + rank())
    train_step = TrainStep(model, loss_fn, config, count, device)
    first, history = _resume(checkpoint, model, train_step, config)
    file, speed = MetricsFile(metrics, history, tensorboard), Speed()
    bar = _bar(range(first, 0 if exhausted(history, config) else config.max_steps), config)
    model.train()
    for step in bar:
        if config.cooldown_steps and step == config.max_steps - config.cooldown_steps:
            _save_stable(checkpoint, model, train_step, history, config, step)
        batch = batches(step)
        loss, grad_norm = train_step(batch, step)
        speed.add(batch)
        last = step + 1 == config.max_steps
        log = last or step % config.log_every == 0
        save = checkpoint is not None and (last or (step + 1) % config.checkpoint_every == 0)
        if log or save:
            value, norm = _finite(all_reduce_sum(loss).item(), grad_norm.item(), train_step, step)
        if log:
            rate = speed.rate()
            bar.set_postfix(loss=f"{value:.3f}", **{unit: f"{r:,.0f}" for unit, r in rate.items()})
            row = {"step": step, "loss": value, "grad_norm": norm}
            history.append(row | _evaluate(model, evaluate, config))
            file.write(history[-1] | {"lr": config.lr_at(step)} | rate)
            _keep_best(checkpoint, model, history, config)
        stop = log and exhausted(history, config)
        if save or (stop and checkpoint is not None):
            _save(checkpoint, model, train_step, history, config, step + 1)
        if stop:
            break
        if log:
            speed.restart()
    model.eval()
    return history


def _resume(
    path: str | Path | None, model: nn.Module, train_step: TrainStep, config: TrainConfig
) -> tuple[int, list[Row]]:
    found = None if path is None else broadcast_object(checkpoint_to_resume(path, config))
    if path is None or found is None:
        return 0, []
    saved = load_checkpoint(found, model, train_step.optimizer)
    if found != Path(path) and rank() == 0:
        copy_best(found, path)
    if saved.get("scaler"):
        train_step.scaler.load_state_dict(saved["scaler"])
    return saved["step"], saved["history"]


def _save(
    path: str | Path | None,
    model: nn.Module,
    train_step: TrainStep,
    history: list[Row],
    config: TrainConfig,
    step: int,
) -> None:
    done = {"step": step, "history": history, "config": dataclasses.asdict(config)}
    assert path is not None
    save_checkpoint(path, model, train_step.optimizer, done | {"scaler": train_step.scaler.state_dict()})


def _save_stable(path: str | Path | None, *state: Any) -> None:
    """Keep the checkpoint from before the cool-down, from which the run can be made longer."""
    if path is not None:
        _save(stable_path(path), *state)
        if rank() == 0:
            copy_best(path, stable_path(path))


def _finite(loss: float, grad_norm: float, train_step: TrainStep, step: int) -> tuple[float, float]:
    numbers = {"loss": loss, "gradient": grad_norm}
    if train_step.scaler.is_enabled():  # it skips a step with such a gradient
        del numbers["gradient"]
    for name, value in numbers.items():
        if not math.isfinite(value):
            raise FloatingPointError(
                f"the {name} is {value} at step {step}: "
                f"lower lr, lengthen the warm-up, or train in precision='fp32'"
            )
    return loss, grad_norm


def _evaluate(model: nn.Module, evaluate: Evaluate | None, config: TrainConfig) -> dict[str, float]:
    numbers: dict[str, float] = {}
    if evaluate is not None:
        model.eval()
        gathered = config.precision if config.shard and is_distributed() else "fp32"  # see shard()
        with torch.no_grad(), autocast(best_device(), gathered):
            numbers = broadcast_object(evaluate(model))
        model.train()
    if config.watch is not None and config.watch not in numbers:
        raise ValueError(
            f"config.watch is {config.watch!r} and evaluate gives {', '.join(numbers) or 'nothing'}: "
            f"let evaluate return that number, or watch another one"
        )
    return numbers


def _bar(steps: range, config: TrainConfig) -> Any:
    quiet = {"disable": True} if rank() else {}
    return progress(steps, initial=steps.start, total=config.max_steps, desc="training", **quiet)


def _best_row(history: list[Row], config: TrainConfig) -> int:
    return min(range(len(history)), key=lambda i: history[i][str(config.watch)])


def _keep_best(
    checkpoint: str | Path | None, model: nn.Module, history: list[Row], config: TrainConfig
) -> None:
    if checkpoint is None or config.watch is None:
        return
    if _best_row(history, config) == len(history) - 1:
        save_weights(best_path(checkpoint), model)


def exhausted(history: list[Row], config: TrainConfig) -> bool:
    """Return True if ``patience`` rows have passed since the best one."""
    if config.patience is None or not history:
        return False
    return len(history) - 1 - _best_row(history, config) >= config.patience

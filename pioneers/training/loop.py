"""The training loop, in the open. It knows no model: a loss function and a source of batches are enough."""

import dataclasses
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from pioneers.config import Config
from pioneers.device import autocast, seed_everything
from pioneers.optim import cosine, decay_groups
from pioneers.training.checkpoint import load_checkpoint, save_checkpoint

HIDE_BAR = bool(os.environ.get("TQDM_DISABLE"))  # tqdm's bar for notebooks does not read it by itself


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainConfig(Config):
    """How to train. One step is one update of the weights.

    Attributes:
        max_steps: number of updates.
        lr: peak learning rate; warm-up is linear, then a cosine leads to ``lr * min_lr_factor``.
        warmup_steps: length of the warm-up.
        min_lr_factor: what is left of the learning rate at the end, as a factor.
        weight_decay: AdamW's, on matrices only.
        betas: AdamW's.
        clip_norm: longest gradient let through; longer ones are scaled down to it.
        precision: see :func:`pioneers.device.autocast`.
        log_every: steps between two rows of the history.
        checkpoint_every: steps between two checkpoints, when a path is given.
        seed: of dropout and whatever else draws random numbers in training.
    """

    max_steps: int
    lr: float = 1e-3
    warmup_steps: int = 0
    min_lr_factor: float = 0.0
    weight_decay: float = 0.1
    betas: tuple[float, float] = (0.9, 0.95)
    clip_norm: float = 1.0
    precision: str = "auto"
    log_every: int = 10
    checkpoint_every: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        self._require_positive("max_steps", "log_every", "checkpoint_every")


def fit(
    model: nn.Module,
    loss_fn: Callable[[nn.Module, Any], Tensor],
    batches: Callable[[int], Any],
    config: TrainConfig,
    *,
    evaluate: Callable[[nn.Module], dict[str, float]] | None = None,
    checkpoint: str | Path | None = None,
) -> list[dict[str, float]]:
    """Train a model in place with AdamW and return the history, a row per ``log_every`` steps.

    Args:
        model: on its device already.
        loss_fn: model and batch → scalar loss.
        batches: step → batch, on the model's device. Because a batch depends on the step alone, a resumed run
            sees the very batches the interrupted one would have seen.
        config: see :class:`TrainConfig`.
        evaluate: called at every logged step with the model in eval mode; its numbers join the history.
        checkpoint: file to save to every ``checkpoint_every`` steps and at the end. If it exists, training
            goes on from it, bit for bit on a CPU as if it had never stopped.

    Raises:
        FloatingPointError: the loss is not a number any more; the last good checkpoint is kept.
        ValueError: the checkpoint is damaged or belongs to another model or training configuration.
    """
    seed_everything(config.seed)
    device = next(model.parameters()).device
    groups = decay_groups(model, config.weight_decay)
    optimizer = torch.optim.AdamW(groups, lr=config.lr, betas=config.betas, fused=True)
    progress = _resume(checkpoint, model, optimizer, config)
    first, history = progress["step"], progress["history"]
    model.train()
    steps = range(first, config.max_steps)
    bar = tqdm(steps, initial=first, total=config.max_steps, desc="training", disable=HIDE_BAR)
    for step in bar:
        _set_learning_rate(optimizer, config, step)
        with autocast(device, config.precision):
            loss = loss_fn(model, batches(step))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        grad_norm = nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
        optimizer.step()
        last = step + 1 == config.max_steps
        log = last or step % config.log_every == 0
        save = checkpoint is not None and (last or (step + 1) % config.checkpoint_every == 0)
        if log or save:
            value = _finite(loss.item(), step)
        if log:
            history.append({"step": step, "loss": value, "grad_norm": grad_norm.item()})
            history[-1] |= _evaluate(model, evaluate)
            bar.set_postfix(loss=f"{value:.3f}")
        if save:
            saved = {"step": step + 1, "history": history, "config": dataclasses.asdict(config)}
            save_checkpoint(checkpoint, model, optimizer, saved)
    model.eval()
    return history


def _set_learning_rate(optimizer: torch.optim.Optimizer, config: TrainConfig, step: int) -> None:
    factor = cosine(
        step, max_steps=config.max_steps, warmup_steps=config.warmup_steps, min_factor=config.min_lr_factor
    )
    for group in optimizer.param_groups:
        group["lr"] = config.lr * factor


def _resume(
    path: str | Path | None, model: nn.Module, optimizer: torch.optim.Optimizer, config: TrainConfig
) -> dict[str, Any]:
    if path is None or not Path(path).exists():
        return {"step": 0, "history": []}
    progress = load_checkpoint(path, model, optimizer)
    saved = TrainConfig.from_dict(progress["config"] | {"betas": tuple(progress["config"]["betas"])})
    changed = [
        f.name for f in dataclasses.fields(config) if getattr(saved, f.name) != getattr(config, f.name)
    ]
    if changed:
        raise ValueError(
            f"{path} was trained with another {', '.join(changed)}: resume with the same TrainConfig, "
            f"or give another checkpoint path to start afresh"
        )
    return progress


def _finite(loss: float, step: int) -> float:
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"the loss is {loss} at step {step}: lower lr, lengthen the warm-up, or train in precision='fp32'"
        )
    return loss


def _evaluate(model: nn.Module, evaluate: Callable[[nn.Module], dict[str, float]] | None) -> dict[str, float]:
    if evaluate is None:
        return {}
    model.eval()
    with torch.no_grad():
        numbers = evaluate(model)
    model.train()
    return numbers

"""Where a run goes on: at its last checkpoint or, to be made longer, at the one from before its cool-down."""

import dataclasses
import shutil
from pathlib import Path

from pioneers.training.checkpoint import saved_progress
from pioneers.training.config import TrainConfig

RENEWED = ("shard", "max_steps", "schedule", "cooldown_steps")  # may differ when a run goes on


def best_path(checkpoint: str | Path) -> Path:
    """Return the path of the best weights of the run with this ``checkpoint``, for :func:`load_weights`.

    Example:
        >>> best_path("runs/gpt.safetensors").as_posix()
        'runs/gpt.best.safetensors'
    """
    return _beside(checkpoint, "best")


def stable_path(checkpoint: str | Path) -> Path:
    """Return the path of the checkpoint that is kept from before the cool-down of a constant schedule.

    Example:
        >>> stable_path("runs/gpt.safetensors").as_posix()
        'runs/gpt.stable.safetensors'
    """
    return _beside(checkpoint, "stable")


def checkpoint_to_resume(path: str | Path, config: TrainConfig) -> Path | None:
    """Choose the file from which the run with the checkpoint ``path`` goes on with ``config``.

    Returns:
        the checkpoint, or the one from before its cool-down, or None for a new run.

    Raises:
        ValueError: a checkpoint is damaged, or the run was trained with settings that cannot go on so.
    """
    saved = saved_progress(path)
    if saved is None:
        return None
    theirs = TrainConfig.from_dict(saved["config"])
    _check_settings(path, theirs, config)
    if config.continues(theirs, saved["step"]):
        return Path(path)
    stable = saved_progress(stable_path(path))
    if stable is not None and config.continues(TrainConfig.from_dict(stable["config"]), stable["step"]):
        return stable_path(path)
    raise ValueError(
        f"{path} holds {saved['step']} steps with learning rates that {config.max_steps} would not have: "
        f"only a run with schedule='constant' can be made longer. Give max_steps={theirs.max_steps} and "
        f"schedule={theirs.schedule!r} as before, or another checkpoint path to start afresh"
    )


def copy_best(source: str | Path, target: str | Path) -> None:
    """Copy the best weights that lie beside one checkpoint to lie beside another."""
    if best_path(source).exists():
        partial = best_path(target).with_suffix(".partial")
        shutil.copyfile(best_path(source), partial)
        partial.replace(best_path(target))


def _beside(checkpoint: str | Path, what: str) -> Path:
    path = Path(checkpoint)
    return path.with_name(f"{path.stem}.{what}{path.suffix}")


def _check_settings(path: str | Path, theirs: TrainConfig, ours: TrainConfig) -> None:
    names = [field.name for field in dataclasses.fields(ours) if field.name not in RENEWED]
    changed = [name for name in names if getattr(theirs, name) != getattr(ours, name)]
    if changed:
        raise ValueError(
            f"{path} was trained with another {', '.join(changed)}: resume with the same TrainConfig, "
            f"or give another checkpoint path to start afresh"
        )

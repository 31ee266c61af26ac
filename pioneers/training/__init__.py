"""Training: the loop, its configuration, checkpoints and metrics, in one process or several."""

from pioneers.training.checkpoint import (
    load_checkpoint,
    load_weights,
    save_checkpoint,
    save_weights,
    saved_step,
)
from pioneers.training.config import TrainConfig
from pioneers.training.loop import fit
from pioneers.training.metrics import read_metrics
from pioneers.training.resume import best_path

__all__ = [
    "TrainConfig",
    "best_path",
    "fit",
    "load_checkpoint",
    "load_weights",
    "read_metrics",
    "save_checkpoint",
    "save_weights",
    "saved_step",
]

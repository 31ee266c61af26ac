"""Training: the loop and its checkpoints."""

from pioneers.training.checkpoint import load_checkpoint, save_checkpoint
from pioneers.training.loop import TrainConfig, fit

__all__ = ["TrainConfig", "fit", "load_checkpoint", "save_checkpoint"]

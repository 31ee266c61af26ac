"""The pioneers, one per file: each its configuration, its presets, itself."""

from pioneers.models.gpt import GPT, GPTConfig
from pioneers.models.vit import ViT, ViTConfig

__all__ = ["GPT", "GPTConfig", "ViT", "ViTConfig"]

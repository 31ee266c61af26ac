"""What the models that live in folders have in common."""

import os
from importlib import import_module
from typing import Self

from torch import nn


class Pretrained(nn.Module):
    """A model that can be written to a folder and read from one.

    :mod:`pioneers.weights` does both, and since it knows all models, it is looked up only when it is needed.

    Example:
        >>> import tempfile
        >>> from pioneers.models import GPT, GPTConfig
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     GPT(GPTConfig.preset("mini")).save_pretrained(folder)
        ...     GPT.from_pretrained(folder).config.d_model
        128
    """

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write the model to a folder: see :func:`pioneers.weights.save_pretrained`."""
        import_module("pioneers.weights").save_pretrained(self, folder)

    @classmethod
    def from_pretrained(cls, name_or_folder: str | os.PathLike[str]) -> Self:
        """Read a model of this class: see :func:`pioneers.weights.from_pretrained`, which reads any.

        Raises:
            ValueError: a model of another class is there.
        """
        model = import_module("pioneers.weights").from_pretrained(name_or_folder)
        if not isinstance(model, cls):
            found = type(model).__name__
            raise ValueError(
                f"{os.fspath(name_or_folder)} holds a {found}: read it with {found}.from_pretrained, or with "
                f"pioneers.weights.from_pretrained, which reads any model"
            )
        return model

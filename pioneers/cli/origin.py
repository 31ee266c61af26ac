"""The model that fine-tuning starts from, its adapters, and how the result is kept."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from pioneers.layers import add_lora, merge_lora
from pioneers.layers.lora import LoRALinear
from pioneers.models.bert import Encoder
from pioneers.tokenizers import WordPiece
from pioneers.weights import (
    from_pretrained,
    load_tokenizer,
    save_huggingface,
    save_pretrained,
    save_tokenizer,
)
from pioneers.weights.hub import MODEL_FILES, find_folder
from pioneers.weights.registry import layout_of

ADAPTED = ("*.q_proj", "*.v_proj")  # Hu et al. 2022, section 4.2


class Origin(NamedTuple):
    """A model to start from.

    Attributes:
        name: as it was given.
        model: with the head it was stored with.
        tokenizer: None where there is none.
        sha256: of its weights.
    """

    name: str
    model: Any
    tokenizer: Any
    sha256: str

    @classmethod
    def of(cls, name: str) -> "Origin":
        """Read a folder, or fetch a published model."""
        model = from_pretrained(name)
        try:
            tokenizer = load_tokenizer(find_folder(name, MODEL_FILES))
        except FileNotFoundError:
            tokenizer = None
        whole = hashlib.sha256()
        for parameter in model.state_dict().values():
            whole.update(parameter.numpy().tobytes())
        return cls(name, model, tokenizer, whole.hexdigest())

    def require(self, kind: type | tuple[type, ...], purpose: str) -> "Origin":
        """Return it if its model is of a ``kind`` for a ``purpose``.

        Raises:
            ValueError: it is not.
        """
        if not isinstance(self.model, kind):
            raise ValueError(f"{self.name} is a {type(self.model).__name__}, and {purpose}")
        return self

    def encoder(self, purpose: str) -> Encoder:
        """Return the BERT inside the model, which must have a WordPiece tokenizer.

        Raises:
            ValueError: there is none, or its tokenizer is of another kind.
        """
        body = self.model if isinstance(self.model, Encoder) else getattr(self.model, "bert", None)
        if not isinstance(body, Encoder):
            raise ValueError(f"{self.name} is a {type(self.model).__name__}, and {purpose}")
        if not isinstance(self.tokenizer, WordPiece):
            have = "no tokenizer" if self.tokenizer is None else f"a {type(self.tokenizer).__name__}"
            raise ValueError(f"{self.name} has {have}; a BERT needs its WordPiece vocabulary, vocab.txt")
        return body


def adapt(model: nn.Module, rank: int | None) -> nn.Module:
    """Freeze a model but for its head and low-rank adapters; without a ``rank`` it stays as it is.

    Raises:
        ValueError: the rank does not fit.
    """
    if rank is not None:
        add_lora(model, ADAPTED, rank=rank)
        head = getattr(model, "head", None)
        if isinstance(head, nn.Module):
            head.requires_grad_(True)
    return model


def keeper(tokenizer: Any) -> Callable[[nn.Module, Path], None]:
    """Make what writes a model: merged, in Hugging Face's layout where there is one, else ours."""

    def keep(model: nn.Module, folder: Path) -> None:
        if any(isinstance(module, LoRALinear) for module in model.modules()):
            merge_lora(model)
        if tokenizer is not None:
            save_tokenizer(tokenizer, folder)
        if layout_of(model) is None:
            save_pretrained(model, folder)
            return
        try:
            save_huggingface(model, folder)
        except ValueError:  # it has no such model with these settings
            save_pretrained(model, folder)

    return keep

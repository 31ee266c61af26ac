"""Models from and to folders: our own format, and Hugging Face's."""

import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import nn

from pioneers.config import Config
from pioneers.models import (
    BERT,
    GPT,
    BERTConfig,
    BERTForPretraining,
    GPTConfig,
    Transformer,
    TransformerConfig,
    ViT,
    ViTConfig,
)
from pioneers.training.checkpoint import load_weights, save_weights
from pioneers.weights.fields import fields_to_ours, fields_to_theirs
from pioneers.weights.files import CONFIG, WEIGHTS, read_json, read_tensors, write_folder, write_tensors
from pioneers.weights.hub import MODEL_FILES, find_folder
from pioneers.weights.layouts import LAYOUTS

MODELS: dict[str, tuple[type[nn.Module], type[Config]]] = {
    "GPT": (GPT, GPTConfig),
    "BERT": (BERT, BERTConfig),
    "BERTForPretraining": (BERTForPretraining, BERTConfig),
    "ViT": (ViT, ViTConfig),
    "Transformer": (Transformer, TransformerConfig),
}


def from_pretrained(name_or_folder: str | os.PathLike[str]) -> nn.Module:
    """A trained model, on the CPU, in float32 and in eval mode.

    It must be fed as it was trained: see :class:`~pioneers.models.ViT` for the scale of images.

    Args:
        name_or_folder: a folder that :func:`save_pretrained` wrote; a folder in Hugging Face's layout, whose
            ``config.json`` says ``gpt2``, ``bert`` or ``vit``; or the name of such a model on the hub:
            ``"gpt2"``, ``"bert-base-uncased"``, ``"google/vit-base-patch16-224"``. What was fetched once is
            kept, and found again without a network.

    Returns:
        :class:`~pioneers.models.GPT`, :class:`~pioneers.models.ViT`, :class:`~pioneers.models.Transformer`,
        :class:`~pioneers.models.BERTForPretraining`, or :class:`~pioneers.models.BERT` if its heads were not
        stored.

    Raises:
        FileNotFoundError: there is no such folder or name, or a file of it is missing.
        ValueError: a file is damaged, or the model is not one of ours: a setting or a tensor differs.
        ConnectionError: the hub cannot be reached.
        ModuleNotFoundError: the package that talks to the hub is not installed.
    """
    folder = find_folder(name_or_folder, MODEL_FILES)
    values = read_json(folder / CONFIG)
    if "model_type" in values:
        return _read_theirs(folder, values).eval()
    name = values.pop("model", None)
    if name not in MODELS:
        raise ValueError(
            f"{folder / CONFIG} names the model {name!r}; known here: {', '.join(MODELS)}, "
            f"and the model_type {', '.join(_model_types())} of Hugging Face"
        )
    cls, config = MODELS[name]
    if not (folder / WEIGHTS).is_file():
        raise FileNotFoundError(f"{folder} has no {WEIGHTS}: it was not saved whole, or not copied whole")
    try:
        model = cls(config.from_dict(values))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{folder / CONFIG}: {error}") from error
    load_weights(folder / WEIGHTS, model)
    return model.eval()


def save_pretrained(model: nn.Module, folder: str | os.PathLike[str]) -> None:
    """Write ``model`` to a ``folder`` for :func:`from_pretrained`: ``config.json``, ``model.safetensors``.

    The files appear whole or not at all, and the folder's other files stay: its tokenizer may lie beside. In
    a run of several processes all of them call it.

    Raises:
        TypeError: the model is not one of ours.
        FileExistsError: the folder holds a model of another configuration.
        OSError: the files cannot be written.
    """
    name = next((name for name, (cls, _) in MODELS.items() if isinstance(model, cls)), None)
    if name is None:
        raise _unknown(model, MODELS)
    config = {"model": name, **asdict(_config(model))}
    write_folder(Path(folder), config, lambda path: save_weights(path, model))


def export(model: nn.Module, folder: str | os.PathLike[str]) -> None:
    """Write a model in Hugging Face's layout, for ``transformers`` and all that reads its files.

    Args:
        model: a GPT, BERT, BERTForPretraining or ViT.
        folder: as in :func:`save_pretrained`.

    Raises:
        TypeError: Hugging Face has no such model.
        ValueError: it has none with these settings.
        FileExistsError: the folder holds a model of another configuration.
        OSError: the files cannot be written.
    """
    layout = next((layout for layout in LAYOUTS if isinstance(model, layout.model)), None)
    if layout is None:
        raise _unknown(model, [layout.model.__name__ for layout in LAYOUTS])
    config = {
        "architectures": [layout.architecture],
        "model_type": layout.model_type,
        **fields_to_theirs(_config(model), layout.fields),
    }
    if layout.model is GPT and config["vocab_size"] != GPTConfig.preset("gpt2").vocab_size:
        config |= {"bos_token_id": None, "eos_token_id": None}  # left out, they mean GPT-2's 50256
    write_folder(Path(folder), config, lambda path: write_tensors(path, layout.theirs(model)))


def _read_theirs(folder: Path, values: dict[str, Any]) -> nn.Module:
    family = [layout for layout in LAYOUTS if layout.model_type == values["model_type"]]
    if not family:
        raise ValueError(
            f"{folder / CONFIG} is for a {values['model_type']!r}; of Hugging Face's models only "
            f"{', '.join(_model_types())} can be read"
        )
    try:
        config = family[0].config.from_dict(fields_to_ours(values, family[0].fields))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{folder / CONFIG}: {error}") from error
    stored = read_tensors(folder)
    with_heads = (layout for layout in family if any(name.startswith(layout.heads) for name in stored))
    layout = next(with_heads, family[-1])
    try:
        tensors = layout.ours(stored, config)
    except ValueError as error:
        raise ValueError(f"{folder} is no {layout.architecture} as it should be: {error}") from error
    model = layout.model(config)
    model.load_state_dict(tensors, strict=False)  # nothing but tied copies can be missing: it was checked
    return model


def _config(model: nn.Module) -> Config:
    config = model.config
    assert isinstance(config, Config)
    return config


def _model_types() -> list[str]:
    return list(dict.fromkeys(layout.model_type for layout in LAYOUTS))


def _unknown(model: nn.Module, known: Iterable[str]) -> TypeError:
    return TypeError(
        f"a {type(model).__name__} cannot be written as a folder, only {', '.join(known)}; of a compiled or "
        f"wrapped model give the model inside, of any other keep the weights with training.save_weights"
    )

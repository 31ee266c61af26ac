"""Models from and to folders: our own format, and that of other libraries, as the registry knows them."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from pioneers.training.checkpoint import load_weights, save_weights
from pioneers.weights import (  # noqa: F401  they register what can be read
    albert,
    bart,
    bert,
    clip,
    deberta,
    deit,
    detr,
    distilbert,
    electra,
    gpt2,
    llama,
    mae,
    mixtral,
    roberta,
    swin,
    swin_v2,
    t5,
    transformer,
    vit,
    xlnet,
)
from pioneers.weights.files import CONFIG, WEIGHTS, read_json, read_tensors, write_folder, write_tensors
from pioneers.weights.hub import MODEL_FILES, find_folder
from pioneers.weights.registry import (
    KINDS,
    LAYOUTS,
    choose_layout,
    kind_of,
    layout_of,
    model_types,
)

T = TypeVar("T")


def from_pretrained(name_or_folder: str | os.PathLike[str]) -> nn.Module:
    """Read a trained model, on the CPU, in float32 and in eval mode.

    It must be fed as it was trained: see :class:`~pioneers.models.ViT` for the scale of images.

    Args:
        name_or_folder: a folder that :func:`save_pretrained` wrote; a folder in Hugging Face's layout, whose
            ``config.json`` says ``gpt2``, ``llama``, ``qwen3``, ``mixtral``, ``bert``, ``roberta``,
            ``distilbert``, ``albert``, ``electra``, ``deberta``, ``deberta-v2``, ``xlnet``, ``vit``,
            ``deit``, ``vit_mae``, ``swin``, ``swinv2``, ``clip``, ``t5``, ``mt5`` or ``bart``; or the name of
            such a model on the hub: ``"gpt2"``, ``"bert-base-uncased"``, ``"Qwen/Qwen3-0.6B"``. What was
            fetched once is kept, and found again without a network.

    Returns:
        the model with the heads that were stored, such as :class:`~pioneers.models.BERTForPretraining` or
        :class:`~pioneers.models.BERTClassifier`, or :class:`~pioneers.models.BERT` if there were none. A
        pooler that was not stored, because nothing reads it, is as new.

    Raises:
        FileNotFoundError: there is no such folder or name, or a file of it is missing.
        ValueError: a file is damaged, or the model is not one of ours: a setting or a tensor differs.
        ConnectionError: the hub cannot be reached.
        ModuleNotFoundError: the package that talks to the hub is not installed.
    """
    folder = find_folder(name_or_folder, MODEL_FILES)
    values = read_json(folder / CONFIG)
    return (_read_theirs if "model_type" in values else _read_ours)(folder, values).eval()


def save_pretrained(model: nn.Module, folder: str | os.PathLike[str]) -> None:
    """Write ``model`` to a ``folder`` for :func:`from_pretrained`: ``config.json``, ``model.safetensors``.

    Either all files appear or none does, and the folder's other files stay: its tokenizer can be beside them.
    In a run of several processes all of them call this function.

    Raises:
        TypeError: the model is not one of ours.
        FileExistsError: the folder holds a model of another configuration.
        OSError: the files cannot be written.
    """
    kind = kind_of(model)
    if kind is None:
        raise _unknown(model, KINDS)
    config = {"model": kind.name, **kind.settings(model)}
    write_folder(Path(folder), {CONFIG: config}, lambda path: save_weights(path, model))


def save_huggingface(model: nn.Module, folder: str | os.PathLike[str]) -> None:
    """Write a model in Hugging Face's layout, for ``transformers`` and all that reads its files.

    Beside a tokenizer, which :func:`save_tokenizer` writes, ``transformers.pipeline`` runs on the folder. For
    images it needs none: the folder says how to scale them.

    Args:
        model: one of ours with a counterpart there: a GPT, BERT or ViT, alone or with one of their heads, a
            Llama, a T5, a BART, a DeiT, a Swin, an MAE or a CLIP.
        folder: as in :func:`save_pretrained`.

    Raises:
        TypeError: Hugging Face has no such model.
        ValueError: it has none with these settings.
        FileExistsError: the folder holds a model of another configuration.
        OSError: the files cannot be written.
    """
    layout = layout_of(model)
    if layout is None:
        raise _unknown(model, [layout.kind.name for layout in LAYOUTS])
    settings = layout.kind.settings(model)
    config = layout.config_to_theirs(settings)
    files = {name: config.pop(name) for name in layout.files}
    tensors = layout.tensors_to_theirs(model) | layout.added(settings)
    write_folder(Path(folder), {**files, CONFIG: config}, lambda path: write_tensors(path, tensors))


def _read_ours(folder: Path, values: dict[str, Any]) -> nn.Module:
    name = values.pop("model", None)
    if name not in KINDS:
        raise ValueError(
            f"{folder / CONFIG} names the model {name!r}; known here: {', '.join(KINDS)}, and the model_type "
            f"{', '.join(model_types())} of Hugging Face. Correct the name, or give another folder"
        )
    if not (folder / WEIGHTS).is_file():
        raise FileNotFoundError(
            f"{folder} has no {WEIGHTS}: saving or copying the model was interrupted; save or copy it again"
        )
    model = _build(folder, KINDS[name].build, values)
    load_weights(folder / WEIGHTS, model)
    return model


def _read_theirs(folder: Path, values: dict[str, Any]) -> nn.Module:
    if values["model_type"] not in model_types():
        raise ValueError(
            f"{folder / CONFIG} is for a {values['model_type']!r}; of Hugging Face's models only "
            f"{', '.join(model_types())} can be read. Give one of these, or load the folder with transformers"
        )
    stored = read_tensors(folder)
    layout = choose_layout(values, stored)
    assert layout is not None
    files = {name: read_json(folder / name) for name in layout.files if (folder / name).is_file()}
    settings = _build(folder, layout.config_to_ours, values | files)
    with torch.device("meta"):  # sizes that the weights do not have must not take memory
        _build(folder, layout.kind.build, settings)
    try:
        tensors = layout.tensors_to_ours(stored, settings)
    except ValueError as error:
        raise ValueError(
            f"{folder} does not hold a valid {layout.architecture}: {error}. Get {CONFIG} and the weights "
            f"from the same place again, or load the folder with transformers and save what you need of it"
        ) from error
    model = layout.kind.build(settings)
    model.load_state_dict(
        tensors, strict=False
    )  # only copies and optional tensors are missing: it was checked
    return model


def _build(folder: Path, make: Callable[[Mapping[str, Any]], T], values: Mapping[str, Any]) -> T:
    """Apply ``make`` to what the configuration says; an error names the file."""
    try:
        return make(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{folder / CONFIG}: {error}") from error


def _unknown(model: nn.Module, known: Iterable[str]) -> TypeError:
    return TypeError(
        f"a {type(model).__name__} cannot be written as a folder, only "
        f"{', '.join(dict.fromkeys(known))}; of a compiled or wrapped model give the model inside, of any "
        f"other keep the weights with training.save_weights"
    )

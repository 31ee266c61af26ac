"""The files of the models that run in the browser: int8 rows with a scale each, as safetensors."""

import base64
import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save, save_file
from torch import Tensor, nn

from pioneers.models import GPT, GPTConfig
from pioneers.tokenizers import ByteLevelBPE
from pioneers.tokenizers.bpe import BYTES, CHUNK

PREFIX = "\n"  # a paragraph of the training text follows it


def export(model: GPT, path: Path, *, step: int = 0, precision: str = "int8") -> None:
    """Write a GPT to one file.

    Args:
        model: of any size.
        path: of the file.
        step: how long it was trained, for the header.
        precision: ``"int8"``: each row of a matrix is rounded to integers from -127 to 127 times a scale of
            its own, ``NAME.scale``. ``"fp32"``: as it is.
    """
    metadata = {"config": json.dumps(dataclasses.asdict(model.config)), "step": str(step)}
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(packed(model, precision), path, metadata)


def export_script(
    model: nn.Module, path: Path, *, without: tuple[str, ...] = (), precision: str = "int8", **more: Any
) -> None:
    """Write a model as a script, which a browser loads from a disk as well as from a server.

    Args:
        model: one with a ``config``.
        path: of the file; the script puts the model into ``Live.models`` under the name of the file.
        without: what the names of tensors begin with that are left out.
        precision: as in :func:`export`.
        more: what is kept beside the weights, such as a vocabulary.
    """
    tensors = {
        name: weights for name, weights in packed(model, precision).items() if not name.startswith(without)
    }
    weights = base64.b64encode(save(tensors)).decode()
    held = {"config": dataclasses.asdict(model.config), **more, "weights": weights}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"Live.models.{path.stem} = {json.dumps(held, ensure_ascii=False)};\n", encoding="utf-8")


def packed(model: nn.Module, precision: str) -> dict[str, Tensor]:
    """The weights by name, the filters of a convolution as rows of a matrix."""
    tensors: dict[str, Tensor] = {}
    for name, weights in model.named_parameters():
        tensors[name] = weights.detach().float().flatten(1) if weights.ndim > 1 else weights.detach().float()
        if precision == "int8" and weights.ndim > 1:
            tensors[name], tensors[f"{name}.scale"] = quantize(tensors[name])
    return tensors


def quantize(weights: Tensor) -> tuple[Tensor, Tensor]:
    """``(R, C)`` → int8 ``(R, C)`` and the scale ``(R,)`` of each row.

    Example:
        >>> rows, scale = quantize(torch.tensor([[0.5, -1.27], [0.0, 0.0]]))
        >>> rows.tolist()
        [[50, -127], [0, 0]]
    """
    scale = weights.abs().amax(dim=1) / 127
    rows = weights / scale.clamp(min=torch.finfo(torch.float32).tiny)[:, None]
    return rows.round().to(torch.int8), scale


def read_live(path: Path) -> GPT:
    """Read what :func:`export` wrote: a GPT in float32 and eval mode."""
    with safe_open(path, framework="pt") as file:
        config = GPTConfig(**json.loads(file.metadata()["config"]))
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    model = GPT(config).eval()
    weights = {
        name: tensor.float() * tensors[f"{name}.scale"][:, None] if tensor.dtype == torch.int8 else tensor
        for name, tensor in tensors.items()
        if not name.endswith(".scale")
    }
    missing, _ = model.load_state_dict(weights, strict=False)
    assert missing == ["lm_head.weight"]  # tied to the embedding
    return model


def export_index(
    folder: Path, model: GPT, tokenizer: ByteLevelBPE, checkpoints: Iterable[Mapping[str, Any]]
) -> None:
    """Write ``model.json``, which lists the checkpoints, and ``tokenizer.json``."""
    index = {
        "config": dataclasses.asdict(model.config),
        "prefix": PREFIX,
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "checkpoints": list(checkpoints),
    }
    words = {
        "type": "byte-level BPE",
        "pattern": CHUNK.pattern,
        "bytes": list(BYTES),
        "merges": tokenizer.merges,
    }
    (folder / "model.json").write_text(json.dumps(index, indent=1) + "\n")
    (folder / "tokenizer.json").write_text(json.dumps(words) + "\n")

"""Checkpoints: one safetensors file with everything a run needs to go on as if it had never stopped."""

import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from pioneers.device import rng_state, set_rng_state


def save_checkpoint(
    path: str | Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: dict[str, Any]
) -> None:
    """Write model, optimiser and random state, and ``progress`` (anything JSON can hold), to one file.

    The file is written beside its place and then moved there: a crash or a full disk leaves the previous
    checkpoint as it was.

    Raises:
        OSError: the file cannot be written (no space, no permission); the message names the file.
    """
    path = Path(path)
    tensors = {f"model.{name}": p for name, p in _unshared(model).items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{key}": torch.as_tensor(value) for key, value in state.items()}
    tensors |= {f"rng.{device}": state for device, state in rng_state().items()}
    tensors = {name: t.detach().contiguous().cpu() for name, t in tensors.items()}
    partial = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(tensors, partial, metadata={"progress": json.dumps(progress)})
        with open(partial, "rb") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    except (OSError, SafetensorError) as error:
        partial.unlink(missing_ok=True)
        raise OSError(
            f"cannot write the checkpoint {path} ({error}); the previous one is untouched"
        ) from error


def load_checkpoint(
    path: str | Path, model: nn.Module, optimizer: torch.optim.Optimizer | None = None
) -> dict[str, Any]:
    """Put a checkpoint back into a model and, for going on with training, its optimiser and random state.

    Returns:
        the ``progress`` given to :func:`save_checkpoint`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is truncated or damaged, or was written for another model.
    """
    tensors, progress = _read(Path(path))
    weights = {name.removeprefix("model."): t for name, t in tensors.items() if name.startswith("model.")}
    _check_fits(path, model, weights)
    model.load_state_dict(weights, strict=False)
    if optimizer is not None:
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            if name.startswith("optimizer."):
                _, index, key = name.split(".", 2)
                state.setdefault(int(index), {})[key] = tensor
        optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
        set_rng_state({n.removeprefix("rng."): t for n, t in tensors.items() if n.startswith("rng.")})
    return progress


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    if not path.is_file():
        raise FileNotFoundError(
            f"no checkpoint at {path}; check the path, or start training without resuming"
        )
    try:
        with safe_open(path, framework="pt") as file:
            progress = json.loads(file.metadata()["progress"])
            return {name: file.get_tensor(name) for name in file.keys()}, progress  # noqa: SIM118
    except (SafetensorError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(
            f"{path} is not a whole checkpoint: truncated or damaged ({error}). "
            f"Restore it from a copy, or delete it and start training again"
        ) from error


def _check_fits(path: str | Path, model: nn.Module, weights: dict[str, Tensor]) -> None:
    ours = {name: tuple(p.shape) for name, p in _unshared(model).items()}
    theirs = {name: tuple(t.shape) for name, t in weights.items()}
    wrong = [n for n in sorted(ours.keys() | theirs.keys()) if ours.get(n) != theirs.get(n)]
    if wrong:
        name = wrong[0]
        raise ValueError(
            f"{path} was written for another model: {len(wrong)} tensors differ, first {name!r}, "
            f"{theirs.get(name, 'absent')} in the file and {ours.get(name, 'absent')} in the model. "
            f"Build the model with the configuration it was trained with"
        )


def _unshared(model: nn.Module) -> dict[str, Tensor]:
    """The state of a model with each shared tensor (a tied output layer) named once."""
    named = dict(model.named_parameters())
    buffers = {name: t for name, t in model.state_dict().items() if name not in named}
    tied = {p.data_ptr() for p in named.values()}
    return named | {name: t for name, t in buffers.items() if t.data_ptr() not in tied}

"""Checkpoints: one safetensors file with everything a run needs to resume exactly.

Every process of a run calls these functions; process 0 writes. A checkpoint does not depend on the number of
processes or on how the weights were sharded.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from pioneers.device import rng_state, set_rng_state
from pioneers.training.distributed import broadcast_object, gather, rank
from pioneers.training.sharding import distribute_like, full_tensor

HASH = "sha256"  # of all that a file holds, in its header, where one entry keeps its bytes the same each time


def save_checkpoint(
    path: str | Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: dict[str, Any]
) -> None:
    """Write everything a run needs to resume to one file.

    The file is written under a temporary name and then moved into place, so a crash or a full disk leaves
    the previous checkpoint intact.

    Args:
        path: the file.
        model: its weights are saved.
        optimizer: its state is saved, and that of the random generators.
        progress: saved with them; anything JSON can hold.

    Raises:
        OSError: the file cannot be written (no space, no permission); the message names the file.
    """
    tensors = {f"model.{name}": p for name, p in _unshared(model).items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{key}": torch.as_tensor(value) for key, value in state.items()}
    for process, generators in enumerate(gather(rng_state())):
        tensors |= {_rng_name(device, process): state for device, state in generators.items()}
    _write(Path(path), tensors, progress)


def save_weights(path: str | Path, model: nn.Module) -> None:
    """Write only the weights of ``model`` to ``path``, by name; a shared tensor is written once.

    Raises:
        OSError: the file cannot be written; the message names it.

    Example:
        >>> import tempfile
        >>> saved, loaded = nn.Linear(3, 2), nn.Linear(3, 2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_weights(f"{folder}/linear.safetensors", saved)
        ...     load_weights(f"{folder}/linear.safetensors", loaded)
        >>> torch.equal(saved.weight, loaded.weight)
        True
    """
    _write(Path(path), _unshared(model))


def load_weights(path: str | Path, model: nn.Module) -> None:
    """Load the weights that :func:`save_weights` wrote to ``path`` into ``model``.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is truncated or damaged, or was written for another model.
    """
    weights, _ = _read(Path(path))
    _load(path, model, weights)


def load_checkpoint(
    path: str | Path, model: nn.Module, optimizer: torch.optim.Optimizer | None = None
) -> dict[str, Any]:
    """Load a checkpoint into a model and, to resume training, into its optimiser and the random generators.

    Args:
        path: the file.
        model: receives the weights.
        optimizer: receives its state; if omitted, the random generators are left alone too.

    Returns:
        the ``progress`` given to :func:`save_checkpoint`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is truncated or damaged, or was written for another model.
    """
    tensors, metadata = _read(Path(path))
    progress = _progress(path, metadata)
    weights = {name.removeprefix("model."): t for name, t in tensors.items() if name.startswith("model.")}
    _load(path, model, weights)
    if optimizer is not None:
        _load_optimizer(optimizer, tensors)
        saved = {device: tensors.get(_rng_name(device, rank())) for device in rng_state()}
        set_rng_state({device: state for device, state in saved.items() if state is not None})
    return progress


def saved_step(path: str | Path) -> int | None:
    """Read how many steps the checkpoint at ``path`` has completed, or None if there is no checkpoint yet.

    Raises:
        ValueError: the file is truncated or damaged, or is not a checkpoint of a training run.
    """
    saved = saved_progress(path)
    return None if saved is None else int(saved["step"])


def saved_progress(path: str | Path) -> dict[str, Any] | None:
    """Read the ``progress`` in the checkpoint at ``path``, or None if there is no checkpoint yet.

    Raises:
        ValueError: the file is truncated or damaged, or is not a checkpoint of a training run.
    """
    if not Path(path).exists():
        return None
    with _opened(Path(path)) as file:
        return _progress(path, file.metadata() or {})


def _progress(path: str | Path, metadata: dict[str, str]) -> dict[str, Any]:
    if "progress" not in metadata:
        raise ValueError(f"{path} holds only weights: load them with load_weights, or name the checkpoint")
    try:
        progress: dict[str, Any] = json.loads(metadata["progress"])
        progress.pop(HASH, None)
    except json.JSONDecodeError as error:
        raise _damaged(path, error) from error
    return progress


def _load(path: str | Path, model: nn.Module, weights: dict[str, Tensor]) -> None:
    _check_fits(path, model, weights)
    here = _unshared(model)
    model.load_state_dict({name: distribute_like(t, here[name]) for name, t in weights.items()}, strict=False)


def _load_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith("optimizer."):
            _, number, key = name.split(".", 2)
            index = int(number)
            ours = tensor if key == "step" else distribute_like(tensor, parameters[index])
            state.setdefault(index, {})[key] = ours
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def _rng_name(device: str, process: int) -> str:
    return f"rng.{device}" if process == 0 else f"rng.{device}.{process}"


def _write(path: Path, tensors: dict[str, Tensor], progress: dict[str, Any] | None = None) -> None:
    tensors = {name: full_tensor(t.detach()).contiguous().cpu() for name, t in tensors.items()}
    partial = path.with_name(path.name + ".partial")
    try:
        if rank() == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
            hashed = {HASH: _hash(tensors, progress)}
            metadata = hashed if progress is None else {"progress": json.dumps(progress | hashed)}
            save_file(tensors, partial, metadata=metadata)
            with open(partial, "rb") as file:
                os.fsync(file.fileno())
            os.replace(partial, path)
    except (OSError, SafetensorError) as error:
        partial.unlink(missing_ok=True)
        raise OSError(
            f"cannot write the checkpoint {path} ({error}); the previous one is untouched"
        ) from error
    broadcast_object(None)  # every process waits until the file exists


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no checkpoint at {path}; check the path, or train without resuming"
        )
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except SafetensorError as error:
        raise _damaged(path, error) from error


def _damaged(path: str | Path, reason: object) -> ValueError:
    return ValueError(
        f"{path} is not a complete checkpoint: truncated or damaged ({reason}). "
        f"Restore it from a copy, or delete it and train again"
    )


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    with _opened(path) as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = file.metadata() or {}
    progress = _progress(path, metadata) if "progress" in metadata else None
    written = json.loads(metadata["progress"]).get(HASH) if progress else metadata.get(HASH)
    if written not in (None, _hash(tensors, progress)):
        raise _damaged(path, "its contents do not have the hash that was written with them")
    return tensors, metadata


def _hash(tensors: dict[str, Tensor], progress: dict[str, Any] | None) -> str:
    """Return the sha256 of progress, and of names, kinds, shapes and numbers of tensors."""
    digest = hashlib.sha256(json.dumps(progress).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


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
    """Map names to tensors, with each shared tensor (a tied output layer) named once."""
    names = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    buffers = {name: t for name, t in model.state_dict().items() if name not in names}
    return dict(model.named_parameters()) | buffers

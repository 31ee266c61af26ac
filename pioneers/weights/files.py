"""Model folders on disk: ``config.json`` and safetensors, written whole or not at all."""

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from pioneers.training.distributed import broadcast_object, rank

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not JSON, or not an object.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"{path.parent} is not a model folder: it has no {path.name}. Give the folder that a model was "
            f"saved to or fetched into; a model in memory is written with save_pretrained"
        )
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON ({error}); restore it from a copy") from error
    if not isinstance(values, dict):
        raise ValueError(f"{path} should hold a JSON object, not {type(values).__name__}")
    return values


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """All tensors of a model folder, from one safetensors file or from the several that an index names.

    Raises:
        FileNotFoundError: there are no weights, or a file of several is missing.
        ValueError: a file is damaged, or the weights are pickled, which only running them could read.
    """
    if (folder / WEIGHTS).is_file():
        return _read(folder / WEIGHTS)
    if (folder / INDEX).is_file():
        return _read_several(folder)
    if pickled := sorted([*folder.glob("*.bin"), *folder.glob("*.pt"), *folder.glob("*.pth")]):
        raise ValueError(
            f"{folder} holds pickled weights only ({pickled[0].name}), and unpickling can run any code. If "
            f"you trust them, load them with transformers and save them again, as safetensors: "
            f"AutoModel.from_pretrained(folder).save_pretrained(new_folder), with the class for its task in "
            f"place of AutoModel"
        )
    raise FileNotFoundError(
        f"{folder} has no weights: neither {WEIGHTS} nor {INDEX}; get them from where {CONFIG} came from. If "
        f"only pickled weights are published there, load the model with transformers and save it again"
    )


def write_folder(
    folder: Path, files: Mapping[str, Mapping[str, Any]], write_weights: Callable[[Path], None]
) -> None:
    """Write ``config.json``, ``model.safetensors`` and more to a folder, new or not; its other files stay.

    All are written to a folder inside (beside, where the folder is new) and moved when they are complete: a
    crash or a full disk leaves everything as it was. A folder that holds a model of another configuration is
    not touched.

    Args:
        folder: where to.
        files: names of JSON files, ``config.json`` among them, and what they are to say.
        write_weights: writes the weights to the path it is given; every process of a run calls it.

    Raises:
        FileExistsError: the folder is a file, or holds another model.
        OSError: the files cannot be written.
    """
    folder = Path(os.path.abspath(folder))
    texts = {name: json.dumps(values, indent=2) + "\n" for name, values in files.items()}
    old = folder / CONFIG
    if folder.is_file():
        raise FileExistsError(f"{folder} is a file: choose a new folder")
    if old.is_file() and old.read_text(encoding="utf-8") != texts[CONFIG]:
        raise FileExistsError(
            f"{folder} holds another model (its {CONFIG} differs): choose a new folder, or delete this one"
        )
    # inside, for what lies beside a mounted or linked folder may be another disk, or closed to us
    partial = folder / ".partial" if folder.exists() else folder.with_name(f".{folder.name}.partial")
    try:
        write_weights(partial / WEIGHTS)
        if rank() == 0:
            for name, text in texts.items():
                _write_synced(partial / name, text)
            _move(partial, folder, [WEIGHTS, *(name for name in texts if name != CONFIG), CONFIG])
    except OSError as error:
        reason = error.__cause__ or error
        raise OSError(f"cannot write the model to {folder} ({reason}); nothing there was changed") from error
    finally:
        if rank() == 0:
            shutil.rmtree(partial, ignore_errors=True)
    broadcast_object(None)  # nobody goes on before the folder is there


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors to a new safetensors file.

    Raises:
        OSError: the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        save_file(
            {name: t.detach().cpu().contiguous() for name, t in tensors.items()}, path, {"format": "pt"}
        )
    except SafetensorError as error:
        raise OSError(str(error)) from error
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _read(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; get it from where the rest of the folder came from")
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ValueError(
            f"{path} is truncated or damaged, or is not a safetensors file ({error}); get it again"
        ) from error


def _read_several(folder: Path) -> dict[str, Tensor]:
    where = read_json(folder / INDEX).get("weight_map")
    if not isinstance(where, dict) or any(Path(str(name)).name != name for name in where.values()):
        raise ValueError(f"{folder / INDEX} does not say which file of the folder holds which tensor")
    tensors: dict[str, Tensor] = {}
    for name in sorted(set(where.values())):
        tensors |= _read(folder / name)
    if tensors.keys() != where.keys():
        first = min(tensors.keys() ^ where.keys())
        raise ValueError(
            f"{folder / INDEX} and the files it names disagree about the tensor {first}; get them again"
        )
    return tensors


def _write_synced(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _move(partial: Path, folder: Path, names: Sequence[str]) -> None:
    """Put the complete files in place: the config last, for it makes a folder a model."""
    if not folder.exists():
        partial.rename(folder)
        return
    for name in names:
        os.replace(partial / name, folder / name)

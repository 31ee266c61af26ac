"""From a name to a folder: one that is here, or one from the Hugging Face hub."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from pioneers.weights.files import CONFIG, INDEX, WEIGHTS

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json", "merges.txt")
MODEL_FILES = (CONFIG, WEIGHTS, INDEX, "model-*.safetensors", "preprocessor_config.json", *TOKENIZER_FILES)
HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")


def find_folder(name_or_folder: str | os.PathLike[str], files: Sequence[str]) -> Path:
    """The folder itself if it is one; otherwise the name's folder on the hub, fetched or from the cache.

    Args:
        name_or_folder: a path, or a name on the hub: ``"gpt2"``, ``"google/vit-base-patch16-224"``.
        files: the files that are needed, as patterns.

    Raises:
        FileNotFoundError: there is no such folder, and the hub has no such name.
        ConnectionError: the hub cannot be reached, and the cache does not hold the name.
        ModuleNotFoundError: the package that talks to the hub is not installed.
    """
    folder = Path(name_or_folder).expanduser()
    if folder.is_dir():
        return folder
    name = os.fspath(name_or_folder)
    if folder.exists() or not HUB_NAME.fullmatch(name):
        raise FileNotFoundError(
            f"{name} is not a folder; give a model folder, or a name on the hub such as gpt2"
        )
    return Path(_download(name, files))


def _download(name: str, files: Sequence[str]) -> str:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import RepositoryNotFoundError
    except ImportError as error:
        raise ModuleNotFoundError(
            f"{name} is not a folder here, and fetching it from the hub needs one more package: "
            f"pip install huggingface_hub"
        ) from error
    try:
        return snapshot_download(name, allow_patterns=list(files))
    except RepositoryNotFoundError as error:
        raise FileNotFoundError(
            f"{name} is not a folder here, and the Hugging Face hub has no model of that name, or not for "
            f"everybody: check the name, or log in with `hf auth login`"
        ) from error
    except Exception as error:  # the hub's client passes on the errors of every layer under it
        reason = str(error).strip().split("\n")[0]
        raise ConnectionError(
            f"{name} is not a folder here, and it cannot be fetched from the Hugging Face hub "
            f"({type(error).__name__}: {reason}): connect to the internet, set HF_HOME to a cache that holds "
            f"it, or give a folder"
        ) from error

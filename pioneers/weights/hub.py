"""From a name to a folder: one that is here, or one from the Hugging Face hub."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from pioneers.weights.files import CONFIG, INDEX, WEIGHTS

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json", "merges.txt")
MODEL_FILES = (CONFIG, WEIGHTS, INDEX, "model-*.safetensors", "preprocessor_config.json", *TOKENIZER_FILES)
HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")


def download(name: str, *, revision: str | None = None) -> Path:
    """Fetch a published model and its tokenizer from the Hugging Face hub; return the folder they are in.

    The folder is for :func:`from_pretrained` and :func:`load_tokenizer`. Files that were fetched before are
    not fetched again. Weights are fetched as safetensors only: pickled ones could run any code.

    Args:
        name: of the model on the hub, such as ``"openai-community/gpt2"``.
        revision: a commit, branch or tag; by default the branch ``main``. With a commit of forty digits you
            get the same files next year.

    Raises:
        FileNotFoundError: the hub has no such model or no such revision of it.
        ConnectionError: the hub cannot be reached, and the cache does not hold the model.
        ModuleNotFoundError: the package that talks to the hub is not installed.
    """
    if not HUB_NAME.fullmatch(name):
        raise FileNotFoundError(
            f"{name} is not the name of a model on the hub, such as gpt2 or openai-community/gpt2"
        )
    return _download(name, MODEL_FILES, revision)


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
    if os.sep in name and folder.parent.is_dir():  # a slip of the pen, for which the hub need not be asked
        there = sorted(path.name for path in folder.parent.iterdir() if path.is_dir())
        raise FileNotFoundError(
            f"there is no folder {name}, and {folder.parent} holds {', '.join(there) or 'none'}; correct the "
            f"name, or, if it is meant for the hub, fetch it where no folder is called {folder.parent}"
        )
    return _download(name, files)


def _download(name: str, files: Sequence[str], revision: str | None = None) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError
    except ImportError as error:
        raise ModuleNotFoundError(
            f"{name} is not a folder here, and fetching it from the hub needs one more package: "
            f"pip install huggingface_hub"
        ) from error
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=list(files)))
    except RevisionNotFoundError as error:
        raise FileNotFoundError(
            f"the Hugging Face hub has {name}, but no revision {revision} of it: check the commit, or leave "
            f"the revision out"
        ) from error
    except RepositoryNotFoundError as error:
        raise FileNotFoundError(
            f"{name} is not a folder here, and the Hugging Face hub has no model of that name, or not for "
            f"everybody: check the name, or log in with `hf auth login`"
        ) from error
    except Exception as error:  # the hub's client passes on the errors of every layer under it
        reason = str(error).strip().split("\n")[0]
        raise ConnectionError(
            f"{name} is not a folder here, and it cannot be fetched from the Hugging Face hub "
            f"({type(error).__name__}: {reason}): connect to the internet and try again, set HF_HOME to a "
            f"cache that holds it, or give a folder"
        ) from error

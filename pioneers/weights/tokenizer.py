"""The tokenizer that belongs to a model."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from pioneers.tokenizers import ByteLevelBPE, FastBPE, WordPiece
from pioneers.weights.files import read_json
from pioneers.weights.hub import TOKENIZER_FILES, find_folder


def load_tokenizer(name_or_folder: str | os.PathLike[str]) -> ByteLevelBPE | WordPiece:
    """The tokenizer that belongs to ``name_or_folder``: a model folder, or a name on the hub.

    It is read from ``merges.txt`` and ``vocab.json`` (GPT-2's), ``vocab.txt`` (BERT's), or
    ``tokenizer.json``, as :meth:`pioneers.tokenizers.ByteLevelBPE.save` or as Hugging Face writes it.

    Raises:
        FileNotFoundError: there is no such folder or name, or no tokenizer in it.
        ValueError: a file is damaged, or the tokenizer is of another kind.
        ConnectionError: the hub cannot be reached.
        ModuleNotFoundError: the package that talks to the hub is not installed.
    """
    folder = find_folder(name_or_folder, TOKENIZER_FILES)
    if (folder / "merges.txt").is_file():
        return FastBPE.from_gpt2(folder / "merges.txt", folder / "vocab.json")
    if (folder / "vocab.txt").is_file():
        return WordPiece.from_vocab(folder / "vocab.txt", lowercase=_lowercase(folder))
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} has no tokenizer: neither merges.txt and vocab.json, nor vocab.txt, nor tokenizer.json"
        )
    saved = read_json(path)
    if "model" not in saved:
        return FastBPE.load(path)
    try:
        return _from_library(saved)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a tokenizer like GPT-2's or BERT's ({error})") from error


def save_tokenizer(tokenizer: ByteLevelBPE | WordPiece, folder: str | os.PathLike[str]) -> None:
    """Write ``tokenizer`` into ``folder`` as GPT-2's or BERT's are published; ``transformers`` reads it too.

    That is ``merges.txt`` and ``vocab.json``, or ``vocab.txt``; and a note for ``transformers``. A missing
    folder is made.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(tokenizer, WordPiece):
        tokenizer.save(folder / "vocab.txt")
        notes: dict[str, Any] = {"tokenizer_class": "BertTokenizer", "do_lower_case": tokenizer.lowercase}
    else:
        tokenizer.save_gpt2(folder / "merges.txt", folder / "vocab.json")
        notes = {"tokenizer_class": "GPT2Tokenizer"}
        if "<|endoftext|>" not in tokenizer.special_ids:  # transformers would add it, beyond the vocabulary
            notes |= dict.fromkeys(("bos_token", "eos_token", "unk_token"))
    (folder / "tokenizer_config.json").write_text(json.dumps(notes, indent=2), encoding="utf-8")


def _lowercase(folder: Path) -> bool:
    """Read whether the vocabulary is for lower-case text: it is where nothing says otherwise."""
    path = folder / "tokenizer_config.json"
    return bool(read_json(path).get("do_lower_case", True)) if path.is_file() else True


def _from_library(saved: dict[str, Any]) -> ByteLevelBPE | WordPiece:
    """Our tokenizer from the JSON of the `tokenizers` library."""
    ids = saved["model"]["vocab"] | {token["content"]: token["id"] for token in saved["added_tokens"]}
    kind = saved["model"]["type"], saved["pre_tokenizer"]["type"]
    if kind == ("WordPiece", "BertPreTokenizer"):
        return WordPiece(sorted(ids, key=ids.__getitem__), lowercase=saved["normalizer"]["lowercase"])
    if kind != ("BPE", "ByteLevel") or saved["normalizer"] or saved["pre_tokenizer"]["add_prefix_space"]:
        raise ValueError(f"it is {kind[0]} after {kind[1]}, or changes the text first")
    with tempfile.TemporaryDirectory() as folder:
        merges, vocab = Path(folder, "merges.txt"), Path(folder, "vocab.json")
        pairs = (pair if isinstance(pair, str) else " ".join(pair) for pair in saved["model"]["merges"])
        merges.write_text("\n".join(pairs), encoding="utf-8")
        vocab.write_text(json.dumps(ids), encoding="utf-8")
        return FastBPE.from_gpt2(merges, vocab)

"""The tokenizer that belongs to a model."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from pioneers.tokenizers import ByteLevelBPE, ByteTokenizer, FastBPE, LibraryBPE, Unigram, WordPiece
from pioneers.weights.files import read_json
from pioneers.weights.hub import TOKENIZER_FILES, find_folder

AnyTokenizer = ByteLevelBPE | WordPiece | LibraryBPE | Unigram | ByteTokenizer
NOTES = "tokenizer_config.json"
ROLES = (
    ("pad_token", "<pad>"),
    ("eos_token", "</s>"),
    ("unk_token", "<unk>"),
    ("mask_token", "<mask>"),
    ("mask_token", "[MASK]"),
)


def load_tokenizer(name_or_folder: str | os.PathLike[str]) -> AnyTokenizer:
    """The tokenizer that belongs to ``name_or_folder``: a model folder, a name on the hub, or a file.

    It is read from ``vocab.txt`` (BERT's), ``tokenizer.json`` as Hugging Face writes it (GPT-2's, Llama 3's,
    Qwen3's, BART's, T5's and more), ``merges.txt`` and ``vocab.json`` (GPT-2's), or ``tokenizer.json`` as
    :meth:`pioneers.tokenizers.ByteLevelBPE.save` writes it. ByT5's needs only a note that it is one.

    Raises:
        FileNotFoundError: there is no such folder or name, or no tokenizer in it.
        ValueError: a file is damaged, or the tokenizer is of another kind.
        ConnectionError: the hub cannot be reached.
        ModuleNotFoundError: the package that talks to the hub is not installed.
    """
    if Path(name_or_folder).is_file():
        return _from_file(Path(name_or_folder))
    folder = find_folder(name_or_folder, TOKENIZER_FILES)
    notes = read_json(folder / NOTES) if (folder / NOTES).is_file() else {}
    cls = str(notes.get("tokenizer_class", "")).removesuffix("Fast")
    if cls == "ByT5Tokenizer":
        return ByteTokenizer()
    if (folder / "vocab.txt").is_file():
        lowercase = bool(notes.get("do_lower_case", True))  # where nothing says otherwise
        return WordPiece.from_vocab(folder / "vocab.txt", lowercase=lowercase)
    path = folder / "tokenizer.json"
    if path.is_file() and "model" in read_json(path):
        return _from_library(path)
    if (folder / "merges.txt").is_file():
        if cls not in ("", "GPT2Tokenizer"):
            raise ValueError(
                f"{folder} has the merges of a {cls} but not its rules: get its tokenizer.json too"
            )
        return FastBPE.from_gpt2(folder / "merges.txt", folder / "vocab.json")
    if path.is_file():
        return FastBPE.load(path)
    raise FileNotFoundError(
        f"{folder} has no tokenizer: neither merges.txt and vocab.json, nor vocab.txt, nor tokenizer.json"
    )


def save_tokenizer(tokenizer: AnyTokenizer, folder: str | os.PathLike[str]) -> None:
    """Write ``tokenizer`` into ``folder`` as models of its kind are published; ``transformers`` reads it too.

    That is ``merges.txt`` and ``vocab.json``, ``vocab.txt``, or ``tokenizer.json``; and a note for
    ``transformers``. A missing folder is made.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    notes: dict[str, Any]
    if isinstance(tokenizer, WordPiece):
        tokenizer.save(folder / "vocab.txt")
        notes = {"tokenizer_class": "BertTokenizer", "do_lower_case": tokenizer.lowercase}
    elif isinstance(tokenizer, ByteTokenizer):
        notes = {"tokenizer_class": "ByT5Tokenizer"}
    elif isinstance(tokenizer, ByteLevelBPE):
        tokenizer.save_gpt2(folder / "merges.txt", folder / "vocab.json")
        notes = {"tokenizer_class": "GPT2Tokenizer"}
        if "<|endoftext|>" not in tokenizer.special_ids:  # transformers would add it, beyond the vocabulary
            notes |= dict.fromkeys(("bos_token", "eos_token", "unk_token"))
    else:
        tokenizer.save(folder / "tokenizer.json")
        roles = {role: name for role, name in ROLES if name in tokenizer.special_ids}
        notes = {"tokenizer_class": "PreTrainedTokenizerFast", **roles}
    (folder / NOTES).write_text(json.dumps(notes, indent=2), encoding="utf-8")


def _from_file(path: Path) -> AnyTokenizer:
    """A tokenizer from a ``vocab.txt`` or a ``tokenizer.json`` of any name."""
    if path.suffix == ".json":
        return _from_library(path) if "model" in read_json(path) else FastBPE.load(path)
    return WordPiece.from_vocab(path)


def _from_library(path: Path) -> ByteLevelBPE | WordPiece | LibraryBPE | Unigram:
    """Our tokenizer from a file of the `tokenizers` library."""
    saved = read_json(path)
    try:
        kind, before = saved["model"]["type"], saved["pre_tokenizer"] or {}
        steps = [step.get("type", "nothing") for step in before.get("pretokenizers", [before])]
        if kind == "Unigram":
            return Unigram.load(path)
        if (kind, steps) == ("WordPiece", ["BertPreTokenizer"]):
            ids = _ids(saved)
            return WordPiece(sorted(ids, key=ids.__getitem__), lowercase=saved["normalizer"]["lowercase"])
        if kind == "BPE" and "ByteLevel" in steps:
            return _gpt2(saved, before) or LibraryBPE.load(path)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged, or of a kind that is not known here ({error})") from error
    raise ValueError(
        f"{path} is a {kind} after {' and '.join(steps)}; known here are byte-level BPE, Unigram, and BERT's "
        f"WordPiece"
    )


def _gpt2(saved: dict[str, Any], before: dict[str, Any]) -> FastBPE | None:
    """A tokenizer that cuts texts and numbers tokens as GPT-2's does; None if it is another."""
    plain = before["type"] == "ByteLevel" and before.get("use_regex", True)
    if not plain or before["add_prefix_space"] or saved["normalizer"]:
        return None
    with tempfile.TemporaryDirectory() as folder:
        merges, vocab = Path(folder, "merges.txt"), Path(folder, "vocab.json")
        pairs = (pair if isinstance(pair, str) else " ".join(pair) for pair in saved["model"]["merges"])
        merges.write_text("\n".join(pairs), encoding="utf-8")
        vocab.write_text(json.dumps(_ids(saved)), encoding="utf-8")
        try:
            return FastBPE.from_gpt2(merges, vocab)
        except ValueError:  # other numbers, as RoBERTa's
            return None


def _ids(saved: dict[str, Any]) -> dict[str, int]:
    """The ids of all tokens."""
    return saved["model"]["vocab"] | {token["content"]: token["id"] for token in saved["added_tokens"]}

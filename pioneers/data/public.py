"""The public data sets. Every loader fetches its files with :func:`pioneers.data.fetch` and parses them."""

import re
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from pioneers.data.download import fetch
from pioneers.data.embedded import ImageSet
from pioneers.data.formats import (
    Question,
    TaggedSentence,
    read_bytes,
    read_conllu,
    read_idx,
    read_json,
    read_lines,
    read_squad,
    read_table,
    text_file,
)

MULTI30K_SPLITS = {"train": "train", "validation": "val", "test": "test_2016_flickr"}
MULTI30K_LANGUAGES = ("en", "de", "fr")


class LabelledText(NamedTuple):
    """A text and its class.

    Attributes:
        text: as written.
        label: number of the class, from 0 on.
    """

    text: str
    label: int


class LabelledPair(NamedTuple):
    """Two texts and the class of the pair.

    Attributes:
        first: as written.
        second: as written.
        label: 0 or 1.
    """

    first: str
    second: str
    label: int


def tiny_shakespeare() -> str:
    """Load about a million characters of Shakespeare's plays, as used by char-rnn (Karpathy 2015)."""
    return text_file(fetch("tinyshakespeare.txt"))


def multi30k(split: str, *, source: str = "en", target: str = "de") -> list[tuple[str, str]]:
    """Load captions of photographs in two languages, sentence by sentence (Elliott et al. 2016, 2017).

    Args:
        split: ``"train"`` (29,000 pairs), ``"validation"`` (1,014) or ``"test"`` (1,000, Flickr 2016).
        source: ``"en"``, ``"de"`` or ``"fr"``.
        target: another of these.

    Raises:
        ValueError: there is no such split or language.
    """
    if source == target or not {source, target} <= set(MULTI30K_LANGUAGES):
        raise ValueError(
            f"source and target must be two of {', '.join(MULTI30K_LANGUAGES)}, not {source!r} and {target!r}"
        )
    stem = _choose("multi30k", split, MULTI30K_SPLITS)
    sides = [
        [line.strip() for line in read_lines(fetch(f"multi30k/{stem}.{lang}.gz"))]
        for lang in (source, target)
    ]
    return list(zip(*sides, strict=True))


def sst2(split: str) -> list[LabelledText]:
    """Load sentences of film reviews, 1 = positive, 0 = negative (Sentiment Treebank, Socher et al. 2013).

    Args:
        split: ``"train"`` (6,920 sentences), ``"validation"`` (872) or ``"test"`` (1,821).

    Raises:
        ValueError: there is no such split.
    """
    stem = _choose("sst2", split, {"train": "train", "validation": "dev", "test": "test"})
    path = fetch(f"sst2/{stem}.tsv")
    rows = read_table(path, columns=2)
    return [
        LabelledText(text, _binary(label, path, line)) for line, (text, label) in enumerate(rows, start=1)
    ]


def subj() -> list[LabelledText]:
    """Load sentences about films, 0 = from a review, 1 = from a plot summary (SUBJ, Pang and Lee 2004).

    There are 10,000, half of each kind, and no published split.
    """
    path = fetch("subj/subj.all")
    rows = (line.partition(" ") for line in read_bytes(path).decode("cp1252").strip().split("\n"))
    return [LabelledText(text, _binary(label, path, line)) for line, (label, _, text) in enumerate(rows, 1)]


def imdb_reviews(limit: int | None = None) -> list[str]:
    """Load unlabelled film reviews, line breaks as ``<br />`` (IMDb, Maas et al. 2011; 84 MB download).

    Args:
        limit: number of reviews, of 50,000, in the order of their ids; all by default.
    """
    found = {}
    with tarfile.open(fetch("imdb/aclImdb_v1.tar.gz")) as archive:
        for member in archive:
            match = re.fullmatch(r"aclImdb/train/unsup/(\d+)_0\.txt", member.name)
            if match and (limit is None or int(match[1]) < limit):
                found[int(match[1])] = b"".join(archive.extractfile(member) or ()).decode()
    return [found[number] for number in sorted(found)]


def mrpc(split: str, *, tokenized: bool = False) -> list[LabelledPair]:
    """Load pairs of sentences from the news, 1 = they mean the same (MRPC, Dolan and Brockett 2005).

    Args:
        split: ``"train"`` (4,076 pairs) or ``"test"`` (1,725).
        tokenized: take SentEval's copy, with spaces around punctuation (the text of GLUE), which can be
            downloaded; the text as first published must be supplied through ``PIONEERS_DATA``.

    Raises:
        ValueError: there is no such split.
    """
    stem = _choose("mrpc", split, {"train": "train", "test": "test"})
    path = fetch(f"mrpc/{'senteval/' if tokenized else ''}msr_paraphrase_{stem}.txt")
    rows = enumerate(read_table(path, columns=5)[1:], start=2)  # the first line names the columns
    # Some copies end with made-up pairs, which have no number in the corpus: their ids are -1.
    return [
        LabelledPair(first, second, _binary(label, path, line))
        for line, (label, first_id, _, first, second) in rows
        if first_id != "-1"
    ]


def squad2(split: str) -> list[Question]:
    """Load questions about Wikipedia paragraphs, some without an answer (SQuAD 2.0, Rajpurkar et al. 2018).

    Args:
        split: ``"train"``, ``"validation"``, or ``"sample"``: the first five articles of the validation
            set, a file that must be supplied through ``PIONEERS_DATA``.

    Raises:
        ValueError: there is no such split.
    """
    files = {"train": "train-v2.0", "validation": "dev-v2.0", "sample": "dev-v2.0-sample"}
    return read_squad(fetch(f"squad2/{_choose('squad2', split, files)}.json"))


def ud_english_ewt(split: str, tags: Literal["parts", "relations"] = "parts") -> list[TaggedSentence]:
    """Load tagged sentences of the English web (English Web Treebank, UD 2.16).

    Args:
        split: ``"validation"`` (2,001 sentences) or ``"test"`` (2,077).
        tags: the 17 universal parts of speech, or the 37 universal relations to the word depended on.

    Raises:
        ValueError: there is no such split.
    """
    stem = _choose("ud_english_ewt", split, {"validation": "dev", "test": "test"})
    return read_conllu(fetch(f"ud_english_ewt/en_ewt-ud-{stem}.conllu"), tags=tags)


def mnist(split: str) -> ImageSet:
    """Load handwritten digits, images ``(B, 1, 28, 28)`` in [0, 1] (LeCun et al. 1998).

    Args:
        split: ``"train"`` (60,000 images) or ``"test"`` (10,000).

    Raises:
        ValueError: there is no such split.
    """
    stem = _choose("mnist", split, {"train": "train", "test": "t10k"})
    images = read_idx(fetch(f"mnist/{stem}-images-idx3-ubyte.gz"), ndim=3)
    labels = read_idx(fetch(f"mnist/{stem}-labels-idx1-ubyte.gz"), ndim=1)
    return ImageSet(images[:, None].float() / 255, labels.long())


def gpt2_merges() -> list[tuple[str, str]]:
    """Load GPT-2's 50,000 merges in the order they were learned, in its printable spelling of bytes."""
    lines = read_lines(fetch("gpt2/vocab.bpe"))[1:]  # the first line names the version
    return [(first, second) for first, second in (line.split(" ") for line in lines)]


def gpt2_encoder() -> dict[str, int]:
    """Load GPT-2's 50,257 tokens with their ids, in its printable spelling of bytes."""
    return {str(token): int(index) for token, index in read_json(fetch("gpt2/encoder.json")).items()}


def bert_vocabulary() -> list[str]:
    """Load the 30,522 word pieces of BERT (uncased); the position of a piece is its id."""
    return read_lines(fetch("bert/bert-base-uncased-vocab.txt"))


def _choose(data_set: str, split: str, files: Mapping[str, str]) -> str:
    if split not in files:
        raise ValueError(f"{data_set} has no split {split!r}; it has: {', '.join(files)}")
    return files[split]


def _binary(label: str, path: Path, line: int) -> int:
    if label not in ("0", "1"):
        raise ValueError(f"{path}, line {line}: the label must be 0 or 1, not {label!r}")
    return int(label)

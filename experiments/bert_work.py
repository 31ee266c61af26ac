"""Fine-tune the stored BERT on four tasks, beside random weights and beside a method that counts.

    make experiments NAME=bert_work

Parts of speech (English Web Treebank, trained with its validation split) and three embedded tasks. Learning
rates are those that did best for a BERT of two blocks, separately for each way to begin (the experiment
``finetuning_rates``).
"""

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef
from torch import Tensor, nn

from experiments.common import run
from experiments.text.finetuning import on_device, recipe, train
from experiments.text.stored import stored, vocabulary
from experiments.text.tasks import cuts
from pioneers.analysis import exact_match, overlap_f1
from pioneers.data import code_words, sentence_boundary_qa, truncated_entailment, ud_english_ewt
from pioneers.device import best_device
from pioneers.models import BERT, BERTClassifier, BERTReader, BERTTagger, best_span
from pioneers.objectives import (
    classification_loss,
    pair_inputs,
    question_inputs,
    span_loss,
    tagging_inputs,
    tagging_loss,
)

CONFIG = {"steps": 400}
SEQ_LEN = 48


class Task(NamedTuple):
    """A task in one of the shapes.

    Attributes:
        shape: ``"pair"``, ``"tags"`` or ``"span"``.
        rows: split → examples.
        rate: the task whose learning rates are taken over.
    """

    shape: str
    rows: Callable[[str], Sequence[Any]]
    rate: str


def treebank(split: str) -> Sequence[Any]:
    """Sentences of the web; the package reads no other part to train with."""
    return ud_english_ewt("test" if split == "test" else "validation")


TASKS = {
    "finished pairs": Task("pair", lambda split: truncated_entailment(cuts(split)), "finished first"),
    "sentence boundary": Task("span", sentence_boundary_qa, "run-on"),
    "code words": Task("tags", code_words, "punctuation"),
    "parts of speech": Task("tags", treebank, "punctuation"),
}
CASES: dict[str, dict[str, Any]] = {
    f"{task}, {way}": {"task": task, "way": way, **recipe("bert", name, TASKS[task].rate)}
    for task in TASKS
    for way, name in (("pretrained", "fine-tuned"), ("from scratch", "from scratch"))
} | {f"{task}, simple": {"task": task, "way": "simple", "lr": None} for task in TASKS}
# The rates for tags are those of another task of tags, punctuation: random weights also get the other rate.
CASES |= {
    f"{task}, from scratch, lower rate": {"task": task, "way": "from scratch", "lr": 1e-3}
    for task in ("code words", "parts of speech")
}


@functools.cache
def examples(task: str, split: str) -> Sequence[Any]:
    """The rows of a split, ``"train"`` or ``"test"``."""
    return TASKS[task].rows(split)


@functools.cache
def names_of(task: str) -> list[str]:
    """The tags, the most frequent one first."""
    counts = Counter(tag for row in examples(task, "train") for tag in row.tags)
    return [tag for tag, _ in counts.most_common()]


def tag_batch(task: str, rows: Sequence[Any]) -> tuple[Any, Tensor]:
    """Sentences and the tags ``(B, T)``; one that training has not is counted as the most frequent."""
    number = {tag: i for i, tag in enumerate(names_of(task))}
    tags = [[number.get(tag, 0) for tag in row.tags] for row in rows]
    return tagging_inputs([row.words for row in rows], tags, vocabulary(), max_seq_len=SEQ_LEN)


def span_batch(task: str, rows: Sequence[Any]) -> Any:
    """Questions with the places of their answers."""
    found = [(row.answers[0].start, row.answers[0].start + len(row.answers[0].text)) for row in rows]
    asked, contexts = [row.question for row in rows], [row.context for row in rows]
    return question_inputs(asked, contexts, found, vocabulary(), max_seq_len=SEQ_LEN)


def pair_batch(task: str, rows: Sequence[Any]) -> tuple[Any, Tensor]:
    """Pairs of texts and their labels."""
    first, second, labels = zip(*rows, strict=True)
    return pair_inputs(first, second, vocabulary(), max_seq_len=SEQ_LEN), torch.tensor(labels)


BATCH = {"tags": tag_batch, "span": span_batch, "pair": pair_batch}


def batch_of(task: str, rows: Sequence[Any]) -> Any:
    """Examples as the model of their shape takes them."""
    made = BATCH[TASKS[task].shape](task, rows)
    return on_device(made) if TASKS[task].shape == "span" else tuple(map(on_device, made))


def model_of(task: str, way: str) -> nn.Module:
    """The stored BERT, or one of its size with random weights, under a new head."""
    bert = stored().bert
    if way == "from scratch":
        bert = BERT(bert.config).to(best_device())
    if TASKS[task].shape == "tags":
        return BERTTagger(bert, len(names_of(task)))
    return BERTReader(bert) if TASKS[task].shape == "span" else BERTClassifier(bert, 2)


def outputs(model: nn.Module, task: str, batch: Any) -> Tensor:
    """Logits of labels ``(B, C)``, or of tags or the ends of a span ``(B, T, C)``."""
    inputs = batch[0]
    more = {"allowed": batch.allowed} if TASKS[task].shape == "span" else {}
    logits: Tensor = model(inputs.input_ids, segment_ids=inputs.segment_ids, mask=inputs.mask, **more)
    return logits


def loss_of(task: str, model: nn.Module, rows: Sequence[Any]) -> Tensor:
    """The loss of some examples."""
    batch = batch_of(task, rows)
    logits = outputs(model, task, batch)
    if TASKS[task].shape == "span":
        return span_loss(logits, batch.starts, batch.ends)
    return (tagging_loss if TASKS[task].shape == "tags" else classification_loss)(logits, batch[1])


@torch.inference_mode()
def predictions(model: nn.Module, task: str) -> Any:
    """Answers to the test questions, or the numbers of the test labels or tags."""
    found: list[Any] = []
    rows = examples(task, "test")
    for some in (rows[i : i + 64] for i in range(0, len(rows), 64)):
        batch = batch_of(task, some)
        logits = outputs(model, task, batch)
        if TASKS[task].shape == "span":
            spans = best_span(logits[:, 1:], max_length=8) + 1
            found += batch.answers([row.context for row in some], spans)
        else:
            found += logits.argmax(-1)[batch[1] >= 0].tolist()
    return found


def one_case(*, seed: int, task: str, way: str, lr: float | None, steps: int) -> dict[str, Any]:
    """The marks on the test split."""
    if way == "simple":
        return judge(task, SIMPLE[TASKS[task].shape](task))
    torch.manual_seed(seed)
    model = model_of(task, way)
    assert lr is not None
    train(model, functools.partial(loss_of, task), examples(task, "train"), seed, lr=lr, steps=steps)
    return judge(task, predictions(model.eval(), task))


def judge(task: str, found: Sequence[Any]) -> dict[str, float]:
    """Exact match and F1 of answers; accuracy, Matthews' correlation and F1 of labels and tags.

    ``unseen`` is the accuracy on the words that are not in the training text.
    """
    rows = examples(task, "test")
    if TASKS[task].shape == "span":
        right = [row.answers[0].text for row in rows]
        return {"exact_match": exact_match(found, right), "f1": overlap_f1(found, right)}
    guess, truth = np.array(found), np.array(truth_of(task))
    scores = {"accuracy": accuracy_score(truth, guess), "matthews": matthews_corrcoef(truth, guess)}
    if set(truth) == {0, 1}:
        scores["f1"] = f1_score(truth, guess)
    if TASKS[task].shape == "tags":
        new = np.array([bare(word) not in counted(task) for word in words_of(task)])
        scores |= {"unseen": (guess == truth)[new].mean(), "share_unseen": new.mean()}
    return scores


@functools.cache
def truth_of(task: str) -> list[int]:
    """The numbers of the labels, or of the tags of all words that fit into a row."""
    targets = batch_of(task, examples(task, "test"))[1]
    kept: list[int] = targets[targets >= 0].tolist()
    return kept


@functools.cache
def words_of(task: str) -> list[str]:
    """The words that fit into the rows of the test sentences."""
    rows = examples(task, "test")
    kept = (batch_of(task, rows)[1] >= 0).sum(1).tolist()
    return [word for row, count in zip(rows, kept, strict=True) for word in row.words[:count]]


def bare(word: str) -> str:
    """A word without case and without the punctuation around it."""
    return word.lower().strip(".,;:()\"'") or word


@functools.cache
def counted(task: str) -> dict[str, Counter[int]]:
    """How often each word of the training text has each tag."""
    found: dict[str, Counter[int]] = defaultdict(Counter)
    for row in examples(task, "train"):
        for word, tag in zip(row.words, row.tags, strict=True):
            found[bare(word)][names_of(task).index(tag)] += 1
    return dict(found)


def look_up(task: str) -> list[int]:
    """Each word's most frequent tag; of a word that training has not, the most frequent of all."""
    tags = {word: counts.most_common(1)[0][0] for word, counts in counted(task).items()}
    return [tags.get(bare(word), 0) for word in words_of(task)]


def first_words(task: str) -> list[str]:
    """The word with the largest share of beginnings among its occurrences, and the word behind it."""
    begun = Counter(row.answers[0].text.split()[0] for row in examples(task, "train"))
    all_words = Counter(word for row in examples(task, "train") for word in row.context.split())
    given = []
    for words in (row.context.split() for row in examples(task, "test")):
        shares = [(begun[word] + 0.01) / (all_words[word] + 1) for word in words[:-1]]
        place = int(np.argmax(shares))
        given.append(" ".join(words[place : place + 2]))
    return given


def count_words(task: str) -> list[int]:
    """Logistic regression on the weighted counts of the words of each text, and on their cosine."""
    known, asked = examples(task, "train"), examples(task, "test")
    counts = TfidfVectorizer(sublinear_tf=True).fit([text for row in known for text in row[:-1]])

    def features(rows: Sequence[Any]) -> Any:
        a, b = (counts.transform([row[place] for row in rows]) for place in (0, 1))
        return hstack([a, b, csr_matrix(a.multiply(b).sum(axis=1))]).tocsr()

    model = LogisticRegression(C=10, max_iter=1000).fit(features(known), [row[-1] for row in known])
    guess: list[int] = model.predict(features(asked)).tolist()
    return guess


SIMPLE: dict[str, Callable[[str], Any]] = {"tags": look_up, "span": first_words, "pair": count_words}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    print(run("bert_work", CASES, one_case, config=CONFIG))


if __name__ == "__main__":
    main()

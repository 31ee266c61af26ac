"""What the experiments on text stand on: splits that do not meet, rates that were chosen, no look ahead."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from experiments.finetuning_rates import TRIED
from experiments.text.finetuning import MARK, Classifier, count_words, recipe, states
from experiments.text.pretraining import LEFT, LR, SEQ_LEN, build, documents_in
from experiments.text.tasks import examples, labelled, part
from experiments.text.tokens import tagged
from pioneers.analysis import experiment
from pioneers.data import documents
from pioneers.objectives import BERTInputs


@pytest.mark.parametrize("task", ["packages", "modules", "following", "finished"])
def test_no_example_trains_and_judges(task):
    splits = {split: {row[:-1] for row in examples(task, split)} for split in ("train", "validation", "test")}
    shared = (splits["train"] | splits["validation"]) & splits["test"]
    assert len(shared) <= 0.002 * len(splits["test"])  # two documents may have the same words in one place
    assert len(splits["validation"]) > 50


def test_documents_stand_beside_others_of_their_package():
    neighbours = list(pairwise(document.package for document in documents("train")))
    assert np.mean([one == other for one, other in neighbours]) > 0.9


def test_labels_are_drawn_by_the_seed_and_from_the_training_split_alone():
    drawn = [labelled("packages", 100, seed) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0])) == 100
    assert set(drawn[0]) <= set(examples("packages", "train"))


def test_sentences_with_tags_that_choose_a_rate_do_not_train():
    rows = tagged("punctuation")[0]
    train, validation = part(rows, "train"), part(rows, "validation")
    assert len(train) + len(validation) == len(rows)
    assert len(validation) == len(rows) // 10
    assert set(train).isdisjoint(validation)


@pytest.mark.parametrize(("kind", "way"), TRIED)
def test_the_rate_is_the_best_one_of_the_search(kind, way):
    tried = experiment("finetuning_rates")
    by_case = {row["case"]: row for row in tried["rows"]}
    for task in TRIED[kind, way]:
        scores = {
            how["lr"]: by_case[case][MARK.get(task, "accuracy")]
            for case, how in tried["cases"].items()
            if (how["task"], how["kind"], how["way"]) == (task, kind, way)
        }
        assert scores[recipe(kind, way, task)["lr"]] == max(scores.values())
    assert recipe(kind, way, "mrpc")["lr"] in scores


@pytest.mark.parametrize("kind", ["gpt", "lstm"])
def test_pretraining_takes_half_of_the_best_rate_of_a_short_search(kind):
    tried = experiment("pretraining_rates")
    nats = {
        how["lr"]: row["nats"]
        for row in tried["rows"]
        if (how := tried["cases"][row["case"]])["kind"] == kind and how["steps"] == 1000
    }
    best = min(nats, key=nats.get)
    assert min(nats) < best < max(nats)
    assert LR[kind] == best / 2


def test_the_mean_of_states_leaves_padding_out():
    torch.manual_seed(0)
    bert = build("bert").bert.eval()
    ids = torch.randint(10, 100, (1, 7))
    longer = torch.cat([ids, torch.zeros(1, 4, dtype=torch.long)], dim=1)

    def inputs(ids):
        return BERTInputs(ids, torch.zeros_like(ids), torch.tensor([7]))

    for which in ("mean", "last"):
        short, padded = (states(bert, inputs(row), which)[1] for row in (ids, longer))
        assert torch.allclose(short, padded, atol=1e-5)


def test_a_bert_that_reads_from_left_to_right_does_not_see_the_future():
    torch.manual_seed(0)
    rows = torch.randint(10, 100, (2, 12))
    changed = rows.clone()
    changed[:, 8:] += 1
    how = {"segment_ids": torch.zeros_like(rows), "mask": torch.ones(2, 1, 1, 12, dtype=torch.bool)}
    for kind, same in ((LEFT, True), ("bert", False)):
        bert = build(kind).bert.eval()
        assert torch.allclose(bert(rows, **how)[:, :8], bert(changed, **how)[:, :8], atol=1e-6) == same


class Ids:
    """A vocabulary that need not be learned: letters."""

    special_ids = {"[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "[PAD]": 0}  # noqa: RUF012

    def encode(self, text):
        return [5 + ord(letter) % 90 for letter in text]


def test_shuffled_documents_are_the_same_in_another_order(monkeypatch):
    monkeypatch.setattr("experiments.text.pretraining.vocabulary", lambda _: Ids())
    rows = {
        how: "".join(map(chr, documents_in(*how))).split(chr(Ids.special_ids["[SEP]"]))
        for how in (("in order", 0), ("in order", 1), ("shuffled", 0), ("shuffled", 1))
    }
    ordered, again, mixed, other = rows.values()
    assert ordered == again
    assert sorted(ordered[:-1]) == sorted(mixed[:-1]) == sorted(other[:-1])
    assert ordered != mixed != other
    assert len(ordered) == len(documents("train")) + 1


@pytest.mark.parametrize("kind", ["gpt", "lstm"])
def test_a_classifier_reads_its_task(kind, monkeypatch):
    monkeypatch.setattr("experiments.text.finetuning.vocabulary", lambda _: Ids())
    torch.manual_seed(0)
    for task, classes in (("packages", 8), ("finished first", 2), ("finished choice", 4), ("mrpc", 2)):
        texts = {"packages": 1, "finished choice": 5}.get(task, 2)
        rows = [(*("abcdefg"[: 2 + i] for i in range(texts)), 0)] * 3
        logits, hidden, inputs = Classifier(build(kind).eval(), task).eval()(rows)
        assert logits.shape == (3, classes)
        assert hidden.shape[1] == inputs.input_ids.shape[-1] <= SEQ_LEN


def test_counted_words_beat_chance():
    truth = np.array([row[-1] for row in examples("packages", "test")])
    most = np.bincount(truth).max() / len(truth)
    assert count_words("packages", 0, num_labels=1000)["accuracy"] > most + 0.3

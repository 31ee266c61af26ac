"""The cases of T5's tasks and of BART's noises differ in what they are said to differ in."""

import pytest
import torch

from experiments import bart_noises, t5_tasks
from experiments.bart_noises import CASES, END, HALF, MASK, Damaged, damage, questions, texts
from experiments.t5_tasks import SHOWN, TASKS, MixedBatches, one_case, pairs, vocabulary

VOCAB = 300
SIZES = {"d_model": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2, "head_dim": 4, "dropout": 0.0}


def spelled(ids):
    return "".join(bart_noises.tokenizer(VOCAB).decode(ids.tolist()))


@pytest.mark.parametrize("task", TASKS)
def test_no_source_of_a_test_was_trained_on(task):
    train, validation, test = (pairs(task, split) for split in ("train", "validation", "test"))
    assert (len(train), len(validation), len(test)) == (1250, 120, 300)
    assert len(set(test)) == 300
    seen = {source for source, _ in train}
    assert not seen & {source for source, _ in validation + test}


def test_the_shown_numbers_are_of_the_test():
    assert set(SHOWN) <= dict(pairs("to German", "test")).keys()


def test_a_task_has_the_same_examples_in_a_mixture_as_alone():
    tokenizer = vocabulary(VOCAB)
    mixed = MixedBatches(list(TASKS), tokenizer, 3, seed=1)(step=5)
    for number, task in enumerate(TASKS):
        alone, rows = MixedBatches([task], tokenizer, 3, seed=1)(step=5), slice(3 * number, 3 * number + 3)
        assert mixed.lengths[rows].tolist() == alone.lengths.tolist()
        width = alone.targets.shape[1]
        assert torch.equal(mixed.targets[rows, :width], alone.targets)
        assert (mixed.targets[rows, width:] == -100).all()


def test_without_a_prefix_only_the_prefix_is_missing(monkeypatch):
    read = []
    monkeypatch.setattr(t5_tasks, "write", lambda model, sources, tokenizer: read.append(sources) or sources)
    for prefix in (True, False):
        t5_tasks.exact(None, "to French", "test", None, prefix=prefix)
    assert read[0] == [f"to French: {source}" for source in read[1]]


def test_one_case_reports_every_task(monkeypatch):
    monkeypatch.setattr(t5_tasks, "TESTED", 2)
    pairs.cache_clear()
    sizes = {"sizes": SIZES, "vocab_size": VOCAB, "rows": 2, "steps": 2, "rates": (1e-3, 2e-3)}
    found = one_case(seed=0, tasks=["to German", "package"], **sizes)
    pairs.cache_clear()
    assert found["lr"] in (1e-3, 2e-3) and len(found["validation"]) == 2
    assert {"to German", "to German, no prefix", "package", "package, no prefix"} <= found.keys()
    assert [len(written) for written in found["shown"].values()] == [5, 5, 5]


def test_all_noises_repair_the_same_texts():
    batches = {name: Damaged(case["noise"] or [], VOCAB, 4, 2)(step=3) for name, case in CASES.items()}
    special = bart_noises.tokenizer(VOCAB).special_ids
    plain = batches["no noise"]
    for batch in batches.values():
        assert torch.equal(batch.targets, plain.targets)
        ends = batch.source_ids[torch.arange(4), batch.lengths - 1]
        assert (ends == special[END]).all()
    assert torch.equal(plain.source_ids[0, : plain.lengths[0]], plain.targets[0, : plain.lengths[0]])
    assert (batches["text infilling"].source_ids == special[MASK]).any()
    assert (batches["token deletion"].lengths <= plain.lengths).all()


def test_sentences_change_places_as_a_whole():
    ids, second = next((torch.tensor(ids), cut) for ids, cut in texts(VOCAB) if cut < len(ids) == 2 * HALF)
    draw = torch.Generator().manual_seed(0)
    found = {tuple(damage(ids, second, ["permute"], 0, draw).tolist()) for _ in range(20)}
    swapped = torch.cat([ids[second:], ids[:second]])
    assert found == {tuple(ids.tolist()), tuple(swapped.tolist())}


def test_an_answer_is_how_the_second_sentence_begins():
    rows = questions("validation", VOCAB)
    assert all(len(source) <= 2 * HALF + 1 for source, _ in rows)
    for source, answer in rows[:50]:
        assert spelled(torch.tensor(answer)) in spelled(torch.tensor(source[:-1]))

import math
import random
from collections import Counter

import pytest
import torch

from pioneers.objectives import corrupt_spans, join_spans, random_spans, span_corruption

SENTINELS = [99, 98, 97, 96, 95, 94, 93, 92]
SENTENCE = "Thank you for inviting me to your party last week ."


def test_the_example_of_the_paper_comes_out_word_for_word():
    words = [*SENTENCE.split(), "<X>", "<Y>", "<Z>"]
    ids, sentinels = torch.arange(11), [11, 12, 13]
    inputs, targets = corrupt_spans(ids, [(2, 4), (8, 9)], sentinels)
    assert " ".join(words[i] for i in inputs) == "Thank you <X> me to your party <Y> week ."
    assert " ".join(words[i] for i in targets) == "<X> for inviting <Y> last <Z>"
    assert " ".join(words[i] for i in join_spans(inputs, targets, sentinels)) == SENTENCE


@pytest.mark.parametrize(
    ("spans", "inputs", "targets"),
    [
        ([], [1, 2, 3, 4], [99]),
        ([(0, 1)], [99, 2, 3, 4], [99, 1, 98]),
        ([(0, 2), (3, 4)], [99, 3, 98], [99, 1, 2, 98, 4, 97]),
        ([(0, 4)], [99], [99, 1, 2, 3, 4, 98]),
    ],
)
def test_spans_at_the_edges(spans, inputs, targets):
    got = corrupt_spans(torch.tensor([1, 2, 3, 4]), spans, SENTINELS)
    assert [x.tolist() for x in got] == [inputs, targets]


def test_joining_gives_any_text_back(seed):
    draw = random.Random(seed)
    for _ in range(200):
        ids = torch.tensor([draw.randrange(7) for _ in range(draw.randrange(2, 40))])  # tokens repeat
        cuts = sorted(draw.sample(range(len(ids) + 1), 2 * draw.randrange(min(8, (len(ids) + 1) // 2))))
        spans = list(zip(cuts[::2], cuts[1::2], strict=True))
        inputs, targets = corrupt_spans(ids, spans, SENTINELS)
        assert torch.equal(join_spans(inputs, targets, SENTINELS), ids)
        assert len(inputs) + len(targets) == len(ids) + 2 * len(spans) + 1


def test_joining_gives_a_random_batch_back():
    ids = torch.randint(7, (5, 53), generator=torch.Generator().manual_seed(0))
    inputs, targets = span_corruption(ids, sentinels=SENTINELS, generator=torch.Generator().manual_seed(1))
    assert inputs.shape == (5, 53 - 8 + 3)  # 15% of 53 are 8 tokens, in 3 spans
    assert targets.shape == (5, 8 + 3 + 1)
    rows = [join_spans(row, spans, SENTINELS) for row, spans in zip(inputs, targets, strict=True)]
    assert torch.equal(torch.stack(rows), ids)
    assert len({tuple((row >= 92).tolist()) for row in inputs}) > 1  # each row has its own spans


def test_t5_turns_568_tokens_into_512_and_114():
    """The lengths of the authors' pretraining; an end-of-text token follows the inputs."""
    inputs, targets = span_corruption(torch.zeros(1, 568, dtype=torch.long), sentinels=range(100, 200))
    assert (inputs.shape[1] + 1, targets.shape[1]) == (512, 114)


def test_a_million_tokens_have_the_papers_density_and_length():
    generator = torch.Generator().manual_seed(0)
    sizes = torch.randint(200, 800, (2000,), generator=generator).tolist()
    lengths = []
    for size in sizes:
        spans = random_spans(size, generator=generator)
        assert spans[0][0] > 0
        assert spans[-1][1] == size
        lengths += [stop - start for start, stop in spans]
    total, masked = sum(sizes), sum(lengths)
    assert total > 990_000
    assert abs(masked - 0.15 * total) < 4 * math.sqrt(total * 0.15 * 0.85)
    spread = math.sqrt(sum((n - 3) ** 2 for n in lengths) / len(lengths))
    assert 2.2 < spread < 2.7  # nearly geometric, whose spread is √6 = 2.45
    assert abs(masked / len(lengths) - 3) < 4 * spread / math.sqrt(len(lengths))


def test_every_division_is_equally_likely():
    generator = torch.Generator().manual_seed(0)
    how = {"noise_density": 0.5, "mean_span_length": 2.0, "generator": generator}
    found = Counter(tuple(random_spans(8, **how)) for _ in range(9000))
    halves = [(1, 3), (2, 2), (3, 1)]  # 4 kept and 4 chosen tokens, each in two parts
    divisions = {((a, a + c), (a + c + b, 8)) for a, b in halves for c, _ in halves}
    assert set(found) == divisions
    assert max(abs(n - 1000) for n in found.values()) < 4 * math.sqrt(9000 * 1 / 9 * 8 / 9)


@pytest.mark.parametrize(
    ("length", "density", "mean", "tokens", "count"),
    [(2, 0.15, 3, 1, 1), (11, 0.15, 3, 2, 1), (11, 0.99, 3, 10, 1), (100, 0.5, 1, 50, 50), (5, 0.6, 1, 3, 2)],
)
def test_counts_are_exact_and_never_degenerate(length, density, mean, tokens, count):
    spans = random_spans(length, noise_density=density, mean_span_length=mean)
    assert (sum(b - a for a, b in spans), len(spans)) == (tokens, count)
    corrupt_spans(torch.arange(length), spans, range(1000, 1100))  # they do not touch


def test_bad_spans_and_numbers_are_refused():
    ids = torch.arange(6)
    for spans in ([(2, 2)], [(1, 3), (3, 4)], [(3, 4), (1, 2)], [(5, 7)], [(-1, 2)]):
        with pytest.raises(ValueError, match=r"span .* in a text of 6 tokens: spans must lie in the text"):
            corrupt_spans(ids, spans, SENTINELS)
    with pytest.raises(ValueError, match="2 spans need 3 sentinels, got 2"):
        corrupt_spans(ids, [(0, 1), (2, 3)], SENTINELS[:2])
    with pytest.raises(ValueError, match="must begin with a sentinel, not with the token 5"):
        join_spans(ids, torch.tensor([5, 99]), SENTINELS)
    with pytest.raises(ValueError, match=r"nothing for the sentinels \[98\]"):
        join_spans(torch.tensor([1, 99, 98]), torch.tensor([99, 2]), SENTINELS)
    with pytest.raises(ValueError, match="needs at least two tokens, got 1"):
        random_spans(1)
    for wrong in ({"noise_density": 15}, {"mean_span_length": 0.5}):
        with pytest.raises(ValueError, match=r"noise_density must be in \(0, 1\)"):
            random_spans(9, **wrong)

"""Exercise 7.3: a learning rate for each arm, chosen by validation alone.

``validation``, ``test`` and ``finished`` are (A, R, S): arms, learning rates, seeds.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run

Choice = Callable[[Tensor, Tensor, Tensor], Tensor]


def _mean(scores: Tensor) -> Tensor:
    return scores.mean(-1)


def _whole(means: Tensor, finished: Tensor) -> Tensor:
    """Rates of which a run was lost cannot win."""
    return means.masked_fill(~finished.all(-1), -torch.inf)


def _chosen(
    score: Callable[[Tensor], Tensor] = _mean,
    rule: Callable[[Tensor, Tensor], Tensor] = _whole,
    best: Callable[[Tensor], Tensor] = lambda scores: scores.argmax(-1),
) -> Choice:
    """The place of the chosen rate, (A,)."""
    return lambda validation, test, finished: best(rule(score(validation), finished))


BY_VALIDATION = _chosen()


def _tuned(choose: Choice = BY_VALIDATION) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Test scores (A, S) at the rates of a choice, (A,) or (A, S); the default is the reference's."""

    def tuned(validation, test, finished) -> Tensor:
        place = choose(validation, test, finished)
        place = place[:, None] if place.dim() == 1 else place
        return test.gather(1, place.expand(len(test), test.shape[-1])[:, None])[:, 0]

    return tuned


def _lost_run() -> Probe:
    """The best rate of each arm has lost a run, in one arm the best of all runs that were kept."""
    validation = torch.tensor(
        [
            [[0.25, 0.5, 0.375], [0.75, 0.0, 0.875], [0.5, 0.25, 0.5]],
            [[0.5, 0.75, 0.625], [0.25, 0.25, 0.5], [0.875, 0.75, 0.875]],
        ]
    )
    finished = torch.ones(2, 3, 3, dtype=torch.bool)
    finished[0, 1, 1] = finished[1, 2, 0] = False
    test = torch.arange(18.0).view(2, 3, 3) / 32
    return Probe("rates that lost a run", {"validation": validation, "test": test, "finished": finished})


def _nothing_right() -> Probe:
    """Every score on validation is zero, and the first rate has lost a run."""
    finished = torch.ones(1, 2, 3, dtype=torch.bool)
    finished[0, 0, 1] = False
    scores = {"validation": torch.zeros(1, 2, 3), "test": torch.arange(6.0).view(1, 2, 3) / 8}
    return Probe("scores of zero, and a lost run", {**scores, "finished": finished})


def _probes() -> list[Probe]:
    normal = normals(73)

    def probe(name: str, A: int, R: int, S: int, strided=False, dtype=torch.float32) -> Probe:
        scores = {name: normal(A, R, S, dtype=dtype).sigmoid() for name in ("validation", "test")}
        return Probe(name, {**scores, "finished": torch.ones(A, R, S, dtype=torch.bool)}, strided)

    tie = torch.tensor([[[0.5, 0.75], [0.75, 0.5], [0.25, 0.5]], [[0.25, 0.5], [0.5, 0.75], [0.75, 0.5]]])
    return [
        probe("five arms, three rates, seven seeds", 5, 3, 7),
        probe("as many rates as seeds", 3, 5, 5),
        probe("one arm, one rate, one seed", 1, 1, 1),
        probe("two arms, eleven rates", 2, 11, 3, dtype=torch.float64),
        _lost_run(),
        probe("rates that are equally good", 2, 3, 2).having(
            "rates that are equally good", validation=tie
        ),
        probe("numbers with gaps in memory", 3, 2, 5, strided=True),
        _nothing_right(),
    ]  # fmt: skip


def _blind_to_the_test(run: Run) -> tuple[Tensor, Tensor]:
    """With 1 - test in the place of test the same rates are chosen."""
    probe = _probes()[0]
    turned = probe.having("law", test=1 - probe.args["test"])
    return 1 - run(turned).tensor, run(probe).tensor


def _same_for_all(validation: Tensor, test: Tensor, finished: Tensor) -> Tensor:
    means = _whole(_mean(validation), finished)
    return means.mean(0).argmax().expand(len(test))


def _each_seed(validation: Tensor, test: Tensor, finished: Tensor) -> Tensor:
    return validation.masked_fill(~finished, -torch.inf).argmax(1)


def _on_test(validation: Tensor, test: Tensor, finished: Tensor) -> Tensor:
    return _chosen()(test, validation, finished)


def _on_both(validation: Tensor, test: Tensor, finished: Tensor) -> Tensor:
    return _chosen()(validation + test, test, finished)


def _of_the_rest(validation: Tensor, test: Tensor, finished: Tensor) -> Tensor:
    return ((validation * finished).sum(-1) / finished.sum(-1)).argmax(-1)


def _validation_returned(validation, test, finished) -> Tensor:
    return _tuned()(validation, validation, finished)


def _last_best(scores: Tensor) -> Tensor:
    return scores.shape[-1] - 1 - scores.flip(-1).argmax(-1)


def _means_returned(validation, test, finished) -> Tensor:
    return _tuned()(validation, test, finished).mean(-1)


LEAK = (
    "chosen on the test split",
    "A rate that was chosen because it does well on the test images has seen them: choose by validation.",
)
LOST = (
    "a lost run is overlooked",
    "A rate at which a run diverges is no rate to publish: it cannot be chosen, however good the rest is.",
)
MISTAKES = (
    Mistake(*LEAK, _tuned(_on_test)),
    Mistake(*LEAK, _tuned(lambda validation, test, finished: test.mean(-1).argmax(-1))),
    Mistake(
        "chosen on validation and test together",
        "The test split must have no part in the choice, not even half of one.",
        _tuned(_on_both),
    ),
    Mistake(
        "the validation scores are returned",
        "They were used to choose, so they flatter; what is reported is the test split's.",
        _validation_returned,
    ),
    Mistake(
        "one learning rate for all arms",
        "An arm tuned with another's rate is tuned less: choose for each arm by itself.",
        _tuned(_same_for_all),
    ),
    Mistake(
        "another learning rate for each seed",
        "The rate belongs to the arm; chosen anew for each seed it follows the luck of single runs.",
        _tuned(_each_seed),
    ),
    Mistake(
        "the luckiest run decides",
        "One good seed is luck: the mean over the seeds decides.",
        _tuned(_chosen(lambda scores: scores.amax(-1))),
    ),
    Mistake(
        "the worst rate is chosen",
        "The scores are accuracies, not losses: more is better.",
        _tuned(_chosen(best=lambda scores: scores.masked_fill(scores == -torch.inf, 9.0).argmin(-1))),
    ),
    Mistake(*LOST, _tuned(_chosen(rule=lambda means, finished: means))),
    Mistake(*LOST, _tuned(_of_the_rest)),
    Mistake(
        "a lost rate is marked with zero",
        "Zero is a score too, if a bad one: mark a rate that cannot be chosen with what no score can be.",
        _tuned(_chosen(rule=lambda means, finished: means * finished.all(-1))),
    ),
    Mistake(
        "the middle run decides",
        "The median looks at one run of each rate; the mean over the seeds decides.",
        _tuned(_chosen(lambda scores: scores.median(-1).values)),
    ),
    Mistake(
        "the last of equally good rates",
        "Of equally good rates the first is chosen, so that there is one right result.",
        _tuned(_chosen(best=_last_best)),
    ),
    Mistake(
        "the mean instead of the runs",
        "The paired comparison to come needs the runs themselves: return all seeds, (A, S).",
        _means_returned,
    ),
)

EXERCISES = (
    Exercise(
        key="7.3",
        name="tuned",
        parameters=("validation", "test", "finished"),
        points=9,
        section="sec-vit-data",
        equation="",
        reference=_tuned(),
        probes=_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "the choice does not see the test split",
                "Turn every test score round, and the same rates are chosen.",
                _blind_to_the_test,
            ),
        ),
    ),
)

"""Exercise 4.8: the logits of a similarity task, read at the extract token of both orders.

``hidden`` is (B, 2, T, D), ``input_ids`` (B, 2, T), padded behind the extract token, ``w`` (D, C).
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run

START, DELIMITER, EXTRACT = 21, 22, 23
Read = Callable[[Tensor, Tensor, int], Tensor]


def _at_extract(hidden: Tensor, input_ids: Tensor, extract_id: int) -> Tensor:
    """The states at the extract tokens, (B, 2, D)."""
    return _at(hidden, (input_ids == extract_id).int().argmax(-1))


def _at(hidden: Tensor, place: Tensor) -> Tensor:
    index = place[..., None, None].expand(*place.shape, 1, hidden.shape[-1])
    return hidden.gather(2, index).squeeze(2)


def _with(
    read: Read = _at_extract, join: Callable[[Tensor, Tensor], Tensor] = lambda states, w: states.sum(1) @ w
) -> Callable[..., Tensor]:
    """Logits from a way to read the states (B, 2, D) and a way to join the two orders."""
    return lambda hidden, input_ids, extract_id, w: join(read(hidden, input_ids, extract_id), w)


similarity_logits = _with()


def _rows(first: list[list[int]], second: list[list[int]]) -> Tensor:
    """Both orders of each pair, padded with 0: (B, 2, T)."""
    rows = [
        [START, *x, DELIMITER, *y, EXTRACT]
        for a, b in zip(first, second, strict=True)
        for x, y in ((a, b), (b, a))
    ]
    longest = max(map(len, rows))
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows]).unflatten(0, (-1, 2))


PAIRS = [[3, 9], [7], [5, 6, 8, 2, 4]], [[4], [8], [1, 3]]


def _similarity_probes() -> list[Probe]:
    normal = normals(481)

    def probe(name: str, first, second, D: int, C: int, strided=False, dtype=torch.float32) -> Probe:
        ids = _rows(first, second)
        args = {"hidden": normal(*ids.shape, D, dtype=dtype), "input_ids": ids, "extract_id": EXTRACT}
        return Probe(name, args | {"w": normal(D, C, dtype=dtype)}, strided)

    return [
        probe("pairs of unequal length", *PAIRS, 7, 2),
        probe("pairs of equal length: no padding", [[3, 9], [4, 5]], [[6], [2]], 5, 3),
        probe("a batch of one", [[1, 2, 3]], [[4]], 3, 2),
        probe("one score for each pair", [[5], [6, 7, 8]], [[1, 2], [9, 3, 4, 5]], 11, 1),
        probe("double precision", *PAIRS, 5, 3, dtype=torch.float64),
        probe("numbers with gaps in memory", *PAIRS, 3, 5, strided=True),
    ]


def _orders_swapped(run: Run) -> tuple[Tensor, Tensor]:
    probe = _similarity_probes()[0]
    swapped = {name: probe.args[name].flip(1) for name in ("hidden", "input_ids")}
    return run(probe).tensor, run(probe.having("law", **swapped)).tensor


def _padding_changed(run: Run) -> tuple[Tensor, Tensor]:
    probe = _similarity_probes()[0]
    padding = (probe.args["input_ids"] == 0)[..., None]
    changed = probe.args["hidden"] + 10 * normals(482)(*probe.args["hidden"].shape) * padding
    return run(probe).tensor, run(probe.having("law", hidden=changed)).tensor


def _first_row_for_all(hidden: Tensor, input_ids: Tensor, extract_id: int) -> Tensor:
    place = int((input_ids[0, 0] == extract_id).int().argmax())
    return hidden[:, :, place]


def _before_extract(hidden: Tensor, input_ids: Tensor, extract_id: int) -> Tensor:
    return _at(hidden, (input_ids == extract_id).int().argmax(-1) - 1)


def _mean_state(hidden: Tensor, input_ids: Tensor, extract_id: int) -> Tensor:
    real = (input_ids != 0)[..., None]
    return (hidden * real).sum(2) / real.sum(2)


MISTAKES = (
    Mistake(
        "read at the last position",
        "In a shorter row that is padding: look for the extract token of each row.",
        _with(lambda hidden, input_ids, extract_id: hidden[:, :, -1]),
    ),
    Mistake(
        "read at the first position",
        "Under the causal mask the start token has seen nothing but itself.",
        _with(lambda hidden, input_ids, extract_id: hidden[:, :, 0]),
    ),
    Mistake(
        "read at the last token of the text",
        "The answer is read at the extract token itself, one further.",
        _with(_before_extract),
    ),
    Mistake(
        "one place for the whole batch",
        "Rows differ in length, so each has its own place.",
        _with(_first_row_for_all),
    ),
    Mistake(
        "a mean over all tokens",
        "GPT reads one state of each row, that of the extract token.",
        _with(_mean_state),
    ),
    Mistake(
        "one order only",
        "Neither text comes first: the states of both orders are added.",
        _with(join=lambda states, w: states[:, 0] @ w),
        section="sec-gpt-both-orders",
    ),
    Mistake(
        "a mean in place of the sum",
        "The two states are added; half of that would halve every logit.",
        _with(join=lambda states, w: states.mean(1) @ w),
        section="sec-gpt-shapes",
    ),
    Mistake(
        "the two states multiplied",
        "That is symmetric too, but GPT adds.",
        _with(join=lambda states, w: states.prod(1) @ w),
        section="sec-gpt-shapes",
    ),
    Mistake(
        "the orders subtracted",
        "A difference changes its sign with the order; a sum does not.",
        _with(join=lambda states, w: (states[:, 0] - states[:, 1]) @ w),
        section="sec-gpt-both-orders",
    ),
    Mistake(
        "logits for each order",
        "A pair gets one answer: add the two states before the linear map.",
        _with(join=lambda states, w: states @ w),
        section="sec-gpt-shapes",
    ),
    Mistake(
        "probabilities in place of logits",
        "The softmax is the loss's work; it wants logits.",
        _with(join=lambda states, w: (states.sum(1) @ w).softmax(-1)),
        section="sec-gpt-linear-head",
    ),
)

EXERCISES = (
    Exercise(
        key="4.8",
        name="similarity_logits",
        parameters=("hidden", "input_ids", "extract_id", "w"),
        points=7,
        section="sec-gpt-extract",
        equation="eq-tasks-head",
        reference=similarity_logits,
        probes=_similarity_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "the order of the two texts does not matter",
                "A sum does not know its order.",
                _orders_swapped,
                section="sec-gpt-both-orders",
            ),
            Property(
                "padding leaves the answer alone",
                "Nothing is read behind the extract token.",
                _padding_changed,
            ),
        ),
    ),
)

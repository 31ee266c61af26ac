"""Exercise 3.3: what the decoder reads and what it must write, from a padded batch of targets."""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run
from pioneers.checks.labs.translation.symptoms import NO_TENSOR

IGNORED = -100  # the loss leaves these targets out


def _filled(target_ids: Tensor, stop_id: int, pad_id: int, fill: int) -> Tensor:
    """Each row with the stop token behind its real tokens, one column wider, then ``fill``."""
    wider = torch.cat([target_ids, torch.full_like(target_ids[:, :1], pad_id)], dim=1)
    lengths = (target_ids != pad_id).sum(dim=1, keepdim=True)
    place = torch.arange(wider.shape[1], device=wider.device)
    ended = wider.masked_fill(place == lengths, stop_id)
    return ended.masked_fill(place > lengths, fill)


def _read(target_ids: Tensor, start_id: int) -> Tensor:
    return torch.cat([torch.full_like(target_ids[:, :1], start_id), target_ids], dim=1)


def teacher_forcing(target_ids: Tensor, start_id: int, stop_id: int, pad_id: int) -> Tensor:
    """The reference of 3.3."""
    return torch.stack((_read(target_ids, start_id), _filled(target_ids, stop_id, pad_id, IGNORED)))


def _probes() -> list[Probe]:
    def probe(name: str, rows: list[list[int]], start_id: int, stop_id: int, pad_id: int) -> Probe:
        ids = {"start_id": start_id, "stop_id": stop_id, "pad_id": pad_id}
        return Probe(name, {"target_ids": torch.tensor(rows), **ids})

    return [
        probe("the batch of the lecture", [[7, 8, 9], [5, 0, 0]], 1, 2, 0),
        probe(
            "three rows of different lengths", [[7, 5, 0, 0, 0], [4, 4, 9, 6, 8], [5, 3, 7, 0, 0]], 1, 2, 0
        ),
        probe("another id for padding, and 0 is a word", [[0, 4, 9, 9], [6, 0, 5, 0]], 7, 8, 9),
        probe("a batch of one", [[11, 13, 12]], 2, 1, 3),
        probe("a row of nothing but padding", [[5, 4], [0, 0]], 1, 2, 0),
    ]


def _more_padding(run: Run) -> tuple[Tensor, Tensor]:
    probe = _probes()[1]
    rows = probe.args["target_ids"]
    wide = torch.cat([rows, torch.zeros_like(rows[:, :2])], dim=1)
    return run(probe.having("law", target_ids=wide)).tensor[..., :-2], run(probe).tensor


def _made(
    read: Callable[[Tensor, Tensor, int, int], Tensor] = lambda inputs, targets, stop_id, pad_id: inputs,
    write: Callable[[Tensor, Tensor, int, int], Tensor] = lambda inputs, targets, stop_id, pad_id: targets,
) -> Callable[[Tensor, int, int, int], Tensor]:
    """Another way to read or to write, made from the right inputs and targets."""

    def answer(target_ids: Tensor, start_id: int, stop_id: int, pad_id: int) -> Tensor:
        inputs, targets = teacher_forcing(target_ids, start_id, stop_id, pad_id)
        how = (inputs, targets, stop_id, pad_id)
        return torch.stack((read(*how), write(*how)))

    return answer


def _padded(targets: Tensor, pad_id: int) -> Tensor:
    return targets.masked_fill(targets == IGNORED, pad_id)


def _stop_at_the_end(target_ids: Tensor, start_id: int, stop_id: int, pad_id: int) -> Tensor:
    ignored = target_ids.masked_fill(target_ids == pad_id, IGNORED)
    targets = torch.cat([ignored, torch.full_like(target_ids[:, :1], stop_id)], dim=1)
    return torch.stack((_read(target_ids, start_id), targets))


def _stop_at_the_end_padded(target_ids: Tensor, start_id: int, stop_id: int, pad_id: int) -> Tensor:
    targets = torch.cat([target_ids, torch.full_like(target_ids[:, :1], stop_id)], dim=1)
    return torch.stack((_read(target_ids, start_id), targets))


def _no_stop(inputs: Tensor, targets: Tensor, stop_id: int, pad_id: int) -> Tensor:
    return targets.masked_fill(targets == stop_id, IGNORED)


def _stop_read(inputs: Tensor, targets: Tensor, stop_id: int, pad_id: int) -> Tensor:
    shifted = torch.cat([inputs[:, :1], _padded(targets, pad_id)[:, :-1]], dim=1)
    return shifted


def _no_column(target_ids: Tensor, start_id: int, stop_id: int, pad_id: int) -> Tensor:
    """The last token falls out on the right, and nothing says stop."""
    inputs = _read(target_ids, start_id)[:, :-1]
    return torch.stack((inputs, target_ids.masked_fill(target_ids == pad_id, IGNORED)))


STOP_BEHIND = (
    "the stop token behind the padding",
    "A short row ends where its real tokens end: the stop token comes there, the padding behind it.",
)
MISTAKES = (
    NO_TENSOR,
    Mistake(
        "no shift",
        "Here the decoder reads the very token it is asked for: it learns to copy, and cannot translate.",
        _made(read=lambda inputs, targets, stop_id, pad_id: _padded(targets, pad_id)),
    ),
    Mistake(
        "inputs and targets exchanged",
        "First what the decoder reads, beginning with the start token; then what it must write.",
        lambda *args: teacher_forcing(*args).flip(0),
    ),
    Mistake(*STOP_BEHIND, _stop_at_the_end),
    Mistake(*STOP_BEHIND, _stop_at_the_end_padded),
    Mistake(
        "nothing says stop",
        "Unless the stop token is a target, the model never learns where a text ends.",
        _made(write=_no_stop),
    ),
    Mistake(
        "nothing says stop",
        "With T columns there is no place for the stop token: T + 1 are asked for.",
        _no_column,
    ),
    Mistake(
        "padding is a target",
        "Targets behind the stop token are -100; any other id would have to be learned.",
        _made(write=lambda inputs, targets, stop_id, pad_id: _padded(targets, pad_id)),
    ),
    Mistake(
        "the mark -100 among the inputs",
        "-100 is for the loss alone. An embedding has no row -100: what is read is padded with pad_id.",
        _made(read=lambda inputs, targets, stop_id, pad_id: inputs.masked_fill(inputs == pad_id, IGNORED)),
    ),
    Mistake(
        "the stop token is read",
        "It does no harm, as nothing is asked there, but here the stop token is written and never read.",
        _made(read=_stop_read),
    ),
    Mistake(
        "padding is always 0",
        "Use pad_id: 0 may well be a word.",
        lambda target_ids, start_id, stop_id, pad_id: teacher_forcing(target_ids, start_id, stop_id, 0),
    ),
    Mistake(
        "shifted the other way",
        "The target moves to the right, with the start token in the gap: one reads the token before.",
        lambda target_ids, start_id, stop_id, pad_id: torch.stack(
            (
                torch.cat([target_ids, torch.full_like(target_ids[:, :1], start_id)], dim=1),
                _filled(target_ids, stop_id, pad_id, IGNORED),
            )
        ),
    ),
)

EXERCISES = (
    Exercise(
        key="3.3",
        name="teacher_forcing",
        parameters=("target_ids", "start_id", "stop_id", "pad_id"),
        points=8,
        section="sec-shifted-targets",
        equation="eq-teacher-forcing",
        reference=teacher_forcing,
        probes=_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "more padding adds padding only",
                "A row is read and written alike, whatever the longest of its batch is.",
                _more_padding,
            ),
        ),
    ),
)

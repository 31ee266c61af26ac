"""Exercise 4.1: windows of a text, seen twice, one step apart. Everything is a whole number."""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run


def windows(stream: Tensor, starts: Tensor, seq_len: int) -> Tensor:
    """The reference: inputs and targets (2, B, T)."""
    rows = stream[_places(starts, seq_len + 1)]
    return torch.stack((rows[:, :-1], rows[:, 1:]))


def _places(starts: Tensor, length: int) -> Tensor:
    return starts[:, None] + torch.arange(length, device=starts.device)


def _stream(length: int) -> Tensor:
    """Tokens in which no stretch counts upwards, and some occur several times."""
    return (torch.arange(length) * 17 + torch.arange(length).square() * 5) % 23


def _window_probes() -> list[Probe]:
    def probe(name: str, length: int, starts: list[int], seq_len: int, *, strided: bool = False) -> Probe:
        args = {"stream": _stream(length), "starts": torch.tensor(starts), "seq_len": seq_len}
        return Probe(name, args, strided)

    return [
        probe("three windows, in no order", 31, [19, 2, 11], 5),
        probe("windows that overlap, one twice", 29, [7, 4, 7, 5, 12], 3),
        probe("the last window that fits", 23, [15, 3], 7),
        probe("windows of one token", 13, [4, 0, 11], 1),
        probe("a text of a single window", 6, [0], 5),
        probe("numbers with gaps in memory", 29, [1, 13], 3, strided=True),
    ]


def _one_by_one(run: Run) -> tuple[Tensor, Tensor]:
    starts = torch.tensor([29, 3, 17])
    whole = Probe("law", {"stream": _stream(37), "starts": starts, "seq_len": 7})
    alone = [run(whole.having("law", starts=start[None])).tensor for start in starts]
    return run(whole).tensor, torch.cat(alone, dim=1)


def _with(targets: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Windows with other targets, made of the stream, the places of the inputs, and the inputs."""

    def cut(stream: Tensor, starts: Tensor, seq_len: int) -> Tensor:
        places = _places(starts, seq_len)
        return torch.stack((stream[places], targets(stream, places, stream[places])))

    return cut


def _one_short(stream: Tensor, starts: Tensor, seq_len: int) -> Tensor:
    rows = stream[_places(starts, seq_len)]
    return torch.stack((rows[:, :-1], rows[:, 1:]))


def _side_by_side(stream: Tensor, starts: Tensor, seq_len: int) -> Tensor:
    return windows(stream, seq_len * torch.arange(len(starts)), seq_len)


MISTAKES = (
    Mistake(
        "two tensors instead of one",
        "Inputs and targets come back in one tensor (2, B, T): torch.stack gives it a new first axis.",
        shows=lambda symptom: symptom.case.outcome.kind in ("tuple", "list"),
    ),
    Mistake(
        "the targets are the inputs",
        "What stands in the input needs no prediction: the target is the token one step further.",
        _with(lambda stream, places, inputs: inputs),
    ),
    Mistake(
        "inputs and targets swapped",
        "The targets lie one step *later* in the text than the inputs.",
        lambda *args: windows(*args).flip(0),
    ),
    Mistake(
        "the targets lie behind",
        "The model predicts what comes next; these targets are what came before.",
        _with(lambda stream, places, inputs: stream[places - 1]),
    ),
    Mistake(
        "the next number instead of the next token",
        "inputs + 1 is the next entry of the vocabulary; the target is the next token of the text.",
        _with(lambda stream, places, inputs: inputs + 1),
    ),
    Mistake(
        "the last target comes from the front of the window",
        "roll wraps around: the last target is the token behind the window, so read seq_len + 1 tokens.",
        _with(lambda stream, places, inputs: inputs.roll(-1, dims=1)),
    ),
    Mistake(
        "a step of two",
        "Each target is the very next token, one step after its input.",
        _with(lambda stream, places, inputs: stream[(places + 2).clamp(max=len(stream) - 1)]),
    ),
    Mistake(
        "one pair too few",
        "A window of T pairs has T + 1 tokens: the target of the last input lies one further.",
        _one_short,
    ),
    Mistake(
        "the starts are ignored",
        "Each window begins where starts says, not behind the window before it.",
        _side_by_side,
    ),
)

EXERCISES = (
    Exercise(
        key="4.1",
        name="windows",
        parameters=("stream", "starts", "seq_len"),
        points=7,
        section="sec-teacher-forcing",
        equation="eq-chain-rule",
        reference=windows,
        probes=_window_probes,
        mistakes=MISTAKES,
        properties=(
            Property("each window is cut by itself", "A window knows nothing of the others.", _one_by_one),
        ),
    ),
)

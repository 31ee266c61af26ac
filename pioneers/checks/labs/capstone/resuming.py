"""Exercise 7.4: which runs a results file still lacks. One JSON object per line, the last perhaps torn."""

import json
from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import Any

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run, Symptom
from pioneers.checks.labs.translation.symptoms import NO_TENSOR

Row = dict[str, Any]
Names = tuple[str, ...]
Numbers = tuple[int, ...]
ARMS = ("none", "1-D", "2-D")


def _parsed(lines: Iterable[str]) -> list[Row]:
    """The lines that are whole."""
    rows = []
    for line in lines:
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


def _rows(text: str) -> list[Row]:
    return _parsed(text.splitlines())


def _counts(row: Row, steps: int) -> bool:
    return row["steps"] == steps and row["accuracy"] is not None


def _lacking(
    read: Callable[[str], list[Row]] = _rows,
    counts: Callable[[Row, int], bool] = _counts,
    missing: Callable[[bool], bool] = lambda done: not done,
    shaped: Callable[[list[tuple[int, int]]], Tensor] = lambda pairs: (
        torch.tensor(pairs).long().reshape(-1, 2)
    ),
) -> Callable[..., Tensor]:
    """Pairs of a file read otherwise; the defaults give the reference."""

    def lacking(text, arms, seeds, steps) -> Tensor:
        done = {(row["arm"], row["seed"]) for row in read(text) if counts(row, steps)}
        pairs = [(a, seed) for a, arm in enumerate(arms) for seed in seeds if missing((arm, seed) in done)]
        return shaped(pairs)

    return lacking


def _file(*rows: tuple[str, int, int, float | None], torn: str = "") -> str:
    names = ("arm", "seed", "steps", "accuracy")
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows) + torn


WHOLE = _file(*((arm, seed, 150, 0.5 + seed / 64) for arm in ARMS for seed in (2, 3, 5)))
SOME = (("1-D", 11, 150, 0.875), ("none", 3, 150, 0.5), ("2-D", 3, 150, 0.75), ("none", 5, 150, 0.25))
TORN = '{"arm": "2-D", "seed": 5, "ste'


def _probes() -> list[Probe]:
    def probe(name: str, text: str, seeds: Numbers, arms: Names = ARMS, steps: int = 150) -> Probe:
        return Probe(name, {"text": text, "arms": arms, "seeds": seeds, "steps": steps})

    glued = _file(SOME[0], torn=TORN + _file(*SOME[1:]))
    return [
        probe("some runs, in no order", _file(*SOME), (3, 5, 11)),
        probe("an empty file", "", (0, 1)),
        probe("a last line torn by a crash", _file(*SOME, torn=TORN), (3, 5, 11)),
        probe("a torn line in the middle, the next one glued to it", glued, (3, 5, 11)),
        probe("runs of another length", _file(*SOME[:2], ("2-D", 3, 50, 0.5), ("2-D", 5, 1500, 0.5)), (3, 5)),
        probe("a run that gave no number", _file(*SOME[:2], ("2-D", 3, 150, None)), (5, 3)),
        probe("the same row twice, and rows nobody asked for",
              _file(*SOME, SOME[1], ("3-D", 5, 150, 0.5), ("1-D", 7, 150, 0.5)), (3, 5, 11)),
        probe("seeds of which one begins like another", _file(("1-D", 11, 150, 0.5), ("2-D", 31, 150, 0.5)),
              (1, 11, 3), ("1-D", "2-D")),
        probe("nothing missing", WHOLE, (2, 3, 5)),
        probe("an accuracy of zero is a number", _file(("1-D", 1, 150, 0.0)), (1, 2), ("1-D",)),
        probe("a run begun again after it was done", _file(*SOME, (*SOME[1][:3], None)), (3, 5, 11)),
    ]  # fmt: skip


def _line_by_line(run: Run) -> tuple[Tensor, Tensor]:
    """A file and the file with its lines in another order."""
    probe = _probes()[0]
    turned = "".join(line + "\n" for line in probe.args["text"].splitlines()[::-1])
    return run(probe.having("law", text=turned)).tensor, run(probe).tensor


def _until_torn(text: str) -> list[Row]:
    return _parsed(takewhile(lambda line: _parsed([line]), text.splitlines()))


def _by_count(text, arms, seeds, steps) -> Tensor:
    pairs = [(a, seed) for a in range(len(arms)) for seed in seeds]
    return torch.tensor(pairs[len(_rows(text)) :]).long().reshape(-1, 2)


def _seeds_first(text, arms, seeds, steps) -> Tensor:
    pairs = _lacking()(text, arms, seeds, steps).tolist()
    return torch.tensor(sorted(pairs, key=lambda pair: seeds.index(pair[1]))).long().reshape(-1, 2)


def _places_of_seeds(text, arms, seeds, steps) -> Tensor:
    pairs = [(a, seeds.index(seed)) for a, seed in _lacking()(text, arms, seeds, steps).tolist()]
    return torch.tensor(pairs).long().reshape(-1, 2)


def _by_substring(text, arms, seeds, steps) -> Tensor:
    def found(arm: str, seed: int) -> bool:
        return any(f'"arm": "{arm}", "seed": {seed}' in line for line in text.splitlines())

    pairs = [(a, seed) for a, arm in enumerate(arms) for seed in seeds if not found(arm, seed)]
    return torch.tensor(pairs).long().reshape(-1, 2)


def _last_decides(text, arms, seeds, steps) -> Tensor:
    done = {(row["arm"], row["seed"]): _counts(row, steps) for row in _rows(text)}
    pairs = [(a, seed) for a, arm in enumerate(arms) for seed in seeds if not done.get((arm, seed))]
    return torch.tensor(pairs).long().reshape(-1, 2)


def _whole_arms(text, arms, seeds, steps) -> Tensor:
    done = {row["arm"] for row in _rows(text) if _counts(row, steps)}
    return torch.tensor([(a, s) for a, arm in enumerate(arms) for s in seeds if arm not in done]).reshape(
        -1, 2
    )


def _stops_at_a_torn_line(symptom: Symptom) -> bool:
    return symptom.stage == "runs" and "JSONDecodeError" in symptom.case.outcome.error


def _no_pairs_no_shape(symptom: Symptom) -> bool:
    return symptom.stage == "shape" and not symptom.case.expected.tensor.numel()


MISTAKES = (
    NO_TENSOR,
    Mistake(
        "a torn line stops everything",
        "A crash may leave half a line, and the file must still be of use: catch the error for each line.",
        shows=_stops_at_a_torn_line,
    ),
    Mistake(
        "no pairs, no shape",
        "An empty list makes a tensor of shape (0,): with nothing missing the result is (0, 2).",
        shows=_no_pairs_no_shape,
    ),
    Mistake(
        "everything behind a torn line is lost",
        "The lines behind a torn one are whole again: go on with the next line, do not break.",
        _lacking(_until_torn),
    ),
    Mistake(
        "the last line is taken for torn",
        "A line that can be read is whole, the last one too: only what cannot be read is left out.",
        _lacking(lambda text: _parsed(text.splitlines()[:-1])),
    ),
    Mistake(
        "runs of any length",
        "A run of other steps belongs to another budget, and must not stand in this table.",
        _lacking(counts=lambda row, steps: row["accuracy"] is not None),
    ),
    Mistake(
        "runs at least as long",
        "A run of more steps had another budget, and an unfair one: the steps must be equal.",
        _lacking(counts=lambda row, steps: row["steps"] >= steps and row["accuracy"] is not None),
    ),
    Mistake(
        "a run without a number is done",
        "null means that the run was begun and gave no number: it is still missing.",
        _lacking(counts=lambda row, steps: row["steps"] == steps),
    ),
    Mistake(
        "zero is taken for nothing",
        "An accuracy of 0 is a result, however bad: ask `is None`, not for truth.",
        _lacking(counts=lambda row, steps: row["steps"] == steps and bool(row["accuracy"])),
    ),
    Mistake(
        "runs are counted, not named",
        "The file says which runs are done, in any order and perhaps twice; how many says nothing.",
        _by_count,
    ),
    Mistake(
        "the last line of a run decides",
        "A run is done if some line says so: a later one that failed does not undo it.",
        _last_decides,
    ),
    Mistake(
        "text instead of numbers",
        "In text, seed 1 is found in seed 11: read the object, then compare the values.",
        _by_substring,
    ),
    Mistake(
        "an arm is done with its first seed",
        "A run is an arm and a seed: look for the pair.",
        _whole_arms,
    ),
    Mistake(
        "what is done, not what is missing",
        "The rows in the file are done: return the pairs that are not there.",
        _lacking(missing=lambda done: done),
    ),
    Mistake(
        "the file is not looked at",
        "A rerun that does everything again doubles the rows: leave out what is done.",
        _lacking(lambda text: []),
    ),
    Mistake(
        "seeds before arms",
        "All seeds of the first arm come first, then those of the second.",
        _seeds_first,
    ),
    Mistake(
        "places of seeds, not seeds",
        "An arm is returned as its place in `arms`, a seed as itself.",
        _places_of_seeds,
    ),
)

EXERCISES = (
    Exercise(
        key="7.4",
        name="missing_runs",
        parameters=("text", "arms", "seeds", "steps"),
        points=9,
        section="sec-variations",
        equation="",
        reference=_lacking(),
        probes=_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "the order of the lines does not matter",
                "Runs are done in any order, and a file may be sorted.",
                _line_by_line,
            ),
        ),
    ),
)

"""Exercise 4.7: writing greedily, a batch of prompts at once, until each row has ended.

The model is a table (V, V) of logits, one row for each current token. The result are whole numbers.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run

Writer = Callable[[Tensor, Tensor, int, int, int], Tensor]


def _write(
    *,
    ended: Callable[[Tensor, int], Tensor] = lambda prompts, stop: torch.zeros_like(prompts[:, 0]).bool(),
    over: Callable[[Tensor], bool] = lambda done: bool(done.all()),
    fill: bool = True,
    shown: bool = True,
    place: int = -1,
) -> Writer:
    """A loop with other ideas of the end.

    Args:
        ended: rows that have ended before anything was written.
        over: from the rows that have ended, whether to leave the loop.
        fill: whether ended rows get padding instead of further tokens.
        shown: whether the stop token itself is written.
        place: the position whose logits are read.
    """

    def write(table: Tensor, prompts: Tensor, max_new_tokens: int, stop_id: int, pad_id: int) -> Tensor:
        ids, done = prompts, ended(prompts, stop_id)
        for _ in range(max_new_tokens):
            if over(done):
                break
            drawn = table[ids][:, place].argmax(-1)
            written = drawn if shown else drawn.where(drawn != stop_id, pad_id)
            ids = torch.cat((ids, (written.where(~done, pad_id) if fill else written)[:, None]), dim=1)
            done = done | (drawn == stop_id)
        return ids

    return write


write = _write()


def _chain(*after: int) -> Tensor:
    """A table in which token v is followed by ``after[v]``, and nearly by the token before that."""
    V, rows = len(after), torch.arange(len(after))
    table = torch.linspace(-1, 1, V * V).reshape(V, V).sin()
    table[rows, torch.tensor(after)] = 3.0
    return table


def _write_probes() -> list[Probe]:
    # 0 → 4 → 6 → 1 → 5 → 2 → 3 → 0, and 5 is where texts end in most probes
    table = _chain(4, 5, 3, 0, 6, 2, 1)

    def probe(name: str, prompts: list[list[int]], new: int, stop: int = 5, pad: int = 0) -> Probe:
        args = {"table": table, "prompts": torch.tensor(prompts), "max_new_tokens": new}
        return Probe(name, args | {"stop_id": stop, "pad_id": pad})

    return [
        probe("no row comes to its end", [[2, 1, 3], [6, 6, 2]], 2),
        probe("rows end at different steps", [[3, 4], [2, 1], [4, 6], [1, 2]], 4),
        probe("all rows end early", [[6, 1, 4], [2, 3, 6], [3, 2, 1]], 7),
        probe("a stop token within the prompt", [[5, 3, 2], [3, 6, 5]], 3),
        probe("the prompt alone", [[4, 2, 6]], 0),
        probe("one token, which is followed by the end", [[1]], 3),
        probe("padding that may also be written", [[6, 4], [2, 3]], 5, stop=5, pad=3),
        probe("padding and stop token are the same", [[3, 6], [0, 2]], 4, stop=5, pad=5),
    ]


def _as_alone(run: Run) -> tuple[Tensor, Tensor]:
    probe = _write_probes()[1]
    together = run(probe).tensor
    width = together.shape[1]
    rows = []
    for prompt in probe.args["prompts"]:
        alone = run(probe.having("law", prompts=prompt[None])).tensor[0, :width]
        rows.append(torch.nn.functional.pad(alone, (0, width - len(alone)), value=0))
    return together, torch.stack(rows)


def _full_length(table: Tensor, prompts: Tensor, max_new_tokens: int, stop_id: int, pad_id: int) -> Tensor:
    return _write(over=lambda done: False)(table, prompts, max_new_tokens, stop_id, pad_id)


def _whole_length(table: Tensor, prompts: Tensor, max_new_tokens: int, stop_id: int, pad_id: int) -> Tensor:
    return write(table, prompts, max_new_tokens - prompts.shape[1], stop_id, pad_id)


def _prompt_lost(table: Tensor, prompts: Tensor, *rest: int) -> Tensor:
    return write(table, prompts, *rest)[:, prompts.shape[1] :]


IN_PROMPT = (
    "a stop token in the prompt ends the row",
    "Only a token that the model itself writes ends a row: a prompt may hold the mark of an earlier text.",
)
MISTAKES = (
    Mistake(
        "the stop token is ignored",
        "A row ends with the stop token; from there on it gets padding.",
        _write(over=lambda done: False, fill=False),
    ),
    Mistake(
        "rows go on behind their end",
        "A row that has ended gets pad_id while the others are still being written.",
        _write(fill=False),
    ),
    Mistake(
        "the first end stops all",
        "Go on until *all* rows have ended: the others still have something to say.",
        _write(over=lambda done: bool(done.any())),
    ),
    Mistake(
        "written to full length, though all have ended",
        "When every row has ended, leave the loop: the result is no wider than its longest row.",
        _full_length,
    ),
    Mistake(
        "the stop token is thrown away",
        "The stop token belongs to the row it ends; the padding comes behind it.",
        _write(shown=False),
    ),
    Mistake(*IN_PROMPT, _write(ended=lambda prompts, stop: (prompts == stop).any(1))),
    Mistake(*IN_PROMPT, _write(ended=lambda prompts, stop: prompts[:, -1] == stop)),
    Mistake(
        "the prompt is thrown away",
        "What is asked for is the prompt and its continuation.",
        _prompt_lost,
    ),
    Mistake(
        "the prompt counted as new tokens",
        "max_new_tokens counts what is written; the prompt comes on top of it.",
        _whole_length,
    ),
    Mistake(
        "read at the first position",
        "The next token is predicted at the last position, the only one that has seen all of the text.",
        _write(place=0),
    ),
)

EXERCISES = (
    Exercise(
        key="4.7",
        name="write_greedily",
        parameters=("table", "prompts", "max_new_tokens", "stop_id", "pad_id"),
        points=11,
        section="sec-sampling",
        equation="eq-chain-rule",
        reference=write,
        probes=_write_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "each prompt is continued as it would be alone",
                "Rows of a batch know nothing of each other.",
                _as_alone,
            ),
        ),
    ),
)

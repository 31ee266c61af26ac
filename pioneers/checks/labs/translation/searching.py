"""Beam search over a table of log-probabilities, written so that each of its rules can be broken alone.

The table (V, V) holds the log-probability of the next token (last axis) behind each last token.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from pioneers.generation import length_penalty

Scored = tuple[float, tuple[int, ...]]


@dataclass(frozen=True)
class Rule:
    """How a beam is searched; each default is the right way.

    Attributes:
        penalty: what the log-probability of a text is divided by, from its length and alpha.
        add: whether the score of a beginning counts.
        one_each: whether a beginning, but for the first, is extended by its best token only.
        reach: how many candidates are asked whether they stop, in beams.
        room: whether a text that stops makes room for another one.
        gap: whether it makes room only in the step after.
        patience: how many texts may stop before the search ends, in beams.
    """

    penalty: Callable[[int, float], float] = length_penalty
    add: bool = True
    one_each: bool = False
    reach: int = 1
    room: bool = True
    gap: bool = False
    patience: int = 1


def best(done: list[Scored]) -> Scored:
    """The finished text with the largest score."""
    return max(done, key=lambda scored: scored[0])


def searching(
    rule: Rule = Rule(), choose: Callable[[list[Scored]], Scored] = best
) -> Callable[[Tensor, int, float, int, int, int, int], Tensor]:
    """Beam search by a rule, and which of the texts that finished is its answer."""

    def beam_search(
        log_probs: Tensor,
        num_beams: int,
        alpha: float,
        start_id: int,
        stop_id: int,
        pad_id: int,
        max_new_tokens: int,
    ) -> Tensor:
        done = _finished(log_probs, num_beams, alpha, start_id, stop_id, max_new_tokens, rule)
        text = choose(done)[1]
        return torch.tensor([*text, *[pad_id] * (max_new_tokens - len(text))])

    return beam_search


def _finished(
    log_probs: Tensor, num_beams: int, alpha: float, start_id: int, stop_id: int, longest: int, rule: Rule
) -> list[Scored]:
    """Every finished text with its penalised score, in the order they finish."""
    table = log_probs.tolist()
    going: list[Scored] = [(0.0, ())]
    done: list[Scored] = []
    stopped, places = 0, num_beams
    for length in range(1, longest + 1):
        ranked = sorted(_candidates(going, table, start_id, rule), key=lambda scored: -scored[0])
        asked = ranked[: rule.reach * places]
        stops = [scored for scored in asked if scored[1][-1] == stop_id]
        ending = ranked[:places] if length == longest else stops
        done += [(score / rule.penalty(length, alpha), text) for score, text in ending]
        stopped += len(stops)
        if rule.gap or not rule.room:
            ranked = ranked[:places]
        places -= 0 if rule.room else len(stops)
        going = [scored for scored in ranked if scored[1][-1] != stop_id][:places]
        if not going or stopped >= rule.patience * num_beams:
            break
    return done


def _candidates(going: list[Scored], table: list[list[float]], start_id: int, rule: Rule) -> list[Scored]:
    """Every beginning extended by every token, with its score."""
    found: list[Scored] = []
    for score, text in going:
        row = table[text[-1] if text else start_id]
        tokens = [row.index(max(row))] if rule.one_each and text else range(len(row))
        found += [((score if rule.add else 0.0) + row[token], (*text, token)) for token in tokens]
    return found


def never_stopping(search: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The same search, blind to the stop token."""
    return lambda log_probs, num_beams, alpha, start_id, stop_id, pad_id, most: search(
        log_probs, num_beams, alpha, start_id, -1, pad_id, most
    )


def of_full_length(done: list[Scored]) -> Scored:
    """The best of those that were open to the end."""
    longest = max(len(text) for _, text in done)
    return best([scored for scored in done if len(scored[1]) == longest])

"""Beam search: keep the best few beginnings, extend each by every token, keep the best few again."""

from typing import NamedTuple

import torch
from torch import Tensor

from pioneers.generation.next_token import Decoder, LanguageModel, check
from pioneers.progress import progress


class Best(NamedTuple):
    """The best continuation found for each row.

    Attributes:
        tokens: prompt and continuation ``(B, ≤ T + max_new_tokens)``, padded behind the stop token.
        scores: ``log p / length_penalty`` of the continuations ``(B,)``, in nats.
    """

    tokens: Tensor
    scores: Tensor


def length_penalty(length: int, alpha: float) -> float:
    """The divisor of the log-probability of ``length`` tokens: Wu et al. 2016, equation (14).

    ``((5 + length) / (5 + 1)) ** alpha``. With ``alpha=0`` short sequences win, since every further token
    lowers their probability; Vaswani et al. 2017, section 6.1, use 0.6.

    Example:
        >>> length_penalty(1, 0.6), length_penalty(19, 0.5)
        (1.0, 2.0)
    """
    return ((5 + length) / (5 + 1)) ** alpha


@torch.no_grad()
def beam_search(
    model: LanguageModel,
    input_ids: Tensor,
    max_new_tokens: int,
    *,
    num_beams: int,
    stop_id: int,
    alpha: float = 0.6,
    pad_id: int = 0,
    use_cache: bool = True,
) -> Best:
    """The most likely continuation of each prompt among those that a beam of ``num_beams`` finds.

    A hypothesis is finished when it ends with ``stop_id`` or has ``max_new_tokens`` tokens. A row ends when
    ``num_beams`` of its hypotheses have stopped, or when no open one can still win; one beam is therefore
    greedy decoding. Beyond the context the model reads the end of the text, as in :func:`generate`. For an
    encoder–decoder see :func:`translate`.

    Args:
        model: a language model in eval mode, such as :class:`pioneers.models.GPT`.
        input_ids: prompts of equal length ``(B, T)``, T ≥ 1, on the model's device.
        max_new_tokens: longest continuation.
        num_beams: number of beginnings that are kept.
        stop_id: what a continuation ends with.
        alpha: see :func:`length_penalty`.
        pad_id: fills up the rows behind the stop token.
        use_cache: as in :func:`generate`.

    Raises:
        ValueError: as :func:`generate`, or ``num_beams`` or ``alpha`` is out of range.

    Example:
        >>> from pioneers.models import GPT, GPTConfig
        >>> model, prompts = GPT(GPTConfig.preset("mini")).eval(), torch.zeros(2, 3, dtype=torch.long)
        >>> best = beam_search(model, prompts, 5, num_beams=3, stop_id=7)
        >>> len(best.tokens), best.scores.shape
        (2, torch.Size([2]))
    """
    check(model, input_ids)
    next_token = Decoder.for_lm(model, use_cache=use_cache)
    return beam_loop(
        next_token,
        input_ids,
        max_new_tokens,
        num_beams=num_beams,
        alpha=alpha,
        stop_id=stop_id,
        pad_id=pad_id,
    )


def beam_loop(
    next_token: Decoder,
    prompts: Tensor,
    max_new_tokens: int,
    *,
    num_beams: int,
    alpha: float,
    stop_id: int,
    pad_id: int,
) -> Best:
    """Beam search over whatever ``next_token`` computes; its rows are the prompts', each ``num_beams`` times.

    Raises:
        ValueError: ``num_beams`` or ``alpha`` is out of range.
    """
    if num_beams < 1 or alpha < 0:
        raise ValueError(f"num_beams must be at least 1 and alpha at least 0, not {num_beams} and {alpha}")
    beam = _Beam(prompts, max_new_tokens, num_beams, alpha, stop_id, pad_id)
    for length in progress(range(1, max_new_tokens + 1), desc="tokens", leave=False):
        rows = beam.extend(next_token(beam.tokens), length)
        next_token.reorder(rows)
        if not bool(beam.open.any()):
            break
    return Best(beam.best[:, : int(beam.ends.max())], beam.best_scores)


class _Beam:
    """The open hypotheses of every row, its best finished one, and how many have stopped."""

    def __init__(
        self, prompts: Tensor, max_new_tokens: int, num_beams: int, alpha: float, stop_id: int, pad_id: int
    ) -> None:
        batch, self.start = prompts.shape
        self.max_new_tokens, self.num_beams, self.alpha = max_new_tokens, num_beams, alpha
        self.stop_id = stop_id
        self.tokens = prompts.repeat_interleave(num_beams, dim=0)
        self.log_probs = torch.full((batch, num_beams), -torch.inf, device=prompts.device)
        self.log_probs[:, 0] = 0.0  # the beams start alike: one of them is enough
        self.stopped = torch.zeros_like(prompts[:, 0])
        self.best = torch.cat([prompts, prompts.new_full((batch, max_new_tokens), pad_id)], dim=1)
        self.best_scores = torch.full_like(self.log_probs[:, 0], -torch.inf)
        self.ends = torch.full_like(self.stopped, self.start)

    @property
    def open(self) -> Tensor:
        """Which rows ``(B,)`` still have a hypothesis to extend."""
        return self.log_probs.isfinite().any(dim=1)

    def extend(self, logits: Tensor, length: int) -> Tensor:
        """Add the ``length``-th token to each hypothesis; returns the rows that the survivors continue."""
        log_probs = logits.float().log_softmax(-1).unflatten(0, (-1, self.num_beams))
        joint = self.log_probs[..., None] + log_probs  # (B, beams, V)
        before = self.tokens.unflatten(0, (-1, self.num_beams))
        scores, origin, token = _top(joint, self.num_beams)
        stops = (token == self.stop_id) & scores.isfinite()
        finished = torch.ones_like(stops) if length == self.max_new_tokens else stops
        self._finish(before, scores.masked_fill(~finished, -torch.inf), origin, token, length)
        self.stopped += stops.sum(dim=1)
        joint[..., self.stop_id] = -torch.inf
        self.log_probs, origin, token = _top(joint, self.num_beams)
        self._close(length)
        rows = (origin + self.num_beams * torch.arange(len(origin), device=origin.device)[:, None]).flatten()
        self.tokens = torch.cat([self.tokens[rows], token.flatten()[:, None]], dim=1)
        return rows

    def _finish(self, before: Tensor, scores: Tensor, origin: Tensor, token: Tensor, length: int) -> None:
        """Keep the best finished hypothesis of each row if it beats what the row has."""
        top, which = (scores / length_penalty(length, self.alpha)).max(dim=1, keepdim=True)
        parent, last = origin.gather(1, which)[:, 0], token.gather(1, which)
        new = torch.cat([before[torch.arange(len(before)), parent], last], dim=1)
        better = top[:, 0] > self.best_scores
        self.best_scores = torch.where(better, top[:, 0], self.best_scores)
        self.best[:, : new.shape[1]] = torch.where(better[:, None], new, self.best[:, : new.shape[1]])
        self.ends = torch.where(better, new.shape[1], self.ends)

    def _close(self, length: int) -> None:
        """Close the rows that have stopped often enough, or whose best cannot be beaten any more."""
        most = self.log_probs.max(dim=1).values / length_penalty(self.max_new_tokens, self.alpha)
        over = (self.stopped >= self.num_beams) | (most <= self.best_scores)
        if length == self.max_new_tokens:
            over = torch.ones_like(over)
        self.log_probs = self.log_probs.masked_fill(over[:, None], -torch.inf)


def _top(joint: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """The ``count`` best of ``joint (B, beams, V)``: their scores, beams and tokens, ``(B, count)`` each."""
    scores, index = joint.flatten(1).topk(count)
    return scores, index // joint.shape[2], index % joint.shape[2]

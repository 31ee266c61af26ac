"""One step of generation: from all tokens so far to the logits of the next, with or without a cache."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from torch import Tensor, nn

from pioneers.layers import KVCache

Forward = Callable[[Tensor, Sequence[KVCache] | None], Tensor]


class LanguageModel(Protocol):
    """What generation needs of a language model: GPT has it."""

    config: Any
    training: bool
    lm_head: nn.Module

    def hidden_states(self, input_ids: Tensor, *, caches: Sequence[KVCache] | None = None) -> Tensor:
        """Ids (B, T) → (B, T, D)."""

    def new_caches(self) -> list[KVCache]:
        """Empty caches, one per block."""


class EncoderDecoder(Protocol):
    """What generation needs of an encoder–decoder: Transformer has it."""

    config: Any
    training: bool

    def encode(self, source_ids: Tensor, *, lengths: Tensor | None = None) -> Tensor:
        """Source ids (B, S) → memory (B, S, D)."""

    def decode(
        self,
        target_ids: Tensor,
        memory: Tensor,
        *,
        lengths: Tensor | None = None,
        caches: Sequence[KVCache] | None = None,
    ) -> Tensor:
        """Target ids (B, T) and memory (B, S, D) → logits (B, T, V)."""

    def new_caches(self) -> list[KVCache]:
        """Empty caches, one per block of the decoder."""


class NextToken:
    """All tokens so far ``(B, T)`` → logits ``(B, V)`` of the next one.

    Args:
        forward: ids and caches → logits of the last position.
        caches: if given, only tokens that the caches have not seen are computed.
    """

    def __init__(self, forward: Forward, caches: Sequence[KVCache] | None) -> None:
        self.forward, self.caches = forward, caches

    def __call__(self, tokens: Tensor) -> Tensor:
        """The logits of the token that follows ``tokens (B, T)``."""
        seen = self.caches[0].length if self.caches else 0
        return self.forward(tokens[:, seen:], self.caches)

    def reorder(self, rows: Tensor) -> None:
        """Let row i go on from what row ``rows[i]`` has seen."""
        for cache in self.caches or ():
            cache.reorder(rows)


def of_language_model(model: LanguageModel, *, use_cache: bool) -> NextToken:
    """The next token of a GPT."""

    def forward(ids: Tensor, caches: Sequence[KVCache] | None) -> Tensor:
        return model.lm_head(model.hidden_states(ids, caches=caches)[:, -1])

    return NextToken(forward, model.new_caches() if use_cache else None)


def of_encoder_decoder(
    model: EncoderDecoder,
    source_ids: Tensor,
    *,
    lengths: Tensor | None,
    repeats: int = 1,
    use_cache: bool = True,
) -> NextToken:
    """The next target token, given the sources: each serves ``repeats`` rows in succession."""
    memory = model.encode(source_ids, lengths=lengths).repeat_interleave(repeats, dim=0)
    real = None if lengths is None else lengths.repeat_interleave(repeats)

    def forward(ids: Tensor, caches: Sequence[KVCache] | None) -> Tensor:
        return model.decode(ids, memory, lengths=real, caches=caches)[:, -1]

    return NextToken(forward, model.new_caches() if use_cache else None)


def check(model: LanguageModel | EncoderDecoder, prompts: Tensor, max_new_tokens: int) -> None:
    """Refuse what cannot be continued.

    Raises:
        ValueError: the prompt is empty, the result would be longer than the model's ``max_seq_len``, or the
            model is in training mode.
    """
    if prompts.ndim != 2 or prompts.shape[1] == 0:
        raise ValueError(f"input_ids must be (B, T) with at least one token, got {tuple(prompts.shape)}")
    length = prompts.shape[1] + max_new_tokens
    if length > model.config.max_seq_len:
        raise ValueError(
            f"prompt and continuation together are {length} tokens and the model has "
            f"max_seq_len={model.config.max_seq_len}: shorten the prompt or generate fewer tokens"
        )
    if model.training:
        raise ValueError("the model is in training mode, where dropout is random: call model.eval() first")

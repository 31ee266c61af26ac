"""One step of generation: from all tokens so far to the logits of the next, with or without a cache."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from torch import Tensor, nn

from pioneers.generation.fast import fast_decode_step
from pioneers.layers import KVCache

Forward = Callable[[Tensor, Sequence[KVCache] | None], Tensor]


class LanguageModel(Protocol):
    """The interface that generation needs of a language model, as GPT has it.

    Beside the methods: ``config`` with a ``max_seq_len``, ``training``, and ``lm_head``, which makes logits
    of hidden states.
    """

    config: Any
    training: bool

    @property
    def lm_head(self) -> nn.Module:
        """States (…, D) → logits (…, V)."""

    def hidden_states(self, input_ids: Tensor, *, caches: Sequence[KVCache] | None = None) -> Tensor:
        """``input_ids (B, T)`` → ``(B, T, D)``; with ``caches`` they are the next T of a longer sequence."""

    def new_caches(self) -> list[KVCache]:
        """Empty caches, one per block."""


class EncoderDecoder(Protocol):
    """The interface that generation needs of an encoder–decoder, as Transformer and T5 have it.

    Beside the methods: ``config`` with a ``max_seq_len``, and ``training``.
    """

    config: Any
    training: bool

    def encode(self, source_ids: Tensor, *, mask: Tensor | None = None) -> Tensor:
        """``source_ids (B, S)`` → memory ``(B, S, D)``; ``mask`` says which tokens are real."""

    def decode(
        self,
        target_ids: Tensor,
        memory: Tensor,
        *,
        mask: Tensor | None = None,
        caches: Sequence[KVCache] | None = None,
    ) -> Tensor:
        """``target_ids (B, T)`` and ``memory (B, S, D)`` → logits ``(B, T, V)``.

        ``mask`` says which tokens of the source are real. With ``caches`` the ids are the next T of a longer
        sequence.
        """

    def new_caches(self) -> list[KVCache]:
        """Empty caches, one per block of the decoder."""


class Decoder:
    """Maps all tokens so far ``(B, T)`` to the logits ``(B, V)`` of the next one.

    Args:
        forward: ids and caches → logits of the last position.
        caches: if given, only tokens that the caches have not seen are computed.
    """

    def __init__(self, forward: Forward, caches: Sequence[KVCache] | None) -> None:
        self.forward, self.caches = forward, caches

    def __call__(self, tokens: Tensor) -> Tensor:
        """Return the logits of the token that follows ``tokens (B, T)``."""
        seen = self.caches[0].length if self.caches else 0
        return self.forward(tokens[:, seen:], self.caches)

    def reorder(self, rows: Tensor) -> None:
        """Let row i go on from what row ``rows[i]`` has seen."""
        for cache in self.caches or ():
            cache.reorder(rows)

    @classmethod
    def for_lm(cls, model: LanguageModel, *, use_cache: bool) -> "Decoder":
        """Decode with a language model; with the cache, by its fast step where there is one."""
        step = fast_decode_step(model) if use_cache else None

        def forward(ids: Tensor, caches: Sequence[KVCache] | None) -> Tensor:
            if step is not None and caches and caches[0].length and ids.shape[1] == 1:
                return step(ids, caches)
            return model.lm_head(model.hidden_states(ids, caches=caches)[:, -1])

        return cls(forward, model.new_caches() if use_cache else None)

    @classmethod
    def for_seq2seq(
        cls,
        model: EncoderDecoder,
        source_ids: Tensor,
        *,
        mask: Tensor | None,
        repeats: int = 1,
        use_cache: bool = True,
    ) -> "Decoder":
        """Decode with an encoder–decoder, given the sources: each serves ``repeats`` rows in succession."""
        memory = model.encode(source_ids, mask=mask).repeat_interleave(repeats, dim=0)
        real = None if mask is None else mask.repeat_interleave(repeats, dim=0)

        def forward(ids: Tensor, caches: Sequence[KVCache] | None) -> Tensor:
            return model.decode(ids, memory, mask=real, caches=caches)[:, -1]

        return cls(forward, model.new_caches() if use_cache else None)


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

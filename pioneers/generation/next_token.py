"""One step of generation: from all tokens so far to the logits of the next, with or without a cache."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from torch import Tensor, nn

from pioneers.generation.fast import fast_decode_step
from pioneers.layers import KVCache

Forward = Callable[[Tensor, Sequence[KVCache] | None], Tensor]


class LanguageModel(Protocol):
    """The interface that generation needs of a language model, as GPT has it.

    Beside the methods: ``config`` with a ``max_seq_len``, which is None where positions have no end, as with
    ALiBi; ``training``; and ``lm_head``, which makes logits of hidden states.
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


class Window(NamedTuple):
    """What a model reads of a text that may be longer than its context: the end of it.

    The window begins with the text. When it is full, it leaves its first ``slide`` tokens behind, the tokens
    in it are numbered from 0 again, and what was computed of them is void.

    Attributes:
        size: most tokens that are read at once; None for all.
        slide: tokens left behind at a time; with 1, the last ``size`` tokens are read, at the price of
            reading all of them again for every new one.
    """

    size: int | None = None
    slide: int = 1

    def start(self, length: int) -> int:
        """Return where the window of a text of ``length`` tokens begins.

        Example:
            >>> [Window(size=8, slide=3).start(length) for length in (8, 9, 11, 12)]
            [0, 3, 3, 6]
        """
        return 0 if self.size is None else max(0, -((self.size - length) // self.slide) * self.slide)


_EVERYTHING = Window()


class Decoder:
    """Maps all tokens so far ``(B, T)`` to the logits ``(B, V)`` of the next one.

    Args:
        forward: ids and caches → logits of the last position.
        caches: if given, only tokens that the caches have not seen are computed.
        window: what is read of the tokens.
    """

    def __init__(
        self, forward: Forward, caches: Sequence[KVCache] | None, window: Window = _EVERYTHING
    ) -> None:
        self.forward, self.caches, self.window, self.start = forward, caches, window, 0

    def __call__(self, tokens: Tensor) -> Tensor:
        """Return the logits of the token that follows ``tokens (B, T)``."""
        before, self.start = self.start, self.window.start(tokens.shape[1])
        if self.start != before:  # every position has changed, and with it every key and value
            for cache in self.caches or ():
                cache.length = 0
        seen = self.caches[0].length if self.caches else 0
        return self.forward(tokens[:, self.start + seen :], self.caches)

    def reorder(self, rows: Tensor) -> None:
        """Let row i go on from what row ``rows[i]`` has seen."""
        for cache in self.caches or ():
            cache.reorder(rows)

    @classmethod
    def for_lm(cls, model: LanguageModel, *, use_cache: bool, slide: int | None = None) -> "Decoder":
        """Decode with a language model; with the cache, by its fast step where there is one.

        Raises:
            ValueError: ``slide`` is not from 1 to the size of the context.
        """
        size = model.config.max_seq_len
        slide = max(1, (size or 0) // 4) if slide is None else slide
        if not 1 <= slide <= (size or slide):
            raise ValueError(f"slide must be from 1 to max_seq_len={size}, not {slide}")
        step = fast_decode_step(model) if use_cache else None

        def forward(ids: Tensor, caches: Sequence[KVCache] | None) -> Tensor:
            if step is not None and caches and caches[0].length and ids.shape[1] == 1:
                return step(ids, caches)
            return model.lm_head(model.hidden_states(ids, caches=caches)[:, -1])

        return cls(forward, model.new_caches() if use_cache else None, Window(size, slide))

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


def check(model: LanguageModel | EncoderDecoder, prompts: Tensor) -> None:
    """Refuse what cannot be continued.

    Raises:
        ValueError: the prompt is empty, or the model is in training mode.
    """
    if prompts.ndim != 2 or prompts.shape[1] == 0:
        raise ValueError(f"input_ids must be (B, T) with at least one token, got {tuple(prompts.shape)}")
    if model.training:
        raise ValueError("the model is in training mode, where dropout is random: call model.eval() first")

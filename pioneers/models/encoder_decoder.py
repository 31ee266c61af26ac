"""The common base of the Transformer, T5 and BART: training in one call, generation with caches."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from pioneers.layers import KVCache, Stack
from pioneers.models.pretrained import Pretrained

Caches = Sequence[KVCache]


class EncoderDecoderModel(Pretrained):
    """An encoder, and a decoder that attends to its output.

    A subclass sets ``config`` (with ``max_seq_len``) and ``decoder``, and defines :meth:`encode` and
    :meth:`decode`.
    """

    config: Any
    decoder: Stack

    def encode(self, source_ids: Tensor, *, mask: Tensor | None = None) -> Tensor:
        """``source_ids (B, S)`` → memory ``(B, S, D)``.

        ``mask`` says which tokens are real: see :func:`pioneers.layers.padding_mask`.
        """
        raise NotImplementedError

    def decode(
        self, target_ids: Tensor, memory: Tensor, *, mask: Tensor | None = None, caches: Caches | None = None
    ) -> Tensor:
        """``target_ids (B, T)`` and ``memory (B, S, D)`` → logits ``(B, T, V)`` for the next tokens.

        ``mask`` is that of the source, as in :meth:`encode`. With ``caches`` (one per block, from
        ``new_caches``) the ids are the next T of a longer sequence, and the keys and values of the memory
        are computed once, by the first call.
        """
        raise NotImplementedError

    def forward(self, source_ids: Tensor, target_ids: Tensor, *, mask: Tensor | None = None) -> Tensor:
        """``source_ids (B, S)`` and shifted ``target_ids (B, T)`` → logits ``(B, T, V)``.

        ``mask`` says which tokens of the sources are real: see :func:`pioneers.layers.padding_mask`.
        """
        return self.decode(target_ids, self.encode(source_ids, mask=mask), mask=mask)

    def new_caches(self) -> list[KVCache]:
        """Empty caches, one per block of the decoder, for generation."""
        return [KVCache(self.config.max_seq_len) for _ in self.decoder.blocks]

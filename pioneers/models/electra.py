"""ELECTRA: a BERT whose token vectors may be narrower than its blocks."""

from dataclasses import dataclass
from typing import ClassVar, Self

from torch import Tensor, nn

from pioneers.layers import Stack, init_weights, initial_std
from pioneers.models.bert import BERTConfig, Encoder


@dataclass(frozen=True, kw_only=True)
class ELECTRAConfig(BERTConfig):
    """The sizes of an ELECTRA: those of :class:`~pioneers.models.BERTConfig`, and two more.

    Attributes:
        d_embed: E, the width of the token, position and segment vectors; None is D.
        generator_width: the generator's share of D, F and H: Clark et al. 2020,
            appendix A, table 6.

    Raises:
        ValueError: as for BERT, or the share is not in (0, 1].
    """

    d_embed: int | None = None
    generator_width: float = 1 / 4

    presets: ClassVar = {
        "small": {
            "vocab_size": 30522, "max_seq_len": 512, "d_model": 256, "num_layers": 12, "num_heads": 4,
            "d_embed": 128,
        },
        "base": {**BERTConfig.presets["base"], "generator_width": 1 / 3},
        "large": BERTConfig.presets["large"],
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_positive_or_none("d_embed")
        self._require(0 < self.generator_width <= 1, "generator_width", "more than 0 and at most 1")

    def generator(self) -> Self:
        """The sizes of the generator that trains this discriminator: as deep, and narrower, except in E."""

        def share(size: int) -> int:
            return max(1, round(size * self.generator_width))

        return self.replace(
            d_model=share(self.d_model),
            d_ff=share(self.d_ff or 4 * self.d_model),
            num_heads=share(self.num_heads),
            d_embed=self.d_embed or self.d_model,
        )


class ELECTRA(Encoder):
    """BERT whose token vectors may be narrower than its blocks, without a pooler.

    Clark et al. 2020, section 3.1. It is trained as the :class:`~pioneers.models.ELECTRADiscriminator` of
    :class:`~pioneers.models.ELECTRAForPretraining`.

    Args:
        config: sizes, for instance ``ELECTRAConfig.preset("small")``.

    Example:
        >>> import torch
        >>> model = ELECTRA(ELECTRAConfig.preset("small", vocab_size=11, num_layers=1))
        >>> model(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5, 256])
    """

    def __init__(self, config: ELECTRAConfig) -> None:
        super().__init__(config)
        width = config.d_embed or config.d_model
        self.embed = self._embedding(config, width)
        self.project = nn.Identity() if width == config.d_model else nn.Linear(width, config.d_model)
        self.stack = Stack(self._block(config) for _ in range(config.num_layers))
        init_weights(self, std=initial_std(config.d_model))

    def forward(
        self, input_ids: Tensor, *, segment_ids: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """``input_ids (B, T)``, ``segment_ids`` and ``mask`` as for BERT → hidden states ``(B, T, D)``."""
        x = self.project(self.embed(input_ids, segment_ids))  # (B, T, E) → (B, T, D)
        return self.stack(x, mask=mask)

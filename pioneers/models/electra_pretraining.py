"""ELECTRA in pretraining: a small model replaces tokens of a text, and another tells which."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from pioneers.layers import init_weights, initial_std
from pioneers.layers.feedforward import ACTIVATIONS
from pioneers.models.bert_masked_lm import BERTForMaskedLM
from pioneers.models.electra import ELECTRA, ELECTRAConfig
from pioneers.models.pretrained import Pretrained


class ELECTRAGenerator(BERTForMaskedLM):
    """The model that makes up replacements: ELECTRA with a masked-language-model head.

    Clark et al. 2020, section 2, equation (1).

    Args:
        config: its own sizes, for instance ``ELECTRAConfig.preset("small").generator()``.

    Example:
        >>> model = ELECTRAGenerator(ELECTRAConfig.preset("small", vocab_size=11).generator())
        >>> model(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5, 11])
    """

    body = ELECTRA


class ELECTRADiscriminator(Pretrained):
    """The model that is kept: ELECTRA with one logit per token, positive where it looks replaced.

    Clark et al. 2020, section 2. To fine-tune it, give its ``bert`` to a model such as
    :class:`~pioneers.models.BERTClassifier`.

    Args:
        config: sizes, for instance ``ELECTRAConfig.preset("small")``.

    Example:
        >>> model = ELECTRADiscriminator(ELECTRAConfig.preset("small", vocab_size=11, num_layers=1))
        >>> model(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5])
    """

    def __init__(self, config: ELECTRAConfig) -> None:
        super().__init__()
        self.config = config
        self.bert = ELECTRA(config)
        self.transform = nn.Linear(config.d_model, config.d_model)
        self.activation = ACTIVATIONS[config.activation]
        self.head = nn.Linear(config.d_model, 1)
        for module in (self.transform, self.head):
            init_weights(module, std=initial_std(config.d_model))

    def forward(
        self, input_ids: Tensor, *, segment_ids: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """``input_ids (B, T)``, ``segment_ids`` and ``mask`` as for BERT → logits ``(B, T)``."""
        hidden = self.bert(input_ids, segment_ids=segment_ids, mask=mask)  # (B, T, D)
        return self.head(self.activation(self.transform(hidden))).squeeze(-1)


class ELECTRALogits(NamedTuple):
    """The two predictions of ELECTRA in pretraining, and the text the second is about.

    Attributes:
        generator: logits of the hidden tokens, ``(M, V)`` for the M chosen ones in reading order.
        discriminator: logits ``(B, T)`` of "this token was replaced".
        corrupted_ids: what the discriminator has read, ``(B, T)``. A sample may be the right token by chance,
            which then counts as not replaced: compare with the original.
    """

    generator: Tensor
    discriminator: Tensor
    corrupted_ids: Tensor


class ELECTRAForPretraining(Pretrained):
    """Generator and discriminator with one embedding for both: Clark et al. 2020, sections 2 and 3.2.

    As in the authors' code the whole embedding is shared, norm and segments with tokens and positions; each
    of the two has its own projection from E to its width.

    Args:
        config: sizes of the discriminator, for instance ``ELECTRAConfig.preset("small")``.

    Example:
        >>> model = ELECTRAForPretraining(ELECTRAConfig.preset("small", vocab_size=11, num_layers=1))
        >>> ids = torch.tensor([[3, 1, 4, 1, 5]])
        >>> [tuple(tensor.shape) for tensor in model(ids, predict_mask=ids == 4)]
        [(1, 11), (1, 5), (1, 5)]
    """

    def __init__(self, config: ELECTRAConfig) -> None:
        super().__init__()
        self.config = config
        self.discriminator = ELECTRADiscriminator(config)
        self.generator = ELECTRAGenerator(config.generator())
        self.generator.bert.embed = self.discriminator.bert.embed
        self.generator.masked_lm.lm_head.weight = self.discriminator.bert.embed.token.weight

    def forward(
        self,
        input_ids: Tensor,
        *,
        predict_mask: Tensor,
        segment_ids: Tensor | None = None,
        mask: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> ELECTRALogits:
        """``input_ids (B, T)`` with masked tokens → both predictions; samples carry no gradient.

        Args:
            predict_mask: boolean ``(B, T)``, True at the M tokens to predict and to replace.
            segment_ids: ``(B, T)``, 0 for the first sentence and 1 for the second.
            mask: which keys are real, from :func:`pioneers.layers.padding_mask`.
            generator: source of the random numbers.
        """
        text = {"segment_ids": segment_ids, "mask": mask}
        guesses = self.generator(input_ids, predict_mask=predict_mask, **text)  # (M, V)
        probabilities = guesses.detach().float().softmax(dim=-1)
        samples = torch.multinomial(probabilities, 1, generator=generator).squeeze(-1)  # (M,)
        corrupted_ids = input_ids.masked_scatter(predict_mask, samples)
        return ELECTRALogits(guesses, self.discriminator(corrupted_ids, **text), corrupted_ids)

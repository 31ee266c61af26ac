"""DistilBERT: BERT with every other block, without segments and without a pooler."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

import torch

from pioneers.layers import Stack, init_weights, initial_std
from pioneers.models.bert import BERTConfig, Encoder
from pioneers.models.bert_masked_lm import BERTForMaskedLM
from pioneers.models.bert_pretraining import BERTForPretraining


@dataclass(frozen=True, kw_only=True)
class DistilBERTConfig(BERTConfig):
    """The sizes of a DistilBERT: those of :class:`~pioneers.models.BERTConfig`.

    Attributes:
        num_segments: as in BERT, and 0: it does not tell sentences apart.
    """

    num_segments: int = 0

    presets: ClassVar = {
        "base": {
            "vocab_size": 30522, "max_seq_len": 512, "d_model": 768, "num_layers": 6, "num_heads": 12,
        },
    }  # fmt: skip


class DistilBERT(Encoder):
    """BERT with half the blocks and no pooler: Sanh et al. 2019, section 3.

    Args:
        config: sizes, for instance ``DistilBERTConfig.preset("base")``.

    Example:
        >>> model = DistilBERT(DistilBERTConfig.preset("base", vocab_size=11, d_model=12, num_layers=1))
        >>> model(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5, 12])
    """

    def __init__(self, config: DistilBERTConfig) -> None:
        super().__init__(config)
        self.embed = self._embedding(config, config.d_model)
        self.stack = Stack(self._block(config) for _ in range(config.num_layers))
        init_weights(self, std=initial_std(config.d_model))


class DistilBERTForMaskedLM(BERTForMaskedLM):
    """DistilBERT with its masked-language-model head, as it is distilled: Sanh et al. 2019, section 3.

    Args:
        config: sizes, for instance ``DistilBERTConfig.preset("base")``.

    Example:
        >>> sizes = {"vocab_size": 11, "max_seq_len": 7, "d_model": 6, "num_layers": 1, "num_heads": 2}
        >>> DistilBERTForMaskedLM(DistilBERTConfig(**sizes))(torch.zeros(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5, 11])
    """

    body = DistilBERT


@torch.no_grad()
def student_from(
    teacher: BERTForMaskedLM | BERTForPretraining, blocks: Sequence[int] | None = None
) -> DistilBERTForMaskedLM:
    """Make a student from copies of some blocks of a teacher, its embedding and its masked-LM head.

    Sanh et al. 2019, section 3, "Student initialization". The student has no segments; the vector of the
    first, which the teacher adds to every token of a single sentence, is added to its position vectors.

    Args:
        teacher: a BERT with that head.
        blocks: the numbers of the blocks, from 0, in the order in which the student has them; every other
            one, beginning with the first, when left out.

    Raises:
        ValueError: there are no blocks, or the teacher has none of that number.

    Example:
        >>> from pioneers.models import BERTConfig
        >>> student = student_from(BERTForMaskedLM(BERTConfig.preset("mini")))
        >>> len(student.bert.stack.blocks)
        2
    """
    body = teacher.bert
    depth = body.config.num_layers
    chosen = range(0, depth, 2) if blocks is None else blocks
    if not chosen or not set(chosen) <= set(range(depth)):
        raise ValueError(f"blocks must be some of 0 to {depth - 1}, which the teacher has, not {blocks}")
    sizes = asdict(body.config) | {"num_layers": len(chosen), "num_segments": 0}
    student = DistilBERTForMaskedLM(DistilBERTConfig(**sizes))
    pairs = [(student.masked_lm, teacher.masked_lm), (student.bert.embed.norm, body.embed.norm)]
    pairs += [(own, body.stack.blocks[i]) for own, i in zip(student.bert.stack.blocks, chosen, strict=True)]
    for own, other in pairs:
        own.load_state_dict(other.state_dict())
    first = 0 if body.embed.segment is None else body.embed.segment.weight[0]
    student.bert.embed.position.table.copy_(body.embed.position.table + first)
    return student

"""Hugging Face's layouts: which of its models is which of ours, by what tables, and how its names vary."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from pioneers.config import Config
from pioneers.models import BERT, GPT, BERTConfig, BERTForPretraining, GPTConfig, ViT, ViTConfig
from pioneers.weights import fields, tables
from pioneers.weights.rename import Rename, number_in, to_ours, to_theirs


@dataclass(frozen=True)
class Layout:
    """A model of Hugging Face's and the one here that computes the same.

    Args:
        model_type: what its ``config.json`` calls the family.
        architecture: the class that reads it on the other side.
        model: our class.
        config: the configuration of our class.
        fields: configuration fields, as rows.
        tensors: tensors, as rows.
        prefix: what the names of the body begin with, unless the body was stored alone.
        heads: what the names outside the body begin with.
        tied: tensors that may be stored though they are copies, with what they are copies of.
        drop: tensors that have no counterpart and no influence on the outputs, with ``{}`` as in the rows.
    """

    model_type: str
    architecture: str
    model: type[nn.Module]
    config: type[Config]
    fields: Sequence[fields.Field]
    tensors: Sequence[Rename]
    prefix: str
    heads: tuple[str, ...] = ()
    tied: Mapping[str, str] = field(default_factory=dict)
    drop: Sequence[str] = ()

    def theirs(self, model: nn.Module) -> dict[str, Tensor]:
        """The tensors of a model of ours, each once, under their names."""
        return to_theirs(dict(model.named_parameters()), self.tensors)

    def ours(self, stored: Mapping[str, Tensor], config: Config) -> dict[str, Tensor]:
        """The tensors of a checkpoint of theirs under our names: all that the model has, and no others.

        Raises:
            ValueError: tensors are missing, left over, of another shape, or copies that differ.
        """
        checkpoint = self._uniform(stored)
        for copy, original in self.tied.items():
            same = copy not in checkpoint or torch.equal(checkpoint[copy], checkpoint.get(original, _NOTHING))
            if not same:
                raise ValueError(f"{copy} differs from {original}; in the model here the two are one tensor")
        unused = (*self.tied, *self.drop)
        given = {
            name: tensor
            for name, tensor in checkpoint.items()
            if all(number_in(pattern, name) is None for pattern in unused)
        }
        with torch.device("meta"):
            expected = self.theirs(self.model(config))
        _check(given, expected)
        return to_ours(given, self.tensors)

    def _uniform(self, stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The checkpoint with LayerNorm's old names replaced and the prefix of the body put in front."""
        alone = not any(name.startswith(self.prefix) for name in stored)
        uniform = {}
        for name, tensor in stored.items():
            new = re.sub(r"LayerNorm\.(gamma|beta)$", lambda old: _NORM[old[1]], name)
            uniform[self.prefix + new if alone and not new.startswith(self.heads) else new] = tensor
        return uniform


_NOTHING = torch.empty(0)
_NORM = {"gamma": "LayerNorm.weight", "beta": "LayerNorm.bias"}


def _check(given: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    problems = []
    if missing := sorted(expected.keys() - given.keys()):
        problems.append(f"lacks {_first(missing)}")
    if surplus := sorted(given.keys() - expected.keys()):
        problems.append(f"holds {_first(surplus)}, which the model here does not have")
    for name in sorted(given.keys() & expected.keys()):
        if given[name].shape != expected[name].shape:
            problems.append(
                f"holds {name} of shape {tuple(given[name].shape)} where its configuration asks for "
                f"{tuple(expected[name].shape)}"
            )
            break
    if problems:
        raise ValueError(f"the checkpoint {', and '.join(problems)}")


def _first(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more tensors"


GPT2 = Layout(
    model_type="gpt2",
    architecture="GPT2LMHeadModel",
    model=GPT,
    config=GPTConfig,
    fields=fields.GPT2,
    tensors=tables.GPT2,
    prefix="transformer.",
    heads=("lm_head.",),
    tied={"lm_head.weight": "transformer.wte.weight"},
    drop=tables.GPT2_DROP,
)
BERT_BODY = Layout(
    model_type="bert",
    architecture="BertModel",
    model=BERT,
    config=BERTConfig,
    fields=fields.BERT,
    tensors=tables.BERT,
    prefix="bert.",
    drop=tables.BERT_DROP,
)
BERT_PRETRAINING = Layout(
    model_type="bert",
    architecture="BertForPreTraining",
    model=BERTForPretraining,
    config=BERTConfig,
    fields=fields.BERT,
    tensors=tables.BERT_PRETRAINING,
    prefix="bert.",
    heads=("cls.",),
    tied={
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    },
    drop=tables.BERT_DROP,
)
VIT = Layout(
    model_type="vit",
    architecture="ViTForImageClassification",
    model=ViT,
    config=ViTConfig,
    fields=fields.VIT,
    tensors=tables.VIT_HF,
    prefix="vit.",
    heads=("classifier.",),
    drop=tables.VIT_HF_DROP,
)
LAYOUTS = (GPT2, BERT_PRETRAINING, BERT_BODY, VIT)

"""The models that a folder can hold: ours, and the foreign ones that compute the same.

A foreign model is one file of this package, such as ``gpt2.py``, and its name in the import of
``pioneers/weights/pretrained.py``. The file holds

1. a :class:`ModelKind` for each class of ours, which says how it is built from settings;
2. tables: its configuration as :class:`~pioneers.weights.hf_config.Field` rows, its tensors as
   :class:`~pioneers.weights.state_dict.Rename` rows;
3. a call of :func:`register` with a :class:`Layout` for each of its architectures.

Nothing else changes: reading, writing, checks and error messages know only the registry.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import torch
from torch import Tensor, nn

from pioneers.config import Config
from pioneers.training.sharding import unsharded_class
from pioneers.weights.hf_config import Field, fields_to_ours, fields_to_theirs
from pioneers.weights.state_dict import Rename, check_tensors, number_in, to_ours, to_theirs


@dataclass(frozen=True)
class ModelKind:
    """A class of ours that can be saved, and how to build it from its settings and find them again.

    Args:
        model: the class.
        config: the class of its configuration, or of its body's.
        body: for a task model the name and the class of the model inside, its first argument.
        head: for a task model the names of its other arguments, which are attributes too.
    """

    model: type[nn.Module]
    config: type[Config]
    body: tuple[str, type[nn.Module]] | None = None
    head: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name in a folder of our own format, with that of a body the class is not named after."""
        if self.body is None or self.body[1].__name__.lower() == self.body[0]:
            return self.model.__name__
        return f"{self.model.__name__} of {self.body[1].__name__}"

    def fits(self, model: nn.Module) -> bool:
        """Tell whether a model is of this kind: the body counts, and a subclass is another kind."""
        if unsharded_class(model) is not self.model:
            return False
        return self.body is None or unsharded_class(model.get_submodule(self.body[0])) is self.body[1]

    def build(self, settings: Mapping[str, Any]) -> nn.Module:
        """Build the model, with new weights, from its settings.

        Raises:
            TypeError: an argument of the head is missing.
            ValueError: a setting is unknown, missing, or has a value the model cannot have.
        """
        config = self.config.from_dict({n: value for n, value in settings.items() if n not in self.head})
        if self.body is None:
            return self.model(config)
        return self.model(self.body[1](config), **{n: settings[n] for n in self.head if n in settings})

    def settings(self, model: nn.Module) -> dict[str, Any]:
        """Give the settings from which :meth:`build` builds such a model."""
        config = (model if self.body is None else model.get_submodule(self.body[0])).config
        assert isinstance(config, Config)
        return asdict(config) | {name: getattr(model, name) for name in self.head}


@dataclass(frozen=True)
class Layout:
    """A model of another library and the one here that computes the same.

    Args:
        kind: ours.
        model_type: what its ``config.json`` calls the family.
        architecture: the class that reads it on the other side.
        fields: configuration fields, as rows.
        tensors: tensors, as rows.
        fixed: settings of ours that are the same in every such model; others are another layout's.
        prefix: what the names of the body begin with, unless the body was stored alone.
        heads: what the names outside the body begin with; a folder in this layout has all of them.
        optional: what the names begin with that are read if they are there, and never written.
        tied: tensors that may be stored though they are copies, with what they are copies of; where the
            settings give the model a tensor of its own there, it is not a copy.
        drop: tensors that have no counterpart and no influence on the outputs, with ``{}`` as in the rows.
        zeros: tensors that have no counterpart, so that they may be stored as zeros only.
        added: tensors that are written though they have no counterpart, from the settings.
        more_config: further entries of ``config.json``, from the settings.
        files: further JSON files of the folder; each is a row of ``fields`` under its name.
    """

    kind: ModelKind
    model_type: str
    architecture: str
    fields: Sequence[Field]
    tensors: Sequence[Rename]
    prefix: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    heads: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    tied: Mapping[str, str] = field(default_factory=dict)
    drop: Sequence[str] = ()
    zeros: Sequence[str] = ()
    added: Callable[[Mapping[str, Any]], dict[str, Tensor]] = lambda settings: {}
    more_config: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda settings: {}
    files: tuple[str, ...] = ()

    def fits(self, model: nn.Module) -> bool:
        """Tell whether a model of ours has this layout."""
        return self.kind.fits(model) and self.fixed.items() <= self.kind.settings(model).items()

    def config_to_ours(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Convert their ``config.json``, with the further files as entries, into settings of ours."""
        return fields_to_ours(values, self.fields) | dict(self.fixed)

    def config_to_theirs(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Convert settings of ours into their ``config.json``, with the further files as entries.

        Raises:
            ValueError: a setting of ours has no name on the other side.
        """
        defaults = {f.name: f.default for f in fields(self.kind.config)}
        return {
            "architectures": [self.architecture],
            "model_type": self.model_type,
            **fields_to_theirs(
                {n: v for n, v in settings.items() if n not in self.fixed}, defaults, self.fields
            ),
            **self.more_config(settings),
        }

    def tensors_to_theirs(self, model: nn.Module) -> dict[str, Tensor]:
        """Rename the tensors of a model of ours, each once; what is added is not among them."""
        heads = _heads(self.kind.settings(model))
        theirs = to_theirs(dict(model.named_parameters()), self.tensors, num_heads=heads)
        return {name: tensor for name, tensor in theirs.items() if not name.startswith(self.optional)}

    def tensors_to_ours(self, stored: Mapping[str, Tensor], settings: Mapping[str, Any]) -> dict[str, Tensor]:
        """Rename the tensors of a checkpoint of theirs: all that the model has, and no others.

        Args:
            stored: the checkpoint.
            settings: what its configuration says, from :meth:`config_to_ours`.

        Raises:
            ValueError: tensors are missing, left over, of another shape, or copies that differ.
        """
        checkpoint = self._uniform(stored)
        with torch.device("meta"):
            parameters = dict(self.kind.build(settings).named_parameters())
            expected = to_theirs(parameters, self.tensors, num_heads=_heads(settings))
        tied = {copy: original for copy, original in self.tied.items() if copy not in expected}
        for copy, original in tied.items():
            same = copy not in checkpoint or torch.equal(checkpoint[copy], checkpoint.get(original, _NOTHING))
            if not same:
                raise ValueError(f"{copy} differs from {original}; in the model here the two are one tensor")
        for name in self.zeros:
            if name in checkpoint and checkpoint[name].any():
                raise ValueError(f"{name} is not zero; the model here does not have this tensor")
        unused = (*tied, *self.zeros, *self.drop)
        given = {
            name: tensor
            for name, tensor in checkpoint.items()
            if all(number_in(pattern, name) is None for pattern in unused)
        }
        absent = [name for name in expected if name.startswith(self.optional) and name not in given]
        check_tensors(given, {name: tensor for name, tensor in expected.items() if name not in absent})
        return to_ours(given, self.tensors, num_heads=_heads(settings))

    def _uniform(self, stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Replace LayerNorm's old names, and put the prefix in front of a body that was stored alone."""
        alone = not any(name.startswith(self.prefix) for name in stored)
        outside = (*self.heads, *self.tied)
        uniform = {}
        for name, tensor in stored.items():
            new = re.sub(r"LayerNorm\.(gamma|beta)$", lambda old: _NORM[old[1]], name)
            uniform[self.prefix + new if alone and not new.startswith(outside) else new] = tensor
        return uniform


_NOTHING = torch.empty(0)
_NORM = {"gamma": "LayerNorm.weight", "beta": "LayerNorm.bias"}
KINDS: dict[str, ModelKind] = {}
LAYOUTS: list[Layout] = []


def register_kind(*kinds: ModelKind) -> None:
    """Let folders of our own format hold models of these ``kinds``; :func:`register` does it too."""
    KINDS.update({kind.name: kind for kind in kinds})


def register(*layouts: Layout) -> None:
    """Let folders be read and written in these ``layouts``; of two that fit alike, the first is chosen."""
    for layout in layouts:
        register_kind(layout.kind)
        LAYOUTS.append(layout)


def kind_of(model: nn.Module) -> ModelKind | None:
    """Find the kind of a model, or None if it has none."""
    return next((kind for kind in KINDS.values() if kind.fits(model)), None)


def layout_of(model: nn.Module) -> Layout | None:
    """Find the layout that a model is written in, or None if the other side has no such model."""
    return next((layout for layout in LAYOUTS if layout.fits(model)), None)


def choose_layout(values: Mapping[str, Any], names: Collection[str]) -> Layout | None:
    """Find the layout of a folder, from its ``config.json`` and the ``names`` of its tensors.

    Of the layouts of its family whose heads are stored, it is the one with most heads, then the one that the
    configuration names; None if there is no such family.
    """
    named = values.get("architectures") or ()
    family = [layout for layout in LAYOUTS if layout.model_type == values["model_type"]]
    possible = [
        layout
        for layout in family
        if all(any(name.startswith(head) for name in names) for head in layout.heads)
    ]
    return max(possible, key=lambda layout: (len(layout.heads), layout.architecture in named), default=None)


def model_types() -> list[str]:
    """List the families of other libraries that can be read."""
    return list(dict.fromkeys(layout.model_type for layout in LAYOUTS))


def _heads(settings: Mapping[str, Any]) -> int:
    """How many heads a model has; 1 for one without any, or with another number in every stage."""
    heads = settings.get("num_heads", 1)
    return heads if isinstance(heads, int) else 1

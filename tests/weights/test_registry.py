"""A foreign model is rows and one registration: here one of another library that does not exist."""

import json
from dataclasses import dataclass, replace

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from pioneers import from_pretrained
from pioneers.config import Config
from pioneers.weights import registry, save_huggingface, save_pretrained
from pioneers.weights.hf_config import Field, class_labels
from pioneers.weights.registry import Layout, ModelKind, register, register_kind
from pioneers.weights.state_dict import linear, prefixed


@dataclass(frozen=True, kw_only=True)
class TinyConfig(Config):
    width: int
    tied: bool = True


class Tiny(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.first, self.last = (nn.Linear(config.width, config.width) for _ in range(2))
        if config.tied:
            self.last.weight = self.first.weight


class TinyTask(nn.Module):
    def __init__(self, tiny, num_classes, *, labels=()):
        super().__init__()
        self.tiny, self.num_classes, self.labels = tiny, num_classes, tuple(labels)
        self.head = nn.Linear(tiny.config.width, num_classes)


FIELDS = (Field("dim", "width", 4), Field("tie", "tied", True))
TENSORS = [*linear("tiny.a", "first"), *linear("tiny.b", "last")]
BODY = Layout(
    kind=ModelKind(Tiny, TinyConfig),
    model_type="tiny",
    architecture="TinyModel",
    fields=FIELDS,
    tensors=TENSORS,
    prefix="tiny.",
    tied={"tiny.b.weight": "tiny.a.weight"},
)
TASK = Layout(
    kind=ModelKind(TinyTask, TinyConfig, body=("tiny", Tiny), head=("num_classes", "labels")),
    model_type="tiny",
    architecture="TinyForTask",
    fields=(*FIELDS, *class_labels("num_classes")),
    tensors=[*prefixed("tiny", TENSORS), *linear("out", "head")],
    prefix="tiny.",
    heads=("out.",),
    tied={"tiny.b.weight": "tiny.a.weight"},
)


@pytest.fixture(autouse=True)
def empty_registry():
    kinds, layouts = dict(registry.KINDS), list(registry.LAYOUTS)
    registry.KINDS.clear()
    registry.LAYOUTS.clear()
    yield
    registry.KINDS.clear()
    registry.KINDS.update(kinds)
    registry.LAYOUTS[:] = layouts


def models():
    for tied in (True, False):
        yield Tiny(TinyConfig(width=3, tied=tied))
        yield TinyTask(Tiny(TinyConfig(width=3, tied=tied)), 2, labels=("a", "b"))


def settings(model):
    return registry.kind_of(model).settings(model)


def test_what_is_registered_is_read_and_written(tmp_path):
    register(BODY, TASK)
    for number, model in enumerate(models()):
        for write in (save_pretrained, save_huggingface):
            folder = tmp_path / f"{number}{write.__name__}"
            write(model, folder)
            back = from_pretrained(folder)
            assert type(back) is type(model)
            assert settings(back) == settings(model)
            assert all(back.get_parameter(name).equal(p) for name, p in model.named_parameters())
        names = load_file(folder / "model.safetensors").keys()
        assert ("tiny.b.weight" in names) == (number >= 2), "a tensor is tied where the settings say so"


def test_a_copy_of_a_tied_tensor_may_be_stored_and_may_not_differ(tmp_path):
    register(BODY)
    save_huggingface(Tiny(TinyConfig(width=3)), tmp_path)
    path = tmp_path / "model.safetensors"
    tensors = load_file(path)
    save_file(tensors | {"tiny.b.weight": tensors["tiny.a.weight"].clone()}, path)
    assert from_pretrained(tmp_path).first.weight.equal(tensors["tiny.a.weight"])
    save_file(tensors | {"tiny.b.weight": torch.ones(3, 3)}, path)
    with pytest.raises(ValueError, match=r"tiny\.b\.weight differs from tiny\.a\.weight"):
        from_pretrained(tmp_path)


def test_a_model_without_a_counterpart_has_our_own_format_only(tmp_path):
    register_kind(BODY.kind)
    model = Tiny(TinyConfig(width=3))
    save_pretrained(model, tmp_path)
    assert from_pretrained(tmp_path).config == model.config
    with pytest.raises(TypeError, match="a Tiny cannot be written as a folder"):
        save_huggingface(model, tmp_path / "theirs")


def test_the_configuration_decides_between_layouts_with_the_same_heads(tmp_path):
    other = replace(TASK, architecture="TinyForOther")
    register(TASK, other)
    save_huggingface(TinyTask(Tiny(TinyConfig(width=3)), 2), tmp_path)
    values, names = (
        json.loads((tmp_path / "config.json").read_text()),
        load_file(tmp_path / "model.safetensors"),
    )
    assert registry.choose_layout(values, names) is TASK
    assert registry.choose_layout(values | {"architectures": ["TinyForOther"]}, names) is other
    assert registry.choose_layout(values | {"architectures": ["TinyForNothing"]}, names) is TASK
    assert registry.choose_layout(values | {"architectures": None}, names) is TASK

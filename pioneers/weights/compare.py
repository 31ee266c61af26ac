"""A model here and its counterpart in transformers, layer by layer on the same input."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from pioneers.models.encoder_decoder import EncoderDecoderModel
from pioneers.weights.registry import Layout
from pioneers.weights.state_dict import number_in

Inputs = dict[str, Tensor]
Seen = dict[str, list[Tensor]]
OUTPUT = "the model's output"
TOLERANCE = 1e-4  # of the largest number: rounding in float32 stays far below


class Compared(NamedTuple):
    """What one layer gives in the two models.

    Args:
        ours: the names of the modules here; several where theirs computes all of them at once.
        theirs: the module there.
        difference: the largest difference of their outputs, in units of the largest number among them.
        reordered: whether that holds only after sorting: one side has the tokens in another order inside.
        weights_differ: whether their weights are different numbers.
    """

    ours: tuple[str, ...]
    theirs: str
    difference: float
    reordered: bool
    weights_differ: bool


@torch.inference_mode()
def compare_layers(ours: nn.Module, theirs: nn.Module, layout: Layout, *, seed: int = 0) -> list[Compared]:
    """Run both models on one random input and compare each layer that both have, in the order of ours.

    Layers that only one side runs as a module are left out; the last row is the output of the model.

    Args:
        ours: a model that reads either ids or images, in eval mode.
        theirs: the model of ``transformers`` that ``layout`` is about, in eval mode.
        layout: the names on both sides.
        seed: of the input.

    Raises:
        ValueError: the model takes more than one input, or changes its input at random.
    """
    inputs = _inputs(ours, torch.Generator().manual_seed(seed))
    pairs = list(_pairs(ours, theirs, layout))
    here = _run(ours, list(inputs.values()), {}, [name for names, _ in pairs for name in names])
    there = _run(theirs, [], inputs, [name for _, name in pairs])
    order = {name: place for place, name in enumerate(here)}
    rows = []
    for names, other in pairs:
        if other in there and all(name in here for name in names):
            joined = [torch.cat(calls, -1) for calls in zip(*(here[name] for name in names), strict=True)]
            apart = _difference(joined, there[other])
            as_sorted = _difference(_sorted(joined), _sorted(there[other])) if apart > TOLERANCE else apart
            differ = _weights_differ(ours, theirs, names, other)
            rows.append(Compared(names, other, as_sorted, as_sorted <= TOLERANCE < apart, differ))
    rows.sort(key=lambda row: order[row.ours[0]])
    end = _difference(here[OUTPUT], there[OUTPUT])
    return [*rows, Compared((OUTPUT,), OUTPUT, end, reordered=False, weights_differ=False)]


def _inputs(model: nn.Module, draw: torch.Generator) -> Inputs:
    """A random input under the names that ``transformers`` has, in the order of our arguments."""
    config: Any = next(m.config for m in model.modules() if hasattr(m, "config"))
    words, pixels = hasattr(config, "vocab_size"), hasattr(config, "image_size")
    if words == pixels or hasattr(config, "decoder_d_model"):
        raise ValueError(
            f"a {type(model).__name__} cannot be compared: only models with one input, ids or images, can"
        )
    if pixels:
        size = (2, config.in_channels, config.image_size, config.image_size)
        return {"pixel_values": torch.randn(size, generator=draw)}
    length = min(12, getattr(config, "max_seq_len", None) or 12)
    names = ["input_ids", "decoder_input_ids"] if isinstance(model, EncoderDecoderModel) else ["input_ids"]
    # Not the first ids, one of which may mean padding.
    return {
        n: torch.randint(min(4, config.vocab_size - 1), config.vocab_size, (2, length), generator=draw)
        for n in names
    }


def _pairs(model: nn.Module, other: nn.Module, layout: Layout) -> Iterator[tuple[tuple[str, ...], str]]:
    """The names of our modules that hold a weight, and of theirs that holds the same."""
    modules = [name for name, _ in model.named_modules()]
    known = {name for name, _ in other.named_modules()}
    for row in layout.tensors:
        ours = [name.removesuffix(".weight") for name in row.ours]
        if row.by_head or not all(name.endswith(".weight") for name in (row.theirs, *row.ours)):
            continue
        for number in [found for name in modules if (found := number_in(ours[0], name)) is not None]:
            theirs = _name_in_memory(other, row.theirs.format(number)).removesuffix(".weight")
            theirs = (
                theirs if theirs in known else theirs.removeprefix(layout.prefix)
            )  # a body alone has none
            yield tuple(name.format(number) for name in ours), theirs


def _name_in_memory(model: Any, stored: str) -> str:
    """The name of a tensor in a loaded model of ``transformers``: some differ from those in its files."""
    for change in getattr(model, "_weight_conversions", None) or ():
        stored, _ = change.rename_source_key(stored)
    return stored


def _run(model: nn.Module, given: Sequence[Tensor], named: Inputs, names: Sequence[str]) -> Seen:
    """Run a model and keep what the modules with these names return, call by call, and what it returns."""
    seen: Seen = defaultdict(list)
    hooks = []
    for name, module in model.named_modules():
        if name in names:

            def keep(_: nn.Module, __: Any, output: Any, name: str = name) -> None:
                seen[name].append(_first(output))

            hooks.append(module.register_forward_hook(keep))
    try:
        output = model(*given, **named)
    finally:
        for hook in hooks:
            hook.remove()
    seen[OUTPUT].append(_first(output))
    return seen


def _first(output: Any) -> Tensor:
    """The first tensor of an output, flat enough to be compared whatever its axes are."""
    while not isinstance(output, Tensor):
        output = next(
            value for value in (output.values() if isinstance(output, dict) else output) if value is not None
        )
    return output.detach().float()


def _sorted(calls: Sequence[Tensor]) -> list[Tensor]:
    return [call.flatten().sort().values for call in calls]


def _difference(ours: Sequence[Tensor], theirs: Sequence[Tensor]) -> float:
    if len(ours) != len(theirs) or any(a.numel() != b.numel() for a, b in zip(ours, theirs, strict=True)):
        return float("inf")
    flat = [(a.flatten(), b.flatten()) for a, b in zip(ours, theirs, strict=True)]
    scale = max(1e-6, *(b.abs().max().item() for _, b in flat))
    return max((a - b).abs().max().item() for a, b in flat) / scale


def _weights_differ(ours: nn.Module, theirs: nn.Module, names: Sequence[str], other: str) -> bool:
    here = torch.cat([ours.get_parameter(f"{name}.weight").flatten() for name in names])
    there = theirs.get_parameter(f"{other}.weight")
    one_of = [there.flatten()] + ([there.T.flatten()] if there.dim() == 2 else [])
    return all(here.numel() != flat.numel() or not torch.equal(here, flat) for flat in one_of)

"""Low-rank adapters: a frozen linear map plus a small correction that is learned. Hu et al. 2022."""

import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import torch
from torch import Tensor, nn

from pioneers.layers.quantized import QuantizedLinear, tied_linears


class LoRALinear(nn.Module):
    """A linear map that stays as it is, plus a correction of low rank that is learned.

    ``h = W x + b + (alpha / rank) B A x`` with ``A (rank, in)`` and ``B (out, rank)``. B begins at zero, so
    the layer begins as the one it wraps. Hu et al. 2022, section 4.1.

    Args:
        linear: the layer to wrap, whose parameters are frozen: an ``nn.Linear`` or, as in QLoRA (Dettmers et
            al. 2023), a :class:`QuantizedLinear`.
        rank: of the correction, at least 1.
        alpha: the correction is multiplied by ``alpha / rank``; ``rank`` when left out, so a factor of 1.
        dropout: share of the correction's inputs dropped in training.

    Raises:
        ValueError: ``rank`` is smaller than 1 or larger than the layer's smaller width.

    Example:
        >>> layer = LoRALinear(nn.Linear(5, 7), rank=2)
        >>> layer(torch.zeros(3, 5)).shape, layer.lora_a.shape, layer.lora_b.shape
        (torch.Size([3, 7]), torch.Size([2, 5]), torch.Size([7, 2]))
    """

    def __init__(
        self,
        linear: nn.Linear | QuantizedLinear,
        *,
        rank: int,
        alpha: float | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        widths = linear.in_features, linear.out_features
        if not 1 <= rank <= min(widths):
            raise ValueError(
                f"rank={rank} must be from 1 to {min(widths)}, the smaller width of a layer from {widths[0]} "
                f"to {widths[1]}"
            )
        self.linear = linear.requires_grad_(False)
        self.scale = 1.0 if alpha is None else alpha / rank
        self.dropout = nn.Dropout(dropout)
        where = next(tensor for tensor in (*linear.parameters(), *linear.buffers())).device
        self.lora_a = nn.Parameter(torch.empty(rank, widths[0], device=where))
        self.lora_b = nn.Parameter(torch.zeros(widths[1], rank, device=where))
        nn.init.kaiming_uniform_(self.lora_a, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        """(…, in) → (…, out)."""
        down = self.dropout(x) @ self.lora_a.T  # (…, rank)
        return self.linear(x) + self.scale * (down @ self.lora_b.T)

    def correction(self) -> Tensor:
        """The matrix ``(out, in)`` that is added to the frozen one: ``(alpha / rank) B A``."""
        return self.scale * (self.lora_b @ self.lora_a)

    def merged(self) -> nn.Linear:
        """The wrapped layer with the correction added to its matrix, in place.

        Raises:
            TypeError: the wrapped layer is quantised.
        """
        if not isinstance(self.linear, nn.Linear):
            raise TypeError(
                f"a correction cannot be added to a {type(self.linear).__name__}, whose weights are whole "
                "numbers: merge into the original model, then quantise"
            )
        with torch.no_grad():
            self.linear.weight += self.correction().to(self.linear.weight.dtype)
        return self.linear


def add_lora(
    model: nn.Module, names: Sequence[str], *, rank: int, alpha: float | None = None, dropout: float = 0.0
) -> list[str]:
    """Freeze a model and put a :class:`LoRALinear` around some of its linear layers, in place.

    Every parameter is frozen, also those outside the layers that are wrapped. A new head that is to be
    trained as well is unfrozen afterwards: ``model.head.requires_grad_(True)``.

    Args:
        model: the model; it is changed.
        names: patterns of names of linear layers, as a shell understands them: ``"*.q_proj"`` is the query
            projection of every block, ``"stack.blocks.0.*"`` every linear layer of the first one.
        rank: as in :class:`LoRALinear`.
        alpha: as in :class:`LoRALinear`.
        dropout: as in :class:`LoRALinear`.

    Returns:
        The names of the layers that were wrapped.

    Raises:
        ValueError: a pattern matches no linear layer or an output layer whose matrix is that of the
            embedding, or ``rank`` does not fit.

    Example:
        >>> from pioneers.layers import FeedForward
        >>> add_lora(FeedForward(6), ["up", "d*"], rank=2)
        ['up', 'down']
    """
    layers = {
        name: module
        for name, module in model.named_modules()
        if name and isinstance(module, nn.Linear | QuantizedLinear)
    }
    for pattern in names:
        if not any(fnmatchcase(name, pattern) for name in layers):
            raise ValueError(
                f"the pattern {pattern!r} matches no linear layer; there are: {', '.join(layers) or 'none'}"
            )
    chosen = [name for name in layers if any(fnmatchcase(name, pattern) for pattern in names)]
    if tied := set(chosen) & tied_linears(model):
        raise ValueError(
            f"{', '.join(sorted(tied))} shares its matrix with another layer, which a correction here would "
            "not reach: choose patterns that leave it out"
        )
    model.requires_grad_(False)
    for name in chosen:
        model.set_submodule(name, LoRALinear(layers[name], rank=rank, alpha=alpha, dropout=dropout))
    return chosen


def merge_lora(model: nn.Module) -> None:
    """Add every correction to the matrix it belongs to, and put the original layers back, in place.

    The model computes what it did before, at its original cost, and its state dict has its original keys.

    Args:
        model: with adapters of :func:`add_lora`.

    Raises:
        ValueError: there is no adapter.
        TypeError: an adapter is around a quantised layer.
    """
    adapters = {name: module for name, module in model.named_modules() if isinstance(module, LoRALinear)}
    if not adapters:
        raise ValueError("the model has no adapters to merge: call add_lora first")
    for name, adapter in adapters.items():
        model.set_submodule(name, adapter.merged())


def adapter_state(model: nn.Module) -> dict[str, Tensor]:
    """Copy what training changes, and nothing else: the parameters that are not frozen, by name.

    After :func:`add_lora` these are the matrices A and B, and a head that was unfrozen. Save them with
    :func:`pioneers.training.save_weights` or ``torch.save``.

    Args:
        model: most of which is frozen.
    """
    return {name: p.detach().clone() for name, p in model.named_parameters() if p.requires_grad}


def load_adapter(model: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Put the tensors of :func:`adapter_state` into a model with adapters in the same places.

    Args:
        model: on which :func:`add_lora` was called as before; it is changed.
        state: names and tensors.

    Raises:
        ValueError: the names are not those of the parameters that are not frozen, or a shape differs.
    """
    own = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if differing := own.keys() ^ state.keys():
        raise ValueError(
            f"the adapter and the model differ in {len(differing)} names, such as {min(differing)!r}: call "
            "add_lora with the patterns that the adapter was made with"
        )
    for name, tensor in state.items():
        if own[name].shape != tensor.shape:
            raise ValueError(
                f"{name} is {tuple(tensor.shape)} in the adapter and {tuple(own[name].shape)} in the model: "
                "call add_lora with the rank that the adapter was made with"
            )
    with torch.no_grad():
        for name, tensor in state.items():
            own[name].copy_(tensor)

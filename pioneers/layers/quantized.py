"""Linear layers for inference whose weights are whole numbers of few bits, several to a byte."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BITS = (2, 4, 8)  # widths of which a byte holds a whole number


class Packed(NamedTuple):
    """A quantised matrix.

    Attributes:
        codes: ``(out, in · bits / 8)``, bytes with 8 / bits codes each, the first in the lowest bits.
        scales: ``(out, in / group_size)``, float16: the step between neighbouring values of each group.
    """

    codes: Tensor
    scales: Tensor


def quantize(weight: Tensor, *, bits: int, group_size: int | None = None) -> Packed:
    """Round a matrix to whole multiples of a step, a step for each group of neighbouring weights in a row.

    Symmetric *absmax* rounding: with ``m = 2 ** (bits - 1) - 1`` the step is the largest absolute weight of
    the group divided by m, and the multiples are from -m to m. They are evenly spaced, so one function serves
    every width; zero remains zero.

    Args:
        weight: ``(out, in)``.
        bits: 2, 4 or 8 for each weight.
        group_size: weights that share a step; a row when left out. It divides ``in``.

    Raises:
        ValueError: ``bits`` is another number, the group size does not divide the row, a row does not fill
            whole bytes, or a weight is not finite.

    Example:
        >>> packed = quantize(torch.tensor([[0.7, -0.3, 0.1, 0.0]]), bits=4)
        >>> packed.codes.tolist(), dequantize(packed, bits=4).tolist()
        ([[78, 120]], [[0.69..., -0.29..., 0.09..., 0.0]])
    """
    _check(weight.shape[1], bits, group_size)
    if not weight.isfinite().all():
        raise ValueError("a weight is NaN or infinite: there is no step to round it to")
    largest = 2 ** (bits - 1) - 1
    groups = weight.float().unflatten(1, (-1, group_size or weight.shape[1]))  # (out, groups, group size)
    scales = (groups.abs().amax(-1) / largest).half()  # (out, groups)
    steps = scales.float().clamp(min=torch.finfo(torch.float16).tiny)[..., None]
    whole = (groups / steps).round().clamp(-largest, largest).flatten(1)  # (out, in)
    codes = (whole + largest).to(torch.uint8).unflatten(1, (-1, 8 // bits))  # (out, bytes, 8 / bits)
    places = bits * torch.arange(8 // bits, device=weight.device)
    return Packed((codes.int() << places).sum(-1).to(torch.uint8), scales)


def dequantize(packed: Packed, *, bits: int) -> Tensor:
    """The matrix ``(out, in)`` in float32 that a quantised one means.

    Args:
        packed: from :func:`quantize`.
        bits: as there.

    Raises:
        ValueError: ``bits`` is not 2, 4 or 8.
    """
    codes, scales = packed
    _check(8 * codes.shape[1] // bits if bits else 0, bits, None)
    largest = 2 ** (bits - 1) - 1
    places = bits * torch.arange(8 // bits, device=codes.device)
    whole = (codes[..., None].int() >> places & 2**bits - 1).flatten(1) - largest  # (out, in)
    return (whole.unflatten(1, (scales.shape[1], -1)) * scales.float()[..., None]).flatten(1)


class QuantizedLinear(nn.Module):
    """A linear map whose matrix is kept in few bits and made anew in each forward pass: for inference.

    The bias stays as it is. No gradient reaches the matrix; one reaches the input, so that an adapter around
    the layer (:class:`LoRALinear`) or below it can be trained.

    Args:
        linear: the layer whose matrix is rounded; it is not changed.
        bits: 2, 4 or 8 for each weight.
        group_size: weights that share a step, see :func:`quantize`; a row when left out.

    Raises:
        ValueError: as in :func:`quantize`.

    Example:
        >>> layer = QuantizedLinear(nn.Linear(8, 3), bits=4)
        >>> layer(torch.zeros(5, 8)).shape, layer.codes.shape, layer.codes.dtype
        (torch.Size([5, 3]), torch.Size([3, 4]), torch.uint8)
    """

    codes: Tensor
    scales: Tensor

    def __init__(self, linear: nn.Linear, *, bits: int, group_size: int | None = None) -> None:
        super().__init__()
        self.in_features, self.out_features, self.bits = linear.in_features, linear.out_features, bits
        codes, scales = quantize(linear.weight.detach(), bits=bits, group_size=group_size)
        self.register_buffer("codes", codes)
        self.register_buffer("scales", scales)
        self.bias = None if linear.bias is None else nn.Parameter(linear.bias.detach().clone(), False)

    def forward(self, x: Tensor) -> Tensor:
        """(…, in) → (…, out)."""
        weight = dequantize(Packed(self.codes, self.scales), bits=self.bits)  # (out, in)
        return F.linear(x, weight.to(x.dtype), self.bias)


class Quantization(NamedTuple):
    """What :func:`quantize_linears` did.

    Attributes:
        replaced: names of the layers whose matrices are now quantised.
        kept: names of the linear layers left as they were, since their matrix is also that of an embedding.
    """

    replaced: list[str]
    kept: list[str]


def quantize_linears(model: nn.Module, *, bits: int, group_size: int | None = None) -> Quantization:
    """Replace the linear layers of a model by :class:`QuantizedLinear`, in place.

    Embeddings, norms and biases are not touched. An output layer that shares its matrix with the embedding
    is not either, since the embedding looks its rows up; it is listed in ``kept``.

    Args:
        model: the model; it is changed.
        bits: 2, 4 or 8 for each weight.
        group_size: as in :func:`quantize`.

    Returns:
        The names of the layers replaced, and of those kept.

    Raises:
        ValueError: the model has no linear layer that could be quantised, or as in :func:`quantize`.

    Example:
        >>> from pioneers.layers import FeedForward
        >>> quantize_linears(FeedForward(8), bits=8)
        Quantization(replaced=['up', 'down'], kept=[])
    """
    layers = {
        name: module for name, module in model.named_modules() if name and isinstance(module, nn.Linear)
    }
    kept = tied_linears(model)
    if not layers.keys() - kept:
        raise ValueError("the model has no linear layer that could be quantised")
    made = {
        name: QuantizedLinear(layer, bits=bits, group_size=group_size)
        for name, layer in layers.items()
        if name not in kept
    }
    for name, layer in made.items():
        model.set_submodule(name, layer)
    return Quantization(list(made), sorted(kept))


def tied_linears(model: nn.Module) -> set[str]:
    """The names of the linear layers whose matrix belongs to another module as well, such as an embedding.

    Args:
        model: any.
    """
    owners: dict[int, int] = {}
    for _, p in model.named_parameters(remove_duplicate=False):
        owners[id(p)] = owners.get(id(p), 0) + 1
    return {
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and owners[id(module.weight)] > 1
    }


def _check(row: int, bits: int, group_size: int | None) -> None:
    if bits not in BITS:
        raise ValueError(f"bits={bits} must be 2, 4 or 8, so that a byte holds a whole number of weights")
    if group_size is not None and (group_size < 1 or row % group_size):
        raise ValueError(f"group_size={group_size} must divide a row of {row} weights")
    if row * bits % 8:
        raise ValueError(f"a row of {row} weights of {bits} bits does not fill whole bytes")

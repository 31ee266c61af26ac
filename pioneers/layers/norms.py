"""Normalisation, written out to be read. Models run ``torch.nn.LayerNorm``, which computes the same."""

from torch import Tensor


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, *, eps: float = 1e-5) -> Tensor:
    """Normalise each vector ``x (…, D)`` to mean 0 and variance 1, then rescale: Ba et al. 2016, section 3.

    ``y = gain · (x - mean) / sqrt(variance + eps) + bias`` with the biased variance (division by D); gain and
    bias are ``(D,)``. ``eps`` stands inside the root.
    """
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True, unbiased=False)
    return gain * (x - mean) / (variance + eps).sqrt() + bias

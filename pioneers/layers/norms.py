"""Normalisation, written out to be read. Models run ``torch.nn``'s modules, which compute the same."""

from torch import Tensor


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, *, eps: float = 1e-5) -> Tensor:
    """Normalise each vector ``x (…, D)`` to mean 0 and variance 1, then rescale: Ba et al. 2016, section 3.

    ``y = gain · (x - mean) / sqrt(variance + eps) + bias`` with the biased variance (division by D); gain and
    bias are ``(D,)``. ``eps`` stands inside the root.

    Example:
        >>> import torch
        >>> layer_norm(torch.tensor([[1.0, 3.0]]), torch.ones(2), torch.zeros(2))
        tensor([[-1.0000,  1.0000]])
    """
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True, unbiased=False)
    return gain * (x - mean) / (variance + eps).sqrt() + bias


def rms_norm(x: Tensor, gain: Tensor, *, eps: float = 1e-6) -> Tensor:
    """Divide each vector ``x (…, D)`` by its root mean square: Zhang & Sennrich 2019, equation (4).

    ``y = gain · x / sqrt(mean(x²) + eps)``: LayerNorm without the mean and without the bias.

    Example:
        >>> import torch
        >>> rms_norm(torch.tensor([[3.0, 4.0]]), torch.ones(2))
        tensor([[0.8485, 1.1314]])
    """
    return gain * x / (x.square().mean(dim=-1, keepdim=True) + eps).sqrt()


def deepnorm_scales(num_layers: int) -> tuple[float, float]:
    """α and β for a decoder- or encoder-only DeepNet of ``num_layers`` blocks: Wang et al. 2022, figure 2.

    A block computes ``LayerNorm(α x + Layer(x))``; the feed-forward, value and output projections are drawn
    smaller by the factor β.

    Example:
        >>> [round(scale, 3) for scale in deepnorm_scales(12)]
        [2.213, 0.319]
    """
    return (2 * num_layers) ** 0.25, (8 * num_layers) ** -0.25

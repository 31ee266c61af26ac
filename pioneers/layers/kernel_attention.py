"""Attention without a softmax, in time linear in the length: Katharopoulos et al. 2020.

Axes: B batch, H heads, T queries, S keys, K head_dim, D d_model.
"""

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from pioneers.layers.masks import causal_mask
from pioneers.layers.positions import Rotary
from pioneers.layers.variants import VariantAttention, hide_keys

CHUNK = 64  # positions that meet each other directly; earlier ones are summed up


def positive_features(x: Tensor) -> Tensor:
    """φ(x) = elu(x) + 1, positive in every component: Katharopoulos et al. 2020, equation (7).

    Args:
        x: queries or keys, of any shape.

    Example:
        >>> positive_features(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([0.3679, 1.0000, 3.0000])
    """
    return F.elu(x) + 1


def kernel_attention(
    q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, causal: bool = False
) -> Tensor:
    """Mix values with weights in proportion to φ(q) · φ(k), ``(B, H, T, K)``, without a table of weights.

    The sums ``Σ φ(k)ᵀ v`` and ``Σ φ(k)`` are made once and serve every query; with ``causal`` they run along
    the sequence. Katharopoulos et al. 2020, equations (5), (6), (9) to (12).

    Args:
        q: queries ``(B, H, T, K)``; any leading axes will do.
        k: keys ``(B, H, S, K)``.
        v: values ``(B, H, S, K)``.
        mask: hides padding, ``(B, 1, 1, S)``; True = may attend. A query that sees nothing gets zeros.
        causal: whether later positions are hidden.

    Raises:
        ValueError: ``causal`` with different numbers of queries and keys, or the mask differs between
            queries.

    Example:
        >>> q, k, v = torch.randn(3, 1, 2, 5, 4)  # B = 1, H = 2, T = S = 5, K = 4
        >>> weights = kernel_weights(q, k, causal=True)  # (1, 2, 5, 5)
        >>> torch.allclose(kernel_attention(q, k, v, causal=True), weights @ v, atol=1e-5)
        True
    """
    q, k = positive_features(q), hide_keys(positive_features(k), mask)
    v = F.pad(v, (0, 1), value=1.0)  # (B, H, S, K + 1): the last component sums up the weights
    if not causal:
        return _divided(q @ (k.mT @ v))
    T = q.shape[-2]
    if k.shape[-2] != T:
        raise ValueError(f"causal needs one key per query, not {T} queries and {k.shape[-2]} keys: see step")
    behind = -T % CHUNK
    q, k, v = (F.pad(x, (0, 0, 0, behind)).unflatten(-2, (-1, CHUNK)) for x in (q, k, v))  # (B, H, N, C, K)
    sums = k.mT @ v  # (B, H, N, K, K + 1), of each chunk
    earlier = sums.cumsum(-3) - sums  # of the chunks before it
    within = (q @ k.mT).tril() @ v  # (B, H, N, C, K + 1)
    return _divided(q @ earlier + within).flatten(-3, -2)[..., :T, :]


def kernel_weights(q: Tensor, k: Tensor, *, mask: Tensor | None = None, causal: bool = False) -> Tensor:
    """The weights ``(B, H, T, S)`` of :func:`kernel_attention` in explicit, quadratic form.

    Args:
        q: queries ``(B, H, T, K)``.
        k: keys ``(B, H, S, K)``.
        mask: hides padding, ``(B, 1, 1, S)``.
        causal: whether later positions are hidden.

    Raises:
        ValueError: the mask differs between queries.

    Example:
        >>> kernel_weights(torch.zeros(2, 3), torch.zeros(2, 3), causal=True)
        tensor([[1.0000, 0.0000],
                [0.5000, 0.5000]])
    """
    products = positive_features(q) @ hide_keys(positive_features(k), mask).mT  # (B, H, T, S)
    if causal:
        products = products * causal_mask(*products.shape[-2:], device=products.device)
    return products / _floor(products.sum(-1, keepdim=True))


class KernelAttention(VariantAttention):
    """Multi-head attention by :func:`kernel_attention`, also called linear attention.

    Args:
        d_model: D, width of what comes in and goes out.
        num_heads: H.

    Example:
        >>> attn = KernelAttention(12, 3)
        >>> x = torch.randn(2, 5, 12)
        >>> first, state = attn.step(x[:, 0])  # as a recurrent network, one position at a time
        >>> torch.allclose(first, attn(x, causal=True)[:, 0], atol=1e-5), state.shape
        (True, torch.Size([2, 3, 4, 5]))
    """

    refuses: ClassVar = {
        "bias": "there are no scores to add it to, only a product of φ(q) and φ(k)",
        "rotary": "φ of a turned vector no longer depends on relative positions alone",
        "cache": "its state has one size at every length: use step(x, state)",
    }

    def mix(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        """Apply :func:`kernel_attention` to the heads.

        Args:
            q: queries ``(B, H, T, K)``.
            k: keys ``(B, H, S, K)``.
            v: values ``(B, H, S, K)``.
            mask: hides padding, ``(B, 1, 1, S)``.
            causal: whether later positions are hidden.
        """
        return kernel_attention(q, k, v, mask=mask, causal=causal)

    def step(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The output at the next position, and the state after it.

        Args:
            x: the newest position, ``(B, D)``.
            state: the sums over the earlier ones, ``(B, H, K, K + 1)``; None at the first position.
        """
        q, k, v = (self._split(f(x[:, None])) for f in (self.q_proj, self.k_proj, self.v_proj))
        new = positive_features(k).mT @ F.pad(v, (0, 1), value=1.0)  # (B, H, K, K + 1)
        state = new if state is None else state + new
        out = _divided(positive_features(q) @ state)  # (B, H, 1, K)
        return self.o_proj(out.flatten(1)), state

    def weights(
        self,
        query: Tensor,
        key: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        causal: bool = False,
        rotary: Rotary | None = None,
    ) -> Tensor:
        """The weights ``(B, H, T, S)`` that ``forward`` uses without ever making them.

        Args:
            query: ``(B, T, D)``.
            key: ``(B, S, D)``; the query when left out.
            mask: as in :func:`kernel_weights`.
            bias: refused.
            causal: whether later positions are hidden.
            rotary: refused.

        Raises:
            ValueError: an argument is refused.
        """
        self._refuse(bias=bias, rotary=rotary)
        q, k = self._split(self.q_proj(query)), self._split(self.k_proj(query if key is None else key))
        return kernel_weights(q, k, mask=mask, causal=causal)


def _divided(sums: Tensor) -> Tensor:
    """Mixtures (…, K) from sums of values (…, K + 1), whose last component is the sum of the weights."""
    return sums[..., :-1] / _floor(sums[..., -1:])


def _floor(total: Tensor) -> Tensor:
    """No zero below a fraction: what sees nothing is zero, not NaN."""
    return total.clamp_min(torch.finfo(total.dtype).tiny)

"""Mixture of experts: several feed-forward networks, of which each token goes through a few."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from pioneers.layers.routing import Routing, TopKRouter


class MixtureOfExperts(nn.Module):
    """Feed-forward networks side by side; a router sends each token through k of them.

    ``y = Σ_i w_i Expert_i(x)`` over the experts that the token chose, with the router's weights: Shazeer et
    al. 2017, section 2. It is the ``ffn`` of a :class:`TransformerBlock`. A choice that found no room adds
    nothing, so that a token without any expert passes by the residual path: Fedus et al. 2022, section 2.2.

    Padding tokens are routed like all others. They take room from the tokens that follow them in their row,
    so pad at the end.

    Args:
        router: chooses the experts of each token.
        experts: E networks from ``(n, D)`` to ``(n, D)``, for any n, such as :class:`FeedForward`.
        shared: a network that every token goes through besides, with weight 1: Dai et al. 2024, section 3.2.

    Raises:
        ValueError: the router chooses among another number of experts.

    Example:
        >>> experts = [nn.Linear(6, 6) for _ in range(4)]
        >>> MixtureOfExperts(TopKRouter(6, 4, k=2), experts)(torch.zeros(2, 5, 6)).shape
        torch.Size([2, 5, 6])
    """

    def __init__(
        self, router: TopKRouter, experts: Iterable[nn.Module], *, shared: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.router, self.experts, self.shared = router, nn.ModuleList(experts), shared
        if len(self.experts) != router.num_experts:
            raise ValueError(
                f"the router chooses among {router.num_experts} experts, but there are {len(self.experts)}"
            )

    def forward(self, x: Tensor) -> Tensor:
        """``(B, T, D)`` → ``(B, T, D)``."""
        routes: Routing = self.router(x)
        out = torch.zeros_like(x) if self.shared is None else self.shared(x)  # (B, T, D)
        x, out = x.flatten(0, 1), out.flatten(0, 1)  # (B T, D)
        experts, weights, kept = (part.flatten(0, 1) for part in routes[1:])  # (B T, k)
        for number, expert in enumerate(self.experts):
            token, choice = torch.where(kept & (experts == number))  # (n,), n tokens of this expert
            made = weights[token, choice, None] * expert(x[token])  # (n, D)
            out = out.index_add(0, token, made.to(out.dtype))
        return out.view(routes.logits.shape[:2] + out.shape[-1:])

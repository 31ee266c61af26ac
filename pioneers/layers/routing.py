"""Routers: which of E experts each token goes to, and what was decided in a forward pass.

Axes: B batch, T positions, D d_model, E experts, k choices of each token.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Routing(NamedTuple):
    """What a router decided for each token.

    Attributes:
        logits: of the router, ``(B, T, E)``.
        experts: the numbers of the experts that each token chose, best first, ``(B, T, k)``.
        weights: what their outputs are multiplied by, ``(B, T, k)``.
        kept: which choices found room at their expert, ``(B, T, k)``; all of them without a capacity.
    """

    logits: Tensor
    experts: Tensor
    weights: Tensor
    kept: Tensor

    def loads(self) -> Tensor:
        """The share of all choices that fell on each expert, before any is dropped: ``(E,)``, sum 1."""
        counts = self.experts.flatten().bincount(minlength=self.logits.shape[-1])
        return counts / self.experts.numel()

    def dropped(self) -> Tensor:
        """The share of choices that found no room, a scalar."""
        return 1 - self.kept.float().mean()


class TopKRouter(nn.Module):
    """A linear map and a softmax over E experts; each token goes to the k most probable ones.

    With k = 1 the expert's output is multiplied by its probability (Fedus et al. 2022, section 2.1), which is
    how the router receives a gradient. With larger k the k probabilities are divided by their sum (Lepikhin
    et al. 2021, section 2.2; Jiang et al. 2024, section 2.1). The router computes in fp32 also under
    autocast: Fedus et al. 2022, section 2.4.

    Args:
        d_model: D.
        num_experts: E.
        k: experts per token.
        capacity_factor: room for tokens at each expert, in multiples of the k T / E that every expert of a
            sequence would get under balance, rounded up; None is as much as needed. Room is given in the
            order of the positions, so that no token depends on later ones.

    Raises:
        ValueError: k is not between 1 and E, or the capacity factor is not positive.

    Example:
        >>> router = TopKRouter(6, 4, k=2)
        >>> router(torch.zeros(2, 5, 6)).weights[0, 0].tolist()
        [0.5, 0.5]
    """

    def __init__(
        self, d_model: int, num_experts: int, *, k: int = 1, capacity_factor: float | None = None
    ) -> None:
        super().__init__()
        if not 1 <= k <= num_experts:
            raise ValueError(f"k must be between 1 and num_experts={num_experts}, not {k}")
        if capacity_factor is not None and capacity_factor <= 0:
            raise ValueError(f"capacity_factor must be positive, or None for no limit, not {capacity_factor}")
        self.num_experts, self.k, self.capacity_factor = num_experts, k, capacity_factor
        self.gate = nn.Linear(d_model, num_experts, bias=False)

    def forward(self, x: Tensor) -> Routing:
        """``(B, T, D)`` → what is decided for each token."""
        with torch.autocast(x.device.type, enabled=False):
            logits = self.gate(x.to(self.gate.weight.dtype))  # (B, T, E)
            weights, experts = logits.softmax(dim=-1).topk(self.k, dim=-1)  # (B, T, k)
        if self.k > 1:
            weights = weights / weights.sum(dim=-1, keepdim=True)
        kept = torch.ones_like(experts, dtype=torch.bool)
        if self.capacity_factor is not None:
            kept = self._place_in_queue(experts) <= self.capacity(x.shape[1])
        return Routing(logits, experts, weights, kept)

    def capacity(self, num_tokens: int) -> int:
        """How many tokens of a sequence of ``num_tokens`` each expert has room for: Fedus et al. 2022, (3).

        Raises:
            ValueError: the router has no capacity factor.
        """
        if self.capacity_factor is None:
            raise ValueError("this router has no capacity_factor: every expert takes all that come")
        room = self.capacity_factor * num_tokens * self.k / self.num_experts
        return math.ceil(room - 1e-6)  # 1.1 * 30 / 3 is not exactly 11

    def _place_in_queue(self, experts: Tensor) -> Tensor:
        """``experts (B, T, k)`` → each choice's place, from 1 on, in the queue of its expert."""
        B, T, k = experts.shape
        queue = experts.reshape(B, T * k)  # the first choice of a token before its second
        chosen = F.one_hot(queue, self.num_experts).cumsum(dim=1)  # (B, T k, E)
        return chosen.gather(-1, queue[..., None]).view(B, T, k)


@contextmanager
def routing(model: nn.Module) -> Iterator[list[Routing]]:
    """Collect what the routers of a model decide: a list that grows by one entry per router and forward pass.

    The entries are in the order of the calls, the first block first, and belong to the graph, so that a loss
    can be computed from them.

    Args:
        model: any module; its :class:`TopKRouter` modules are watched.

    Raises:
        ValueError: the model has no router.

    Example:
        >>> router = TopKRouter(6, 4)
        >>> with routing(router) as seen:
        ...     _ = router(torch.zeros(2, 5, 6))
        >>> seen[0].logits.shape
        torch.Size([2, 5, 4])
    """
    routers = [module for module in model.modules() if isinstance(module, TopKRouter)]
    if not routers:
        raise ValueError("the model has no TopKRouter: none of its blocks has experts")
    seen: list[Routing] = []
    hooks = [router.register_forward_hook(lambda _, __, made: seen.append(made)) for router in routers]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()

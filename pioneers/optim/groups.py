"""Weight-decay groups."""

from typing import Any

from torch import nn


def decay_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Group the parameters for AdamW: matrices decay; biases, gains and single vectors do not.

    Radford et al. 2018, section 4.1: "all non bias or gain weights".

    Args:
        model: whose parameters are grouped; those that need no gradient are left out.
        weight_decay: of the matrices.

    Example:
        >>> groups = decay_groups(nn.Linear(3, 2), weight_decay=0.1)
        >>> [(group["weight_decay"], [tuple(p.shape) for p in group["params"]]) for group in groups]
        [(0.1, [(2, 3)]), (0.0, [(2,)])]
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]

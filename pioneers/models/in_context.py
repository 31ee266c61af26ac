"""A transformer that reads examples of a function in its prompt and predicts the next value."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pioneers.layers import (
    FeedForward,
    LearnedPositions,
    MultiHeadAttention,
    Stack,
    TransformerBlock,
    init_weights,
    initial_std,
)


class InContextRegressor(nn.Module):
    """A causal stack that predicts each value from its input and the examples before: Garg et al. 2022.

    Position i reads the new input ``x_i`` beside the last example, ``x_(i-1)`` and ``y_(i-1)``, and zeros in
    its place at the first. (The paper gives inputs and values positions of their own, twice as many.)

    Args:
        num_inputs: d.
        d_model: D.
        num_layers: number of blocks.
        num_heads: H.
        max_examples: longest prompt.

    Example:
        >>> model = InContextRegressor(3, d_model=12, num_layers=2, num_heads=3, max_examples=7)
        >>> model(torch.zeros(2, 5, 3), torch.zeros(2, 5)).shape
        torch.Size([2, 5])
    """

    def __init__(
        self, num_inputs: int, *, d_model: int, num_layers: int, num_heads: int, max_examples: int
    ) -> None:
        super().__init__()
        self.read_in = nn.Linear(2 * num_inputs + 1, d_model)
        self.position = LearnedPositions(max_examples, d_model)
        blocks = [
            TransformerBlock(MultiHeadAttention(d_model, num_heads), FeedForward(d_model))
            for _ in range(num_layers)
        ]
        self.stack = Stack(blocks, nn.LayerNorm(d_model))
        self.read_out = nn.Linear(d_model, 1)
        init_weights(self, std=initial_std(d_model))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Inputs ``x (B, K, d)`` and values ``y (B, K)`` → predictions ``(B, K)``; value i is not seen at i.

        Raises:
            ValueError: the prompt is longer than ``max_examples``.
        """
        examples = torch.cat([x, y[..., None]], dim=-1)  # (B, K, d + 1)
        last = F.pad(examples[:, :-1], (0, 0, 1, 0))  # (B, K, d + 1), moved on by one
        h = self.read_in(torch.cat([x, last], dim=-1))  # (B, K, D)
        h = self.stack(h + self.position(x.shape[1]), causal=True)  # (B, K, D)
        return self.read_out(h).squeeze(-1)

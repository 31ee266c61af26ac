"""Prompts whose examples come from a function that no other prompt shares."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class RegressionPrompts(NamedTuple):
    """A batch of prompts: a list of examples from one linear function each.

    Attributes:
        x: ``(B, K, d)``, the inputs of the K examples, in order.
        y: ``(B, K)``, their noisy values.
        clean: ``(B, K)``, the values without the noise.
    """

    x: Tensor
    y: Tensor
    clean: Tensor


class LinearFunctions:
    """Random batches of prompts with a new linear function in each: Garg et al. 2022, section 2.

    The weights w of a prompt and its inputs are drawn from N(0, I), and ``y = w · x + noise``. A batch
    depends only on the seed and the step, so a resumed run continues exactly.

    Args:
        num_inputs: d, the number of inputs.
        num_examples: K, the number of examples in a prompt.
        batch_size: B.
        noise: standard deviation of what is added to the values.
        scales: standard deviation of each input, 1 by default.
        seed: of the functions, inputs and noise.

    Raises:
        ValueError: a number is not positive, the noise is negative, or there is not one scale per input.

    Example:
        >>> prompts = LinearFunctions(3, 7, batch_size=2)(step=0)
        >>> prompts.x.shape, prompts.y.shape
        (torch.Size([2, 7, 3]), torch.Size([2, 7]))
        >>> torch.equal(prompts.y, prompts.clean)
        True
    """

    def __init__(
        self,
        num_inputs: int,
        num_examples: int,
        *,
        batch_size: int,
        noise: float = 0.0,
        scales: Sequence[float] | None = None,
        seed: int = 0,
    ) -> None:
        if min(num_inputs, num_examples, batch_size) < 1 or noise < 0:
            raise ValueError(
                f"num_inputs={num_inputs}, num_examples={num_examples} and batch_size={batch_size} must be "
                f"at least 1, and noise={noise} at least 0"
            )
        if scales is not None and len(scales) != num_inputs:
            raise ValueError(f"one scale for each of the {num_inputs} inputs, not {len(scales)}")
        self.num_inputs, self.num_examples, self.batch_size = num_inputs, num_examples, batch_size
        self.noise, self.seed = noise, seed
        self.scales = torch.ones(num_inputs) if scales is None else torch.tensor(scales).float()

    def __call__(self, step: int) -> RegressionPrompts:
        """Return the batch of one step."""
        random = np.random.default_rng((self.seed, step))

        def normal(*shape: int) -> Tensor:
            return torch.from_numpy(random.standard_normal(shape, dtype=np.float32))

        w = normal(self.batch_size, self.num_inputs, 1)
        x = normal(self.batch_size, self.num_examples, self.num_inputs) * self.scales  # (B, K, d)
        clean = (x @ w).squeeze(-1)  # (B, K)
        return RegressionPrompts(x, clean + self.noise * normal(*clean.shape), clean)

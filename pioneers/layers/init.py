"""Initial weights."""

import math

from torch import nn

from pioneers.layers.biases import RelativeBias
from pioneers.layers.block import TransformerBlock
from pioneers.layers.feedforward import FeedForward, GatedFeedForward
from pioneers.layers.multi_head import MultiHeadAttention
from pioneers.layers.norms import deepnorm_scales
from pioneers.layers.stack import Stack


def initial_std(d_model: int) -> float:
    """The standard deviation to draw weights with: GPT-2's 0.02 at its width of 768, else like ``1 / √D``.

    A linear map adds ``d_model`` products, so narrow models need larger weights for outputs of the same size.

    Example:
        >>> [round(initial_std(d_model), 3) for d_model in (768, 192, 48)]
        [0.02, 0.04, 0.08]
    """
    return 0.02 * math.sqrt(768 / d_model)


def init_weights(model: nn.Module, *, std: float) -> None:
    """Draw every linear map, convolution and token embedding from N(0, std²), with biases of zero, in place.

    :class:`LearnedPositions` and the class token of :class:`ViTEmbedding` keep the standard deviation of 0.02
    they were made with.
    What a layer adds to the residual stream is drawn smaller by ``sqrt(2 num_layers)``, so that the variance
    of the stream does not grow with depth: Radford et al. 2019, section 2.3.

    Args:
        model: any module.
        std: the standard deviation, for instance :func:`initial_std` of its width.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Conv2d | nn.Embedding):
            nn.init.normal_(module.weight, std=std)
        if isinstance(module, nn.Linear | nn.Conv2d) and module.bias is not None:
            nn.init.zeros_(module.bias)
    for stack in (module for module in model.modules() if isinstance(module, Stack)):
        residual_std = std / math.sqrt(2 * len(stack.blocks))
        for module in stack.modules():
            if isinstance(module, MultiHeadAttention):
                nn.init.normal_(module.o_proj.weight, std=residual_std)
            if isinstance(module, FeedForward | GatedFeedForward):
                nn.init.normal_(module.down.weight, std=residual_std)


def init_by_inputs(model: nn.Module, *, d_model: int, head_dim: int) -> None:
    """Draw every linear map from N(0, 1 / inputs) in place, as T5's authors do in Mesh TensorFlow.

    The projections of the queries are smaller by √K, where the scores are not divided by it, and a relative
    bias is drawn from N(0, 1 / D). Raffel et al. 2020; token vectors stay as they were made, N(0, 1).

    Args:
        model: any module.
        d_model: D.
        head_dim: K.
    """
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            inputs = module.in_features * (head_dim if name.endswith("q_proj") else 1)
            nn.init.normal_(module.weight, std=inputs**-0.5)
        if isinstance(module, RelativeBias):
            nn.init.normal_(module.table.weight, std=d_model**-0.5)


def apply_deepnorm(stack: Stack) -> None:
    """Turn a post-norm ``stack`` into a DeepNet, in place: Wang et al. 2022, figure 2.

    Every residual connection is weighted by α; the feed-forward, value and output projections are drawn anew
    with Xavier's gain β, queries and keys with gain 1.

    Raises:
        ValueError: the stack is not post-norm.
    """
    alpha, beta = deepnorm_scales(len(stack.blocks))
    for block in (module for module in stack.modules() if isinstance(module, TransformerBlock)):
        if block.norm_placement != "post":
            raise ValueError(f"DeepNorm is a post-norm; this stack is {block.norm_placement!r}")
        block.residual_scale = alpha
        for name, module in block.named_modules():
            if isinstance(module, nn.Linear):
                gain = 1.0 if name.endswith(("q_proj", "k_proj")) else beta
                nn.init.xavier_normal_(module.weight, gain=gain)

"""What training keeps in memory, computed from the shapes of a model: nothing is allocated."""

from typing import NamedTuple

from torch import nn

from pioneers.layers import FeedForward, GatedFeedForward, MultiHeadAttention, Stack, TransformerBlock
from pioneers.layers.biases import RelativeBias
from pioneers.layers.experts import MixtureOfExperts
from pioneers.layers.feedforward import ACTIVATIONS

FULL, HALF = 4, 2  # bytes of a number in float32, and in bfloat16 or float16


class TrainingMemory(NamedTuple):
    """Bytes on each device.

    Attributes:
        weights: in float32, and the copies of them that a step computes with.
        gradients: in float32.
        optimizer: the state of the optimiser, in float32.
        activations: what the forward pass keeps for the backward pass.
    """

    weights: int
    gradients: int
    optimizer: int
    activations: int

    @property
    def total(self) -> int:
        """The sum."""
        return sum(self)


class _Sizes(NamedTuple):
    """Bytes of a number in the precision of the linear maps, positions, and whether scores have a bias."""

    number: int
    length: int
    biased: bool


def training_memory(
    model: nn.Module,
    *,
    batch: int,
    seq_len: int,
    precision: str = "bf16",
    moments: int = 2,
    recompute: bool = False,
    shards: int = 1,
) -> TrainingMemory:
    """Compute what a training step of :func:`pioneers.training.fit` keeps in memory on each device.

    A weight takes 4 bytes, its gradient 4 and each moment of the optimiser 4; ``shards`` devices divide these
    among them (Rajbhandari et al. 2020, stage 3). In low precision, autocast keeps a copy of every matrix, 2
    bytes a weight. Sharded, this copy is gathered for two blocks at a time, the one that computes and the
    next one, and what is outside the blocks is gathered in float32.

    Activations are what autograd saves, for each token and block: the input of each norm, twice for an
    RMSNorm, always in float32; and in the precision of the linear maps their inputs D, the queries, keys,
    values and outputs of attention 4 H K, the hidden units before and after their activation 2 F (F for ReLU,
    4 F with a gate). With V logits in float32 behind the last block. A GPT with F = 4 D needs ``64 D`` bytes
    per token and block in float32 and ``36 D`` in bfloat16; Korthikanti et al. 2023, equation (1), count
    ``34 D`` with norms in half precision and masks of dropout. Attention is taken to be fused; with a learned
    bias it also saves its weights, H T S.

    With ``recompute`` a block keeps only its input, and one block at a time has its activations: Chen et al.
    2016, section 4. Not counted: masks of dropout, one byte for a value at most on a GPU, what lives for a
    moment (gradients of activations, of a block on their way to the shards) and what the libraries take.

    Args:
        model: a model of blocks, best built on the meta device.
        batch: sequences on each device, in one micro-batch.
        seq_len: tokens in each sequence, on both sides of an encoder–decoder.
        precision: ``"fp32"``, or ``"bf16"`` or ``"fp16"`` by autocast.
        moments: numbers of the optimiser per weight: 2 for AdamW, 0 for SGD.
        recompute: whether blocks compute their activations again in the backward pass.
        shards: devices that share weights, gradients and moments; 1 without sharding.

    Raises:
        ValueError: the precision is unknown, or the model has a feed-forward network that is not counted.

    Example:
        >>> import torch
        >>> from pioneers.models import GPT, GPTConfig
        >>> with torch.device("meta"):
        ...     memory = training_memory(GPT(GPTConfig.preset("gpt2")), batch=8, seq_len=1024)
        >>> f"{memory.total / 1e9:.1f} GB"
        '6.6 GB'
    """
    if precision not in ("fp32", "bf16", "fp16"):
        raise ValueError(f"precision must be 'fp32', 'bf16' or 'fp16', not {precision!r}")
    number = FULL if precision == "fp32" else HALF
    biased = any(isinstance(module, RelativeBias) for module in model.modules())
    sizes = _Sizes(number, seq_len, biased)
    share = -(-_count(model) // shards)  # rounded up
    return TrainingMemory(
        weights=FULL * share + _copies(model, number, shards),
        gradients=FULL * share,
        optimizer=FULL * moments * share,
        activations=batch * _activations(model, sizes, recompute),
    )


def _count(*modules: nn.Module) -> int:
    """The parameters of modules; one that several share counts once."""
    return sum(p.numel() for p in {p for module in modules for p in module.parameters()})


def _blocks(model: nn.Module) -> list[TransformerBlock]:
    return [module for module in model.modules() if isinstance(module, TransformerBlock)]


def _copies(model: nn.Module, number: int, shards: int) -> int:
    """Bytes of the weights that computing needs beside those that are updated."""
    blocks = _blocks(model)
    inside = _count(*blocks)
    linear = _count(*(module for module in model.modules() if isinstance(module, nn.Linear)))
    if shards == 1:
        return 0 if number == FULL else number * linear
    largest = max((_count(block) for block in blocks), default=0)
    gathered = number * min(2 * largest, inside) + FULL * (_count(model) - inside)
    head = getattr(model, "lm_head", None)
    return gathered + (0 if head is None or number == FULL else number * _count(head))


def _activations(model: nn.Module, sizes: _Sizes, recompute: bool) -> int:
    """Bytes for one sequence, or for one on each side of an encoder–decoder."""
    blocks = _blocks(model)
    saved = [_block(block, sizes) for block in blocks]
    kept = sum(saved)
    if recompute:
        inputs = sum(FULL * sizes.length * block.attn.d_model for block in blocks)
        kept = inputs + max(saved, default=0)
    for module in model.modules():
        if isinstance(module, Stack):
            kept += sizes.length * _norm(module.norm)
    head = getattr(model, "lm_head", None)
    if isinstance(head, nn.Linear):
        kept += sizes.length * (sizes.number * head.in_features + FULL * head.out_features)
    return kept


def _block(block: TransformerBlock, sizes: _Sizes) -> int:
    norms, norms_out = [block.norm_attn, block.norm_ffn], [block.norm_attn_out, block.norm_ffn_out]
    kept = _attention(block.attn, sizes)
    if block.cross_attn is not None:
        norms, norms_out = [*norms, block.norm_cross], [*norms_out, block.norm_cross_out]
        kept += _attention(block.cross_attn, sizes._replace(biased=False))
        if sizes.number != FULL:  # autocast copies the memory for each block
            kept += sizes.length * sizes.number * block.cross_attn.d_model
    normed = sum(map(_norm, norms)) + sum(_norm(norm, sizes.number) for norm in norms_out)
    return kept + sizes.length * (normed + _feed_forward(block.ffn, sizes.number))


def _norm(norm: nn.Module, number: int = FULL) -> int:
    """Bytes for a token. RMSNorm, which PyTorch composes of other functions, also saves what it scales."""
    if isinstance(norm, nn.Identity):
        return 0
    return number * (2 if isinstance(norm, nn.RMSNorm) else 1) * next(norm.parameters()).numel()


def _attention(attn: MultiHeadAttention, sizes: _Sizes) -> int:
    """Bytes for a sequence: input, queries, keys, values, outputs, and a number per row of the softmax."""
    width = attn.num_heads * attn.head_dim
    inner = FULL if sizes.biased else sizes.number  # PyTorch's explicit attention computes in float32
    token = sizes.number * (attn.d_model + width) + inner * 3 * width + FULL * attn.num_heads
    if not isinstance(attn.q_norm, nn.Identity):
        token += (attn.num_heads + attn.num_kv_heads) * _norm(attn.q_norm)
    if sizes.biased:
        token += FULL * attn.num_heads * sizes.length
    return sizes.length * token


def _feed_forward(ffn: nn.Module, number: int) -> int:
    """Bytes for a token."""
    if isinstance(ffn, GatedFeedForward):
        d_ff, d_model = ffn.up.weight.shape
        inputs = 1 if number == FULL else 2  # autocast copies it for each of the two maps
        return number * (inputs * d_model + 4 * d_ff)
    if isinstance(ffn, FeedForward):
        d_ff, d_model = ffn.up.weight.shape
        hidden = 1 if ffn.activation is ACTIVATIONS["relu"] else 2
        return number * (d_model + hidden * d_ff)
    if isinstance(ffn, MixtureOfExperts):
        return _experts(ffn, number)
    raise ValueError(
        f"what {type(ffn).__name__} keeps for the backward pass is not known: it must be a FeedForward, a "
        f"GatedFeedForward or a MixtureOfExperts of these"
    )


def _experts(ffn: MixtureOfExperts, number: int) -> int:
    """Bytes for a token: for each choice an expert, its output unweighted and weighted, and 32 for indices
    and weights; the router's input and probabilities.
    """
    width = ffn.router.gate.in_features
    chosen = ffn.router.k * (_feed_forward(ffn.experts[0], number) + (number + FULL) * width + 32)
    shared = 0 if ffn.shared is None else _feed_forward(ffn.shared, number)
    return chosen + shared + FULL * (width + ffn.router.num_experts)

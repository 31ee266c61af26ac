"""The arithmetic of memory against what PyTorch saves; the sizes let no activation look like a weight."""

import contextlib
import sys

import pytest
import torch
from torch import nn

from pioneers.analysis import training_memory
from pioneers.layers import FeedForward, MixtureOfExperts, MultiHeadAttention, Stack, TransformerBlock
from pioneers.layers.routing import TopKRouter
from pioneers.models import GPT, T5, GPTConfig, Llama, LlamaConfig, T5Config
from pioneers.objectives import causal_lm_loss

SIZES = {"vocab_size": 101, "d_model": 48, "num_layers": 3, "num_heads": 4}
GROUPED = SIZES | {"d_ff": 80, "num_kv_heads": 2, "max_seq_len": 67}
TEXT_TO_TEXT = SIZES | {"d_ff": 120, "head_dim": 12, "dropout": 0.0}


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lm_head = nn.Embedding(101, 24), nn.Linear(24, 101)
        self.stack = Stack([self._block() for _ in range(3)], nn.LayerNorm(24))

    @staticmethod
    def _block():
        experts = [FeedForward(24, 32) for _ in range(5)]
        return TransformerBlock(MultiHeadAttention(24, 3), MixtureOfExperts(TopKRouter(24, 5, k=2), experts))

    def forward(self, input_ids):
        return self.lm_head(self.stack(self.embed(input_ids), causal=True))


MODELS = {
    "gpt": lambda: GPT(GPTConfig(**SIZES, max_seq_len=67)),
    "wide": lambda: GPT(GPTConfig(**SIZES | {"d_model": 116, "num_layers": 1}, max_seq_len=67)),
    "post-norm": lambda: GPT(GPTConfig(**SIZES, max_seq_len=67, norm_placement="post")),
    "sandwich": lambda: GPT(GPTConfig(**SIZES, max_seq_len=67, norm_placement="sandwich", d_ff=70)),
    "llama": lambda: Llama(LlamaConfig(**GROUPED)),
    "qwen": lambda: Llama(LlamaConfig(**GROUPED, head_dim=16, qk_norm=True)),
    "t5": lambda: T5(T5Config(**TEXT_TO_TEXT)),
    "t5 v1.1": lambda: T5(T5Config(**TEXT_TO_TEXT, gated=True, tied_head=False)),
    "experts": Experts,
}


def saved_bytes(model, batch, precision):
    """Bytes of what autograd saves: activations, and copies of weights."""
    ids = torch.randint(101, (batch, 67))
    own = {t.untyped_storage().data_ptr() for t in (*model.parameters(), *model.buffers())}
    shapes = {p.shape for p in model.parameters()} | {p.mT.shape for p in model.parameters() if p.ndim == 2}
    kept = {}

    def pack(tensor):
        place = tensor.untyped_storage().data_ptr()
        if place not in own:
            kept[place] = tensor
        return tensor

    low = torch.autocast("cpu", torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), low:
        loss = causal_lm_loss(model(ids, ids) if isinstance(model, T5) else model(ids), ids)
    copies = {p for p, t in kept.items() if t.dtype == torch.bfloat16 and t.shape in shapes}
    size = {place: tensor.untyped_storage().nbytes() for place, tensor in kept.items()}
    assert loss.isfinite()
    return sum(size[p] for p in kept.keys() - copies), sum(size[p] for p in copies)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", MODELS)
def test_activations_are_those_that_autograd_saves(name, precision, monkeypatch):
    attention = sys.modules["pioneers.layers.attention"]
    monkeypatch.setattr(attention, "EXPLICIT_MAX_KEYS", 0)  # fused in every precision, as on a GPU
    monkeypatch.setattr(attention, "CHUNKED_MAX_KEYS", 0)
    model = MODELS[name]()
    for batch in (2, 3):
        activations, copies = saved_bytes(model, batch, precision)
        found = training_memory(model, batch=batch, seq_len=67, precision=precision)
        weights = 4 * sum(p.numel() for p in model.parameters())
        assert found.activations == pytest.approx(activations, rel=0.1)
        assert found.weights - weights == pytest.approx(copies, rel=0.1)


def test_a_step_allocates_the_gradients_and_moments_that_are_counted():
    model = MODELS["gpt"]()
    found = training_memory(model, batch=2, seq_len=67, precision="fp32")
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    ids = torch.randint(101, (2, 67))
    causal_lm_loss(model(ids), ids).backward()
    optimizer.step()
    assert found.gradients == sum(p.grad.nbytes for p in model.parameters()) == found.weights
    moments = [t for state in optimizer.state.values() for t in state.values() if t.ndim]
    assert found.optimizer == sum(t.nbytes for t in moments)
    without = training_memory(model, batch=2, seq_len=67, precision="fp32", moments=0)
    assert (without.optimizer, without.gradients) == (0, found.gradients)


def test_recomputing_keeps_the_inputs_of_blocks_and_the_inside_of_one():
    model = MODELS["gpt"]()
    size = {"batch": 2, "seq_len": 67, "precision": "fp32"}
    straight, again = training_memory(model, **size), training_memory(model, **size, recompute=True)
    one = training_memory(GPT(GPTConfig(**SIZES | {"num_layers": 1}, max_seq_len=67)), **size)
    assert again.activations == one.activations + 3 * 2 * 67 * 48 * 4
    assert again.activations < straight.activations
    assert again[:3] == straight[:3]


def test_devices_share_everything_but_activations_and_what_is_gathered():
    model = MODELS["gpt"]()
    size = {"batch": 2, "seq_len": 67, "precision": "bf16"}
    alone, five = training_memory(model, **size), training_memory(model, **size, shards=5)
    number = sum(p.numel() for p in model.parameters())
    block = sum(p.numel() for p in model.stack.blocks[0].parameters())
    outside = number - 3 * block
    share = -(-number // 5)
    assert five.gradients == 4 * share
    assert five.optimizer == 8 * share
    assert five.weights == 4 * share + 2 * 2 * block + 4 * outside + 2 * model.lm_head.weight.numel()
    assert five.activations == alone.activations


@pytest.mark.parametrize(
    ("make", "config", "billions"),
    [
        (GPT, GPTConfig.preset("gpt2"), 0.12444),
        (GPT, GPTConfig.preset("gpt2-xl"), 1.558),
        (Llama, LlamaConfig.preset("llama-3-8b"), 8.03),
        (Llama, LlamaConfig.preset("qwen3-0.6b"), 0.5960),
        (T5, T5Config.preset("11b"), 11.31),
    ],
)
def test_large_models_are_computed_without_memory(make, config, billions):
    with torch.device("meta"):
        model = make(config)
    found = training_memory(model, batch=1, seq_len=512)
    assert found.gradients == pytest.approx(4e9 * billions, rel=1e-3)
    assert found.optimizer == 2 * found.gradients
    assert found.total == sum(found)
    assert found.activations > training_memory(model, batch=1, seq_len=512, recompute=True).activations


def test_what_cannot_be_counted_is_said():
    model = Stack([TransformerBlock(MultiHeadAttention(12, 3), nn.Linear(12, 12))])
    with pytest.raises(ValueError, match="what Linear keeps for the backward pass is not known"):
        training_memory(model, batch=1, seq_len=5)
    with pytest.raises(ValueError, match="precision must be 'fp32', 'bf16' or 'fp16', not 'half'"):
        training_memory(model, batch=1, seq_len=5, precision="half")

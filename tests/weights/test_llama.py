"""Llama, Qwen3 and Mixtral beside Hugging Face's: logits, gradients, and folders in both directions."""

import json

import pytest
import torch
from torch import nn

from pioneers import from_pretrained
from pioneers.generation import generate
from pioneers.models import Llama, LlamaConfig
from pioneers.weights import save_huggingface, save_pretrained
from pioneers.weights.llama import QWEN3_TENSORS

V, T, LENGTHS = 31, 11, (11, 4, 2)
SIZES = {
    "vocab_size": V, "hidden_size": 20, "intermediate_size": 37, "num_hidden_layers": 2, "rms_norm_eps": 0.01,
    "num_attention_heads": 10, "num_key_value_heads": 5, "max_position_embeddings": 23, "pad_token_id": 0,
}  # fmt: skip
KINDS = {
    "llama 3": ("Llama", {"rope_theta": 5000.0}),
    "llama": ("Llama", {"num_key_value_heads": 10, "head_dim": 6}),
    "qwen3": ("Qwen3", {"head_dim": 14, "tie_word_embeddings": True, "rope_theta": 5000.0}),
    # Their product for experts needs rows of a multiple of 16 bytes.
    "mixtral": ("Mixtral", {"num_local_experts": 3, "intermediate_size": 36, "rope_theta": 5000.0}),
}


def make(transformers, kind):
    family, how = KINDS[kind]
    config = getattr(transformers, f"{family}Config")(**(SIZES | how), bos_token_id=1, eos_token_id=None)
    model = getattr(transformers, f"{family}ForCausalLM")(config)
    generator = torch.Generator().manual_seed(0)
    for p in model.parameters():
        nn.init.normal_(p, std=0.3, generator=generator)
    return model.eval()


@pytest.fixture(params=KINDS)
def pair(request, transformers, tmp_path):
    theirs = make(transformers, request.param)
    theirs.save_pretrained(tmp_path / "theirs")
    return from_pretrained(tmp_path / "theirs"), theirs


def ids(*shape):
    return torch.randint(1, V, shape, generator=torch.Generator().manual_seed(1))


def gradient(theirs, name):
    """Theirs, for a parameter of ours; in memory, theirs has the matrices of all experts in two tensors."""
    path = name.split(".")
    if "ffn" in path and path[4] in ("router", "experts"):
        layer = theirs.model.layers[int(path[2])].mlp
        if path[4] == "router":
            return layer.gate.weight.grad
        if path[6] == "down":
            return layer.experts.down_proj.grad[int(path[5])]
        return layer.experts.gate_up_proj.grad[int(path[5])].chunk(2)[path[6] == "up"]
    number = "".join(part for part in path if part.isdigit())
    names = {row.ours[0]: row.theirs for row in QWEN3_TENSORS}
    return theirs.get_parameter(names[name.replace(f".{number}.", ".{}.")].format(number)).grad


@pytest.mark.parametrize("side", ["unpadded", "right", "left"])
def test_logits_and_all_gradients_are_theirs(side, pair):
    ours, theirs = pair
    real = torch.arange(T) < torch.tensor([T, T, T] if side == "unpadded" else LENGTHS)[:, None]
    real = real.flip(1) if side == "left" else real
    positions = (real.cumsum(1) - 1).clamp(min=0)
    expected = theirs(ids(3, T), attention_mask=real.long(), position_ids=positions).logits[real]
    rows = zip(ids(3, T), real, strict=True)
    got = (
        torch.cat([ours(row[keep][None])[0] for row, keep in rows])
        if side == "left"
        else ours(ids(3, T))[real]
    )
    torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)
    weights = torch.randn(got.shape, generator=torch.Generator().manual_seed(2))
    for logits in (got, expected):
        (logits * weights).sum().backward()
    for name, p in ours.named_parameters():
        expected = gradient(theirs, name)
        largest = float(expected.abs().max())
        assert largest > 1e-3, name
        torch.testing.assert_close(p.grad / largest, expected / largest, atol=1e-4, rtol=0, msg=name)


def test_greedy_generation_is_theirs(pair):
    ours, theirs = pair
    expected = theirs.generate(ids(3, 5), attention_mask=torch.ones(3, 5), max_new_tokens=9, do_sample=False)
    assert torch.equal(generate(ours, ids(3, 5), 9, top_k=1), expected)


def test_an_exported_folder_has_the_same_logits_there_and_here(pair, transformers, tmp_path):
    ours, theirs = pair
    save_huggingface(ours, tmp_path / "exported")
    again = from_pretrained(tmp_path / "exported")
    there = type(theirs).from_pretrained(tmp_path / "exported").eval()
    assert again.config == ours.config
    assert torch.equal(again(ids(3, T)), ours(ids(3, T)))
    torch.testing.assert_close(there(ids(3, T)).logits, ours(ids(3, T)), atol=1e-4, rtol=1e-4)
    save_pretrained(ours, tmp_path / "own")
    assert torch.equal(from_pretrained(tmp_path / "own")(ids(3, T)), ours(ids(3, T)))


@pytest.fixture
def edit(transformers, tmp_path):
    """A function that writes a tiny model with other entries in its configuration."""

    def write(kind, **entries):
        make(transformers, kind).save_pretrained(tmp_path)
        path = tmp_path / "config.json"
        config = json.loads(path.read_text()) | entries
        path.write_text(json.dumps({name: value for name, value in config.items() if value != "left out"}))
        return tmp_path

    return write


@pytest.mark.parametrize("scaling", ["left out", None])
def test_a_folder_from_before_transformers_5_is_read(edit, scaling):
    old = {
        "rope_parameters": "left out",
        "rope_theta": 700.0,
        "rope_scaling": scaling,
        "layer_types": "left out",
    }
    assert from_pretrained(edit("qwen3", **old)).config.rotary_base == 700.0
    assert from_pretrained(edit("llama", **old | {"rope_theta": "left out"})).config.rotary_base == 10000.0


@pytest.mark.parametrize(
    ("kind", "entries", "message"),
    [
        (
            "llama",
            {"rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0}},
            "any scaling",
        ),
        ("llama", {"rope_parameters": {"rope_theta": 5e5, "partial_rotary_factor": 0.5}}, "any scaling"),
        ("llama", {"rope_scaling": {"type": "linear", "factor": 2.0}}, "rope_scaling=.* can only be None"),
        ("llama", {"attention_bias": True}, "attention_bias=True"),
        ("llama", {"mlp_bias": True}, "mlp_bias=True"),
        ("llama", {"hidden_act": "gelu"}, "hidden_act='gelu'"),
        ("qwen3", {"use_sliding_window": True}, "use_sliding_window=True"),
        ("mixtral", {"sliding_window": 4096}, "sliding_window=4096"),
        ("mixtral", {"router_jitter_noise": 0.1}, "router_jitter_noise=0.1"),
        ("qwen3", {"layer_types": ["full_attention", "sliding_attention"]}, "only be 'full_attention'"),
    ],
)
def test_what_is_not_computed_is_refused_by_name(edit, kind, entries, message):
    with pytest.raises(ValueError, match=message):
        from_pretrained(edit(kind, **entries))


PUBLISHED = {  # parameters, and their settings in the published config.json
    "llama-7b": (6_738_415_616, "Llama", {}),
    "llama-3-8b": (
        8_030_261_248,
        "Llama",
        {"vocab_size": 128256, "num_key_value_heads": 8, "intermediate_size": 14336},
    ),
    "qwen3-0.6b": (
        596_049_920,
        "Qwen3",
        {
            "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
            "num_attention_heads": 16, "num_key_value_heads": 8, "tie_word_embeddings": True,
        },
    ),
    "mixtral-8x7b": (46_702_792_704, "Mixtral", {}),
}  # fmt: skip


@pytest.mark.parametrize("preset", PUBLISHED)
def test_parameter_counts_are_the_published_ones(preset, transformers):
    count, family, sizes = PUBLISHED[preset]
    with torch.device("meta"):
        assert sum(p.numel() for p in Llama(LlamaConfig.preset(preset)).parameters()) == count
        config = getattr(transformers, f"{family}Config")(**sizes)
        theirs = getattr(transformers, f"{family}ForCausalLM")(config)
        assert sum(p.numel() for p in theirs.parameters()) == count


def test_a_token_of_mixtral_meets_13_billion_parameters():
    with torch.device("meta"):
        model = Llama(LlamaConfig.preset("mixtral-8x7b"))
    per_expert = sum(p.numel() for p in model.stack.blocks[0].ffn.experts[0].parameters())
    idle = len(model.stack.blocks) * 6 * per_expert
    assert round((sum(p.numel() for p in model.parameters()) - idle) / 1e9, 1) == 12.9


def test_a_token_goes_through_at_most_all_experts():
    with pytest.raises(ValueError, match="experts_per_token must be at most num_experts=3, not 4"):
        LlamaConfig.preset("mini", num_experts=3, experts_per_token=4)

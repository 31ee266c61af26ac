"""Mixtral as Hugging Face stores it: ``MixtralForCausalLM``.

Sliding windows and noise in the router are refused by name.
"""

from dataclasses import replace

from pioneers.weights import llama
from pioneers.weights.hf_config import Field
from pioneers.weights.registry import register
from pioneers.weights.state_dict import Rename, param

MOST = 64  # experts that the table has rows for
DEFAULTS = {
    "max_position_embeddings": 4096 * 32,
    "intermediate_size": 14336,
    "num_key_value_heads": 8,
    "rope_theta": 1000000.0,
    "rms_norm_eps": 1e-5,
}
FIELDS = (
    *(
        replace(field, default=DEFAULTS.get(field.theirs, field.default))
        for field in llama.FIELDS
        if field.theirs != "attention_bias"
    ),
    Field("num_local_experts", "num_experts", 8),
    Field("num_experts_per_tok", "experts_per_token", 2),
    Field("sliding_window", None, None),
    Field("router_jitter_noise", None, 0.0),
)
_THEIRS, _OURS = "model.layers.{}.block_sparse_moe.", "stack.blocks.{}.ffn."
_MATRICES = {"w1": "gate", "w2": "down", "w3": "up"}
TENSORS: list[Rename] = [
    *(row for row in llama.TENSORS if ".mlp." not in row.theirs),
    param(f"{_THEIRS}gate.weight", f"{_OURS}router.gate.weight"),
    *(
        param(f"{_THEIRS}experts.{e}.{theirs}.weight", f"{_OURS}experts.{e}.{ours}.weight")
        for e in range(MOST)
        for theirs, ours in _MATRICES.items()
    ),
]

register(llama.decoder_layout("MixtralForCausalLM", TENSORS, FIELDS, qk_norm=False))

"""T5 and mT5 as Hugging Face stores them: ``T5ForConditionalGeneration``, ``MT5ForConditionalGeneration``."""

from pioneers.weights.state_dict import Rename, param


def _stack(side: str, ffn: int) -> list[Rename]:
    """Make the rows of the encoder or the decoder; ``ffn`` is the number of its feed-forward layer."""
    theirs, ours = f"{side}.block.{{}}.layer.", f"{side}.blocks.{{}}."
    return [
        param(f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight", f"{side}_bias.table.weight"),
        param(f"{theirs}0.layer_norm.weight", f"{ours}norm_attn.weight"),
        *(param(f"{theirs}0.SelfAttention.{name}.weight", f"{ours}attn.{name}_proj.weight") for name in "qkvo"),
        param(f"{theirs}{ffn}.layer_norm.weight", f"{ours}norm_ffn.weight"),
        param(f"{theirs}{ffn}.DenseReluDense.wi.weight", f"{ours}ffn.up.weight"),
        param(f"{theirs}{ffn}.DenseReluDense.wi_0.weight", f"{ours}ffn.gate.weight"),
        param(f"{theirs}{ffn}.DenseReluDense.wi_1.weight", f"{ours}ffn.up.weight"),
        param(f"{theirs}{ffn}.DenseReluDense.wo.weight", f"{ours}ffn.down.weight"),
        param(f"{side}.final_layer_norm.weight", f"{side}.norm.weight"),
    ]


_D, _B = "decoder.block.{}.layer.1.", "decoder.blocks.{}."
TENSORS: list[Rename] = [
    param("shared.weight", "embed.token.weight"),
    *_stack("encoder", ffn=1),
    *_stack("decoder", ffn=2),
    param(f"{_D}layer_norm.weight", f"{_B}norm_cross.weight"),
    *(param(f"{_D}EncDecAttention.{name}.weight", f"{_B}cross_attn.{name}_proj.weight") for name in "qkvo"),
    param("lm_head.weight", "lm_head.weight"),
]

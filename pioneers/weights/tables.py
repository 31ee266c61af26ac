"""The tables: GPT-2, BERT and ViT as Hugging Face stores them, and the ViT of torchvision and of timm."""

from pioneers.weights.rename import Rename, inside, row, rows

_B = "stack.blocks.{}."
_QKV = (f"{_B}attn.q_proj", f"{_B}attn.k_proj", f"{_B}attn.v_proj")

GPT2: list[Rename] = [
    row("transformer.wte.weight", "embed.token.weight"),
    row("transformer.wpe.weight", "embed.position.table"),
    *rows("transformer.h.{}.ln_1", f"{_B}norm_attn"),
    *rows("transformer.h.{}.attn.c_attn", *_QKV, transpose=True),
    *rows("transformer.h.{}.attn.c_proj", f"{_B}attn.o_proj", transpose=True),
    *rows("transformer.h.{}.ln_2", f"{_B}norm_ffn"),
    *rows("transformer.h.{}.mlp.c_fc", f"{_B}ffn.up", transpose=True),
    *rows("transformer.h.{}.mlp.c_proj", f"{_B}ffn.down", transpose=True),
    *rows("transformer.ln_f", "stack.norm"),
]
GPT2_DROP = ("lm_head.weight", "transformer.h.{}.attn.bias", "transformer.h.{}.attn.masked_bias")

_L = "bert.encoder.layer.{}."
BERT: list[Rename] = [
    row("bert.embeddings.word_embeddings.weight", "embed.token.weight"),
    row("bert.embeddings.position_embeddings.weight", "embed.position.table"),
    row("bert.embeddings.token_type_embeddings.weight", "embed.segment.weight"),
    *rows("bert.embeddings.LayerNorm", "embed.norm"),
    *rows(f"{_L}attention.self.query", _QKV[0]),
    *rows(f"{_L}attention.self.key", _QKV[1]),
    *rows(f"{_L}attention.self.value", _QKV[2]),
    *rows(f"{_L}attention.output.dense", f"{_B}attn.o_proj"),
    *rows(f"{_L}attention.output.LayerNorm", f"{_B}norm_attn"),
    *rows(f"{_L}intermediate.dense", f"{_B}ffn.up"),
    *rows(f"{_L}output.dense", f"{_B}ffn.down"),
    *rows(f"{_L}output.LayerNorm", f"{_B}norm_ffn"),
    *rows("bert.pooler.dense", "pooler"),
]
BERT_DROP = ("bert.embeddings.position_ids",)
MASKED_LM_HEAD: list[Rename] = [
    *rows("cls.predictions.transform.dense", "transform"),
    *rows("cls.predictions.transform.LayerNorm", "norm"),
    row("cls.predictions.bias", "lm_head.bias"),
]
MASKED_LM_HEAD_DROP = ("cls.predictions.decoder.weight", "cls.predictions.decoder.bias")
BERT_PRETRAINING: list[Rename] = [
    *inside("bert", BERT),
    *inside("masked_lm", MASKED_LM_HEAD),
    *rows("cls.seq_relationship", "next_sentence.proj"),
]

VIT_TORCHVISION: list[Rename] = [
    *rows("conv_proj", "embed.patch.proj"),
    row("class_token", "embed.cls_token", lead=2),
    row("encoder.pos_embedding", "embed.position.table", lead=1),
    *rows("encoder.layers.encoder_layer_{}.ln_1", f"{_B}norm_attn"),
    row(
        "encoder.layers.encoder_layer_{}.self_attention.in_proj_weight", *(f"{name}.weight" for name in _QKV)
    ),
    row("encoder.layers.encoder_layer_{}.self_attention.in_proj_bias", *(f"{name}.bias" for name in _QKV)),
    *rows("encoder.layers.encoder_layer_{}.self_attention.out_proj", f"{_B}attn.o_proj"),
    *rows("encoder.layers.encoder_layer_{}.ln_2", f"{_B}norm_ffn"),
    *rows("encoder.layers.encoder_layer_{}.mlp.0", f"{_B}ffn.up"),
    *rows("encoder.layers.encoder_layer_{}.mlp.3", f"{_B}ffn.down"),
    *rows("encoder.ln", "stack.norm"),
    *rows("heads.head", "head"),
]

VIT_TIMM: list[Rename] = [
    *rows("patch_embed.proj", "embed.patch.proj"),
    row("cls_token", "embed.cls_token", lead=2),
    row("pos_embed", "embed.position.table", lead=1),
    *rows("blocks.{}.norm1", f"{_B}norm_attn"),
    *rows("blocks.{}.attn.qkv", *_QKV),
    *rows("blocks.{}.attn.proj", f"{_B}attn.o_proj"),
    *rows("blocks.{}.norm2", f"{_B}norm_ffn"),
    *rows("blocks.{}.mlp.fc1", f"{_B}ffn.up"),
    *rows("blocks.{}.mlp.fc2", f"{_B}ffn.down"),
    *rows("norm", "stack.norm"),
    *rows("head", "head"),
]

_V = "vit.encoder.layer.{}."
VIT_HF: list[Rename] = [
    *rows("vit.embeddings.patch_embeddings.projection", "embed.patch.proj"),
    row("vit.embeddings.cls_token", "embed.cls_token", lead=2),
    row("vit.embeddings.position_embeddings", "embed.position.table", lead=1),
    *rows(f"{_V}layernorm_before", f"{_B}norm_attn"),
    *rows(f"{_V}attention.attention.query", _QKV[0]),
    *rows(f"{_V}attention.attention.key", _QKV[1]),
    *rows(f"{_V}attention.attention.value", _QKV[2]),
    *rows(f"{_V}attention.output.dense", f"{_B}attn.o_proj"),
    *rows(f"{_V}layernorm_after", f"{_B}norm_ffn"),
    *rows(f"{_V}intermediate.dense", f"{_B}ffn.up"),
    *rows(f"{_V}output.dense", f"{_B}ffn.down"),
    *rows("vit.layernorm", "stack.norm"),
    *rows("classifier", "head"),
]
VIT_HF_DROP = ("vit.pooler.dense.weight", "vit.pooler.dense.bias")

"""The other libraries: the same sizes, no dropout, all other settings at their defaults."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pioneers.compat import import_torchvision
from pioneers.models import BERTConfig, GPTConfig, ViTConfig

Work = tuple[nn.Module, Callable[[], Tensor]]


def _transformers() -> Any:
    import_torchvision()
    import transformers

    transformers.logging.set_verbosity_error()
    return transformers


def _gpt2(config: GPTConfig, *, use_cache: bool) -> Any:
    library = _transformers()
    sizes = library.GPT2Config(
        vocab_size=config.vocab_size,
        n_positions=config.max_seq_len,
        n_embd=config.d_model,
        n_layer=config.num_layers,
        n_head=config.num_heads,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        use_cache=use_cache,
        bos_token_id=0,
        eos_token_id=None,
        pad_token_id=0,
    )
    return library.GPT2LMHeadModel(sizes)


def gpt_transformers(config: GPTConfig, ids: Tensor, device: torch.device) -> Work:
    """GPT-2 of transformers and its own loss."""
    model, inputs = _gpt2(config, use_cache=False).to(device), ids[:, :-1].to(device)
    return model, lambda: model(inputs, labels=inputs).loss


def gpt_x_transformers(config: GPTConfig, ids: Tensor, device: torch.device) -> Work:
    """A decoder of x-transformers with fused attention, and its own loss."""
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    layers = Decoder(
        dim=config.d_model,
        depth=config.num_layers,
        heads=config.num_heads,
        attn_dim_head=config.d_model // config.num_heads,
        attn_flash=True,
    )
    model = TransformerWrapper(
        num_tokens=config.vocab_size, max_seq_len=ids.shape[1], tie_embedding=True, attn_layers=layers
    )
    with_loss, ids = AutoregressiveWrapper(model).to(device), ids.to(device)
    return model, lambda: with_loss(ids)


class TorchGPT(nn.Module):
    """A GPT of the layers that come with PyTorch.

    Args:
        config: sizes.
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.token = nn.Embedding(config.vocab_size, config.d_model)
        self.position = nn.Embedding(config.max_seq_len, config.d_model)
        layer = nn.TransformerEncoderLayer(
            config.d_model,
            config.num_heads,
            4 * config.d_model,
            dropout=0.0,
            activation=lambda x: F.gelu(x, approximate="tanh"),
            batch_first=True,
            norm_first=True,
        )
        norm = nn.LayerNorm(config.d_model)
        self.stack = nn.TransformerEncoder(layer, config.num_layers, norm=norm, enable_nested_tensor=False)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        nn.init.normal_(self.token.weight, std=0.02)
        self.lm_head.weight = self.token.weight
        mask = nn.Transformer.generate_square_subsequent_mask(config.max_seq_len)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Ids (B, T) → logits (B, T, V)."""
        x = self.token(input_ids) + self.position.weight
        return self.lm_head(self.stack(x, mask=self.mask, is_causal=True))


def gpt_torch(config: GPTConfig, ids: Tensor, device: torch.device) -> Work:
    """A GPT of ``torch.nn.TransformerEncoder``."""
    model, ids = TorchGPT(config).to(device), ids.to(device)
    return model, lambda: F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


def bert_transformers(config: BERTConfig, inputs: Tensor, targets: Tensor, device: torch.device) -> Work:
    """BERT of transformers and its own masked LM loss."""
    library = _transformers()
    sizes = library.BertConfig(
        vocab_size=config.vocab_size,
        max_position_embeddings=config.max_seq_len,
        hidden_size=config.d_model,
        num_hidden_layers=config.num_layers,
        num_attention_heads=config.num_heads,
        intermediate_size=4 * config.d_model,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = library.BertForMaskedLM(sizes).to(device)
    inputs, targets = inputs.to(device), targets.to(device)
    return model, lambda: model(inputs, labels=targets).loss


def _classify(model: Any, images: Tensor, labels: Tensor, device: torch.device) -> Work:
    model, images, labels = model.to(device), images.to(device), labels.to(device)

    def loss() -> Tensor:
        out = model(images)
        return F.cross_entropy(out if isinstance(out, Tensor) else out.logits, labels)

    return model, loss


def vit_timm(config: ViTConfig, images: Tensor, labels: Tensor, device: torch.device) -> Work:
    """The ViT of timm."""
    import_torchvision()
    from timm.models.vision_transformer import VisionTransformer

    model = VisionTransformer(
        img_size=config.image_size,
        patch_size=config.patch_size,
        num_classes=config.num_classes,
        embed_dim=config.d_model,
        depth=config.num_layers,
        num_heads=config.num_heads,
    )
    return _classify(model, images, labels, device)


def vit_torchvision(config: ViTConfig, images: Tensor, labels: Tensor, device: torch.device) -> Work:
    """The ViT of torchvision."""
    model = import_torchvision().models.vision_transformer.VisionTransformer(
        image_size=config.image_size,
        patch_size=config.patch_size,
        num_layers=config.num_layers,
        num_heads=config.num_heads,
        hidden_dim=config.d_model,
        mlp_dim=4 * config.d_model,
        num_classes=config.num_classes,
    )
    return _classify(model, images, labels, device)


def vit_transformers(config: ViTConfig, images: Tensor, labels: Tensor, device: torch.device) -> Work:
    """The ViT of transformers."""
    library = _transformers()
    sizes = library.ViTConfig(
        image_size=config.image_size,
        patch_size=config.patch_size,
        hidden_size=config.d_model,
        num_hidden_layers=config.num_layers,
        num_attention_heads=config.num_heads,
        intermediate_size=4 * config.d_model,
        num_labels=config.num_classes,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return _classify(library.ViTForImageClassification(sizes), images, labels, device)


def vit_pytorch(config: ViTConfig, images: Tensor, labels: Tensor, device: torch.device) -> Work:
    """The ViT of vit-pytorch."""
    import_torchvision()
    from vit_pytorch import ViT

    model = ViT(
        image_size=config.image_size,
        patch_size=config.patch_size,
        num_classes=config.num_classes,
        dim=config.d_model,
        depth=config.num_layers,
        heads=config.num_heads,
        dim_head=config.d_model // config.num_heads,
        mlp_dim=4 * config.d_model,
    )
    return _classify(model, images, labels, device)


def generation_transformers(config: GPTConfig, ids: Tensor, new_tokens: int, device: torch.device) -> Work:
    """GPT-2 of transformers and its ``generate``."""
    model, ids = _gpt2(config, use_cache=True).to(device).eval(), ids.to(device)
    return model, lambda: model.generate(ids, max_new_tokens=new_tokens, do_sample=False)

"""From text to token ids and back."""

from pioneers.tokenizers.bpe import ByteLevelBPE

__all__ = ["ByteLevelBPE"]

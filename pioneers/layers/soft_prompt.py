"""A prompt of vectors that are learned, for a model whose weights are frozen. Lester et al. 2021."""

import torch
from torch import Tensor, nn


class SoftPrompt(nn.Module):
    """An embedding that puts vectors of its own before the tokens' vectors.

    The vectors take the first positions, and the tokens those after them. A causal model returns outputs for
    both, of which a caller drops the first ``prompt.shape[0]``. Generate with ``use_cache=False``, since a
    cache counts the vectors as tokens. Lester et al. 2021, section 2.

    Args:
        embed: the embedding of a GPT, ``(ids (B, T), start) → (B, T, D)``; its parameters are frozen.
        prompt: where the learned vectors begin, ``(P, D)``; the vectors of some tokens are a good start.

    Example:
        >>> from pioneers.layers import GPTEmbedding
        >>> embed = GPTEmbedding(11, 6, max_seq_len=7)
        >>> SoftPrompt(embed, embed.token.weight[:2])(torch.tensor([[3, 1, 4]])).shape
        torch.Size([1, 5, 6])
    """

    def __init__(self, embed: nn.Module, prompt: Tensor) -> None:
        super().__init__()
        self.embed = embed.requires_grad_(False)
        self.prompt = nn.Parameter(prompt.detach().clone())

    def forward(self, input_ids: Tensor, start: int = 0) -> Tensor:
        """``input_ids (B, T)`` → vectors ``(B, P + T, D)``.

        Raises:
            ValueError: the ids do not start a sequence: ``start`` is not 0.
        """
        if start:
            raise ValueError("a soft prompt comes before the first token: generate with use_cache=False")
        tokens = self.embed(input_ids, len(self.prompt))  # (B, T, D)
        return torch.cat([self.prompt.expand(tokens.shape[0], -1, -1), tokens], dim=1)

"""The span-boundary objective: predict a hidden span from the two tokens around it."""

import torch
from torch import Tensor, nn

from pioneers.layers import init_weights, initial_std
from pioneers.models.bert import BERT


class SpanBoundaryHead(nn.Module):
    """Predicts every hidden token from the states at both ends of its span and its place in it.

    ``y_i = f(x_{s-1}, x_{e+1}, p_{i-s+1})`` where f is two layers with GELU and LayerNorm: Joshi et al. 2020,
    section 3.2. The output matrix is the token embedding, as in :class:`MaskedLMHead`.

    Args:
        bert: the model whose states it reads.
        max_span: number of places in a span with a vector of their own; later ones have the last one's.
        place_dim: width of the vector of a place in the span.

    Example:
        >>> from pioneers.models import BERTConfig
        >>> sizes = {"vocab_size": 11, "max_seq_len": 7, "d_model": 6, "num_layers": 1, "num_heads": 2}
        >>> head = SpanBoundaryHead(BERT(BERTConfig(**sizes)), place_dim=4)
        >>> head(torch.zeros(3, 6), torch.zeros(3, 6), torch.tensor([0, 1, 0])).shape
        torch.Size([3, 11])
    """

    def __init__(self, bert: BERT, *, max_span: int = 20, place_dim: int = 200) -> None:
        super().__init__()
        d_model = bert.config.d_model
        self.place = nn.Embedding(max_span, place_dim)
        self.layers = nn.Sequential(
            nn.Linear(2 * d_model + place_dim, d_model), nn.GELU(), nn.LayerNorm(d_model, eps=1e-12),
            nn.Linear(d_model, d_model), nn.GELU(), nn.LayerNorm(d_model, eps=1e-12),
        )  # fmt: skip
        self.lm_head = nn.Linear(d_model, bert.config.vocab_size)
        init_weights(self, std=initial_std(d_model))
        self.lm_head.weight = bert.embed.token.weight

    def forward(self, before: Tensor, after: Tensor, place: Tensor) -> Tensor:
        """``before`` and ``after (M, D)``, ``place (M,)`` → logits ``(M, V)`` of M hidden tokens.

        The three are those of :meth:`pioneers.objectives.MaskedSpans.boundaries`: the states next to the
        span of each token, and its place in the span, from 0.
        """
        vector = self.place(place.clamp(max=self.place.num_embeddings - 1))  # (M, place_dim)
        return self.lm_head(self.layers(torch.cat([before, after, vector], dim=-1)))

"""Heads: what turns hidden states into the answer of a task."""

import torch
from torch import Tensor, nn

from pioneers.layers import init_weights, initial_std


class ClassificationHead(nn.Module):
    """One label for a whole sequence, from one vector: BERT's pooled [CLS], the state of GPT's extract token.

    Next-sentence prediction is this head with two classes. Devlin et al. 2019, section 4.1; Radford et al.
    2018, section 3.2.

    Args:
        d_model: D.
        num_classes: number of labels.
        dropout: share of the vector dropped in training.
    """

    def __init__(self, d_model: int, num_classes: int, *, dropout: float = 0.1) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.proj = nn.Linear(d_model, num_classes)
        init_weights(self, std=initial_std(d_model))

    def forward(self, vector: Tensor) -> Tensor:
        """``(…, D)`` → logits ``(…, num_classes)``; with ``(B, T, D)`` it tags every token."""
        return self.proj(self.dropout(vector))


class SpanHead(nn.Module):
    """Where an answer starts and ends: two scores per token. Devlin et al. 2019, section 4.2.

    Args:
        d_model: D.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.proj = nn.Linear(d_model, 2)
        init_weights(self, std=initial_std(d_model))

    def forward(self, hidden: Tensor, *, allowed: Tensor | None = None) -> Tensor:
        """``(B, T, D)`` → logits ``(B, T, 2)`` of start and end.

        Args:
            allowed: boolean ``(B, T)``, True where an answer may start or end; elsewhere the logits are the
                lowest finite number.
        """
        logits = self.proj(hidden)
        return logits if allowed is None else logits.masked_fill(~allowed[..., None], _lowest(logits))


def best_span(logits: Tensor, *, max_length: int) -> Tensor:
    """The most likely answer: start and end ``(B, 2)`` with start ≤ end, at most ``max_length`` tokens long.

    Args:
        logits: ``(B, T, 2)`` from :class:`SpanHead`.
        max_length: longest answer, in tokens.

    Raises:
        ValueError: ``max_length`` is smaller than 1.
    """
    if max_length < 1:
        raise ValueError(f"max_length must be at least 1, not {max_length}")
    starts, ends = logits.float().unbind(dim=-1)
    num_tokens = logits.shape[1]
    pairs = torch.ones(num_tokens, num_tokens, dtype=torch.bool, device=logits.device)
    possible = pairs.triu() & pairs.tril(max_length - 1)
    scores = (starts[:, :, None] + ends[:, None, :]).masked_fill(~possible, -torch.inf)
    best = scores.flatten(1).argmax(dim=1)
    return torch.stack([best // num_tokens, best % num_tokens], dim=1)


def _lowest(x: Tensor) -> float:
    return torch.finfo(x.dtype).min

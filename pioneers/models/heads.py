"""Heads: what turns hidden states into the answer of a task."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from pioneers.layers import init_weights, initial_std
from pioneers.models.baselines import LSTMLanguageModel
from pioneers.models.gpt import GPT


class ClassificationHead(nn.Module):
    """One label for a whole sequence, from one vector: BERT's pooled [CLS], the state of GPT's extract token.

    Next-sentence prediction is this head with two classes. Devlin et al. 2019, section 4.1; Radford et al.
    2018, section 3.2.

    Args:
        d_model: D.
        num_classes: number of labels.
        dropout: share of the vector dropped in training.

    Example:
        >>> ClassificationHead(6, 3)(torch.zeros(2, 6)).shape
        torch.Size([2, 3])
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
    """Two scores per token, for the start and the end of an answer. Devlin et al. 2019, section 4.2.

    Args:
        d_model: D.

    Example:
        >>> SpanHead(6)(torch.zeros(2, 5, 6)).shape
        torch.Size([2, 5, 2])
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.proj = nn.Linear(d_model, 2)
        init_weights(self, std=initial_std(d_model))

    def forward(self, hidden: Tensor, *, allowed: Tensor | None = None) -> Tensor:
        """``hidden (B, T, D)`` → logits ``(B, T, 2)`` of start and end.

        Args:
            allowed: boolean ``(B, T)``, True where an answer may start or end; elsewhere the logits are the
                lowest finite number.
        """
        logits = self.proj(hidden)
        return logits if allowed is None else logits.masked_fill(~allowed[..., None], _lowest(logits))


def best_span(logits: Tensor, *, max_length: int) -> Tensor:
    """The most likely answer: start and end ``(B, 2)`` with start ≤ end, at most ``max_length`` tokens long.

    All tokens of a span are among those that :class:`SpanHead` allowed. So [CLS], where it is allowed to say
    that there is no answer, is a span of its own: none reaches from it over the question into the context.
    Logits made without ``allowed`` have no such bounds: cut [CLS] off first.

    Args:
        logits: ``(B, T, 2)`` from :class:`SpanHead`.
        max_length: longest answer, in tokens.

    Raises:
        ValueError: ``max_length`` is smaller than 1.

    Example:
        >>> starts, ends = [0.0, 3.0, 0.0], [2.0, 0.0, 1.0]
        >>> best_span(torch.tensor([starts, ends]).T[None], max_length=2)
        tensor([[1, 2]])
    """
    if max_length < 1:
        raise ValueError(f"max_length must be at least 1, not {max_length}")
    starts, ends = logits.float().unbind(dim=-1)
    num_tokens = logits.shape[1]
    pairs = torch.ones(num_tokens, num_tokens, dtype=torch.bool, device=logits.device)
    barred = (logits <= _lowest(logits) / 2).any(dim=-1).cumsum(dim=1)
    unbroken = barred[:, :, None] == barred[:, None, :]
    possible = pairs.triu() & pairs.tril(max_length - 1) & unbroken
    scores = (starts[:, :, None] + ends[:, None, :]).masked_fill(~possible, -torch.inf)
    best = scores.flatten(1).argmax(dim=1)
    return torch.stack([best // num_tokens, best % num_tokens], dim=1)


class TaskOutput(NamedTuple):
    """The answer to a task.

    Attributes:
        logits: one for each label, ``(B, num_classes)``, or for each choice, ``(B, C)``.
        hidden: the states that the auxiliary language-model loss is computed from, ``(rows, T, D)``.
    """

    logits: Tensor
    hidden: Tensor


class GPTTaskModel(nn.Module):
    """A GPT with a task: a linear map of its state at the extract token. Radford et al. 2018, section 3.3.

    Args:
        gpt: the model, with the special tokens in its vocabulary; an LSTM language model serves as well.
        num_classes: number of labels; None for multiple choice, where the choices are the labels.
        dropout: share of the state dropped in training.

    Example:
        >>> from pioneers.models import GPTConfig
        >>> model = GPTTaskModel(GPT(GPTConfig.preset("mini")), num_classes=3)
        >>> logits, hidden = model(torch.tensor([[1, 7, 3, 0], [1, 7, 8, 3]]), torch.tensor([2, 3]))
        >>> logits.shape, model.gpt.lm_head(hidden).shape
        (torch.Size([2, 3]), torch.Size([2, 4, 1024]))
    """

    def __init__(
        self, gpt: GPT | LSTMLanguageModel, num_classes: int | None, *, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.gpt, self.num_classes = gpt, num_classes
        self.head = ClassificationHead(gpt.lm_head.in_features, num_classes or 1, dropout=dropout)

    def forward(self, input_ids: Tensor, extract: Tensor) -> TaskOutput:
        """``input_ids`` and ``extract`` of :class:`pioneers.objectives.TaskInputs` → logits, hidden states.

        ``(B, T)`` and ``(B,)`` give logits ``(B, num_classes)``; so do ``(B, 2, T)`` and ``(B, 2)``, the two
        orders of a similarity, whose states are added. For multiple choice ``(B, C, T)`` and ``(B, C)`` give
        one score per choice, ``(B, C)``. The hidden states are ``(rows, T, D)``, a row for each sequence.

        Raises:
            ValueError: a multiple-choice model got one sequence per example.
        """
        hidden = self.gpt.hidden_states(input_ids.flatten(0, -2))
        row = torch.arange(len(hidden), device=hidden.device)
        state = hidden[row, extract.flatten()].unflatten(0, extract.shape)
        if self.num_classes is not None:
            return TaskOutput(self.head(state.sum(dim=1) if state.ndim == 3 else state), hidden)
        if state.ndim != 3:
            raise ValueError(f"multiple choice needs ids (B, C, T), got {tuple(input_ids.shape)}")
        return TaskOutput(self.head(state).squeeze(-1), hidden)


def _lowest(x: Tensor) -> float:
    return torch.finfo(x.dtype).min

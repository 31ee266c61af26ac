"""GPT as a classifier that reads a text's last token."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pioneers.layers import init_weights, initial_std
from pioneers.models.gpt import GPT
from pioneers.models.labels import label_names
from pioneers.models.pretrained import Pretrained


class GPTClassifier(Pretrained):
    """Sequence classification: one label for a text, from the state of its last token, which has seen all.

    Without an extract token, as GPT-2 is used: compare :class:`~pioneers.models.GPTTaskModel`.

    Args:
        gpt: the model to fine-tune.
        num_classes: number of labels.
        pad_id: the id of padding, which follows the text; None if every row is full.
        labels: the names of the classes, in the order of the logits.

    Raises:
        ValueError: there are more or fewer labels than classes.

    Example:
        >>> from pioneers.models import GPTConfig
        >>> model = GPTClassifier(GPT(GPTConfig.preset("mini")), num_classes=3, pad_id=0)
        >>> model(torch.tensor([[5, 7, 0, 0], [5, 7, 8, 3]])).shape
        torch.Size([2, 3])
    """

    def __init__(
        self, gpt: GPT, num_classes: int, *, pad_id: int | None = None, labels: Sequence[str] = ()
    ) -> None:
        super().__init__()
        self.gpt, self.num_classes, self.pad_id = gpt, num_classes, pad_id
        self.labels = label_names(labels, num_classes)
        self.head = nn.Linear(gpt.config.d_model, num_classes, bias=False)
        init_weights(self.head, std=initial_std(gpt.config.d_model))

    def forward(self, input_ids: Tensor) -> Tensor:
        """Ids ``(B, T)`` → logits ``(B, num_classes)``."""
        hidden = self.gpt.hidden_states(input_ids)  # (B, T, D)
        if self.pad_id is None:
            return self.head(hidden[:, -1])
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)
        last = (positions * (input_ids != self.pad_id)).argmax(dim=1)  # (B,)
        return self.head(hidden[torch.arange(len(hidden), device=hidden.device), last])

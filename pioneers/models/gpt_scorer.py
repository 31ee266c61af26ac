"""GPT with one number per position instead of logits: a reward model, or the value model of PPO."""

from torch import Tensor, nn

from pioneers.models.gpt import GPT


class GPTScorer(nn.Module):
    """A score for the text up to each token. Ouyang et al. 2022, section 3.5.

    As a reward model it is read at the last token of an answer; as a value model, before each token of it.

    Args:
        gpt: the model whose states are read; it is trained along and no longer predicts tokens.

    Example:
        >>> import torch
        >>> from pioneers.models import GPTConfig
        >>> scorer = GPTScorer(GPT(GPTConfig.preset("mini")))
        >>> scorer(torch.zeros(2, 5, dtype=torch.long))  # a new head scores nothing
        tensor([[0., 0., 0., 0., 0.],
                [0., 0., 0., 0., 0.]], grad_fn=<SqueezeBackward1>)
    """

    def __init__(self, gpt: GPT) -> None:
        super().__init__()
        self.gpt = gpt
        self.head = nn.Linear(gpt.config.d_model, 1, bias=False)
        nn.init.zeros_(self.head.weight)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Ids ``(B, T)`` → scores ``(B, T)``."""
        return self.head(self.gpt.hidden_states(input_ids)).squeeze(-1)

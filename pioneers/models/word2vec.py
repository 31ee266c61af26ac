"""word2vec: one vector per token, the same in every sentence."""

from torch import Tensor, nn


class Word2Vec(nn.Module):
    """Skip-gram: the vector of a token predicts the tokens around it. Mikolov et al. 2013, section 2.

    Each token has two vectors, one for itself and one for when it is in the context of another; ``token``
    holds those that are kept. :func:`pioneers.objectives.skip_gram` makes its batches.

    Args:
        vocab_size: V.
        d_model: D, width of a vector.

    Example:
        >>> import torch
        >>> model = Word2Vec(11, 6)
        >>> model(torch.tensor([3, 5]), torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])).shape
        torch.Size([2, 4])
    """

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.token = nn.Embedding(vocab_size, d_model)
        self.context = nn.Embedding(vocab_size, d_model)
        for table in (self.token, self.context):
            nn.init.normal_(table.weight, std=d_model**-0.5)

    def forward(self, centers: Tensor, contexts: Tensor) -> Tensor:
        """Ids ``centers (M,)`` and ``contexts (M, C)`` → scores ``(M, C)``, dot products of the vectors."""
        center = self.token(centers)[:, :, None]  # (M, D, 1)
        return (self.context(contexts) @ center).squeeze(-1)  # (M, C)

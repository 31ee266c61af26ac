"""The table of token vectors."""

from torch import Tensor, nn


class TokenTable(nn.Embedding):
    """An ``nn.Embedding`` of V vectors whose error names the id that is not among them.

    (On a GPU the error stays torch's own: to look at the ids there would mean to wait for them.)
    """

    def forward(self, input: Tensor) -> Tensor:
        """``input``, ids of any shape → their vectors, with one axis more.

        Raises:
            ValueError: an id is negative, or V or more.
        """
        try:
            return super().forward(input)
        except IndexError:
            wrong = input[(input < 0) | (input >= self.num_embeddings)]
            raise ValueError(
                f"this model has the token ids 0 to {self.num_embeddings - 1}, and it was given "
                f"{wrong[0].item()}: encode the text with the tokenizer that the model was trained with"
            ) from None

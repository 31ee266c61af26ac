"""Random batches of windows of a token stream."""

import numpy as np
import torch
from torch import Tensor

from pioneers.data.token_files import TokenFile


def split_text(text: str, *, test_fraction: float = 0.1) -> tuple[str, str]:
    """Split ``text`` in two: the beginning for training, the last ``test_fraction`` held out.

    Raises:
        ValueError: a part would be empty.

    Example:
        >>> split_text("abcdefghij", test_fraction=0.3)
        ('abcdefg', 'hij')
    """
    cut = round(len(text) * (1 - test_fraction))
    if not 0 < cut < len(text):
        raise ValueError(f"a text of {len(text)} characters cannot be split at {test_fraction=}")
    return text[:cut], text[cut:]


class RandomWindows:
    """Random batches of windows of one long token stream; step → batch.

    A batch depends only on the seed and the step, so a resumed run continues exactly.

    Args:
        tokens: ids ``(L,)``, as a tensor or a :class:`TokenFile`.
        seq_len: T; every window has T + 1 tokens, because the target of the last position comes after it.
        batch_size: B.
        seed: of the sampling.

    Raises:
        ValueError: the stream is not one-dimensional, or too short for a single window.

    Example:
        >>> RandomWindows(torch.arange(100), seq_len=7, batch_size=3)(step=0).shape
        torch.Size([3, 8])
    """

    def __init__(self, tokens: Tensor | TokenFile, *, seq_len: int, batch_size: int, seed: int = 0) -> None:
        if tokens.ndim != 1:
            raise ValueError(f"tokens must be one stream (L,), got shape {tuple(tokens.shape)}")
        if len(tokens) < seq_len + 1:
            raise ValueError(
                f"the text has {len(tokens)} tokens, which is shorter than one window of seq_len + 1 = "
                f"{seq_len + 1}: use a longer text or a smaller seq_len"
            )
        self.tokens, self.seq_len, self.batch_size, self.seed = tokens, seq_len, batch_size, seed

    def __call__(self, step: int) -> Tensor:
        """Return the batch ``(B, T + 1)`` of one step, on the device of the stream."""
        places = np.random.default_rng((self.seed, step))
        starts = places.integers(len(self.tokens) - self.seq_len, size=(self.batch_size, 1))
        windows = torch.from_numpy(starts + np.arange(self.seq_len + 1))
        return self.tokens[windows.to(self.tokens.device)]

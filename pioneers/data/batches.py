"""Random batches of rows and pairs: step → batch, as :func:`pioneers.training.fit` expects."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pioneers.layers import padding_mask


class RandomRows:
    """Random batches of rows of tensors that belong together, such as images and labels.

    Rows are sampled with replacement: a batch may hold one twice, and no number of steps is sure to cover
    all. A batch depends only on the seed and the step, so a resumed run continues exactly.

    Args:
        tensors: of equal length.
        batch_size: B.
        seed: of the sampling.

    Raises:
        ValueError: the tensors differ in length, or are empty.

    Example:
        >>> images, labels = RandomRows(torch.zeros(50, 1, 8, 8), torch.arange(50), batch_size=3)(step=0)
        >>> images.shape, labels.shape
        (torch.Size([3, 1, 8, 8]), torch.Size([3]))
    """

    def __init__(self, *tensors: Tensor, batch_size: int, seed: int = 0) -> None:
        lengths = {len(tensor) for tensor in tensors}
        if len(lengths) != 1 or lengths == {0}:
            raise ValueError(f"the tensors need equally many rows, at least one; they have {sorted(lengths)}")
        self.tensors, self.batch_size, self.seed = tensors, batch_size, seed

    def __call__(self, step: int) -> tuple[Tensor, ...]:
        """Return the batch of one step: B rows of each tensor."""
        rows = _draw(len(self.tensors[0]), self.batch_size, self.seed, step)
        return tuple(tensor[torch.from_numpy(rows).to(tensor.device)] for tensor in self.tensors)


class PairBatch(NamedTuple):
    """A batch of an encoder–decoder: what it reads and what it must write.

    Attributes:
        source_ids: ``(B, S)``, padded on the right.
        lengths: number of real tokens ``(B,)`` of each source.
        input_ids: ``(B, T)``, the start token and the target.
        targets: ``(B, T)``, the target and the stop token, then -100.
    """

    source_ids: Tensor
    lengths: Tensor
    input_ids: Tensor
    targets: Tensor

    @property
    def mask(self) -> Tensor:
        """Mask ``(B, 1, 1, S)`` that hides the padding of the sources."""
        return padding_mask(self.lengths, self.source_ids.shape[1])


class RandomPairs:
    """Random batches of sentence pairs, padded to the longest in the batch; step → :class:`PairBatch`.

    Pairs are sampled with replacement: a batch may hold one twice, and no number of steps is sure to cover
    all. A batch depends only on the seed and the step, so a resumed run continues exactly.

    Args:
        pairs: token ids of source and target.
        batch_size: B.
        start_id: the first token the decoder reads.
        stop_id: the last token of a target.
        pad_id: pads source and target.
        seed: of the sampling.
        device: where the batches are made.

    Example:
        >>> batch = RandomPairs([([5, 6], [7])], batch_size=1, start_id=1, stop_id=2)(step=0)
        >>> batch.source_ids.tolist(), batch.input_ids.tolist(), batch.targets.tolist()
        ([[5, 6]], [[1, 7]], [[7, 2]])
    """

    def __init__(
        self,
        pairs: Sequence[tuple[Sequence[int], Sequence[int]]],
        *,
        batch_size: int,
        start_id: int,
        stop_id: int,
        pad_id: int = 0,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        self.pairs, self.batch_size, self.seed, self.device = pairs, batch_size, seed, device
        self.start_id, self.stop_id, self.pad_id = start_id, stop_id, pad_id

    def __call__(self, step: int) -> PairBatch:
        """Return the batch of one step."""
        return self.collate([self.pairs[i] for i in _draw(len(self.pairs), self.batch_size, self.seed, step)])

    def collate(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> PairBatch:
        """Collate these pairs into one batch, for instance a complete test set."""
        sources, targets = zip(*pairs, strict=True)
        return PairBatch(
            self._pad(sources, self.pad_id),
            torch.tensor([len(source) for source in sources], device=self.device),
            self._pad([[self.start_id, *target] for target in targets], self.pad_id),
            self._pad([[*target, self.stop_id] for target in targets], -100),
        )

    def _pad(self, rows: Sequence[Sequence[int]], value: int) -> Tensor:
        longest = max(map(len, rows))
        return torch.tensor([[*row, *[value] * (longest - len(row))] for row in rows], device=self.device)


def _draw(count: int, batch_size: int, seed: int, step: int) -> np.ndarray:
    return np.random.default_rng((seed, step)).integers(count, size=batch_size)

"""One update of the weights: a batch is divided over processes, and within each into micro-batches."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from pioneers.device import autocast, grad_scaler
from pioneers.layers import TransformerBlock
from pioneers.optim import decay_groups
from pioneers.training.config import TrainConfig
from pioneers.training.distributed import rank, world_size
from pioneers.training.sharding import full_tensor, shard

LossFunction = Callable[[nn.Module, Any], Tensor]


class LossModule(nn.Module):
    """A model and its loss as one module, so that a wrapper such as DDP sees every call the loss makes.

    Args:
        model: what is trained.
        loss_fn: model and batch → scalar.
    """

    def __init__(self, model: nn.Module, loss_fn: LossFunction) -> None:
        super().__init__()
        self.model, self.loss_fn = model, loss_fn

    def forward(self, batch: Any) -> Tensor:
        """Return the loss of a batch."""
        return self.loss_fn(self.model, batch)


class TrainStep:
    """One training step: loss, gradient, clipping, AdamW.

    Args:
        model: on its device, or, with ``config.shard``, to be sharded over all processes.
        loss_fn: model and batch → scalar loss, a mean over what ``count`` counts.
        config: the settings.
        count: batch → number of things the loss is a mean over.
        device: where to compute.
    """

    def __init__(
        self,
        model: nn.Module,
        loss_fn: LossFunction,
        config: TrainConfig,
        count: Callable[[Any], int],
        device: torch.device,
    ) -> None:
        self.model, self.config, self.count, self.device = model, config, count, device
        self.loss: nn.Module = LossModule(model, loss_fn)
        sharded = config.shard and world_size() > 1
        if config.compile:
            compile_in_place(model, by_block=sharded)
        if sharded:
            shard(model, device, config.precision)
        elif world_size() > 1:  # a loss may use other parameters at every step
            none = nn.Parameter(
                torch.zeros(1, device=device)
            )  # without one that is unused, DDP warns at length
            self.loss.register_parameter("unused", none)
            self.loss = DistributedDataParallel(self.loss, find_unused_parameters=True)
        groups = decay_groups(model, config.weight_decay)
        self.optimizer = torch.optim.AdamW(groups, lr=config.lr, betas=config.betas, fused=True)
        self.scaler = grad_scaler(self.device, config.precision)

    def __call__(self, batch: Any, step: int) -> tuple[Tensor, Tensor]:
        """TrainStep once; returns the loss of this process's share of the batch and the gradient's norm."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.lr_at(step)
        self.optimizer.zero_grad(set_to_none=True)
        parts = self._parts(batch)
        losses = [self._backward(part, weight, i + 1 == len(parts)) for i, (part, weight) in enumerate(parts)]
        self.scaler.unscale_(self.optimizer)
        grad_norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return torch.stack(losses).sum(), full_tensor(grad_norm)

    def _backward(self, part: Any, weight: float, last: bool) -> Tensor:
        with contextlib.ExitStack() as stack:
            if not last and isinstance(self.loss, DistributedDataParallel):
                stack.enter_context(self.loss.no_sync())  # gradients are summed over processes once
            with autocast(self.device, self.config.precision):
                loss = self.loss(part) * weight
            self.scaler.scale(loss * world_size()).backward()  # DDP averages gradients
        return loss.detach()

    def _parts(self, batch: Any) -> list[tuple[Any, float]]:
        """Return this process's micro-batches, each with its weight in the loss of the full batch."""
        number = self.config.accumulate * world_size()
        if number == 1:
            return [(batch, 1.0)]
        parts = split_batch(batch, number)
        counts = [int(self.count(part)) for part in parts]
        if min(counts) < 1:
            raise ValueError("a micro-batch has no targets: raise batch_size or lower accumulate")
        first = rank() * self.config.accumulate
        mine = range(first, first + self.config.accumulate)
        return [(parts[i], counts[i] / sum(counts)) for i in mine]


def compile_in_place(model: nn.Module, by_block: bool = False) -> None:
    """Let ``torch.compile`` speed up the calls of a model, or of each block; the names of weights stay."""
    blocks = [module for module in model.modules() if isinstance(module, TransformerBlock)]
    for module in blocks if by_block else [model]:
        module.compile()


def split_batch(batch: Any, parts: int) -> list[Any]:
    """Split a batch into ``parts`` of (nearly) equal size along the first axis of every tensor in it.

    A batch is a tensor, or a tuple, list or mapping of batches; anything else is repeated in every part.

    Raises:
        ValueError: there are fewer rows than parts.

    Example:
        >>> split_batch({"ids": torch.arange(3), "name": "a"}, 2)
        [{'ids': tensor([0, 1]), 'name': 'a'}, {'ids': tensor([2]), 'name': 'a'}]
    """
    if isinstance(batch, Tensor) and batch.ndim:
        if len(batch) < parts:
            raise ValueError(
                f"a batch of {len(batch)} rows cannot be divided into {parts} parts (accumulate times the "
                f"number of processes): use larger batches or fewer parts"
            )
        return list(batch.tensor_split(parts))
    if isinstance(batch, Mapping):
        divided = [split_batch(value, parts) for value in batch.values()]
        return [dict(zip(batch, values, strict=True)) for values in zip(*divided, strict=True)]
    if isinstance(batch, tuple | list):
        rows = list(zip(*(split_batch(value, parts) for value in batch), strict=True))
        named = hasattr(batch, "_fields")
        return [type(batch)(*row) if named else type(batch)(row) for row in rows]
    return [batch] * parts


def first_tensor(batch: Any) -> Tensor | None:
    """Return the first tensor of a batch that has rows, or None."""
    if isinstance(batch, Tensor):
        return batch if batch.ndim else None
    values = (
        batch.values() if isinstance(batch, Mapping) else batch if isinstance(batch, tuple | list) else ()
    )
    return next((found for value in values if (found := first_tensor(value)) is not None), None)


def count_rows(batch: Any) -> int:
    """Count the rows of a batch."""
    rows = first_tensor(batch)
    return 1 if rows is None else len(rows)

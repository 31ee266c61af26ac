"""Training on several processes, started by ``torchrun``: each trains on its part of every batch.

In a single process, every function here does nothing.
"""

import atexit
import os
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def is_distributed() -> bool:
    """Return True if ``torchrun`` started this process as one of several."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def init_process_group(device: torch.device) -> None:
    """Join the process group, if there are other processes, until this one ends."""
    if not is_distributed() or dist.is_initialized():
        return
    card = None if device.index is None else device
    if card is not None:
        torch.accelerator.set_device_index(card.index)
    dist.init_process_group(dist.get_default_backend_for_device(device), device_id=card)
    atexit.register(leave_process_group)


def leave_process_group() -> None:
    """Leave the other processes, if there are any; from here on this one is alone."""
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


def world_size() -> int:
    """Return the number of processes."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Return the number of this process; process 0 writes files and shows the progress bar."""
    return dist.get_rank() if world_size() > 1 else 0


def all_reduce_sum(value: Tensor) -> Tensor:
    """Sum ``value`` over all processes."""
    if world_size() > 1:
        dist.all_reduce(value)
    return value


def broadcast_object(value: Any) -> Any:
    """Broadcast process 0's value, so that rounding cannot make processes decide differently."""
    if world_size() == 1:
        return value
    values = [value]
    dist.broadcast_object_list(values, src=0)
    return values[0]


def gather(value: Any) -> list[Any]:
    """Collect the value of every process, in the order of their ranks."""
    values = [value]
    if world_size() > 1:
        values = [None] * world_size()
        dist.all_gather_object(values, value)
    return values


def lost_peer(error: BaseException) -> bool:
    """Return True if an error means that another process of the run has ended."""
    text = str(error)
    return isinstance(error, dist.DistError) or "gloo" in text or "Connection closed by peer" in text

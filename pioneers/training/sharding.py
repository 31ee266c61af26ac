"""Sharding: every process keeps a part of each weight, and all are gathered where they are needed (FSDP2).

In a single process, every function here but :func:`shard` does nothing.
"""

import dataclasses
from functools import partial

import torch
import torch.distributed as dist
from torch import Tensor, nn

from pioneers.device import low_precision
from pioneers.layers import TransformerBlock
from pioneers.layers.routing import TopKRouter
from pioneers.training.distributed import world_size

CALLED = ("hidden_states", "encode", "decode")  # by pioneers.generation, beside the model itself


def shard(model: nn.Module, device: torch.device, precision: str = "fp32") -> None:
    """Shard process 0's weights over all processes in place: Rajbhandari et al. 2020, stage 3.

    The weights of a block are gathered before it computes and freed after it, forwards and backwards. Those
    outside the blocks (embeddings, the output layer) stay gathered in between. Zhao et al. 2023, section 3.2.

    In bfloat16 the linear maps of the blocks are gathered in it, which halves what is sent. Autocast alone
    would make a bfloat16 copy of every gathered weight and keep it until the backward pass: 2 bytes for each
    weight of the model, on every card. Norms and routers are gathered and compute in float32, gradients are
    averaged in float32, and each process updates its part of the weights in float32.

    Args:
        model: may still be on the CPU: only a group at a time is complete on ``device``.
        device: where to compute.
        precision: as in :func:`pioneers.device.autocast`.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard, register_fsdp_forward_method

    for tensor in (*model.parameters(), *model.buffers()):
        same = tensor.detach().to(device)
        dist.broadcast(same, src=0)
        tensor.detach().copy_(same)
    mesh = init_device_mesh(device.type, (world_size(),))
    policy = MixedPrecisionPolicy(cast_forward_inputs=False)
    if low_precision(device, precision) == torch.bfloat16:
        policy = dataclasses.replace(policy, param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in [module for module in model.modules() if isinstance(module, TransformerBlock)]:
        precise = _precise_layers(block)
        if policy.param_dtype is not None and precise:
            fully_shard(precise, mesh=mesh)
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh)
    for method in filter(partial(hasattr, model), CALLED):
        register_fsdp_forward_method(model, method)


def unsharded_class(module: nn.Module) -> type[nn.Module]:
    """Return the class that a module had before :func:`shard` made it one of FSDP's."""
    first, *others = type(module).__bases__
    return others[0] if first.__name__ == "FSDPModule" else type(module)


def full_tensor(tensor: Tensor) -> Tensor:
    """Return the complete tensor, whether it is sharded or not."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def distribute_like(tensor: Tensor, pattern: Tensor) -> Tensor:
    """Invert :func:`full_tensor`: return this process's shard of ``tensor`` if ``pattern`` is sharded."""
    if not hasattr(pattern, "full_tensor"):
        return tensor
    from torch.distributed.tensor import DTensor, distribute_tensor

    assert isinstance(pattern, DTensor)
    here = tensor.to(pattern.device)
    return distribute_tensor(here, pattern.device_mesh, pattern.placements, src_data_rank=None)


def _precise_layers(block: nn.Module) -> list[nn.Module]:
    """Return the layers of a block that compute in float32: gates of routers, and all that are not linear."""
    gates = {module.gate for module in block.modules() if isinstance(module, TopKRouter)}
    layers = [m for m in block.modules() if not list(m.children()) and list(m.parameters())]
    return [layer for layer in layers if layer in gates or not isinstance(layer, nn.Linear)]

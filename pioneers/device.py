"""The device a model runs on, and its precision: the only file that names an accelerator."""

import contextlib
import functools
import os
import random
from typing import Any

import numpy as np
import torch

DEVICE_VARIABLE = "PIONEERS_DEVICE"
PRECISIONS: dict[str, torch.dtype | None] = {
    "auto": None,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "fp32": None,
}


def best_device() -> torch.device:
    """Return the fastest device of this machine: CUDA, else Apple's MPS, else the CPU.

    Each of several processes started by ``torchrun`` gets its own card.

    The environment variable ``PIONEERS_DEVICE`` (for example ``cpu`` or ``cuda:1``) overrides the choice.

    Raises:
        RuntimeError: the variable names a device that this machine or this build of torch does not have, or
            ``torchrun`` started more processes than there are cards.
    """
    wanted = os.environ.get(DEVICE_VARIABLE)
    if wanted:
        try:
            torch.empty(0, device=wanted)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise RuntimeError(
                f"{DEVICE_VARIABLE}={wanted} cannot be used here ({reason}). Unset it, or set it to 'cpu'."
            ) from error
        return torch.device(wanted)
    if torch.cuda.is_available():
        card = os.environ.get("LOCAL_RANK")
        if card is not None and int(card) >= torch.cuda.device_count():
            raise RuntimeError(
                f"torchrun started a process for GPU number {card}, counted from 0, but this machine has "
                f"{torch.cuda.device_count()}: give torchrun an --nproc-per-node of at most that"
            )
        return torch.device("cuda" if card is None else f"cuda:{card}")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


@functools.cache
def has_fast_bf16(device_type: str) -> bool:
    """Return True if devices of ``device_type``, such as ``"cpu"``, compute in bfloat16 natively."""
    if device_type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device_type == "cpu":
        return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return False


def low_precision(device: torch.device, precision: str = "auto") -> torch.dtype | None:
    """Return the low precision in which :func:`autocast` computes, or None if it is float32.

    Args:
        device: where the model is.
        precision: as in :func:`autocast`.

    Raises:
        ValueError: the precision is none of these.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be 'auto', 'bf16', 'fp16' or 'fp32', not {precision!r}")
    if precision == "auto":
        without_bf16 = torch.float16 if device.type == "cuda" else None
        return torch.bfloat16 if has_fast_bf16(device.type) else without_bf16
    return PRECISIONS[precision]


def autocast(device: torch.device, precision: str = "auto") -> contextlib.AbstractContextManager[Any]:
    """Return the context for a forward pass.

    Args:
        device: where the model is.
        precision: ``"auto"`` is bfloat16 where the processor has it, float16 on older CUDA cards, and float32
            elsewhere; ``"bf16"``, ``"fp16"`` and ``"fp32"`` force one. Weights, gradients and optimiser state
            stay in float32 either way.

    Raises:
        ValueError: the precision is none of these.
    """
    dtype = low_precision(device, precision)
    return contextlib.nullcontext() if dtype is None else torch.autocast(device.type, dtype=dtype)


def grad_scaler(device: torch.device, precision: str = "auto") -> torch.amp.GradScaler:
    """Make the scaler that keeps small float16 gradients from rounding to zero; otherwise it does nothing.

    Micikevicius et al. 2018, section 3.2. ``device`` and ``precision`` are those of :func:`autocast`.
    """
    return torch.amp.GradScaler(device.type, enabled=low_precision(device, precision) == torch.float16)


def seed_everything(seed: int) -> None:
    """Seed Python, NumPy and torch (every device) with ``seed``, so that a run can be repeated."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def rng_state() -> dict[str, torch.Tensor]:
    """Return the state of torch's random generators, by device type, as uint8 tensors."""
    state = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def set_rng_state(state: dict[str, torch.Tensor]) -> None:
    """Restore a ``state`` that :func:`rng_state` returned; a device that is missing is skipped."""
    if "cpu" in state:
        torch.set_rng_state(state["cpu"].cpu())
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"].cpu())

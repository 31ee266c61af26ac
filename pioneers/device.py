"""Where a model runs and in what precision: the only file that names an accelerator."""

import contextlib
import functools
import os
import random

import numpy as np
import torch

ENV_VARIABLE = "PIONEERS_DEVICE"


def best_device() -> torch.device:
    """The fastest device here: CUDA, else Apple's MPS, else the CPU.

    The environment variable ``PIONEERS_DEVICE`` (for example ``cpu`` or ``cuda:1``) overrides the choice.

    Raises:
        RuntimeError: the variable names a device that this machine or this build of torch does not have.
    """
    wanted = os.environ.get(ENV_VARIABLE)
    if wanted:
        try:
            torch.empty(0, device=wanted)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise RuntimeError(
                f"{ENV_VARIABLE}={wanted} cannot be used here ({reason}). Unset it, or set it to 'cpu'."
            ) from error
        return torch.device(wanted)
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


@functools.cache
def has_fast_bf16(device_type: str) -> bool:
    """Whether matrix products in bfloat16 are computed natively on this type of device."""
    if device_type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device_type == "cpu":
        return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return False


def autocast(device: torch.device, precision: str = "auto") -> contextlib.AbstractContextManager:
    """The context a forward pass runs in.

    Args:
        device: where the model is.
        precision: ``"auto"`` is bfloat16 where the processor has it and float32 elsewhere; ``"bf16"`` and
            ``"fp32"`` insist. Weights, gradients and optimiser state stay in float32 either way.

    Raises:
        ValueError: another precision is named.
    """
    if precision not in ("auto", "bf16", "fp32"):
        raise ValueError(f"precision must be 'auto', 'bf16' or 'fp32', not {precision!r}")
    if precision == "fp32" or (precision == "auto" and not has_fast_bf16(device.type)):
        return contextlib.nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16)


def seed_everything(seed: int) -> None:
    """Seed Python, NumPy and torch (every device), so that a run can be repeated."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def rng_state() -> dict[str, torch.Tensor]:
    """The state of torch's random generators, by device type, as uint8 tensors."""
    state = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def set_rng_state(state: dict[str, torch.Tensor]) -> None:
    """Put back what :func:`rng_state` returned; a device that is not here any more is passed over."""
    torch.set_rng_state(state["cpu"].cpu())
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"].cpu())

"""Import a torchvision that was built for another PyTorch.

A torchvision wheel carries compiled operators. When the wheel was built against CUDA and the installed torch
is a CPU build, those operators cannot be loaded, and ``import torchvision`` fails with ``operator
torchvision::nms does not exist``; so do libraries that import torchvision (timm, transformers).
Declaring the two operators that torchvision names at import time is enough: everything in it that is plain
Python (models, transforms, data sets) then works. Only the compiled operators remain unavailable.
"""

import importlib.util
from pathlib import Path
from types import ModuleType

import torch

_library: torch.library.Library | None = None


def import_torchvision() -> ModuleType:
    """Import torchvision, even if its compiled operators do not fit the installed torch.

    Call it before importing anything that imports torchvision itself. Calling it again is free.

    Raises:
        ModuleNotFoundError: torchvision is not installed.
    """
    global _library
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            "torchvision is not installed; install the release that matches your torch: "
            "pip install torchvision"
        )
    if _library is None and not _operators_load(Path(spec.origin).parent):
        _library = torch.library.Library("torchvision", "DEF")
        _library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _library.define(
            "qnms(Tensor dets, Tensor scores, Tensor scores_2, float iou_threshold, float t) -> Tensor"
        )
    return importlib.import_module("torchvision")


def operators_missing() -> bool:
    """Return True if :func:`import_torchvision` had to do without torchvision's compiled operators."""
    return _library is not None


def _operators_load(folder: Path) -> bool:
    """Return True if torchvision's compiled operators fit this torch (loading them twice is harmless)."""
    for extension in (*folder.glob("_C*.so"), *folder.glob("_C*.pyd")):
        try:
            torch.ops.load_library(str(extension))
        except OSError:
            return False
    return hasattr(torch.ops.torchvision, "nms")

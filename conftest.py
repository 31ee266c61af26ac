"""The notebooks' kernels talk through files: of two that start at once, one may choose the other's port."""

import itertools
import tempfile

import nbval.kernel
from jupyter_client.manager import KernelManager

VERSIONS = {"nbval": "0.11.0"}  # whose private name is replaced; tests/notebooks/test_patches.py holds it
FOLDER = tempfile.TemporaryDirectory()
NUMBERS = itertools.count()


def _kernel_manager(**options):
    return KernelManager(transport="ipc", ip=f"{FOLDER.name}/{next(NUMBERS)}", **options)


nbval.kernel.KernelManager = _kernel_manager

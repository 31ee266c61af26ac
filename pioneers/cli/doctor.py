"""``pioneers doctor``: test what works on this machine, and say how to fix the rest."""

import importlib
import itertools
import os
import platform
import shutil
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import torch

import pioneers
from pioneers import compat
from pioneers.cli.parser import Parser
from pioneers.data import language_reference
from pioneers.data.download import DATA_VARIABLE, cache_folder, is_intact
from pioneers.data.registry import FILES
from pioneers.device import autocast, best_device, has_fast_bf16
from pioneers.models import GPT, GPTConfig
from pioneers.objectives import causal_lm, causal_lm_loss

DESCRIPTION = """\
Check this machine: device, precisions (each tested by one forward and one backward pass of a small
model), libraries, data, disk and the jail for grading. The last line says that everything works, or
what to do; in that case the exit status is 1."""
EPILOG = """\
examples:
  pioneers doctor
  PIONEERS_DEVICE=cpu pioneers doctor
"""
# Package → name of its import. Required.
NEEDED = {
    "einops": "einops",
    "filelock": "filelock",
    "numpy": "numpy",
    "regex": "regex",
    "safetensors": "safetensors",
    "tokenizers": "tokenizers",
    "tqdm": "tqdm",
}
# Package → its purpose, and what to install. Optional.
OPTIONAL = {
    "scikit-learn": ("handwritten digits and photographs", "'pioneers[data]'"),
    "pillow": ("photographs", "'pioneers[data]'"),
    "babel": ("dates in many languages", "'pioneers[data]'"),
    "num2words": ("numbers in many languages", "'pioneers[data]'"),
    "matplotlib": ("figures, and the curve of a run", "matplotlib"),
    "huggingface-hub": ("published weights by name, such as gpt2", "'pioneers[hub]'"),
    "transformers": ("comparison with its models", "transformers"),
    "timm": ("comparison with its ViT", "timm"),
    "jupyter-book": ("building the book", "'pioneers[book]'"),
    "nbgrader": ("making and grading the labs", "'pioneers[labs]'"),
}
INSTALL = "pip install"
REPAIR = f"{INSTALL} --force-reinstall"
ROOM = 2e9  # bytes for a small model, its runs and the public data


class Finding(NamedTuple):
    """One line of the report; ``cure`` says how to fix a problem, ``outside`` one that only others have."""

    about: str
    text: str
    cure: str = ""
    outside: str = ""


def add_arguments(parser: Parser) -> None:
    """Add no arguments: everything is checked."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG


def run(args: Namespace) -> int:
    """Print the report; returns 1 if something is broken."""
    cures: list[str] = []
    outside = ""
    for title, find in SECTIONS.items():
        print(title, flush=True)
        for finding in find():
            print(f"  {finding.about:16}{finding.text}", flush=True)
            cures += filter(None, [finding.cure])
            outside = finding.outside or outside
        print()
    works = f"everything works, except outside of pioneers: {outside}" if outside else "everything works"
    print("to do: " + "; ".join(cures) if cures else works)
    return 1 if cures else 0


def _machine() -> Iterator[Finding]:
    yield Finding("pioneers", pioneers.__version__)
    yield Finding("Python", f"{platform.python_version()} ({sys.executable})")
    yield Finding("torch", torch.__version__)
    try:
        device = best_device()
    except RuntimeError as error:
        yield Finding("device", "cannot be used", str(error))
        return
    yield Finding("device", f"{device}, threads: {torch.get_num_threads()}")
    for precision in ("fp32", "bf16", "fp16"):
        yield _precision(device, precision)


def _precision(device: torch.device, precision: str) -> Finding:
    """Test a precision by computing gradients."""
    try:
        _take_gradients(device, precision)
    except (RuntimeError, ValueError) as error:
        reason = str(error).split("\n")[0]
        cure = f"{device} cannot compute: {reason}" if precision == "fp32" else ""
        return Finding(precision, f"does not work here ({reason})", cure)
    fast = " and is fast here" if precision == "bf16" and has_fast_bf16(device.type) else ""
    return Finding(precision, f"works{fast}")


def _take_gradients(device: torch.device, precision: str) -> None:
    """Compute a small GPT's loss and gradients, which must be finite."""
    model = GPT(GPTConfig(vocab_size=13, max_seq_len=7, d_model=12, num_layers=1, num_heads=3)).to(device)
    input_ids, targets = causal_lm(torch.arange(8, device=device)[None])
    with autocast(device, precision):
        loss = causal_lm_loss(model(input_ids), targets)
    loss.backward()
    if not all(p.grad is not None and bool(p.grad.isfinite().all()) for p in model.parameters()):
        raise ValueError("gradients are not finite")


def _libraries() -> Iterator[Finding]:
    for name, module in NEEDED.items():
        try:
            importlib.import_module(module)
        except Exception as error:  # an import can raise anything
            reason = " ".join(str(error).split())
            yield Finding(name, f"needed, and cannot be imported: {reason}", f"{REPAIR} {name}")
        else:
            yield Finding(name, version(name))
    yield _torchvision()
    for name, (purpose, needed) in OPTIONAL.items():
        try:
            yield Finding(name, f"{version(name)}, for {purpose}")
        except PackageNotFoundError:
            yield Finding(name, f"not installed; it is for {purpose}: {INSTALL} {needed}")


def _torchvision() -> Finding:
    purpose = "image transforms and comparison with its ViT"
    try:
        compat.import_torchvision()
    except ModuleNotFoundError:
        return Finding("torchvision", f"not installed; it is for {purpose}: {INSTALL} torchvision")
    except Exception as error:  # an import can raise anything
        reason = " ".join(str(error).split())
        return Finding("torchvision", f"cannot be imported: {reason}", f"{REPAIR} torchvision")
    if compat.operators_missing():
        state = "made for another torch; pioneers.compat imports it without its compiled operators"
        outside = (
            "transformers and timm cannot import torchvision by themselves; to get both from one place: "
            f"{REPAIR} torch torchvision"
        )
        return Finding("torchvision", f"{version('torchvision')}, {state}", outside=outside)
    return Finding("torchvision", f"{version('torchvision')}, for {purpose}")


def _data() -> Iterator[Finding]:
    try:
        yield Finding("embedded", f"language_reference has {len(language_reference()):,} characters")
    except RuntimeError as error:
        yield Finding("embedded", "incomplete", str(error))
    supplied = os.environ.get(DATA_VARIABLE)
    folders = [cache_folder()]
    if supplied is None:
        yield Finding(DATA_VARIABLE, "not set; public data is downloaded when it is first used")
    elif not Path(supplied).expanduser().is_dir():
        cure = f"{DATA_VARIABLE}={supplied} is not a folder: correct it, or unset it"
        yield Finding(DATA_VARIABLE, "wrong", cure)
    else:
        yield Finding(DATA_VARIABLE, supplied)
        folders.insert(0, Path(supplied).expanduser())
    yield Finding("cache", str(cache_folder()))
    for group, names in itertools.groupby(sorted(FILES), key=lambda name: name.split("/")[0]):
        yield _data_set(group, list(names), folders)


def _data_set(group: str, names: list[str], folders: list[Path]) -> Finding:
    """Report which files of a data set are present, and whether they are intact."""
    here = {name: path for name in names for folder in reversed(folders) if (path := folder / name).is_file()}
    damaged = [str(path) for name, path in here.items() if not is_intact(path, FILES[name])]
    name = Path(group).stem
    if damaged:
        return Finding(
            name, f"{len(damaged)} of {len(here)} files damaged", f"delete the damaged {damaged[0]}"
        )
    rest = "" if len(here) == len(names) else "; the others are downloaded when they are needed"
    return Finding(name, f"{len(here)} of {len(names)} files, intact{rest}" if here else "not here yet")


def _disk() -> Iterator[Finding]:
    for about, folder in (("this folder", Path.cwd()), ("cache", cache_folder())):
        existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
        free = shutil.disk_usage(existing).free
        if not os.access(existing, os.W_OK):
            yield Finding(about, "not writable", f"make {existing} writable")
        else:
            cure = f"make room on the disk of {existing}" if free < ROOM else ""
            yield Finding(about, f"{free / 1e9:.1f} GB free", cure)


def _grading() -> Iterator[Finding]:
    """Test whether untrusted work can be graded here, by trying to break out of a jail."""
    purpose = "it is for grading untrusted submissions"
    try:
        from pioneers.autograder.jail import Limits, NoJail
        from pioneers.autograder.self_test import escape_attempts
    except ModuleNotFoundError as error:
        yield Finding("jail", f"not tried; it needs {error.name}: {INSTALL} 'pioneers[grader]'")
        return
    try:
        found = escape_attempts(Limits())
    except NoJail as reason:
        yield Finding("jail", f"none here; {purpose}: {reason}")
    else:
        leaks = f"leaks: a student could {', '.join(found)}; {purpose}"
        yield Finding("jail", leaks if found else "holds: nothing that was tried got out")


SECTIONS: dict[str, Callable[[], Iterator[Finding]]] = {
    "machine": _machine,
    "libraries": _libraries,
    "data": _data,
    "disk": _disk,
    "grading": _grading,
}

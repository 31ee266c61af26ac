import builtins
import hashlib
import sys
from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace

import pytest
import torch

from pioneers import compat
from pioneers.autograder import jail, self_test
from pioneers.cli import doctor, main
from pioneers.data.registry import PublicFile


@pytest.fixture(autouse=True)
def own_machine(monkeypatch, tmp_path):
    """Data folders that nobody else writes to, a torchvision that fits this torch, and a jail that holds.

    test_jail.py tries the real one.
    """
    monkeypatch.setattr(compat, "operators_missing", lambda: False)
    monkeypatch.setattr(self_test, "escape_attempts", lambda limits: [])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PIONEERS_DATA", raising=False)


def report(capsys):
    status = main(["doctor"])
    out = capsys.readouterr().out
    lines = dict(line.split(maxsplit=1) for line in out.splitlines() if line.startswith("  "))
    return status, lines, out.splitlines()[-1]


def test_a_sound_machine_is_called_sound(capsys):
    status, lines, last = report(capsys)
    assert (status, last) == (0, "everything works")
    assert lines["torch"] == torch.__version__
    assert lines["device"].startswith("cpu, ")
    assert lines["fp32"] == "works"
    assert lines["bf16"].startswith("works")
    assert lines["mnist"] == "not here yet"
    assert lines["PIONEERS_DATA"].startswith("not set")
    assert lines["cache"].endswith("GB free")
    assert lines["jail"] == "holds: nothing that was tried got out"


def test_a_precision_is_tried_for_real(capsys, monkeypatch):
    used = []
    autocast = doctor.autocast
    monkeypatch.setattr(doctor, "autocast", lambda *how: used.append(how[1]) or autocast(*how))

    def unable(loss):
        raise RuntimeError("no such kernel\nsomewhere")

    monkeypatch.setattr(torch.Tensor, "backward", unable)
    status, lines, last = report(capsys)
    assert used == ["fp32", "bf16", "fp16"]
    assert lines["bf16"] == "does not work here (no such kernel)"
    assert (status, last) == (1, "to do: cpu cannot compute: no such kernel")


def test_gradients_that_are_not_finite_are_noticed(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "causal_lm_loss", lambda logits, targets: (logits * torch.inf).sum())
    status, lines, last = report(capsys)
    assert lines["fp16"] == "does not work here (gradients are not finite)"
    assert (status, last) == (1, "to do: cpu cannot compute: gradients are not finite")


def test_a_device_that_is_not_there_is_reported(capsys, monkeypatch):
    monkeypatch.setenv("PIONEERS_DEVICE", "abacus")
    status, lines, last = report(capsys)
    assert (status, lines["device"]) == (1, "cannot be used")
    assert "set it to 'cpu'" in last


def test_missing_and_broken_libraries_say_what_to_install(capsys, monkeypatch):
    real = doctor.version

    def version(name):
        if name == "timm":
            raise PackageNotFoundError
        return real(name)

    monkeypatch.setattr(doctor, "version", version)
    monkeypatch.setitem(sys.modules, "regex", None)
    status, lines, last = report(capsys)
    assert lines["timm"] == ("not installed; it is for comparison with its ViT: pip install timm")
    assert lines["regex"].startswith("needed, and cannot be imported: ")
    assert (status, last) == (1, "to do: pip install --force-reinstall regex")


@pytest.mark.parametrize(
    ("fault", "text", "status"),
    [
        (None, "made for another torch; pioneers.compat imports it", 0),
        (ModuleNotFoundError("no"), "not installed; it is for image transforms", 0),
        (RuntimeError("operator\nmissing"), "cannot be imported: operator missing", 1),
    ],
)
def test_torchvision_is_tried_for_real(fault, text, status, capsys, monkeypatch):
    def imported():
        if fault is not None:
            raise fault

    real = doctor.version
    monkeypatch.setattr(doctor, "version", lambda name: "0.1" if name == "torchvision" else real(name))
    monkeypatch.setattr(compat, "import_torchvision", imported)
    monkeypatch.setattr(compat, "operators_missing", lambda: True)
    found, lines, last = report(capsys)
    assert text in lines["torchvision"]
    assert found == status
    assert ("--force-reinstall torchvision" in last) == bool(status)
    if not fault:
        outside = (
            "everything works, except outside of pioneers: transformers and timm cannot import torchvision"
        )
        assert last.startswith(outside) and last.endswith("pip install --force-reinstall torch torchvision")
    monkeypatch.setattr(compat, "operators_missing", lambda: False)
    if fault is None:
        assert report(capsys)[1]["torchvision"] == "0.1, for image transforms and comparison with its ViT"


def test_data_is_looked_for_and_verified(capsys, monkeypatch, tmp_path):
    whole = b"a small file"
    published = PublicFile(len(whole), (hashlib.sha256(whole).hexdigest(),), "nobody")
    monkeypatch.setattr(doctor, "FILES", {"set/one": published, "set/two": published, "lone.txt": published})
    supplied, cached = tmp_path / "data", tmp_path / "cache" / "pioneers"
    for path in (supplied / "set" / "one", cached / "lone.txt"):
        path.parent.mkdir(parents=True)
        path.write_bytes(whole)
    monkeypatch.setenv("PIONEERS_DATA", str(supplied))
    status, lines, _ = report(capsys)
    assert lines["set"] == "1 of 2 files, intact; the others are downloaded when they are needed"
    assert (status, lines["lone"]) == (0, "1 of 1 files, intact")
    (supplied / "set" / "one").write_bytes(b"a wrong file")
    status, lines, last = report(capsys)
    assert lines["set"] == "1 of 1 files damaged"
    assert (status, last) == (1, f"to do: delete the damaged {supplied / 'set' / 'one'}")
    monkeypatch.setenv("PIONEERS_DATA", str(tmp_path / "nowhere"))
    status, _, last = report(capsys)
    assert status == 1
    assert "nowhere is not a folder: correct it, or unset it" in last


def test_an_incomplete_python_is_reported(capsys, monkeypatch):
    def without():
        raise RuntimeError("install the standard library")

    monkeypatch.setattr(doctor, "language_reference", without)
    assert report(capsys)[::2] == (1, "to do: install the standard library")


def test_disks_that_are_full_or_locked_are_reported(capsys, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=1e6))
        status, lines, last = report(capsys)
    assert (status, lines["cache"]) == (1, "0.0 GB free")
    assert "make room on the disk of " in last
    monkeypatch.setattr("os.access", lambda path, mode: False)
    status, lines, last = report(capsys)
    assert (status, lines["cache"]) == (1, "not writable")
    assert last.endswith(" writable")


def test_a_jail_that_leaks_or_cannot_be_built_is_reported(capsys, monkeypatch):
    monkeypatch.setattr(self_test, "escape_attempts", lambda limits: ["write into /usr"])
    status, lines, last = report(capsys)
    assert lines["jail"] == "leaks: a student could write into /usr; it is for grading untrusted submissions"
    monkeypatch.setattr(self_test, "escape_attempts", lambda limits: jail.bubblewrap([], limits))
    monkeypatch.setattr("shutil.which", lambda program: None)
    without_jail, lines, last = report(capsys)
    assert "sudo apt install bubblewrap" in lines["jail"]
    assert (status, without_jail, last) == (0, 0, "everything works")  # all but grading needs no jail


def test_without_what_grading_needs_the_jail_is_not_tried(capsys, monkeypatch):
    real = builtins.__import__

    def imported(name, *rest, **options):
        if name == "pioneers.autograder.self_test":
            raise ModuleNotFoundError("no", name="psutil")
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", imported)
    status, lines, _ = report(capsys)
    assert (status, lines["jail"]) == (
        0,
        "not tried; it needs psutil: pip install 'pioneers[grader]'",
    )

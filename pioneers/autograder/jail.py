"""A bubblewrap jail for one student's process: no network, a read-only system, an empty home folder.

The process sees the programs and libraries that Python needs. Of this package it sees neither the
references nor the probes. Limits are enforced twice: by the kernel for each process, and by a watch for all
of them together.
"""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import matplotlib.font_manager

from pioneers.checks.guard import CHECKS, PACKAGE
from pioneers.checks.loading import labs_folder
from pioneers.data.download import DATA_VARIABLE
from pioneers.device import DEVICE_VARIABLE

AUTOGRADER = PACKAGE / "autograder"
VISIBLE = ("exercise.py", "guard.py", "run.py", "variant.py")  # the files of checks/ that the jail sees
HOME = "/home/student"
MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """The resources that one submission may use.

    Args:
        memory: bytes of all its processes together, and the address space of each.
        processes: the number of processes at once.
        file: bytes of one file; the home folder has room for four files of this size.
        cpu: seconds of processor time for each process.
        cell: seconds for one cell of the notebook.
        call: seconds for one call of an answer.
        total: seconds for the whole submission.
    """

    memory: int = 3 << 30
    processes: int = 64
    file: int = 64 * MIB
    cpu: int = 300
    cell: float = 60
    call: float = 20
    total: float = 300

    def of_process(self) -> dict[str, int]:
        """Return the limits that the kernel holds each process to, by their names in ``resource``."""
        return {
            "RLIMIT_AS": self.memory, "RLIMIT_FSIZE": self.file, "RLIMIT_CPU": self.cpu,
            "RLIMIT_NOFILE": 512, "RLIMIT_CORE": 0,
        }  # fmt: skip


class NoJail(RuntimeError):
    """This machine cannot build a jail; the message says why."""


def require_linux() -> None:
    """Raise an error on systems other than Linux, whose kernel provides the jail and the limits.

    Raises:
        NoJail: this is another system.
    """
    if sys.platform != "linux":
        raise NoJail("grading in a jail needs Linux: use a server, a virtual machine, or WSL on Windows")


def bubblewrap(command: list[str], limits: Limits, *, forks: bool = False) -> list[str]:
    """Return the ``command`` that runs another ``command`` in a jail.

    Args:
        command: the command to run inside.
        limits: the limits, which set the sizes of the jail's file systems.
        forks: whether the command makes forks that get jails of their own inside this one.

    Raises:
        NoJail: there is no bubblewrap on this machine.
    """
    require_linux()
    program = shutil.which("bwrap")
    if program is None:
        raise NoJail("bubblewrap is not installed (on Debian and Ubuntu: sudo apt install bubblewrap)")
    # To root of this machine its settings under /proc belong, even in a jail.
    processes = ["--proc", "/proc", *(() if forks else ("--remount-ro", "/proc"))]
    # The kernel gives forks a view of their own processes only where one of all is uncovered and, below /tmp,
    # which they cover, read-only.
    processes += ["--ro-bind", "/proc", "/tmp/proc"] if forks and os.geteuid() == 0 else []
    room = ["--size", str(4 * limits.file)]
    small = ["--size", str(limits.file)]
    return [
        program, "--unshare-all", "--uid", "1000", "--gid", "1000", "--hostname", "jail",
        "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", *_environment(),
        "--dev", "/dev", *small, "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
        *small, "--tmpfs", "/tmp", *room, "--tmpfs", HOME, *processes, *_system(),
        *_package(), "--remount-ro", "/", "--chdir", HOME, "--", *command,
    ]  # fmt: skip


def environment() -> dict[str, str]:
    """Return the environment of a student's process; of the teacher's it keeps the public data folder."""
    data = os.environ.get(DATA_VARIABLE)
    return {
        "HOME": HOME, "USER": "student", "PATH": f"{sys.prefix}/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
        "PYTHONPATH": str(PACKAGE.parent), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline", "TQDM_DISABLE": "1",
        DEVICE_VARIABLE: "cpu", **({DATA_VARIABLE: data} if data else {}),
    }  # fmt: skip


def _environment() -> list[str]:
    return [word for name, value in environment().items() for word in ("--setenv", name, value)]


def _system() -> list[str]:
    """Return options that mount programs, libraries, Python, fonts and public data, all read-only."""
    words = []
    for top in ("/bin", "/lib", "/lib32", "/lib64", "/sbin"):
        path = Path(top)
        if path.is_symlink():
            words += ["--symlink", os.readlink(path), top]
        elif path.is_dir():
            words += ["--ro-bind", top, top]
    folders = ["/usr", "/etc/fonts", "/etc/ld.so.cache", "/etc/alternatives", sys.base_prefix, sys.prefix]
    folders.append(sysconfig.get_path("purelib"))
    if DATA_VARIABLE in os.environ:
        folders.append(os.path.abspath(os.environ[DATA_VARIABLE]))
    for folder in dict.fromkeys(folders):
        words += ["--ro-bind-try", folder, folder]
    fonts = (
        Path(matplotlib.get_cachedir()) / f"fontlist-v{matplotlib.font_manager.FontManager.__version__}.json"
    )
    return [*words, "--ro-bind-try", str(fonts), f"{HOME}/.cache/matplotlib/{fonts.name}"]


def _package() -> list[str]:
    """Return options that mount this package, with a stand-in for references, probes and mistakes."""
    shown = {CHECKS / name: CHECKS / name for name in VISIBLE}
    shown |= {AUTOGRADER / name: AUTOGRADER / name for name in ("__init__.py", "jailed")}
    shown[AUTOGRADER / "jailed" / "stand_in.py"] = CHECKS / "__init__.py"
    covered = [str(folder) for folder in (CHECKS, AUTOGRADER, labs_folder())]
    words = ["--ro-bind", str(PACKAGE), str(PACKAGE)]
    words += [word for folder in covered for word in ("--tmpfs", folder)]
    words += [word for file, place in shown.items() for word in ("--ro-bind", str(file), str(place))]
    return [*words, *(word for folder in covered for word in ("--remount-ro", folder))]


class Started(subprocess.Popen[bytes]):
    """A process that was started in a jail, or without one."""

    def kill(self) -> None:
        """End the process and all of its group; with the outermost process of a jail, all in it end."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


def start(command: list[str], limits: Limits, *, trusted: bool = False) -> Started:
    """Start a ``command`` in a new jail.

    Args:
        command: the program and its arguments.
        limits: the resources it may use.
        trusted: whether to start it without a jail.

    Raises:
        NoJail: there is no bubblewrap on this machine.
    """
    return Started(
        command if trusted else bubblewrap(command, limits),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env={**environment(), "HOME": os.environ.get("HOME", "/")} if trusted else {},
        start_new_session=True,
    )

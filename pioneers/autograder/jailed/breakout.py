"""All that a student might try in order to leave the jail, for the self-test; prints what worked."""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

ATTACH, DETACH_MOUNT, NEW_USER_AND_MOUNTS, NEW_PROCESSES = 16, 2, 0x10020000, 0x20000000
SETTING = "/proc/sys/kernel/core_pattern"


LEFT: list[Any] = []  # what goes on living after the attempt


def c() -> Any:
    """Return the C library."""
    return ctypes.CDLL(None)


def read(path: str) -> str:
    """Return what a file holds."""
    return Path(path).read_text()


def works(attempt: Callable[[], Any]) -> bool:
    """Return whether an attempt brings anything."""
    try:
        return bool(attempt())
    except Exception:
        return False


def alone(attempt: Callable[[], Any]) -> bool:
    """Return whether an attempt works in a process of its own."""
    process = os.fork()
    if not process:
        os._exit(not works(attempt))
    return os.waitpid(process, 0)[1] == 0


def connect(kind: int, address: Any) -> bool:
    """Return whether somebody answers at an address."""
    with socket.socket(kind) as client:
        client.settimeout(2)
        client.connect(address)
    return True


def write(path: str) -> bool:
    """Return whether a file can be written."""
    with open(path, "w") as file:
        file.write("x")
    return True


def uncover() -> bool:
    """Return whether what covers the worker's folders and processes can be taken away."""
    before = sorted(os.listdir("/proc")), os.path.ismount("/tmp")
    c().unshare(NEW_USER_AND_MOUNTS)
    c().umount2(b"/proc", DETACH_MOUNT)
    c().umount2(b"/tmp", DETACH_MOUNT)
    return before != (sorted(os.listdir("/proc")), os.path.ismount("/tmp"))


def change_a_setting() -> bool:
    """Return whether a setting of the kernel can be opened for writing, in new namespaces if need be."""
    if works(lambda: os.open(SETTING, os.O_WRONLY)):
        return True
    c().unshare(NEW_USER_AND_MOUNTS | NEW_PROCESSES)
    return alone(lambda: c().mount(b"proc", b"/proc", b"proc", 0, b"") == 0 and os.open(SETTING, os.O_WRONLY))


def trace(others: list[str]) -> bool:
    """Return whether the worker can be traced."""
    return any(c().ptrace(ATTACH, int(number), 0, 0) == 0 for number in others)


def signalled(number: str) -> bool:
    """Return whether a signal reaches a process."""
    try:
        os.kill(int(number), signal.SIGCONT)
    except OSError:
        return False
    return True


def left_by_another(mark: str) -> bool:
    """Return whether another fork has left something here, and leave all that can be left."""
    folders = [line.split()[4] for line in read("/proc/self/mountinfo").splitlines()]
    files = [os.path.join(folder, mark) for folder in (*folders, "/home", os.getcwd())]
    seen = any(map(os.path.exists, files))
    seen |= c().shmget(int(mark[:7], 16), 1, 0) >= 0 or works(lambda: connect(socket.AF_UNIX, f"\0{mark}"))
    for path in files:
        with suppress(OSError):
            write(path)
    c().shmget(int(mark[:7], 16), 1, 0o1666)
    listening = socket.socket(socket.AF_UNIX)
    with suppress(OSError):
        listening.bind(f"\0{mark}")
        listening.listen()
        LEFT.append(listening)
    LEFT.append(subprocess.Popen(["sh", "-c", f"sleep 60; : {mark}"], start_new_session=True))
    return seen


def held() -> list[str]:
    """Return the open files that are neither pipes nor nothing."""
    links = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            links.append(os.readlink(f"/proc/self/fd/{number}"))
    return [link for link in links if not link.startswith(("pipe:", "/dev/null", "/proc/"))]


def main(words: list[str]) -> None:
    """Print the names of the attempts that work; ``words`` say where what they are after is."""
    secret_file, secret_name, port, package, labs, mark, *others = words
    attempts = {
        "read a file of the teacher": lambda: read(secret_file),
        "see the teacher's environment": lambda: secret_name in os.environ,
        "reach the network of this machine": lambda: connect(socket.AF_INET, ("127.0.0.1", int(port))),
        "write into the package": lambda: write(package + "/checks/broken"),
        "write into /usr": lambda: write("/usr/broken"),
        "write beside the home folder": lambda: write("/home/broken"),
        "read the judge": lambda: read(package + "/checks/judge.py"),
        "read the exercises": lambda: bool(os.listdir(labs)),
        "read the grader": lambda: read(package + "/autograder/referee.py"),
        "see the processes of this machine": lambda: len([p for p in os.listdir("/proc") if p.isdigit()]) > 3,
        "keep rights of the system": lambda: "CapEff:\t0000000000000000" not in read("/proc/self/status"),
        "regain rights of the system": lambda: "NoNewPrivs:\t1" not in read("/proc/self/status"),
        "change a setting of the kernel": lambda: alone(change_a_setting),
    }
    if others:
        attempts |= {
            "hold a file of the worker": held,
            "share memory with the worker": lambda: " rw-s " in read("/proc/self/maps"),
            "take the cover off the worker": lambda: alone(uncover),
            "trace the worker": lambda: trace(others),
            "signal the worker": lambda: any(map(signalled, others)),
            "leave something for the next submission": lambda: left_by_another(mark),
        }
    print(json.dumps([name for name, attempt in attempts.items() if works(attempt)]))


if __name__ == "__main__":
    main(sys.argv[1:])

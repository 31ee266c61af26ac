"""The warm process: it has imported what submissions need, and forks itself into a jail for each of them.

It imports and does nothing else: it runs no operation of torch, starts no thread and holds no file but the
socket to the grader. A fork enters namespaces of its own, covers every folder that can be written, gives up
all rights, and only then runs a student's code.
"""

import ctypes
import gc
import importlib
import json
import os
import random
import signal
import socket
import struct
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy.random
import torch
from IPython.core.interactiveshell import InteractiveShell

from pioneers.autograder.jailed import compiler, serve
from pioneers.autograder.jailed.cells import make_shell

LATER = (  # what figures and torch would import when they are first used
    "PIL.PngImagePlugin", "matplotlib.backends.backend_agg", "matplotlib_inline.backend_inline",
    "torch.fx.experimental.symbolic_shapes",
)  # fmt: skip
CLONE3 = 435  # the number of this system call on every architecture
NAMESPACES = 0x7E020000  # CLONE_NEW: NS, CGROUP, UTS, IPC, USER, PID, NET
NOSUID, NODEV, NOEXEC, RDONLY, AGAIN = 2, 4, 8, 1, 0x1020  # MS_; AGAIN is MS_REMOUNT and MS_BIND
DUMPABLE, DROP_RIGHT = 4, 24  # PR_SET_DUMPABLE, PR_CAPBSET_DROP
CAPABILITIES = 0x20080522  # version 3 of capset
COLLAPSE = 25  # MADV_COLLAPSE
GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 1  # SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP


@cache
def libc() -> ctypes.PyDLL:
    """Return the C library."""
    return ctypes.PyDLL(None, use_errno=True)


def main() -> None:
    """Import the modules named as arguments, then fork for each request until the grader hangs up."""
    libc().prctl(DUMPABLE, 0)  # nobody may look into it
    compiler.postpone()
    for name in (*LATER, *sys.argv[1:]):
        with suppress(Exception):  # a submission that imports it gets the error
            importlib.import_module(name)
    shell = make_shell()
    gc.collect()
    gc.freeze()
    _gather()
    grader = socket.socket(fileno=0)
    user, group = os.getuid(), os.getgid()  # in new namespaces they have no number until it is mapped
    maps = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
    while True:
        request, streams, _, _ = socket.recv_fds(grader, 4096, 3)
        if not request:
            return
        if len(os.listdir("/proc/self/task")) > 1:
            raise RuntimeError("an import has started a thread, which no fork would have")
        if not _fork():
            _become_a_jail(grader, maps, limits := json.loads(request))
            _serve(shell, limits, streams)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        for stream in streams:
            os.close(stream)


def _gather() -> None:
    """Move the memory into large pages, of which a fork copies few; older kernels leave it as it is."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, rights, *_, name = line.split()
        start, end = (int(edge, 16) for edge in place.split("-"))
        if rights == "rw-p" and name in ("0", "[heap]"):
            libc().madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), COLLAPSE)


def _fork() -> int:
    """Fork into new namespaces of all kinds: the child is process 1 there."""
    arguments = struct.pack("=11Q", NAMESPACES, 0, 0, 0, signal.SIGCHLD, *[0] * 6)
    process: int = libc().syscall(CLONE3, arguments, len(arguments))
    _do(process < 0)
    return process


def _become_a_jail(grader: socket.socket, maps: dict[str, str], limits: dict[str, int]) -> None:
    """Build the jail as its process 1, and give the grader a handle on it."""
    try:
        os.setsid()
        libc().prctl(DUMPABLE, 1)  # or these files belong to the system
        for name, text in maps.items():
            Path(f"/proc/self/{name}").write_text(text)
        _cover(limits["RLIMIT_FSIZE"])
        _give_up_rights()
        socket.send_fds(grader, [b"entered"], [os.pidfd_open(os.getpid())])
    except OSError as error:
        grader.send(str(error).encode())
        os._exit(1)


def _serve(shell: InteractiveShell, limits: dict[str, int], streams: list[int]) -> None:
    """Run the student's code in process 2 of the jail, and end with it."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    student = os.fork()
    if student:
        while os.wait()[0] != student:
            pass
        os._exit(0)
    random.seed()
    numpy.random.seed()
    torch.default_generator.seed()
    serve.run(limits, lambda: shell)
    os._exit(0)


def _cover(size: int) -> None:
    """Put empty file systems over all that can be written, and this namespace's processes over the others."""
    import fcntl  # Windows has none; everything else of the package can be imported there

    _mount("", "/proc", AGAIN | NOSUID | NODEV | NOEXEC | RDONLY)
    _mount("proc", "/proc", NOSUID | NODEV | NOEXEC | RDONLY)
    _mount("devpts", "/dev/pts", NOSUID | NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    home = os.environ["HOME"]
    fonts = {path: path.read_bytes() for path in Path(home).glob(".cache/matplotlib/fontlist*")}
    for folder, room in {"/dev/shm": size, "/tmp": size, home: 4 * size}.items():
        _mount("tmpfs", folder, NOSUID | NODEV, f"mode=0755,size={room}")
    os.chdir(home)  # the new one
    for path, content in fonts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as request:
        flags = fcntl.ioctl(request, GET_FLAGS, struct.pack("16sH14x", b"lo", 0))
        (old,) = struct.unpack_from("H", flags, 16)
        fcntl.ioctl(request, SET_FLAGS, struct.pack("16sH14x", b"lo", old | UP))


def _give_up_rights() -> None:
    """Drop all capabilities in the new namespaces, for good."""
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    for right in range(last + 1):
        _do(libc().prctl(DROP_RIGHT, right, 0, 0, 0))
    _do(libc().capset(struct.pack("=Ii", CAPABILITIES, 0), bytes(24)))


def _mount(kind: str, folder: str, flags: int, options: str = "") -> None:
    _do(libc().mount(kind.encode(), folder.encode(), kind.encode(), flags, options.encode()), folder)


def _do(failed: int, where: str = "") -> None:
    """Raise an error if a call of the C library failed."""
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), where or None)


if __name__ == "__main__":
    main()

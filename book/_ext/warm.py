"""Kernels that begin with their imports done: forks of one process, in which torch and matplotlib wait.

Importing the two takes a kernel some seconds, and a whole build starts a hundred kernels. `warm_kernels`
starts the process, and makes known a kernel ``python3`` that Jupyter finds before its own. What Jupyter
starts as this kernel is a small attendant: it asks for a fork, hands over its folder, environment and output,
and ends when the fork does; if it is killed, so is the fork. On other systems than Linux, kernels start as
always.
"""

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys

IMPORTED = ("ipykernel.kernelapp", "matplotlib.pyplot", "torch._dynamo")  # the last by the first optimizer
SPARED = "PIONEERS_SPARED_SECONDS"


def warm_kernels(folder):
    """Let all kernels that this process starts be forks, with their sockets in ``folder``, until it ends."""
    import subprocess

    if not hasattr(os, "pidfd_open"):
        return
    spec = {"argv": [sys.executable, "-IS", __file__, folder, "-f", "{connection_file}"]}
    os.makedirs(f"{folder}/kernels/python3")
    with open(f"{folder}/kernels/python3/kernel.json", "w") as file:
        json.dump(spec | {"display_name": "Python 3", "language": "python"}, file)
    both = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, __file__, folder], **both, start_new_session=True)
    seconds = process.stdout.readline().decode()
    if seconds:  # else it has failed and said why: kernels start as always
        os.environ |= {SPARED: seconds, "JUPYTER_PATH": folder}


def spared():
    """The seconds of importing that a kernel is spared, and takes where it is started as always."""
    return float(os.environ.get(SPARED, 0))


def kernel_of(pid):
    """The process of the kernel that Jupyter has started as ``pid``."""
    file = f"{os.environ.get('JUPYTER_PATH')}/{pid}"
    if not os.path.exists(file):
        return pid
    with open(file) as text:
        return int(text.read())


def attend(folder, *arguments):
    """Have a kernel forked and wait until it ends; returns its exit status."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(f"{folder}/socket")
        asked = json.dumps([os.getcwd(), dict(os.environ), arguments])
        socket.send_fds(connection, [asked.encode()], [0, 1, 2])
        kernel = connection.recv(100).decode()
        signal.signal(signal.SIGINT, lambda *_: os.kill(int(kernel), signal.SIGINT))
        with open(f"{folder}/{os.getpid()}", "w") as file:
            file.write(kernel)
        return int(connection.recv(100) or 1)


def serve(folder):
    """Import what most pages import, then fork a kernel for everybody who asks, until the input ends."""
    import time

    began = time.perf_counter()
    sys.path.pop(0)  # the folder of this file
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as a kernel does
    for name in IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # or each fork looks for garbage here, also as it ends
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(f"{folder}/socket")
        listening.listen()
        print(time.perf_counter() - began, flush=True)
        while 0 not in select.select([0, listening], [], [])[0]:
            connection = listening.accept()[0]
            if not os.fork():
                listening.close()
                return look_after(connection)
            connection.close()


def look_after(connection):
    """Fork the kernel that was asked for, and end it when its attendant or the build has ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    asked, files, *_ = socket.recv_fds(connection, 1 << 20, 3)
    kernel = os.fork()
    if not kernel:
        connection.close()
        return become(files, *json.loads(asked))
    connection.send(str(kernel).encode())
    ended = os.pidfd_open(kernel)
    if ended not in select.select([0, connection, ended], [], [])[0]:
        os.kill(kernel, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(kernel, 0)[1])
    with contextlib.suppress(BrokenPipeError):
        connection.send(str(status).encode())


def become(files, folder, environment, arguments):
    """Be a kernel, as if its attendant had become one."""
    import numpy
    import torch
    from ipykernel.kernelapp import launch_new_instance

    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = arguments
    torch.seed()  # no two forks draw the same numbers
    numpy.random.seed()
    launch_new_instance(argv=[*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"])


if __name__ == "__main__":
    sys.exit(attend(*sys.argv[1:]) if len(sys.argv) > 2 else serve(sys.argv[1]))

"""Runs one training command again and again, each time killed at a random moment; then lets it end.

It imports everything once and forks: a run begins at once, and a hundred of them are affordable.
"""

import contextlib
import json
import os
import random
import signal
import socket
import sys
import time
from pathlib import Path

import matplotlib
import torch

matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: F401

from pioneers.analysis import plots  # noqa: F401
from pioneers.cli import commands, finetune, train  # noqa: F401

MOST = 5  # kills


def start(arguments, processes, log):
    """Start the processes of a run, as torchrun would, without its launcher."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    pids = []
    for rank in range(processes):
        pid = os.fork()
        if pid == 0:
            if processes > 1:
                where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "LOCAL_RANK": str(rank)}
                os.environ.update(where, RANK=str(rank), WORLD_SIZE=str(processes))
            for stream in (1, 2):
                os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
            os._exit(run(arguments))
        pids.append(pid)
    return pids


def run(arguments):
    try:
        code = commands.main(arguments)
    except SystemExit as stop:
        code = stop.code
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def send(kind, pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, kind)


def end(pids):
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


def rows(folder):
    with contextlib.suppress(FileNotFoundError):
        return Path(folder, "metrics.jsonl").read_bytes().count(b"\n")
    return 0


def goes_on(pids):
    return any(os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None for pid in pids)


def wait(pids, folder, draw, lasts):
    """Wait for a random moment: of all a run does, or, first of all, shortly after a row of its metrics."""
    if rows(folder) and draw.random() < 0.3:
        time.sleep(draw.uniform(0, lasts))
        return
    goal = rows(folder) + draw.randint(1, 4)
    while rows(folder) < goal and goes_on(pids):  # one that was killed late may have fewer rows to go
        time.sleep(0.002)
    time.sleep(draw.uniform(0, 0.03))


def main(seed, processes, folder, *arguments):
    torch.set_num_threads(1)
    draw, processes, log, ends = random.Random(int(seed)), int(processes), f"{folder}.log", []
    begin = time.monotonic()
    straight = end(start([*arguments, "--out", f"{folder}-straight"], processes, log))
    lasts = time.monotonic() - begin
    for _ in range(MOST):
        pids = start([*arguments, "--out", folder], processes, log)
        kind = draw.choice([signal.SIGKILL, signal.SIGTERM])
        wait(pids, folder, draw, lasts)
        victims = pids if kind == signal.SIGTERM else draw.sample(pids, draw.randint(1, processes))
        send(kind, victims)
        send(signal.SIGTERM, set(pids) - set(victims))  # as torchrun does
        ends.append((kind.name, end(pids)))
    last = end(start([*arguments, "--out", folder], processes, log))
    print(json.dumps({"straight": straight, "ends": ends, "last": last}))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Try to break out of the jail, before a submission does."""

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from pioneers.autograder.jail import Limits, NoJail, start
from pioneers.autograder.watch import Watch
from pioneers.checks.guard import PACKAGE
from pioneers.checks.loading import labs_folder

SECRET = "PIONEERS_SELF_TEST"
SECONDS = 30
ALLOW = (
    "it needs user namespaces; on Ubuntu: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0; "
    "containers usually forbid them, virtual machines do not"
)
BREAKOUT = """
import json, os, resource, socket, sys
secret_file, secret_name, port, package, labs, teacher = sys.argv[1:]

def works(attempt):
    try:
        return bool(attempt())
    except Exception:
        return False

def connect():
    socket.create_connection(("127.0.0.1", int(port)), timeout=2)
    return True

def write(path):
    with open(path, "w") as file:
        file.write("x")
    return True

attempts = {
    "read a file of the teacher": lambda: open(secret_file).read(),
    "see the teacher's environment": lambda: secret_name in os.environ,
    "reach the network of this machine": connect,
    "write into the package": lambda: write(package + "/checks/broken"),
    "write into /usr": lambda: write("/usr/broken"),
    "read the judge": lambda: open(package + "/checks/judge.py").read(),
    "read the exercises": lambda: bool(os.listdir(labs)),
    "read the grader": lambda: open(package + "/autograder/referee.py").read(),
    "see the processes of this machine": lambda: len([p for p in os.listdir("/proc") if p.isdigit()]) > 3,
    "keep rights of the system": lambda: "CapEff:\\t0000000000000000" not in open("/proc/self/status").read(),
}
print(json.dumps([name for name, attempt in attempts.items() if works(attempt)]))
"""
FORK_BOMB = "import os, time\nwhile True:\n    os.fork() or time.sleep(30)"


def escape_attempts(limits: Limits) -> list[str]:
    """Return the escape attempts that succeeded; none if the jail is safe.

    Args:
        limits: the limits of the jail.

    Raises:
        NoJail: the jail cannot even be built; the message says why.
    """
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        secret = Path(folder) / "secret"
        secret.write_text(secrets.token_hex())
        os.environ[SECRET] = secrets.token_hex()
        words = [str(secret), SECRET, str(server.getsockname()[1])]
        words += [str(PACKAGE), str(labs_folder()), str(os.getpid())]
        try:
            process = start([sys.executable, "-I", "-c", BREAKOUT, *words], limits)
            said, complaint = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise NoJail(f"a process in the jail did not end within {SECONDS} seconds") from None
        finally:
            del os.environ[SECRET]
    if process.returncode:
        raise NoJail(
            f"bubblewrap cannot build a jail here: {complaint.decode(errors='replace').strip()} ({ALLOW})"
        )
    found: list[str] = json.loads(said)
    return found + ([] if _fork_bomb_is_stopped(limits) else ["start processes without end"])


def _fork_bomb_is_stopped(limits: Limits) -> bool:
    process = start([sys.executable, "-I", "-c", FORK_BOMB], replace(limits, processes=16))
    watch = Watch(process, replace(limits, processes=16))
    watch.start()
    try:
        process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        watch.end()
        return False
    finally:
        watch.over.set()
    return bool(watch.cause)

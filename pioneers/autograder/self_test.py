"""Try to break out of the jail, before a submission does."""

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from pioneers.autograder.jail import AUTOGRADER, Limits, NoJail, start
from pioneers.autograder.warm import Warm
from pioneers.autograder.watch import Watch
from pioneers.autograder.worker import Worker, WorkerLost
from pioneers.checks.guard import PACKAGE
from pioneers.checks.loading import labs_folder

SECRET = "PIONEERS_SELF_TEST"
SECONDS = 30
ALLOW = (
    "it needs user namespaces; on Ubuntu: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0; "
    "containers usually forbid them, virtual machines do not"
)
BREAKOUT = (AUTOGRADER / "jailed" / "breakout.py").read_text()
FORK_BOMB = "import os, time\nwhile True:\n    os.fork() or time.sleep(30)"


def try_jails(limits: Limits) -> str:
    """Return why each submission must start Python anew; nothing if forks of a warm process hold too.

    Args:
        limits: the limits of the jail.

    Raises:
        NoJail: the jail cannot be built, or it leaks; the message says how.
    """
    try:
        found = escape_attempts(limits)
    except NoJail as reason:
        raise NoJail(f"no jail on this machine: {reason}") from None
    if found:
        raise NoJail(f"the jail leaks: a student could {', '.join(found)}")
    try:
        tried = attempts_of_forks(limits)
    except NoJail as cause:
        return str(cause)
    return f"in a fork a student could {', '.join(tried)}" if tried else ""


def escape_attempts(limits: Limits) -> list[str]:
    """Return the escape attempts that succeeded; none if the jail is safe.

    Args:
        limits: the limits of the jail.

    Raises:
        NoJail: the jail cannot even be built; the message says why.
    """
    with _teacher() as words:
        process = start([sys.executable, "-I", "-c", BREAKOUT, *words], limits)
        try:
            said, complaint = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise NoJail(f"a process in the jail did not end within {SECONDS} seconds") from None
    if process.returncode:
        raise NoJail(
            f"bubblewrap cannot build a jail here: {complaint.decode(errors='replace').strip()} ({ALLOW})"
        )
    found: list[str] = json.loads(said)
    return found + ([] if _fork_bomb_is_stopped(limits) else ["start processes without end"])


def attempts_of_forks(limits: Limits) -> list[str]:
    """Return what a student could do in a fork of a warm process that should be impossible; none if safe.

    Two forks run at the same time: the first also leaves behind what it can, and the second looks for it.

    Args:
        limits: the limits of the jail.

    Raises:
        NoJail: this machine cannot make such forks; the message says why.
    """
    with closing(Warm(limits)) as warm, _teacher() as words:
        workers = []
        try:
            workers += [Worker(limits, process=warm.fork(limits)) for _ in range(2)]
            inside = psutil.Process(warm.process.pid).children(recursive=True)
            words += [str(process.pid) for process in inside]
            source = f"import sys\nsys.argv[1:] = {words!r}\n{BREAKOUT}"
            found = [name for worker in workers for name in _said(worker.cell(source, SECONDS))]
        except WorkerLost as cause:
            raise NoJail(f"a fork does not answer: {cause}") from None
        finally:
            for worker in workers:
                worker.close()
        if any(
            words[5] in " ".join(process.info["cmdline"] or ())
            for process in psutil.process_iter(["cmdline"])
        ):
            found.append("keep a process alive")
    return list(dict.fromkeys(found))


def _said(outputs: list[dict[str, str]]) -> list[str]:
    text = "".join(output.get("text", "") for output in outputs)
    try:
        found: list[str] = json.loads(text)
    except ValueError:
        raise NoJail(f"the attempts in a fork failed: {outputs}") from None
    return found


@contextmanager
def _teacher() -> Iterator[list[str]]:
    """Set out what a student should not reach, and give the words that say where it is."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        secret = Path(folder) / "secret"
        secret.write_text(secrets.token_hex())
        os.environ[SECRET] = secrets.token_hex()
        words = [str(secret), SECRET, str(server.getsockname()[1]), str(PACKAGE), str(labs_folder())]
        try:
            yield [*words, secrets.token_hex()]
        finally:
            del os.environ[SECRET]


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

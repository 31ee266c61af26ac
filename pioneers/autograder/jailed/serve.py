"""The jailed process: it runs cells and calls answers on request, and does not judge them."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

from IPython.core.interactiveshell import InteractiveShell

from pioneers.autograder.jailed import compiler
from pioneers.autograder.jailed.cells import make_shell, run_cell
from pioneers.autograder.jailed.wire import BadMessage, outcome_to_message, pack, unpack
from pioneers.checks.exercise import Outcome, Probe
from pioneers.checks.run import call, parameters_of


def main() -> None:
    """Set the limits that the first argument names, and serve."""
    compiler.postpone()
    run(json.loads(sys.argv[1]), make_shell)


def run(limits: dict[str, int], shell: Callable[[], InteractiveShell]) -> None:
    """Read requests from standard input and write answers to standard output, until the input ends.

    Args:
        limits: the resource limits of this process and of those that it starts.
        shell: returns the shell that runs the cells.
    """
    limit(limits)
    orders, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    serve(orders, replies, shell())


def limit(limits: dict[str, int]) -> None:
    """Lower the resource limits of this process for good."""
    import resource  # Windows has none; everything else of the package can be imported there

    for name, most in limits.items():
        kind = getattr(resource, name)
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))


def serve(orders: BinaryIO, replies: Any, shell: InteractiveShell) -> None:
    """Answer requests one by one until there are no more."""
    obey = {
        "cell": lambda order: run_cell(shell, order["source"]),
        "parameters": lambda order: _parameters(shell.user_ns.get(order["name"])),
        "call": lambda order: _call(shell.user_ns.get(order["name"]), order),
    }
    replies.write(pack("ready"))
    while True:
        try:
            order = unpack(lambda count: _exactly(orders, count))
        except EOFError:
            return
        try:
            reply = pack({"nonce": order["nonce"], "answer": obey[order["do"]](order)})
        except BadMessage as error:
            outcome = outcome_to_message(Outcome(kind=str(error)))
            reply = pack({"nonce": order["nonce"], "answer": outcome})
        _send(replies, reply)


def _exactly(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data


def _send(stream: Any, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[stream.write(rest) :]


def _parameters(answer: Any) -> list[str] | str | None:
    """Return the parameter names; None if there is no function, "unknown" if it has no signature."""
    if not callable(answer):
        return None
    try:
        return parameters_of(answer)
    except (TypeError, ValueError):
        return "unknown"


def _call(answer: Any, order: dict[str, Any]) -> dict[str, Any]:
    probe = Probe("", order["args"], order["strided"])
    try:
        outcome = call(answer, probe, frozenset(order["refuse"]))
    except BaseException as stop:  # SystemExit and the like, which an answer may raise
        outcome = Outcome(error=f"{type(stop).__name__}: {stop}")
    return outcome_to_message(outcome)


if __name__ == "__main__":
    main()

"""``pioneers bench``: speed measured side by side with the other libraries, in one run."""

from pioneers.bench.command import add_arguments, run

__all__ = ["add_arguments", "run"]

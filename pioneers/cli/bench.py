"""``pioneers bench``: all of it is in :mod:`pioneers.bench`."""

from pioneers.bench import add_arguments, run

__all__ = ["add_arguments", "run"]

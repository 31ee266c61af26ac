"""The command ``pioneers``: train, generate, translate, convert, bench, doctor. It only wires the package."""

from pioneers.cli.commands import main

__all__ = ["main"]

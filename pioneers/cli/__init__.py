"""The command ``pioneers``: train, generate, translate, convert, bench, grade, doctor. It only wires it."""

from pioneers.cli.commands import main

__all__ = ["main"]

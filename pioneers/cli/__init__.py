"""The command ``pioneers``: train, generate, translate, convert, bench, grade, doctor. A thin layer."""

from pioneers.cli.commands import main

__all__ = ["main"]

"""The command ``pioneers``: it trains, measures, uses and converts models. A thin layer."""

from pioneers.cli.commands import main

__all__ = ["main"]

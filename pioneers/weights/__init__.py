"""Weights of other libraries in our models, and ours in theirs."""

from pioneers.weights import tables
from pioneers.weights.rename import to_ours, to_theirs

__all__ = ["tables", "to_ours", "to_theirs"]

"""Objectives: pure functions from a batch to inputs and targets, and a loss. They know no model."""

from pioneers.objectives.causal_lm import causal_lm, causal_lm_loss

__all__ = ["causal_lm", "causal_lm_loss"]

"""Learning-rate schedules and weight-decay groups."""

from pioneers.optim.groups import decay_groups
from pioneers.optim.schedules import constant, cosine, inverse_sqrt, linear

__all__ = ["constant", "cosine", "decay_groups", "inverse_sqrt", "linear"]

"""Lab 1, self-attention: nine functions from a softmax to multi-head attention."""

from operator import attrgetter

from pioneers.checks.labs.self_attention import heads, lookup, masked, masks, multi_head, scaled

PARTS = (lookup, scaled, masks, masked, heads, multi_head)
EXERCISES = tuple(sorted((e for part in PARTS for e in part.EXERCISES), key=attrgetter("key")))

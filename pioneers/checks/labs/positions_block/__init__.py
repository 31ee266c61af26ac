"""Lab 2, positions and the block: nine functions from sinusoids to a pre- or post-norm block."""

from operator import attrgetter

from pioneers.checks.labs.positions_block import (
    biases,
    block,
    gated,
    layer_norm,
    rms_norm,
    rotary,
    shift,
    sinusoids,
)

PARTS = (sinusoids, shift, rotary, biases, layer_norm, rms_norm, gated, block)
EXERCISES = tuple(sorted((e for part in PARTS for e in part.EXERCISES), key=attrgetter("key")))

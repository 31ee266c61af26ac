"""Lab 6, the Vision Transformer: nine functions from patches to attention rollout."""

from pioneers.checks.labs.vit import (
    counting,
    distance,
    offsets,
    patches,
    projection,
    resize,
    rollout,
    tokens,
)

PARTS = (patches, projection, tokens, offsets, resize, counting, distance, rollout)
EXERCISES = tuple(exercise for part in PARTS for exercise in part.EXERCISES)

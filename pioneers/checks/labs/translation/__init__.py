"""Lab 3, translation: nine functions from the first merge of a tokenizer to BLEU."""

from operator import attrgetter

from pioneers.checks.labs.translation import (
    beam,
    bleu,
    cross,
    greedy,
    pairs,
    schedule,
    smoothing,
    spelling,
    teacher,
)

PARTS = (pairs, spelling, teacher, cross, smoothing, schedule, greedy, beam, bleu)
EXERCISES = tuple(sorted((e for part in PARTS for e in part.EXERCISES), key=attrgetter("key")))

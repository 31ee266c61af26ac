"""Lab 7, the capstone: seven functions that a small, honest reproduction of a published table needs."""

from pioneers.checks.labs.capstone import budget, interval, metric, resuming, spread, tuning, verdict

PARTS = (budget, metric, tuning, resuming, spread, interval, verdict)
EXERCISES = tuple(exercise for part in PARTS for exercise in part.EXERCISES)

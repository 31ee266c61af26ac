"""Lab 5, BERT: nine functions from the row it reads to the span it answers with."""

from operator import attrgetter

from pioneers.checks.labs.bert import choice, corruption, embedding, label, loss, pairs, row, span, tags

PARTS = (row, embedding, choice, corruption, loss, pairs, label, tags, span)
EXERCISES = tuple(sorted((e for part in PARTS for e in part.EXERCISES), key=attrgetter("key")))

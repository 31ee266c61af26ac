"""Lab 4, GPT: nine functions from windows of a text to the loss of fine-tuning."""

from operator import attrgetter

from pioneers.checks.labs.gpt import (
    cached,
    finetuning,
    generation,
    language_loss,
    perplexity,
    similarity,
    top_k,
    top_p,
    windows,
)

PARTS = (windows, language_loss, perplexity, top_k, top_p, cached, generation, similarity, finetuning)
EXERCISES = tuple(sorted((e for part in PARTS for e in part.EXERCISES), key=attrgetter("key")))

"""Data sets and batches: embedded (nothing to fetch), public (fetched once, verified) and the user's own."""

from pioneers.data.batches import PairBatch, RandomPairs, RandomRows
from pioneers.data.docstrings import Document, documents
from pioneers.data.download import fetch
from pioneers.data.embedded import ImageSet, Photographs, digits, language_reference, photographs
from pioneers.data.finished import (
    CutSentence,
    cut_sentences,
    finished_choices,
    finished_either,
    finished_first,
    finished_sentences,
)
from pioneers.data.formats import Answer, Question, TaggedSentence, text_file
from pioneers.data.public import (
    LabelledPair,
    LabelledText,
    bert_vocabulary,
    gpt2_encoder,
    gpt2_merges,
    imdb_reviews,
    mnist,
    mrpc,
    multi30k,
    squad2,
    sst2,
    subj,
    tiny_shakespeare,
    ud_english_ewt,
)
from pioneers.data.tasks import (
    Choice,
    cloze_questions,
    code_words,
    continuations,
    docstring_packages,
    following_sentences,
    punctuation,
    run_on_questions,
)
from pioneers.data.text import RandomWindows, split_text
from pioneers.data.translation import translation_pairs

__all__ = [
    "Answer",
    "Choice",
    "CutSentence",
    "Document",
    "ImageSet",
    "LabelledPair",
    "LabelledText",
    "PairBatch",
    "Photographs",
    "Question",
    "RandomPairs",
    "RandomRows",
    "RandomWindows",
    "TaggedSentence",
    "bert_vocabulary",
    "cloze_questions",
    "code_words",
    "continuations",
    "cut_sentences",
    "digits",
    "docstring_packages",
    "documents",
    "fetch",
    "finished_choices",
    "finished_either",
    "finished_first",
    "finished_sentences",
    "following_sentences",
    "gpt2_encoder",
    "gpt2_merges",
    "imdb_reviews",
    "language_reference",
    "mnist",
    "mrpc",
    "multi30k",
    "photographs",
    "punctuation",
    "run_on_questions",
    "split_text",
    "squad2",
    "sst2",
    "subj",
    "text_file",
    "tiny_shakespeare",
    "translation_pairs",
    "ud_english_ewt",
]

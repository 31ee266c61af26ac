"""Data sets and batches: embedded (nothing to fetch), public (fetched once, verified) and the user's own."""

from pioneers.data.batches import PairBatch, RandomPairs, RandomRows
from pioneers.data.captions import CaptionedDigits, captioned_digits, digit_captions
from pioneers.data.corpus import Corpus
from pioneers.data.docstrings import Document, documents
from pioneers.data.download import fetch
from pioneers.data.embedded import ImageSet, Photographs, digits, language_reference, photographs
from pioneers.data.formats import Answer, Question, TaggedSentence, text_file
from pioneers.data.functions import LinearFunctions, RegressionPrompts
from pioneers.data.image_files import image_arrays, image_table
from pioneers.data.images import ImageFolder, cifar10, fashion_mnist, image_folder
from pioneers.data.instructions import AnswerTokens, Instruction, encode_instructions, instructions
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
from pioneers.data.records import Record, is_table, read_records
from pioneers.data.scenes import Scenes, digit_scenes, photograph_parts
from pioneers.data.sums import (
    check_sum,
    decode_sums,
    encode_sums,
    pupil_answers,
    sum_answer,
    sum_problems,
)
from pioneers.data.tasks import (
    Choice,
    code_words,
    docstring_packages,
    sentence_boundary_qa,
)
from pioneers.data.text import RandomWindows, split_text
from pioneers.data.token_files import TokenFile, corpus_tokens
from pioneers.data.translation import translation_pairs
from pioneers.data.truncation import (
    TruncatedPair,
    truncated_choice,
    truncated_classification,
    truncated_entailment,
    truncated_pairs,
    truncated_similarity,
)

__all__ = [
    "Answer",
    "AnswerTokens",
    "CaptionedDigits",
    "Choice",
    "Corpus",
    "Document",
    "ImageFolder",
    "ImageSet",
    "Instruction",
    "LabelledPair",
    "LabelledText",
    "LinearFunctions",
    "PairBatch",
    "Photographs",
    "Question",
    "RandomPairs",
    "RandomRows",
    "RandomWindows",
    "Record",
    "RegressionPrompts",
    "Scenes",
    "TaggedSentence",
    "TokenFile",
    "TruncatedPair",
    "bert_vocabulary",
    "captioned_digits",
    "check_sum",
    "cifar10",
    "code_words",
    "corpus_tokens",
    "decode_sums",
    "digit_captions",
    "digit_scenes",
    "digits",
    "docstring_packages",
    "documents",
    "encode_instructions",
    "encode_sums",
    "fashion_mnist",
    "fetch",
    "gpt2_encoder",
    "gpt2_merges",
    "image_arrays",
    "image_folder",
    "image_table",
    "imdb_reviews",
    "instructions",
    "is_table",
    "language_reference",
    "mnist",
    "mrpc",
    "multi30k",
    "photograph_parts",
    "photographs",
    "pupil_answers",
    "read_records",
    "sentence_boundary_qa",
    "split_text",
    "squad2",
    "sst2",
    "subj",
    "sum_answer",
    "sum_problems",
    "text_file",
    "tiny_shakespeare",
    "translation_pairs",
    "truncated_choice",
    "truncated_classification",
    "truncated_entailment",
    "truncated_pairs",
    "truncated_similarity",
    "ud_english_ewt",
]

"""Pioneering Transformers: the reference package of the book.

Five pioneers, one block: GPT, BERT, ViT, T5 and their families differ in their mask, their embeddings,
their objective and their head. Everything else is in :mod:`pioneers.layers`, once.
"""

__version__ = "0.1.0"

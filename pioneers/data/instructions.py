"""Instructions and answers: describe a function or class, in the first sentence of its docstring."""

import ast
import functools
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from pioneers.data.docstrings import SPLITS, definitions, documents, split_sentences
from pioneers.tokenizers import ByteLevelBPE

LONGEST = 100  # characters of an answer


class Instruction(NamedTuple):
    """What a model is asked and what it should answer.

    Attributes:
        prompt: such as ``"Describe shutil.copyfile:"``.
        answer: one sentence.
    """

    prompt: str
    answer: str


class AnswerTokens(NamedTuple):
    """Prompts and answers as tokens, a row each, padded on the right.

    Attributes:
        tokens: ids ``(B, L)``: a newline, the prompt, a newline, the answer, a newline, then padding.
        prompt_lengths: how many tokens come before the answer, ``(B,)``.
        lengths: how many come before the padding, ``(B,)``.
    """

    tokens: Tensor
    prompt_lengths: Tensor
    lengths: Tensor


def instructions(split: str) -> list[Instruction]:
    """Return instructions to describe a function or class of the standard library, with their answers.

    The answer is the first sentence of the docstring, of at most 100 characters, and in the same split as in
    :func:`documents`: a model pretrained on ``documents("train")`` has not read the answers of the other one.
    They differ a little between Python versions.

    Args:
        split: ``"train"``, or ``"test"`` for about a fifth.

    Raises:
        ValueError: there is no such split.

    Example:
        >>> dict(instructions("test"))["Describe shutil.rmtree:"]
        'Recursively delete a directory tree.'
    """
    if split not in SPLITS:
        raise ValueError(f"instructions has no split {split!r}; it has: {', '.join(SPLITS)}")
    return list(_instructions()[split])


@functools.cache
def _instructions() -> dict[str, list[Instruction]]:
    split_of = {
        sentence: split
        for split in SPLITS
        for document in documents(split)
        for sentence in document.sentences
    }
    found: dict[str, list[Instruction]] = {split: [] for split in SPLITS}
    asked = set()
    for package, node in definitions():
        sentences = split_sentences(ast.get_docstring(node) or "")
        if isinstance(node, ast.Module) or not sentences or node.name.startswith("_"):
            continue
        prompt, answer = f"Describe {package}.{node.name}:", sentences[0]
        usual = answer[0].isupper() and answer.endswith(".") and len(answer) <= LONGEST
        if usual and prompt not in asked and answer in split_of:
            found[split_of.pop(answer)].append(Instruction(prompt, answer))
            asked.add(prompt)
    return found


def encode_instructions(
    pairs: Sequence[Instruction], tokenizer: ByteLevelBPE, *, max_length: int = 60
) -> AnswerTokens:
    """Turn instructions and their answers into tokens; the newline after an answer says that it is over.

    Args:
        pairs: what was asked and answered; with empty answers, they are prompts to be continued.
        tokenizer: of the model.
        max_length: longer rows are cut off on the right.

    Raises:
        ValueError: a prompt alone is longer than ``max_length``.

    Example:
        >>> from pioneers.tokenizers import ByteLevelBPE
        >>> pairs = [Instruction("Say a:", "a"), Instruction("Say:", "no")]
        >>> found = encode_instructions(pairs, ByteLevelBPE([]))  # a token a byte
        >>> found.prompt_lengths, found.lengths
        (tensor([8, 6]), tensor([10,  9]))
    """
    end = tokenizer.encode("\n")
    prompts = [tokenizer.encode(f"\n{pair.prompt}\n") for pair in pairs]
    if (longest := max(map(len, prompts))) > max_length:
        raise ValueError(f"a prompt of {longest} tokens does not fit: max_length is {max_length}")
    answers = [tokenizer.encode(pair.answer) + end if pair.answer else [] for pair in pairs]
    rows = [(prompt + answer)[:max_length] for prompt, answer in zip(prompts, answers, strict=True)]
    width = max(map(len, rows))
    return AnswerTokens(
        torch.tensor([row + end * (width - len(row)) for row in rows]),
        torch.tensor([len(prompt) for prompt in prompts]),
        torch.tensor([len(row) for row in rows]),
    )

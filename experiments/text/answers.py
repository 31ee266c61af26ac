"""Answers of the stored GPT to instructions: sampled, judged by a reader, and compared by a model."""

import functools
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import torch
from torch import Tensor, nn

from pioneers import from_pretrained
from pioneers.data import AnswerTokens, Instruction, documents, encode_instructions, instructions
from pioneers.device import best_device
from pioneers.generation import generate
from pioneers.models import GPT
from pioneers.objectives import answer_mask, causal_lm, causal_lm_loss, sequence_log_probs, token_log_probs
from pioneers.weights import load_tokenizer

FOLDER = files("pioneers") / "weights" / "gpt_documents"
LONGEST = 24  # tokens of a prompt
EXCERPT = 20  # one in so many held-out documents measures the language model


@functools.cache
def tokenizer() -> Any:
    """The stored GPT's."""
    return load_tokenizer(FOLDER)


def stored_gpt() -> GPT:
    """The stored GPT, read anew."""
    return from_pretrained(FOLDER).to(best_device())


@functools.cache
def asked(split: str) -> tuple[Instruction, ...]:
    """The instructions of a split with short prompts, in a random order that is the same for every seed."""
    found = instructions(split)
    order = torch.randperm(len(found), generator=torch.Generator().manual_seed(0)).tolist()
    short = (found[i] for i in order if len(tokenizer().encode(f"\n{found[i].prompt}\n")) <= LONGEST)
    return tuple(short)


def encoded(pairs: Sequence[Instruction]) -> AnswerTokens:
    """Instructions as tokens, on the device."""
    return AnswerTokens(*(part.to(best_device()) for part in encode_instructions(pairs, tokenizer())))


@functools.cache
def prompts(split: str, count: int | None = None) -> AnswerTokens:
    """The first ``count`` prompts of a split, or all of them, without their answers."""
    return encoded([Instruction(one.prompt, "") for one in asked(split)[:count]])


def rows(data: Sequence[Tensor], chosen: Tensor) -> AnswerTokens:
    """Some rows of answers, without the padding that none of them needs."""
    tokens, prompt_lengths, lengths = (part[chosen] for part in data)
    return AnswerTokens(tokens[:, : int(lengths.max())], prompt_lengths, lengths)


def sample(model: GPT, asked: AnswerTokens, new_tokens: int, seed: int) -> AnswerTokens:
    """Continue prompts by at most ``new_tokens``; an answer ends with its first newline."""
    end = tokenizer().encode("\n")[0]
    width = LONGEST + new_tokens
    made = generate(
        model, asked.tokens, new_tokens, lengths=asked.prompt_lengths, stop_ids=[end], pad_id=end, seed=seed
    )
    padded = torch.full((len(made), width), end, device=made.device)
    padded[:, : made.shape[1]] = made
    place = torch.arange(width, device=made.device)
    stops = (padded == end) & (place >= asked.prompt_lengths[:, None])
    stops |= place >= asked.prompt_lengths[:, None] + new_tokens - 1  # the budget is spent
    return AnswerTokens(padded, asked.prompt_lengths, stops.int().argmax(dim=1) + 1)


def texts(answers: AnswerTokens) -> list[str]:
    """The answers without their prompts, as text."""
    found = zip(*(part.tolist() for part in answers), strict=True)
    return [tokenizer().decode(ids[start:stop]).strip() for ids, start, stop in found]


def judge(answer: str) -> float:
    """What the reader thinks: the fewer words, the better, if there is a full stop at the end."""
    return -float(len(answer.split())) if answer.endswith(".") else -1000.0


def is_sentence(answer: str) -> bool:
    """Whether it may say something: three words or more, with a full stop."""
    return len(answer.split()) >= 3 and answer.endswith(".")


def wins(answers: Sequence[str], others: Sequence[str]) -> float:
    """How often an answer is better than the other one; a draw is half a win."""
    scores = [(judge(a), judge(b)) for a, b in zip(answers, others, strict=True)]
    return sum((a > b) + (a == b) / 2 for a, b in scores) / len(scores)


def preferred(first: AnswerTokens, second: AnswerTokens) -> tuple[AnswerTokens, AnswerTokens]:
    """The chosen and the rejected answer of each pair; pairs that the reader cannot decide are left out."""
    both = zip(texts(first), texts(second), strict=True)
    better = torch.tensor([judge(a) - judge(b) for a, b in both], device=first.tokens.device)
    decided = better != 0
    winner = (better < 0).long()
    row = torch.arange(len(winner), device=winner.device)

    def pick(which: Tensor) -> AnswerTokens:
        stacked = (torch.stack(parts) for parts in zip(first, second, strict=True))
        return AnswerTokens(*(part[which, row][decided] for part in stacked))

    return pick(winner), pick(1 - winner)


def log_probs(model: nn.Module, answers: AnswerTokens) -> tuple[Tensor, Tensor]:
    """The log-probability of each token that follows another, and which belong to the answer; ``(B, T)``."""
    input_ids, targets = causal_lm(answers.tokens)
    mask = answer_mask(answers.prompt_lengths, answers.lengths, targets.shape[1])
    return token_log_probs(model(input_ids).float(), targets), mask


def answer_log_probs(model: nn.Module, answers: AnswerTokens) -> Tensor:
    """The log-probability of each answer, ``(B,)``."""
    input_ids, targets = causal_lm(answers.tokens)
    mask = answer_mask(answers.prompt_lengths, answers.lengths, targets.shape[1])
    return sequence_log_probs(model(input_ids).float(), targets, mask)


def last_scores(scorer: nn.Module, answers: AnswerTokens) -> Tensor:
    """A scorer's number at the last token of each answer, ``(B,)``."""
    return scorer(answers.tokens).gather(1, answers.lengths[:, None] - 1)[:, 0].float()


def answer_loss(model: nn.Module, answers: AnswerTokens) -> Tensor:
    """The language model's loss on the tokens of the answers alone."""
    input_ids, targets = causal_lm(answers.tokens)
    mask = answer_mask(answers.prompt_lengths, answers.lengths, targets.shape[1])
    return causal_lm_loss(model(input_ids), targets.where(mask, -100))


@functools.cache
def windows() -> Tensor:
    """Held-out text, ``(R, 129)``."""
    text = "\n\n".join(" ".join(document.sentences) for document in documents("test")[::EXCERPT])
    ids = torch.tensor(tokenizer().encode(text), device=best_device())
    return ids[: len(ids) // 129 * 129].view(-1, 129)


@torch.inference_mode()
def text_loss(model: nn.Module) -> float:
    """The language model's loss on held-out text, in nats per token."""
    input_ids, targets = causal_lm(windows())
    return causal_lm_loss(model(input_ids), targets).item()

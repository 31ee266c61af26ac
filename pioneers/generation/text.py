"""From a prompt to texts, with the tokenizer in between."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import torch

from pioneers.generation.next_token import LanguageModel
from pioneers.generation.stream import Spells, spell, stream


class TextTokenizer(Spells, Protocol):
    """A tokenizer from texts to ids and from ids to bytes, as the byte-level ones are."""

    @property
    def special_ids(self) -> Mapping[str, int]:
        """The ids of special tokens, by name."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""


def stream_text(
    model: LanguageModel,
    tokenizer: TextTokenizer,
    prompt: str,
    max_new_tokens: int,
    *,
    stop: Sequence[str] = (),
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
) -> Iterator[str]:
    """The continuation of a prompt, piece by piece, as soon as each is certain: whole characters only.

    It ends before a special token and before a ``stop`` text, and may be longer than the model's context: see
    :func:`generate`.

    Args:
        model: a language model in eval mode.
        tokenizer: the model's, a byte-level one.
        prompt: what to continue.
        max_new_tokens: longest continuation, in tokens.
        stop: texts that end it; see :func:`spell`.
        temperature: see :func:`filter_logits`.
        top_k: see :func:`filter_logits`; 1 is greedy decoding.
        top_p: see :func:`filter_logits`.
        seed: the same seed draws the same text.

    Raises:
        ValueError: the prompt is empty, the model is in training mode, or an argument of
            :func:`filter_logits` is out of range.

    Example:
        >>> from pioneers.models import GPT, GPTConfig
        >>> from pioneers.tokenizers import ByteLevelBPE
        >>> model, tokenizer = GPT(GPTConfig.preset("mini", vocab_size=256)).eval(), ByteLevelBPE([])
        >>> pieces = stream_text(model, tokenizer, "Once", 300, stop=["\\n"])
        >>> "\\n" in "".join(pieces)
        False
    """
    ids = tokenizer.encode(prompt)
    if not ids:
        raise ValueError("the prompt is empty: give the model a few words to continue")
    special = set(tokenizer.special_ids.values())
    tokens = stream(
        model,
        torch.tensor([ids], device=next(model.lm_head.parameters()).device),
        max_new_tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
        stop_ids=list(special),
    )
    return spell((token for token in tokens if token not in special), tokenizer, stop=stop)


def generate_text(
    model: LanguageModel,
    tokenizer: TextTokenizer,
    prompt: str,
    max_new_tokens: int,
    *,
    num_samples: int = 1,
    stop: Sequence[str] = (),
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
) -> list[str]:
    """Several texts that begin with the same prompt, each drawn with a seed of its own, from ``seed`` on.

    Args:
        model: as in :func:`stream_text`, like all that is not here.
        tokenizer: the model's.
        prompt: what to continue; each text begins with it.
        max_new_tokens: longest continuation, in tokens.
        num_samples: number of texts.
        stop: texts that end one.
        temperature: see :func:`filter_logits`.
        top_k: see :func:`filter_logits`; 1 is greedy decoding.
        top_p: see :func:`filter_logits`.
        seed: of the first text; the next has ``seed + 1``.

    Example:
        >>> from pioneers.models import GPT, GPTConfig
        >>> from pioneers.tokenizers import ByteLevelBPE
        >>> model, tokenizer = GPT(GPTConfig.preset("mini", vocab_size=256)).eval(), ByteLevelBPE([])
        >>> [text[:4] for text in generate_text(model, tokenizer, "Once", 5, num_samples=2)]
        ['Once', 'Once']
    """
    texts = (
        stream_text(
            model,
            tokenizer,
            prompt,
            max_new_tokens,
            stop=stop,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed + number,
        )
        for number in range(num_samples)
    )
    return [prompt + "".join(pieces) for pieces in texts]

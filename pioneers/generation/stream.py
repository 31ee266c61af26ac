"""Generation as it happens: tokens one by one, and the text they spell."""

import codecs
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import torch
from torch import Tensor

from pioneers.generation.next_token import Decoder, LanguageModel, check
from pioneers.generation.sampling import sampler


class Spells(Protocol):
    """A tokenizer that turns token ids into bytes, as the byte-level ones do."""

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of token ids."""


def stream(
    model: LanguageModel,
    input_ids: Tensor,
    max_new_tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
    stop_ids: Sequence[int] = (),
) -> Iterator[int]:
    """The tokens that :func:`generate` draws for one prompt, with the cache, each as soon as it is drawn.

    Beyond the context the model reads the end of the text, as there.

    Args:
        model: a language model in eval mode.
        input_ids: the prompt ``(1, T)``, T ≥ 1, on the model's device.
        max_new_tokens: longest continuation.
        temperature: see :func:`filter_logits`.
        top_k: see :func:`filter_logits`; 1 is greedy decoding.
        top_p: see :func:`filter_logits`.
        seed: the same seed draws the same tokens.
        stop_ids: the first of these tokens that is drawn is the last one.

    Raises:
        ValueError: there is not exactly one prompt, it is empty, the model is in training mode, or an
            argument of :func:`filter_logits` is out of range.
    """
    check(model, input_ids)
    if len(input_ids) != 1:
        raise ValueError(f"stream continues one prompt (1, T), not {len(input_ids)}; for more use generate")
    device = input_ids.device
    draw = sampler(temperature=temperature, top_k=top_k, top_p=top_p, seed=seed, device=device)
    return _drawn(Decoder.for_lm(model, use_cache=True), draw, input_ids, max_new_tokens, stop_ids)


def spell(tokens: Iterable[int], tokenizer: Spells, *, stop: Sequence[str] = ()) -> Iterator[str]:
    """The text of tokens, piece by piece, as soon as it is certain.

    A character whose bytes come in several tokens is given when its last byte has come. The text ends before
    the first occurrence of one of the ``stop`` texts; what may become one is held back until it is decided.

    Args:
        tokens: token ids, for instance from :func:`stream`.
        tokenizer: what they were made with.
        stop: texts that end it.

    Example:
        >>> from pioneers.tokenizers import ByteLevelBPE
        >>> tokenizer = ByteLevelBPE([])
        >>> list(spell(tokenizer.encode("né. end"), tokenizer, stop=[". e"]))
        ['n', 'é']
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    text = ""
    for token in tokens:
        text += decoder.decode(tokenizer.decode_bytes([token]))
        ends = [text.index(word) for word in stop if word in text]
        if ends:
            yield from filter(None, [text[: min(ends)]])
            return
        held = max(
            (len(part) for word in stop for part in _beginnings(word) if text.endswith(part)), default=0
        )
        ready, text = text[: len(text) - held], text[len(text) - held :]
        yield from filter(None, [ready])
    yield from filter(None, [text + decoder.decode(b"", final=True)])


@torch.no_grad()
def _drawn(
    next_token: Decoder,
    draw: Callable[[Tensor], Tensor],
    input_ids: Tensor,
    max_new_tokens: int,
    stop_ids: Sequence[int],
) -> Iterator[int]:
    for _ in range(max_new_tokens):
        drawn = draw(next_token(input_ids))
        yield int(drawn)
        if int(drawn) in stop_ids:
            break
        input_ids = torch.cat([input_ids, drawn[:, None]], dim=1)


def _beginnings(word: str) -> list[str]:
    return [word[:length] for length in range(1, len(word))]

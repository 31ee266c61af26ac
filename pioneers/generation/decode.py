"""Token-by-token generation. Without a cache it is the oracle; with one, the default, it is fast."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from pioneers.generation.beam import beam_loop
from pioneers.generation.next_token import (
    Decoder,
    EncoderDecoder,
    LanguageModel,
    check,
)
from pioneers.generation.sampling import sampler
from pioneers.progress import progress


@torch.no_grad()
def generate(
    model: LanguageModel,
    input_ids: Tensor,
    max_new_tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
    use_cache: bool = True,
    lengths: Tensor | None = None,
    stop_ids: Sequence[int] = (),
    pad_id: int = 0,
    slide: int | None = None,
) -> Tensor:
    """Continue each prompt by at most ``max_new_tokens`` tokens; returns ``(B, ≤ T + max_new_tokens)``.

    A row that has reached its end is filled up with ``pad_id``; when all have, generation is over. The bar
    that shows progress is silent where the environment variable ``TQDM_DISABLE`` is set. For several samples
    of one prompt repeat it: ``prompt.repeat(5, 1)``. :func:`generate_text` does that with texts, and knows
    stop texts.

    A text may become longer than the model's context of ``max_seq_len`` tokens. The model then reads the end
    of it: each time the context is full, its first ``slide`` tokens are left behind and the others are read
    again, with new positions, for the keys and values in the cache belong to the old ones. A model without
    ``max_seq_len`` (None), such as one with ALiBi, always reads everything.

    Args:
        model: a language model in eval mode, such as :class:`pioneers.models.GPT`.
        input_ids: prompts ``(B, T)``, T ≥ 1, on the model's device.
        temperature: see :func:`filter_logits`.
        top_k: see :func:`filter_logits`; 1 is greedy decoding.
        top_p: see :func:`filter_logits`.
        seed: the same seed draws the same tokens, with and without the cache.
        use_cache: process only the newest token at each step and take the keys and values of the earlier ones
            from the cache. Without it every step runs the whole sequence again.
        lengths: number of real tokens ``(B,)`` of each prompt, when they are unequal and padded on the right.
            What is common to all lengths is read at once, the rest token by token, and no padding is ever
            read: greedy decoding continues each prompt as it would alone.
        stop_ids: a row ends with the first of these tokens that it generates.
        pad_id: fills rows up.
        slide: tokens left behind at a time, a quarter of the context when left out, so that the model always
            reads at least the last three quarters. With 1 it reads as much as it can, and all of that again
            for every token.

    Raises:
        ValueError: the prompt is empty, a length is not within it, the model is in training mode, or
            ``slide`` or an argument of :func:`filter_logits` is out of range.

    Example:
        >>> from pioneers.models import GPT, GPTConfig
        >>> model, prompts = GPT(GPTConfig.preset("mini")).eval(), torch.zeros(2, 3, dtype=torch.long)
        >>> generate(model, prompts, max_new_tokens=5, top_p=0.9).shape
        torch.Size([2, 8])
    """
    check(model, input_ids)
    device = input_ids.device
    draw = sampler(temperature=temperature, top_k=top_k, top_p=top_p, seed=seed, device=device)
    with torch.inference_mode():
        next_token = Decoder.for_lm(model, use_cache=use_cache, slide=slide)
        tokens = _decode(next_token, draw, input_ids, max_new_tokens, lengths, stop_ids, pad_id)
    return tokens.clone()  # an ordinary tensor, which may be trained on


@torch.no_grad()
def translate(
    model: EncoderDecoder,
    source_ids: Tensor,
    max_new_tokens: int,
    *,
    start_id: int,
    stop_id: int,
    mask: Tensor | None = None,
    num_beams: int = 1,
    alpha: float = 0.6,
    pad_id: int = 0,
    use_cache: bool = True,
) -> Tensor:
    """The most likely target of each source, by greedy decoding or beam search: ``(B, ≤ max_new_tokens)``.

    Args:
        model: an encoder–decoder in eval mode, such as :class:`pioneers.models.Transformer`.
        source_ids: ``(B, S)``, on the model's device.
        max_new_tokens: longest target.
        start_id: what the decoder reads first; it is not part of the result.
        stop_id: what a target ends with; behind it the row is filled up with ``pad_id``.
        mask: which tokens of the sources are real, from :func:`pioneers.layers.padding_mask`; all when left
            out.
        num_beams: 1 is greedy decoding; more is :func:`beam_search`.
        alpha: length penalty of the beam search.
        pad_id: fills rows up.
        use_cache: compute only the newest token at each step, and the memory's keys and values once.

    Raises:
        ValueError: the model is in training mode, a source is or the target would be longer than the model's
            ``max_seq_len``, or an argument of the beam search is out of range.

    Example:
        >>> from pioneers.models import Transformer, TransformerConfig
        >>> sizes = {"vocab_size": 11, "max_seq_len": 7, "d_model": 6, "d_ff": 8}
        >>> model = Transformer(TransformerConfig(**sizes, num_layers=1, num_heads=2)).eval()
        >>> translate(model, torch.zeros(2, 5, dtype=torch.long), 4, start_id=1, stop_id=2).shape[1] <= 4
        True
    """
    start = source_ids.new_full((len(source_ids), 1), start_id)
    check(model, start)
    if max_new_tokens >= model.config.max_seq_len:
        raise ValueError(
            f"start token and target together are {1 + max_new_tokens} tokens and the model has "
            f"max_seq_len={model.config.max_seq_len}: generate fewer tokens"
        )
    next_token = Decoder.for_seq2seq(model, source_ids, mask=mask, repeats=num_beams, use_cache=use_cache)
    if num_beams == 1:
        best = _decode(
            next_token, lambda logits: logits.argmax(-1), start, max_new_tokens, None, [stop_id], pad_id
        )
    else:
        best, _ = beam_loop(
            next_token,
            start,
            max_new_tokens,
            num_beams=num_beams,
            alpha=alpha,
            stop_id=stop_id,
            pad_id=pad_id,
        )
    return best[:, 1:]


def _decode(
    next_token: Decoder,
    draw: Callable[[Tensor], Tensor],
    prompts: Tensor,
    max_new_tokens: int,
    lengths: Tensor | None,
    stop_ids: Sequence[int],
    pad_id: int,
) -> Tensor:
    """Extend rows token by token: those of their prompt first, then those drawn, then padding."""
    batch, longest = prompts.shape
    lengths = torch.full_like(prompts[:, 0], longest) if lengths is None else lengths.to(prompts.device)
    if int(lengths.min()) < 1 or int(lengths.max()) > longest:
        raise ValueError(f"lengths must lie between 1 and T={longest}, got {lengths.tolist()}")
    ends = lengths + max_new_tokens
    stops = torch.tensor(list(stop_ids), dtype=prompts.dtype, device=prompts.device)
    places = range(int(lengths.min()), int(ends.max()))
    tokens = torch.cat([prompts, prompts.new_full((batch, max_new_tokens), pad_id)], dim=1)
    tokens = tokens.masked_fill(
        torch.arange(tokens.shape[1], device=tokens.device) >= lengths[:, None], pad_id
    )
    for place in progress(places, desc="tokens", leave=False):
        drawn = draw(next_token(tokens[:, :place]))
        growing = (place >= lengths) & (place < ends)
        tokens[:, place] = torch.where(growing, drawn, tokens[:, place])
        if len(stops):
            ends = torch.where(growing & torch.isin(drawn, stops), place + 1, ends)
            if place + 1 >= int(ends.max()):
                break
    return tokens[:, : int(ends.max())]

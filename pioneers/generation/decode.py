"""Token-by-token generation: the naive loop, which is the oracle, and the cached one, which is fast."""

from typing import Any, Protocol

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from pioneers.generation.sampling import filter_logits, sample
from pioneers.layers import KVCache


class LanguageModel(Protocol):
    """What generation needs of a model: GPT has it."""

    config: Any
    training: bool
    lm_head: nn.Module

    def hidden_states(self, input_ids: Tensor, *, caches: list[KVCache] | None = None) -> Tensor:
        """Ids (B, T) → (B, T, D)."""

    def new_caches(self) -> list[KVCache]:
        """Empty caches."""


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
) -> Tensor:
    """Continue each prompt by ``max_new_tokens`` tokens; returns ``(B, T + max_new_tokens)``.

    Args:
        model: a language model in eval mode, such as :class:`pioneers.models.GPT`.
        input_ids: prompts of equal length ``(B, T)``, T ≥ 1, on the model's device.
        temperature, top_k, top_p: see :func:`filter_logits`; ``top_k=1`` is greedy decoding.
        seed: the same seed draws the same tokens, with and without the cache.
        use_cache: process only the newest token at each step and take the keys and values of the earlier ones
            from the cache. Without it every step runs the whole sequence again.

    Raises:
        ValueError: the prompt is empty, the model is in training mode, or the result would be longer than
            the model's ``max_seq_len``.
    """
    if input_ids.ndim != 2 or input_ids.shape[1] == 0:
        raise ValueError(f"input_ids must be (B, T) with at least one token, got {tuple(input_ids.shape)}")
    length = input_ids.shape[1] + max_new_tokens
    if length > model.config.max_seq_len:
        raise ValueError(
            f"prompt and continuation together are {length} tokens and the model has "
            f"max_seq_len={model.config.max_seq_len}: shorten the prompt or generate fewer tokens"
        )
    if model.training:
        raise ValueError("the model is in training mode, where dropout is random: call model.eval() first")
    generator = torch.Generator(device=input_ids.device).manual_seed(seed)
    caches = model.new_caches() if use_cache else None
    newest = input_ids
    for _ in tqdm(range(max_new_tokens), desc="tokens", leave=False):
        hidden = model.hidden_states(newest, caches=caches) if use_cache else model.hidden_states(input_ids)
        logits = filter_logits(
            model.lm_head(hidden[:, -1]), temperature=temperature, top_k=top_k, top_p=top_p
        )
        newest = sample(logits, generator=generator)
        input_ids = torch.cat([input_ids, newest], dim=1)
    return input_ids

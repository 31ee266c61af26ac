"""Exercise 5.2: what enters BERT, the normalised sum of three embeddings.

``tokens`` is (V, D), ``positions`` (T_max, D), ``segments`` (2, D); ``gain`` and ``bias`` are (D,).
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pioneers import layers
from pioneers.checks.draw import normals
from pioneers.checks.exercise import Exercise, Mistake, Probe, Property, Run

EPS = 1e-12
Sum = Callable[[Tensor, Tensor, Tensor], Tensor]
Norm = Callable[[Tensor, Tensor, Tensor], Tensor]


def _norm(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    return layers.layer_norm(x, gain, bias, eps=EPS)


def embed(
    add: Sum = lambda token, position, segment: token + position + segment,
    norm: Norm = _norm,
    first: int = 0,
    other: bool = False,
) -> Callable[..., Tensor]:
    """Embeddings with another sum or norm, positions counted from ``first``, or segments exchanged."""

    def embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias) -> Tensor:
        T = input_ids.shape[1]
        segment = segments[1 - segment_ids if other else segment_ids]
        return norm(add(tokens[input_ids], positions[first : first + T], segment), gain, bias)

    return embedding


def _embedding_probes() -> list[Probe]:
    normal = normals(521)

    def probe(
        name: str,
        ids: list[list[int]],
        segments: list[list[int]],
        D: int,
        strided: bool = False,
        size: float = 1.0,
        dtype=torch.float32,
    ) -> Probe:
        args = {"tokens": size * normal(13, D), "positions": size * normal(7, D)}
        args |= {"segments": size * normal(2, D), "gain": normal(D) + 1, "bias": normal(D)}
        given = {"input_ids": torch.tensor(ids), "segment_ids": torch.tensor(segments)}
        return Probe(name, given | {name: x.to(dtype) for name, x in args.items()}, strided)

    ids, segments = [[2, 7, 3, 9, 3], [2, 7, 7, 3, 0]], [[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]]
    return [
        probe("two rows of five tokens", ids, segments, 11),
        probe("a batch of one, a row as long as the table", [[2, 5, 5, 3, 5, 11, 3]], [[0] * 4 + [1] * 3], 5),
        probe("very small embeddings", ids, segments, 7, size=1e-3),
        probe("double precision", ids, segments, 3, dtype=torch.float64),
        probe("numbers with gaps in memory", ids, segments, 11, strided=True),
    ]


def _each_by_itself(run: Run) -> tuple[Tensor, Tensor]:
    probe = _embedding_probes()[0]
    short = {name: probe.args[name][:, :3] for name in ("input_ids", "segment_ids")}
    return run(probe).tensor[:, :3], run(probe.having("law", **short)).tensor


def _over_row(x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    mean = x.mean((-2, -1), keepdim=True)
    variance = x.var((-2, -1), keepdim=True, unbiased=False)
    return gain * (x - mean) / (variance + EPS).sqrt() + bias


def _scaled_tokens(token: Tensor, position: Tensor, segment: Tensor) -> Tensor:
    return token * token.shape[-1] ** 0.5 + position + segment


def _normed_apart(input_ids, segment_ids, tokens, positions, segments, gain, bias) -> Tensor:
    parts = (tokens[input_ids], positions[: input_ids.shape[1]], segments[segment_ids])
    token, position, segment = (_norm(part, gain, bias) for part in parts)
    return token + position + segment


def _tokens_normed(input_ids, segment_ids, tokens, positions, segments, gain, bias) -> Tensor:
    return _norm(tokens[input_ids], gain, bias) + positions[: input_ids.shape[1]] + segments[segment_ids]


def _by_token(input_ids, segment_ids, tokens, positions, segments, gain, bias) -> Tensor:
    return _norm(tokens[input_ids] + positions[input_ids] + segments[segment_ids], gain, bias)


NORMED_FIRST = (
    "normalised before the sum",
    "There is one LayerNorm, and it stands behind the sum of the three.",
)
MISTAKES = (
    Mistake(
        "segments forgotten",
        "Without its segment a token does not know to which of the two texts it belongs.",
        embed(lambda token, position, segment: token + position),
    ),
    Mistake(
        "positions forgotten",
        "Without positions BERT reads a bag of tokens: attention does not see their order.",
        embed(lambda token, position, segment: token + segment),
    ),
    Mistake(
        "positions looked up by token",
        "The place t picks the row of the position table, whatever token stands there.",
        _by_token,
    ),
    Mistake(
        "not normalised",
        "A LayerNorm stands behind the sum: the first block reads normalised vectors.",
        embed(norm=lambda x, gain, bias: x),
    ),
    Mistake(*NORMED_FIRST, _normed_apart),
    Mistake(*NORMED_FIRST, _tokens_normed),
    Mistake(
        "an epsilon of 1e-5",
        "BERT's LayerNorm has ε = 1e-12, and the default of PyTorch's is 1e-5: small vectors shrink.",
        embed(norm=lambda x, gain, bias: layers.layer_norm(x, gain, bias, eps=1e-5)),
    ),
    Mistake(
        "normalised over the whole row",
        "Each token is normalised by itself, over its D components.",
        embed(norm=_over_row),
    ),
    Mistake(
        "gain and bias forgotten",
        "The normalised vector is multiplied by the learned gain, and the learned bias is added.",
        embed(norm=lambda x, gain, bias: _norm(x, torch.ones_like(gain), torch.zeros_like(bias))),
    ),
    Mistake(
        "tokens scaled by √D",
        "That is the first Transformer, which added sinusoids; BERT adds the three vectors as they are.",
        embed(_scaled_tokens),
    ),
    Mistake(
        "segments exchanged",
        "Segment 0 has row 0 of the table, segment 1 row 1.",
        embed(other=True),
    ),
)

EXERCISES = (
    Exercise(
        key="5.2",
        name="bert_embedding",
        parameters=("input_ids", "segment_ids", "tokens", "positions", "segments", "gain", "bias"),
        points=8,
        section="sec-bert-inputs",
        equation="eq-bert-embedding",
        reference=embed(),
        probes=_embedding_probes,
        mistakes=MISTAKES,
        properties=(
            Property(
                "a token's vector does not depend on what follows it",
                "It is made of the token, its place and its segment; its surroundings come in the blocks.",
                _each_by_itself,
            ),
        ),
    ),
)

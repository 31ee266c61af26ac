"""Exercise 5.2: what enters BERT, the normalised sum of three embeddings.

``tokens`` is (V, D), ``positions`` (T_max, D), ``segments`` (2, D); ``gain`` and ``bias`` are (D,).
"""

import torch

from pioneers.checks.building import exercise
from pioneers.checks.symptoms import wrong_on

ANSWER = '''
def bert_embedding(
    input_ids: Tensor,
    segment_ids: Tensor,
    tokens: Tensor,
    positions: Tensor,
    segments: Tensor,
    gain: Tensor,
    bias: Tensor,
) -> Tensor:
    """The normalised sum (B, T, D) of token,
    position and segment vectors."""
    x = tokens[input_ids] + positions[: input_ids.shape[1]] + segments[segment_ids]
    return F.layer_norm(x, gain.shape, gain, bias, 1e-12)
'''
ex = exercise(
    "5.2", ANSWER, points=8, minutes=8, difficulty=1, reread="sec-bert-inputs", equation="eq-bert-embedding"
)

IDS, SEGMENTS = [[2, 7, 3, 9, 3], [2, 7, 7, 3, 0]], [[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]]


@ex.maker
def tables(normal, D, rows=(13, 7), size=1.0, dtype=torch.float32, input_ids=IDS, segment_ids=SEGMENTS):
    """The vectors are small or large by ``size``; the gain is near 1."""
    V, T_max = rows
    args = {
        "tokens": size * normal(V, D),
        "positions": size * normal(T_max, D),
        "segments": size * normal(2, D),
    }
    args |= {"gain": normal(D) + 1, "bias": normal(D)}
    args = {name: x.to(dtype) for name, x in args.items()}
    return {"input_ids": input_ids, "segment_ids": segment_ids, **args}


ex.probe("two rows of five tokens", D=11)
ex.probe(
    "a batch of one, a row as long as the table", D=5, input_ids=[[2, 5, 5, 3, 5, 11, 3]],
    segment_ids=[[0] * 4 + [1] * 3],
)
ex.probe("very small embeddings", D=7, size=1e-3)
ex.probe("double precision", D=3, dtype=torch.float64)
ex.probe("numbers with gaps in memory", D=11, strided=True)
LARGE = {"input_ids": [[3, 3, 8, 8, 1, 14, 3]], "segment_ids": [[0, 0, 1, 1, 0, 1, 0]]}
SMALL = {"input_ids": [[3, 12, 8], [0, 5, 11]], "segment_ids": [[0, 1, 1], [0, 0, 1]]}
ex.hidden(
    "a single token in each row", D=7, rows=(17, 11), input_ids=[[16], [0], [9]], segment_ids=[[1], [0], [1]],
)
ex.hidden("large embeddings", D=13, rows=(17, 11), size=50.0, **LARGE)
ex.hidden("small embeddings", D=5, rows=(17, 11), size=3e-4, **SMALL)
TINY = "embeddings of a millionth"
ex.hidden(TINY, D=7, rows=(17, 11), size=1e-6, **SMALL)


@ex.law(
    "a token's vector does not depend on what follows it",
    "It is made of the token, its place and its segment; its surroundings come in the blocks.",
)
def each_by_itself(run, probe):
    short = {name: probe.args[name][:, :3] for name in ("input_ids", "segment_ids")}
    return run(probe)[:, :3], run(probe.having("law", **short))


POSITION, SEGMENT = " + positions[: input_ids.shape[1]]", " + segments[segment_ids]"
NORM = "F.layer_norm(x, gain.shape, gain, bias, 1e-12)"
ex.wrong(
    "segments forgotten",
    "Without its segment a token does not know to which of the two texts it belongs.",
    (SEGMENT, ""), believes="the segments are only needed for pairs",
)
ex.wrong(
    "positions forgotten",
    "Without positions BERT reads a bag of tokens: attention does not see their order.",
    (POSITION, ""), believes="attention knows the order",
)
ex.wrong(
    "positions looked up by token",
    "The place t picks the row of the position table, whatever token stands there.",
    (POSITION, " + positions[input_ids]"), believes="every table is looked up alike",
)
ex.wrong(
    "not normalised",
    "A LayerNorm stands behind the sum: the first block reads normalised vectors.",
    (NORM, "x"), believes="the sum is all there is to it",
)
ex.wrong(
    "normalised before the sum",
    "There is one LayerNorm, and it stands behind the sum of the three.",
    [("x = tokens[input_ids]", "parts = (tokens[input_ids]"), (POSITION, "," + POSITION[2:]),
     (SEGMENT, "," + SEGMENT[2:] + ")"), (NORM, f"sum({NORM.replace('x', 'part')} for part in parts)")],
    [(POSITION + SEGMENT, ""), (NORM, NORM + POSITION + SEGMENT)],
    believes="each table is normalised for itself",
)
ex.wrong(
    "another epsilon",
    "BERT's LayerNorm has ε = 1e-12, and the default of PyTorch's is 1e-5: small vectors shrink.",
    (", 1e-12", ""), ("1e-12", "1e-6"), ("1e-12", "1e-8"), believes="the default of LayerNorm will do",
)
ex.wrong(
    "eps outside the root",
    "ε is added to the variance, under the root: it is there to keep the root from 0.",
    (NORM, "(x - x.mean(-1, keepdim=True)) / (x.std(-1, False, keepdim=True) + 1e-12) * gain + bias"),
    (NORM, "(x - x.mean(-1, keepdim=True)) / x.std(-1, False, keepdim=True) * gain + bias"),
    believes="an epsilon is added to the denominator", shows=wrong_on(TINY), section="sec-layernorm",
    equation="eq-layernorm",
)
ex.wrong(
    "normalised over the whole row",
    "Each token is normalised by itself, over its D components.",
    (NORM, "F.layer_norm(x, x.shape[1:], eps=1e-12) * gain + bias"),
    believes="a norm runs over the whole row",
)
ex.wrong(
    "gain and bias forgotten",
    "The normalised vector is multiplied by the learned gain, and the learned bias is added.",
    ("gain, bias, 1e-12", "eps=1e-12"), believes="the norm has no parameters of its own",
)
ex.wrong(
    "tokens scaled by √D",
    "That is the first Transformer, which added sinusoids; BERT adds the three vectors as they are.",
    ("tokens[input_ids]", "tokens[input_ids] * math.sqrt(tokens.shape[1])"),
    believes="the embedding is scaled, as in the first Transformer",
)
ex.wrong(
    "segments exchanged",
    "Segment 0 has row 0 of the table, segment 1 row 1.",
    ("segments[segment_ids]", "segments[1 - segment_ids]"), believes="the first text is number 1",
)
ex.wrong(
    "the wrong rows of the position table",
    "Positions count from 0: the first T rows of the table.",
    ("positions[: input_ids.shape[1]]", "positions[-input_ids.shape[1] :]"),
    ("positions[: input_ids.shape[1]]", "positions.roll(-1, 0)[: input_ids.shape[1]]"),
    believes="positions count from 1, or from the end",
)
ex.wrong(
    "positions counted from 1",
    "Positions count from 0: row 1 belongs to the second token, and for a full row there is no row T.",
    ("positions[: input_ids.shape[1]]", "positions[1 : input_ids.shape[1] + 1]"),
    believes="positions count from 1",
    shows=lambda symptom: symptom.stage == "runs" and "must match" in symptom.case.outcome.error,
)
ex.wrong(
    "variance divided by D - 1",
    "torch.var and torch.std divide by D - 1 unless told otherwise: LayerNorm divides by D.",
    ("F.layer_norm(x, gain.shape, gain, bias, 1e-12)",
     "(x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-12).sqrt() * gain + bias"),
    believes="torch.var is the variance", section="sec-layernorm", equation="eq-layernorm",
)

ex.right(
    "the norm written out",
    source="""
def bert_embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias):
    x = F.embedding(input_ids, tokens) + F.embedding(segment_ids, segments) + positions[: input_ids.shape[1]]
    x = x - x.mean(-1, keepdim=True)
    return gain * x * (x.square().mean(-1, keepdim=True) + 1e-12).rsqrt() + bias
""",
)
ex.right(
    "one-hot vectors times tables",
    source="""
def bert_embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias):
    x = F.one_hot(input_ids, len(tokens)).to(tokens.dtype) @ tokens
    x = x + F.one_hot(segment_ids, 2).to(tokens.dtype) @ segments
    at = torch.arange(input_ids.shape[1], device=input_ids.device)
    return F.layer_norm(x + positions[at], gain.shape, gain, bias, 1e-12)
""",
)
ex.right("index_select, var_mean", source='''
def bert_embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias):
    B, T = input_ids.shape
    x = tokens.index_select(0, input_ids.flatten()) + segments.index_select(0, segment_ids.flatten())
    x = x.reshape(B, T, -1) + positions.narrow(0, 0, T)
    var, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return (x - mean) / torch.sqrt(var + 1e-12) * gain + bias
''')
ex.right("row by row", source='''
def bert_embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias):
    rows = []
    for ids, kinds in zip(input_ids, segment_ids):
        rows.append(tokens[ids] + segments[kinds] + positions[: len(ids)])
    return F.layer_norm(torch.stack(rows), (len(gain),), weight=gain, bias=bias, eps=1e-12)
''')
ex.right("token by token, filled in", source='''
def bert_embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias):
    x = tokens.new_empty(*input_ids.shape, tokens.shape[1])
    for b, (ids, kinds) in enumerate(zip(input_ids.tolist(), segment_ids.tolist())):
        for t, (i, s) in enumerate(zip(ids, kinds)):
            v = tokens[i] + positions[t] + segments[s]
            v = v - v.mean()
            x[b, t] = v / (torch.dot(v, v) / len(v) + 1e-12) ** 0.5
    return x * gain + bias
''')
ex.right("a layer without parameters", source='''
def bert_embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias):
    norm = torch.nn.LayerNorm(tokens.shape[-1], eps=1e-12, elementwise_affine=False)
    T = input_ids.size(1)
    x = positions[:T].expand(len(input_ids), T, -1).clone()
    x += F.embedding(input_ids, tokens)
    x += F.embedding(segment_ids, segments)
    return torch.addcmul(bias, norm(x), gain)
''')
ex.right("one table for all three", source='''
def bert_embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias):
    V, at = len(tokens), torch.arange(input_ids.shape[1], device=input_ids.device)
    table = torch.cat((tokens, segments, positions))
    places = torch.stack((input_ids, segment_ids + V, (at + V + 2).expand_as(input_ids)))
    return F.layer_norm(table[places].sum(0), table.shape[1:], gain, bias, 1e-12)
''')
ex.right("segments by where, means by einsum", source='''
def bert_embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias):
    D, T = tokens.shape[1], input_ids.shape[1]

    def mean(x):
        return torch.einsum("btd->bt", x)[..., None] / D

    second = (segment_ids == 1).unsqueeze(-1)
    x = torch.where(second, segments[1], segments[0]) + tokens[input_ids] + positions[None, :T]
    x = x - mean(x)
    return x / (mean(x * x) + 1e-12).sqrt() * gain + bias
''')

"""Exercise 5.7: one label for a whole text, from [CLS] through the pooler. Vectors are rows."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def class_logits(
    hidden: Tensor,
    w_pool: Tensor,
    b_pool: Tensor,
    w_out: Tensor,
    b_out: Tensor,
) -> Tensor:
    """Logits (B, C) of the labels, from the vectors (B, T, D) of a BERT."""
    pooled = torch.tanh(hidden[:, 0] @ w_pool + b_pool)
    return pooled @ w_out + b_out
'''
ex = exercise("5.7", ANSWER, points=6, minutes=6, difficulty=1, reread="sec-nsp", equation="eq-nsp")

ex.inputs(hidden="B T D", w_pool="D D", b_pool="D", w_out="D C", b_out="C", scale=0.5)
ex.probe("three texts of five tokens, two labels", B=3, T=5, D=7, C=2)
ex.probe("a batch of one, eleven labels", B=1, T=7, D=5, C=11)
ex.probe("a single token", B=2, T=1, D=3, C=5)
ex.probe("double precision", B=5, T=3, D=7, C=2, dtype=torch.float64)
ex.probe("numbers with gaps in memory", B=3, T=5, D=7, C=2, strided=True)
ex.hidden("as many texts as tokens", B=5, T=5, D=3, C=2)
ex.hidden("as many labels as channels", B=2, T=7, D=11, C=11)
ex.hidden("a single label", B=3, T=2, D=5, C=1)


@ex.law("only [CLS] is read", "What the other positions hold has reached [CLS] in the blocks already.")
def others_changed(run, probe):
    hidden = probe.args["hidden"].clone()
    hidden[:, 1:] += 5
    return run(probe), run(probe.having("law", hidden=hidden))


ex.wrong(
    "the mean over all tokens",
    "BERT's pooled vector is made of [CLS] alone; in a mean the padding would have a say too.",
    ("hidden[:, 0]", "hidden.mean(1)"), believes="a text is the mean of its tokens",
)
ex.wrong(
    "the last token is read",
    "That is GPT, where only the last position has read everything; BERT reads the first, [CLS].",
    ("hidden[:, 0]", "hidden[:, -1]"), believes="the last position has read everything",
    section="sec-three-shapes",
)
ex.wrong(
    "the first row of the batch is read",
    "The axes of hidden are (B, T, D): hidden[:, 0] is [CLS] of every row, hidden[0] a whole row.",
    ("hidden[:, 0]", "hidden[0]"), believes="index 0 is the first token",
)
ex.wrong(
    "logits for every token",
    "One label for the whole text: read one position, the first.",
    ("hidden[:, 0]", "hidden"), believes="every position has a label", section="sec-three-shapes",
)
ex.wrong(
    "no tanh",
    "Two linear maps in a row are one: the tanh between them makes the pooler worth having.",
    ("torch.tanh", ""), believes="two linear maps",
)
ex.wrong(
    "another activation",
    "The pooler uses tanh; ReLU and GELU stand in the blocks.",
    *(("torch.tanh", name) for name in ("torch.relu", "F.gelu", "torch.sigmoid")),
    believes="activations are ReLU",
)
ex.wrong(
    "the tanh stands behind the logits",
    "tanh bends the pooled vector; logits may be of any size.",
    [("torch.tanh", ""), ("pooled @ w_out + b_out", "torch.tanh(pooled @ w_out + b_out)")],
    ("pooled @ w_out + b_out", "torch.tanh(pooled @ w_out + b_out)"), believes="the activation comes last",
)
ex.wrong(
    "probabilities instead of logits",
    "Logits come before the softmax: the loss takes them as they are.",
    ("pooled @ w_out + b_out", "(pooled @ w_out + b_out).softmax(-1)"),
    ("pooled @ w_out + b_out", "(pooled @ w_out + b_out).log_softmax(-1)"),
    believes="the classifier ends with a softmax",
)
ex.wrong(
    "no pooler",
    "[CLS] goes through a linear map with tanh first, the pooler.",
    ("torch.tanh(hidden[:, 0] @ w_pool + b_pool)", "hidden[:, 0]"), believes="the head is one linear map",
)
ex.wrong(
    "the biases are forgotten",
    "Both linear maps have a bias.",
    [(" + b_pool", ""), (" + b_out", "")], believes="a linear map is a matrix",
)
ex.wrong(
    "the pooler's matrix transposed",
    "Vectors are rows here: h W, not W h. W_pool is square, so no shape complains.",
    ("@ w_pool", "@ w_pool.T"), believes="a matrix stands before its vector",
)
ex.wrong(
    "the bias outside the tanh",
    "tanh is applied to the whole linear map, its bias included.",
    ("torch.tanh(hidden[:, 0] @ w_pool + b_pool)", "torch.tanh(hidden[:, 0] @ w_pool) + b_pool"),
    believes="a bias comes last",
)

ex.right(
    "F.linear with transposed matrices",
    [("hidden[:, 0] @ w_pool + b_pool", "F.linear(hidden[:, 0], w_pool.T, b_pool)"),
     ("pooled @ w_out + b_out", "F.linear(pooled, w_out.T, b_out)")],
)
ex.right(
    "einsum over the first position",
    source="""
def class_logits(hidden, w_pool, b_pool, w_out, b_out):
    pooled = (torch.einsum("btd,de->bte", hidden[:, :1], w_pool) + b_pool).tanh()
    return (pooled @ w_out + b_out).squeeze(1)
""",
)
ex.right("addmm", source='''
def class_logits(hidden, w_pool, b_pool, w_out, b_out):
    return torch.addmm(b_out, torch.addmm(b_pool, hidden.select(1, 0), w_pool).tanh(), w_out)
''')
ex.right("text by text", source='''
def class_logits(hidden, w_pool, b_pool, w_out, b_out):
    logits = []
    for text in hidden:
        pooled = torch.tanh(text[0] @ w_pool + b_pool)
        logits.append(torch.matmul(pooled, w_out) + b_out)
    return torch.stack(logits)
''')
ex.right("tanh from a sigmoid", source='''
def class_logits(hidden, w_pool, b_pool, w_out, b_out):
    pooled = 2 * torch.sigmoid(2 * (hidden[:, 0] @ w_pool + b_pool)) - 1
    return b_out + pooled.mm(w_out)
''')
ex.right("biases as one more row", source='''
def class_logits(hidden, w_pool, b_pool, w_out, b_out):
    one = torch.ones_like(hidden[:, 0, :1])
    pooled = torch.tanh(torch.cat((hidden[:, 0], one), 1) @ torch.vstack((w_pool, b_pool)))
    return torch.cat((pooled, one), 1) @ torch.vstack((w_out, b_out))
''')
ex.right("every token pooled, the first one read", source='''
def class_logits(hidden, w_pool, b_pool, w_out, b_out):
    def linear(x, w, b):
        return torch.tensordot(x, w, dims=1) + b

    return linear(torch.tanh(linear(hidden, w_pool, b_pool)), w_out, b_out)[:, 0, :]
''')
ex.right("products broadcast, columns filled in", source='''
def class_logits(hidden, w_pool, b_pool, w_out, b_out):
    pooled = ((hidden[:, 0, :, None] * w_pool).sum(1) + b_pool).tanh()
    logits = hidden.new_empty(len(hidden), len(b_out))
    for c in range(len(b_out)):
        logits[:, c] = torch.mv(pooled, w_out[:, c]) + b_out[c]
    return logits
''')

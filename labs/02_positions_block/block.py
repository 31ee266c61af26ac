"""Exercise 2.9: the wiring of a block, pre- and post-norm. Attention is given by its weights ``mix``."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def block(
    x: Tensor, mix: Tensor, w_value: Tensor, w_up: Tensor, w_down: Tensor,
    gain_attn: Tensor, gain_ffn: Tensor, norm_first: bool = True,
) -> Tensor:
    """A block with given attention weights: x (B, T, D) → (B, T, D)."""
    def attn(h: Tensor) -> Tensor:
        return mix @ (h @ w_value)

    def ffn(h: Tensor) -> Tensor:
        return (h @ w_up).relu() @ w_down

    def norm(h: Tensor, gain: Tensor) -> Tensor:
        return F.layer_norm(h, gain.shape, gain)

    if norm_first:
        x = x + attn(norm(x, gain_attn))
        return x + ffn(norm(x, gain_ffn))
    x = norm(x + attn(x), gain_attn)
    return norm(x + ffn(x), gain_ffn)
'''
ex = exercise(
    "2.9", ANSWER, points=12, minutes=18, difficulty=3, reread="sec-norm-placement", equation="eq-placements"
)


@ex.maker
def parts(normal, B, T, D, F, scale=2.0, shift=1.0, causal=True, size=1.0, dtype=torch.float32, **given):
    """The stream has size ``scale`` around ``shift``, the matrices ``size``; gains are near 1 and -1."""
    mix = normal(T, T).softmax(-1)
    args = {"x": scale * normal(B, T, D) + shift, "mix": mix.tril() if causal else mix}
    args |= {"w_value": size * normal(D, D), "w_up": size * normal(D, F), "w_down": size * normal(F, D)}
    args |= {"gain_attn": size * normal(D) + shift, "gain_ffn": size * normal(D) - shift}
    return {name: x.to(dtype) for name, x in args.items()} | given


ex.probe("pre-norm", B=2, T=3, D=7, F=11)
ex.probe("post-norm", B=2, T=3, D=7, F=11, norm_first=False)
ex.probe("pre-norm, a batch of one, one token", B=1, T=1, D=5, F=3, norm_first=True)
ex.probe("post-norm, hidden units narrower than the stream", B=2, T=5, D=7, F=3, norm_first=False)
ex.probe("double precision", B=2, T=5, D=3, F=7, dtype=torch.float64)
ex.probe("numbers with gaps in memory", B=2, T=3, D=5, F=7, strided=True, norm_first=False)
PLAIN = {"B": 3, "T": 7, "D": 11, "F": 5, "shift": 0.0, "causal": False, "size": 0.5}
ex.hidden("pre-norm, a large stream", **PLAIN, scale=30.0, norm_first=True)
ex.hidden("post-norm, a small stream", **PLAIN, scale=0.1, norm_first=False)
ex.hidden("post-norm, double precision", **PLAIN, norm_first=False, dtype=torch.float64)


@ex.law(
    "layers that add nothing leave a pre-norm stream alone",
    "The direct path of the sum has no norm in it.",
    section="sec-residual-depth",
    equation="eq-paths",
)
def nothing_added(run, probe):
    silent = {name: torch.zeros_like(probe.args[name]) for name in ("w_value", "w_down")}
    return run(probe.having("law", **silent)), probe.args["x"]


@ex.law(
    "with gain 1 what leaves a post-norm block has mean zero",
    "The last thing that happens to it is the norm.",
    on="post-norm",
)
def mean_zero(run, probe):
    mean = run(probe.having("law", gain_ffn=torch.ones(7))).mean(-1)
    return mean, torch.zeros_like(mean)


PRE, PRE_FFN = "x = x + attn(norm(x, gain_attn))", "x + ffn(norm(x, gain_ffn))"
POST, POST_FFN = "x = norm(x + attn(x), gain_attn)", "norm(x + ffn(x), gain_ffn)"
ex.wrong(
    "norm_first is ignored",
    "The block must be pre-norm when norm_first is True, post-norm otherwise.",
    ("if norm_first", "if True"), ("if norm_first", "if False"), believes="a block has one kind of norm",
)
ex.wrong(
    "pre and post swapped",
    "Pre-norm normalises what a layer reads; post-norm normalises the sum.",
    ("if norm_first", "if not norm_first"),
    believes="pre-norm means that the norm's result is normalised before it goes on",
)
ex.wrong(
    "no residual connection",
    "A layer changes its input, it does not replace it: add what comes out to what went in.",
    [("x + attn(norm", "attn(norm"), ("x + ffn(norm", "ffn(norm"), ("x + attn(x)", "attn(x)"),
     ("x + ffn(x)", "ffn(x)")], believes="layers follow each other", section="sec-residual",
    equation="eq-residual",
)
ex.wrong(
    "one sum for both layers",
    "Each of the two layers has a residual connection of its own.",
    [(PRE, "h = attn(norm(x, gain_attn))"), (PRE_FFN, "x + ffn(norm(h, gain_ffn))"),
     (POST, "h = norm(attn(x), gain_attn)"), ("x + ffn(x)", "x + ffn(h)")],
    believes="one sum around the whole block is enough", section="sec-residual", equation="eq-residual",
)
ex.wrong(
    "the normalised stream goes on",
    "In pre-norm the layer reads a normalised copy; what the sum carries on is x itself.",
    [(PRE, "x = norm(x, gain_attn)\n        x = norm(x + attn(x), gain_ffn)"), (PRE_FFN, "x + ffn(x)")],
    believes="x is normalised, then everything happens to x",
)
ex.wrong(
    "the norm stands before the sum",
    "Post-norm normalises the whole sum, what came in and what the layer adds.",
    [(POST, "x = x + norm(attn(x), gain_attn)"), (POST_FFN, "x + norm(ffn(x), gain_ffn)")],
    believes="post-norm normalises what the layer returns",
)
ex.wrong(
    "both layers read the block's input",
    "The feed-forward network reads what attention has added, and comes after it.",
    [(PRE, "h = x + attn(norm(x, gain_attn))"), (PRE_FFN, "h + ffn(norm(x, gain_ffn))"),
     (POST, "h = norm(x + attn(x), gain_attn)"), ("x + ffn(x)", "h + ffn(x)")],
    believes="both layers look at the same input", section="sec-block", equation="eq-placements",
)
ex.wrong(
    "what attention added is lost",
    "The second sum starts from the result of the first, not from the block's input.",
    [(PRE, "h = x + attn(norm(x, gain_attn))"), (PRE_FFN, "x + ffn(norm(h, gain_ffn))"),
     (POST, "h = norm(x + attn(x), gain_attn)"), ("x + ffn(x)", "x + ffn(h)")],
    believes="x stays x until the end", section="sec-residual", equation="eq-residual",
)
GAIN = "F.layer_norm(h, gain.shape, gain)"
ex.wrong(
    "the two gains swapped",
    "gain_attn belongs to the norm of attention, gain_ffn to that of the feed-forward network.",
    (GAIN, "F.layer_norm(h, gain.shape, gain_ffn if gain is gain_attn else gain_attn)"),
    believes="the gains are used in any order",
)
ex.wrong(
    "one norm used twice",
    "Each sublayer has a norm of its own, with a gain of its own.",
    (GAIN, "F.layer_norm(h, gain.shape, gain_attn)"), believes="a norm is a norm",
)
ex.wrong(
    "the gains are ignored",
    "Each norm multiplies by its learned gain: pass it to layer_norm.",
    (GAIN, "F.layer_norm(h, gain.shape)"), believes="layer_norm needs only a shape", section="sec-layernorm",
    equation="eq-layernorm",
)
ex.wrong(
    "attention weights transposed",
    "Row t of mix holds the weights of query t: mix @ values, without a transpose.",
    ("mix @", "mix.T @"), believes="columns belong to queries", section="sec-loop-to-matrix",
    equation="eq-attention",
)
ex.wrong(
    "no activation",
    "Without the ReLU the two matrices are one, and the network cannot compute.",
    (".relu()", ""), believes="two matrices make a network", section="sec-ffn", equation="eq-ffn",
)
ex.wrong(
    "the input is overwritten",
    "",
    [(PRE, "x += attn(norm(x, gain_attn))"), (POST, "x += attn(x)\n    x = norm(x, gain_attn)")],
    believes="+= is a shorter way to write a sum",
)
ex.wrong(
    "the residual of attention forgotten",
    "Each of the two layers adds to the stream; here attention replaces it.",
    (PRE, "x = attn(norm(x, gain_attn))"), (POST, "x = norm(attn(x), gain_attn)"),
    [(PRE, "x = attn(norm(x, gain_attn))"), (POST, "x = norm(attn(x), gain_attn)")],
    believes="one residual is enough", section="sec-residual", equation="eq-residual",
)
ex.wrong(
    "the residual of the feed-forward network forgotten",
    "Each of the two layers adds to the stream; here the feed-forward network replaces it.",
    (PRE_FFN, "ffn(norm(x, gain_ffn))"), (POST_FFN, "norm(ffn(x), gain_ffn)"),
    [(PRE_FFN, "ffn(norm(x, gain_ffn))"), (POST_FFN, "norm(ffn(x), gain_ffn)")],
    believes="one residual is enough", section="sec-residual", equation="eq-residual",
)
IN_PARALLEL = [(PRE, "h = x"), (PRE_FFN, "x + attn(norm(x, gain_attn)) + ffn(norm(x, gain_ffn))")]
POST_PARALLEL = [(POST, "h = x"), (POST_FFN, "norm(x + attn(x) + ffn(x), gain_ffn)")]
ex.wrong(
    "both layers in parallel",
    "The feed-forward network reads what attention has added: one layer comes after the other.",
    IN_PARALLEL, POST_PARALLEL, [*IN_PARALLEL, *POST_PARALLEL], believes="the two layers are independent",
    section="sec-block",
)
ex.wrong(
    "the values are not projected",
    "Attention mixes h W_value: multiply by w_value before mix.",
    ("mix @ (h @ w_value)", "mix @ h"), believes="attention mixes the stream itself",
    section="sec-loop-to-matrix",
)
ex.wrong(
    "a norm after the block",
    "A pre-norm block ends with the sum; the last norm belongs to the whole stack, not to a block.",
    (PRE_FFN, "norm(x + ffn(norm(x, gain_ffn)), gain_ffn)"),
    (PRE_FFN, "F.layer_norm(x + ffn(norm(x, gain_ffn)), x.shape[-1:])"),
    [(PRE_FFN, "norm(x + ffn(norm(x, gain_ffn)), gain_ffn)"), ("return norm(x + ffn(x), gain_ffn)",
     "return norm(norm(x + ffn(x), gain_ffn), gain_ffn)")], believes="what leaves a block is normalised",
)
ex.wrong(
    "a norm before and behind each layer",
    "That is the sandwich; pre-norm normalises what a layer reads and nothing else.",
    [(PRE, "x = x + norm(attn(norm(x, gain_attn)), gain_attn)"),
     (PRE_FFN, "x + norm(ffn(norm(x, gain_ffn)), gain_ffn)")], believes="two norms are safer than one",
)
ex.wrong(
    "another epsilon",
    "The usual ε of LayerNorm is 1e-5, the default of F.layer_norm.",
    (GAIN, "F.layer_norm(h, gain.shape, gain, eps=1e-6)"),
    (GAIN, "F.layer_norm(h, gain.shape, gain, eps=1e-12)"),
    believes="epsilons are all alike", section="sec-layernorm", equation="eq-layernorm",
)

ex.right(
    "a loop over the layers",
    source="""
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    layers = (
        (lambda h: torch.einsum("ts,bsd,de->bte", mix, h, w_value), gain_attn),
        (lambda h: (h @ w_up).clamp(min=0) @ w_down, gain_ffn),
    )
    for layer, gain in layers:
        norm = lambda h: torch.nn.functional.layer_norm(h, h.shape[-1:], weight=gain)
        x = x + layer(norm(x)) if norm_first else norm(x + layer(x))
    return x
""",
)
ex.right(
    "the norm by hand",
    source="""
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    def norm(h, gain, wanted):
        if not wanted:
            return h
        centred = h - h.mean(-1, keepdim=True)
        return gain * centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()

    h = norm(x, gain_attn, norm_first)
    x = norm(x + mix @ h @ w_value, gain_attn, not norm_first)
    h = norm(x, gain_ffn, norm_first)
    return norm(x + torch.relu(h @ w_up) @ w_down, gain_ffn, not norm_first)
""",
)
ex.right("two branches written out", source='''
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    D = x.shape[-1]
    if norm_first:
        h = F.layer_norm(x, (D,), weight=gain_attn)
        x = x + torch.matmul(mix, torch.matmul(h, w_value))
        h = F.layer_norm(x, (D,), weight=gain_ffn)
        x = x + torch.matmul(F.relu(torch.matmul(h, w_up)), w_down)
    else:
        x = F.layer_norm(x + torch.matmul(mix, torch.matmul(x, w_value)), (D,), weight=gain_attn)
        x = F.layer_norm(x + torch.matmul(F.relu(torch.matmul(x, w_up)), w_down), (D,), weight=gain_ffn)
    return x
''')
ex.right("one helper for a layer with its residual", source='''
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    def around(x, layer, gain):
        if norm_first:
            return x + layer(F.layer_norm(x, x.shape[-1:], gain))
        return F.layer_norm(x + layer(x), x.shape[-1:], gain)

    x = around(x, lambda h: mix @ h @ w_value, gain_attn)
    return around(x, lambda h: torch.relu(h @ w_up) @ w_down, gain_ffn)
''')
ex.right("the gain after a plain norm", source='''
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    norm = lambda h: F.layer_norm(h, (h.shape[-1],))
    h = norm(x) * gain_attn if norm_first else x
    x = x + mix @ (h @ w_value)
    x = x if norm_first else norm(x) * gain_attn
    h = norm(x) * gain_ffn if norm_first else x
    x = x + torch.where(h @ w_up > 0, h @ w_up, 0) @ w_down
    return x if norm_first else norm(x) * gain_ffn
''')
ex.right("mean and variance by hand, einsum", source='''
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    def norm(h, gain):
        variance, mean = torch.var_mean(h, -1, correction=0, keepdim=True)
        return (h - mean) / torch.sqrt(variance + 1e-5) * gain

    def attn(h):
        return torch.einsum("ts,...se->...te", mix, torch.einsum("...sd,de->...se", h, w_value))

    def ffn(h):
        return torch.einsum("...f,fd->...d", (h @ w_up).clamp(min=0), w_down)

    if norm_first:
        x = x + attn(norm(x, gain_attn))
        return x + ffn(norm(x, gain_ffn))
    x = norm(x + attn(x), gain_attn)
    return norm(x + ffn(x), gain_ffn)
''')
ex.right("sequence by sequence", source='''
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    def one(x):
        attn, ffn = lambda h: mix @ h @ w_value, lambda h: (h @ w_up).relu() @ w_down
        for layer, gain in ((attn, gain_attn), (ffn, gain_ffn)):
            x = x + layer(F.layer_norm(x, gain.shape, gain) if norm_first else x)
            x = x if norm_first else F.layer_norm(x, gain.shape, gain)
        return x

    return torch.stack([one(row) for row in x])
''')
ex.right("linear layers", source='''
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    width = list(gain_attn.shape)
    first = F.layer_norm(x, width, gain_attn) if norm_first else x
    x = x + mix.matmul(F.linear(first, w_value.mT))
    if not norm_first:
        x = F.layer_norm(x, width, gain_attn)
    second = F.layer_norm(x, width, gain_ffn) if norm_first else x
    x = x + F.linear(F.linear(second, w_up.mT).relu(), w_down.mT)
    return x if norm_first else F.layer_norm(x, width, gain_ffn)
''')

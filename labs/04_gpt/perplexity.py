"""Exercise 4.3: perplexity and bits per character, from the losses of windows of unequal length."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def perplexity_and_bits(
    losses: Tensor, num_tokens: Tensor, num_characters: int
) -> Tensor:
    """Perplexity per token and bits per character (2,) from mean losses
    (W,) of windows of num_tokens (W,)."""
    nats = (losses * num_tokens).sum()
    return torch.stack(((nats / num_tokens.sum()).exp(), nats / math.log(2) / num_characters))
'''
ex = exercise("4.3", ANSWER, points=6, minutes=10, difficulty=1, reread="sec-bits", equation="eq-lm-loss")
ex.reference = torch.no_grad()(ex.reference)  # a measure is not trained on: no gradient is asked for


@ex.maker
def measured(normal, num_tokens, **given):
    return {"losses": 1.5 + normal(len(num_tokens)).abs(), "num_tokens": num_tokens} | given


ex.probe("a long window and a short one", num_tokens=[127, 5], num_characters=431)
ex.probe("a single window", num_tokens=[17], num_characters=53)
ex.probe("many windows, the last of one token", num_tokens=[31, 31, 31, 31, 1], num_characters=389)
ex.probe("fewer characters than tokens", num_tokens=[7, 13, 3], num_characters=19)
ex.probe("numbers with gaps in memory", num_tokens=[3, 29], num_characters=101, strided=True)
HARD = [2.25, 1.5, 3.125, 6.5]
ex.hidden("a last window that is hard", losses=HARD, num_tokens=[64, 64, 64, 3], num_characters=811)
ex.hidden("a perfect model", losses=[0.0, 0.0], num_tokens=[64, 3], num_characters=97)
ex.own(lambda whole: {"num_tokens": whole(1, 50, 3), "num_characters": whole(99, 400)})


@ex.law(
    "where the text is cut does not matter", "The nats of two windows are the nats of the two together."
)
def cut_elsewhere(run, probe):
    cuts = ([2.0, 3.0, 5.0], [7, 2, 2]), ([2.0, 4.0], [7, 4])
    first, second = (
        run(probe.having("law", losses=torch.tensor(losses), num_tokens=torch.tensor(counts)))
        for losses, counts in cuts
    )
    return first, second


PERPLEXITY = "(nats / num_tokens.sum()).exp()"
ex.wrong(
    "two numbers instead of one tensor",
    "Both numbers come back in one tensor (2,): torch.stack, or torch.tensor of the two.",
    ("torch.stack", ""), believes="two results are a pair",
    shows=lambda symptom: symptom.case.outcome.kind in ("tuple", "list", "float"),
)
ex.wrong(
    "every window weighs the same",
    "A mean over 5 tokens is not worth one over 127: sum the nats of all tokens first.",
    ("(losses * num_tokens).sum()", "losses.mean() * num_tokens.sum()"), (PERPLEXITY, "losses.mean().exp()"),
    believes="a mean of means is a mean",
)
ex.wrong(
    "means taken for sums",
    "Each loss is a mean over its window; times num_tokens it is the sum.",
    ("(losses * num_tokens)", "losses"), ("nats / math.log(2)", "losses.sum() / math.log(2)"),
    believes="the losses add up",
)
ex.wrong(
    "a mean of perplexities",
    "Perplexity is e to the mean loss: first the mean, then the exponential, which is no straight line.",
    (PERPLEXITY, "losses.exp().mean()"), (PERPLEXITY, "(losses.exp() * num_tokens).sum() / num_tokens.sum()"),
    believes="perplexities can be averaged",
)
ex.wrong(
    "nats per character",
    "A bit is ln 2 nats: divide the nats by ln 2.",
    (" / math.log(2)", ""), believes="nats and bits are two words for one thing",
)
ex.wrong(
    "multiplied by ln 2",
    "A bit is smaller than a nat, so there are more of them: divide by ln 2.",
    ("/ math.log(2)", "* math.log(2)"), believes="a nat is less than a bit",
)
ex.wrong(
    "bits per token",
    "Divide all bits of the text by its characters: only then can two tokenizers be compared.",
    ("/ num_characters", "/ num_tokens.sum()"), believes="a token is a character",
)
ex.wrong(
    "perplexity per character",
    "Perplexity belongs to the tokens: divide the nats by their number.",
    ("(nats / num_tokens.sum())", "(nats / num_characters)"), believes="everything is per character",
)
ex.wrong(
    "two to the nats",
    "Perplexity is e to the loss in nats, or 2 to the loss in *bits*.",
    (PERPLEXITY, "2.0 ** (nats / num_tokens.sum())"), believes="perplexity is a power of two",
)
ex.wrong(
    "no mean in the exponent",
    "Perplexity is e to the mean loss of a token: divide the nats by the number of tokens first.",
    (PERPLEXITY, "nats.exp()"), (PERPLEXITY, "losses.sum().exp()"), believes="perplexity is the text's",
)
ex.wrong(
    "no exponential",
    "The mean loss is in nats per token; perplexity is e to that.",
    (".exp()", ""), believes="perplexity is another word for the loss",
)
ex.wrong(
    "the two in the wrong order",
    "First the perplexity, then the bits per character.",
    ("num_characters))", "num_characters)).flip(0)"), believes="the order of two results does not matter",
)
ex.wrong(
    "a mean divided by all characters",
    "Bits per character are all bits of the text, divided by its characters: not the bits of one token.",
    ("nats / math.log(2) / num_characters", "losses.mean() / math.log(2) / num_characters"),
    ("nats / math.log(2) / num_characters", "nats / num_tokens.sum() / math.log(2) / num_characters"),
    believes="the loss is the number of bits",
)

ex.right(
    "a dot product",
    source="""
def perplexity_and_bits(losses, num_tokens, num_characters):
    nats = losses @ num_tokens.to(losses.dtype)
    return torch.stack([torch.exp(nats / num_tokens.sum()), nats / (math.log(2) * num_characters)])
""",
)
ex.right(
    "plain numbers in a loop",
    source="""
def perplexity_and_bits(losses, num_tokens, num_characters):
    nats = sum(loss * n for loss, n in zip(losses.tolist(), num_tokens.tolist()))
    perplexity = math.exp(nats / sum(num_tokens.tolist()))
    return torch.tensor([perplexity, nats * math.log2(math.e) / num_characters], dtype=losses.dtype)
""",
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    (").sum()", ").sum().detach()"), ("s))", "s)).detach()"),
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("losses @ num_tokens.to(losses.dtype", "(losses @ num_tokens.to(losses.dtype)).detach("),
    ("])", "]).detach()"),
    of="a dot product",
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("losses @ num_tokens.to(losses.dtype)", "num_tokens.to(losses.dtype) @ losses"),
    of="a dot product",
)
ex.equivalent(
    "The inputs of this exercise have this type only.",
    ("nats / math.log(2) / num_characters))", "nats / math.log(2) / num_characters)).float()"),
)
ex.equivalent(
    "The inputs of this exercise have this type only.",
    ("(math.log(2) * num_characters)])", "(math.log(2) * num_characters)]).float()"),
    of="a dot product",
)
ex.right("torch.sum and torch.log2", source='''
def perplexity_and_bits(losses, num_tokens, num_characters):
    nats = torch.sum(losses * num_tokens)
    perplexity = torch.exp(nats / torch.sum(num_tokens))
    bits = nats * math.log2(math.e)
    return torch.stack([perplexity, bits / num_characters])
''')
ex.right("einsum", source='''
def perplexity_and_bits(losses, num_tokens, num_characters):
    nats = torch.einsum("w,w->", losses, num_tokens.to(losses.dtype))
    each = nats / torch.stack((num_tokens.sum(), num_tokens.new_tensor(num_characters)))
    return torch.stack((each[0].exp(), each[1] / math.log(2)))
''')
ex.right("a weighted mean", source='''
def perplexity_and_bits(losses, num_tokens, num_characters):
    share = num_tokens / num_tokens.sum()
    mean = (losses * share).sum()
    return torch.stack((mean.exp(), mean * num_tokens.sum() / num_characters / math.log(2)))
''')
ex.right("window by window", source='''
def perplexity_and_bits(losses, num_tokens, num_characters):
    nats = tokens = 0
    for loss, n in zip(losses, num_tokens):
        nats, tokens = nats + loss * n, tokens + n
    return torch.stack((torch.exp(nats / tokens), nats / (num_characters * math.log(2))))
''')
ex.right("bits first, two to their power", source='''
def perplexity_and_bits(losses, num_tokens, num_characters):
    bits = (losses * num_tokens).sum() / math.log(2)
    return torch.stack((2 ** (bits / num_tokens.sum()), bits / num_characters))
''')
ex.right("filled in", source='''
def perplexity_and_bits(losses, num_tokens, num_characters):
    nats = (num_tokens * losses).sum()
    result = torch.empty_like(losses[:1]).repeat(2)
    result[0] = torch.exp(nats / num_tokens.sum())
    result[1] = nats / math.log(2) / num_characters
    return result
''')

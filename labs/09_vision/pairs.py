"""Exercise 9.10: CLIP's loss, which tells the right pairs of a batch from all others."""

import torch

from pioneers.checks.building import exercise, stops_at
from pioneers.checks.symptoms import wrong_only_where

ANSWER = '''
def clip_loss(images: Tensor, texts: Tensor, log_scale: Tensor) -> Tensor:
    """The symmetric loss of B pairs in nats;
    images and texts (B, E), log_scale without axes."""
    images, texts = F.normalize(images, dim=1), F.normalize(texts, dim=1)
    logits = log_scale.exp() * images @ texts.T
    partner = torch.arange(len(images), device=images.device)
    return (F.cross_entropy(logits, partner) + F.cross_entropy(logits.T, partner)) / 2
'''
ex = exercise(
    "9.10", ANSWER, points=8, minutes=11, difficulty=2, reread=("sec-clip-loss", "sec-clip-temperature"),
)  # fmt: skip
LARGE = "a very low temperature"


@ex.maker
def batch(normal, B, E, log_scale=1.0, alike=0.5, size=1.0, dtype=torch.float32):
    """``alike`` is how near the vectors of a pair are."""
    images, own = normal(B, E), normal(B, E)
    args = {"images": size * images, "texts": alike * images + own}
    return {name: x.to(dtype) for name, x in args.items()} | {"log_scale": torch.tensor(log_scale).to(dtype)}


ex.probe("five pairs", B=5, E=3)
ex.probe("more numbers than pairs", B=3, E=13, log_scale=2.3)
ex.probe("one pair", B=1, E=5)
ex.probe("two pairs", B=2, E=3, log_scale=-0.7)
ex.probe("long vectors", B=7, E=5, size=30.0)
ex.probe("pairs that do not agree", B=5, E=7, alike=-1.0, log_scale=1.6)
ex.probe(LARGE, B=7, E=3, log_scale=6.5)
ex.probe("as many pairs as numbers", B=5, E=5)
ex.probe("double precision", B=5, E=3, log_scale=1.5, dtype=torch.float64)
ex.probe("half precision", B=3, E=5, log_scale=0.5, dtype=torch.float16)
ex.probe("numbers with gaps in memory", B=7, E=3, strided=True)
ex.hidden("thirty-one pairs", B=31, E=7, log_scale=2.6, alike=1.0)
ex.hidden("vectors of one number", B=3, E=1, log_scale=0.3)
ex.hidden("short vectors", B=5, E=11, size=0.01, alike=5.0)


@ex.law("the length of a vector does not matter", "Only directions are compared.")
def lengths(run, probe):
    factors = torch.linspace(0.5, 3, len(probe.args["images"]))[:, None]
    longer = {"images": probe.args["images"] * factors, "texts": probe.args["texts"] * factors.flip(0)}
    return run(probe), run(probe.having("law", **longer))


@ex.law("images and texts may be exchanged", "The loss is the mean of both directions.")
def exchanged(run, probe):
    images, texts = probe.args["images"], probe.args["texts"]
    return run(probe), run(probe.having("law", images=texts, texts=images))


@ex.law("the order of the pairs does not matter", "A batch is a set of pairs.")
def turned(run, probe):
    both = {name: probe.args[name].flip(0) for name in ("images", "texts")}
    return run(probe), run(probe.having("law", **both))


NORMAL = "F.normalize(images, dim=1), F.normalize(texts, dim=1)"
BOTH = "(F.cross_entropy(logits, partner) + F.cross_entropy(logits.T, partner)) / 2"
ex.wrong(
    "vectors of any length",
    "CLIP compares directions: divide each vector by its length, or long ones win every choice.",
    (NORMAL, "images, texts"), believes="a dot product is a similarity",
)
ex.wrong(
    "only the images are normalised",
    "Both vectors of a pair are divided by their lengths.",
    (NORMAL, "F.normalize(images, dim=1), texts"), (NORMAL, "images, F.normalize(texts, dim=1)"),
    believes="one length is enough",
)
ex.wrong(
    "normalised across the batch",
    "Each vector is divided by its own length: normalise along the E numbers.",
    (NORMAL, "F.normalize(images, dim=0), F.normalize(texts, dim=0)"), believes="any axis will do",
)
ex.wrong(
    "divided by the length of the whole batch",
    "Without an axis, norm has one number for all: each vector is divided by its own length.",
    (NORMAL, "images / images.norm(), texts / texts.norm()"), believes="norm goes row by row",
)
ex.wrong(
    "only the images choose",
    "The loss is symmetric: each text chooses among the images too.",
    (BOTH, "F.cross_entropy(logits, partner)"), believes="a batch has one direction",
)
ex.wrong(
    "only the texts choose",
    "The loss is symmetric: each image chooses among the texts too.",
    (BOTH, "F.cross_entropy(logits.T, partner)"), believes="a batch has one direction",
)
ex.wrong(
    "the sum of both directions",
    "The loss is the mean of both directions, so that guessing costs ln B.",
    (BOTH, BOTH.removesuffix(" / 2")), believes="losses are added",
)
ex.wrong(
    "the logarithm of the scale used as a scale",
    "What is learned is the logarithm: its exponential is always positive, whatever the optimizer does.",
    ("log_scale.exp() *", "log_scale *"), believes="the parameter is the scale",
)
ex.wrong(
    "divided by the scale",
    "The scale is the inverse of the temperature: multiply by it.",
    ("log_scale.exp() *", "(-log_scale).exp() *"), believes="the parameter is the temperature",
)
ex.wrong(
    "no scale at all",
    "Cosines lie between -1 and 1, and a softmax of them is nearly uniform: multiply by the learned scale.",
    ("log_scale.exp() *", "(1 + 0 * log_scale) *"), believes="cosines are logits",
)
ex.wrong(
    "a scale that is not learned",
    "The scale is a parameter: it gets a gradient. item() and constants cut it off.",
    ("log_scale.exp() *", "math.exp(log_scale.item()) *"), believes="a temperature is a setting",
    shows=lambda symptom: symptom.stage == "gradient" and symptom.case.outcome.grads.get("log_scale") is None,
)
ex.wrong(
    "each pair judged by itself",
    "A model that maps everything to one point would be perfect: pairs must win against all others.",
    (BOTH, "1 - (images * texts).sum(1).mean() + 0 * log_scale"), believes="pairs should agree",
)
ex.wrong(
    "only the right pairs are compared",
    "cosine_similarity(images, texts) pairs row with row: each image meets all B texts, a table (B, B).",
    (BOTH, "-logits.diagonal().log_softmax(0).mean()"), believes="a pair is a row",
)
ex.wrong(
    "a power of another base",
    "The scale is e to the power of log_scale: the natural logarithm.",
    ("log_scale.exp() *", "10**log_scale *"), ("log_scale.exp() *", "2**log_scale *"),
    believes="a logarithm is to base 10",
)
ex.wrong(
    "yes or no for each cell",
    "That is another model's loss (SigLIP): here each row and each column is one choice, a softmax.",
    (BOTH, "F.binary_cross_entropy_with_logits(logits, torch.eye(len(images)).to(logits))"),
    believes="each cell is a question",
)
ex.wrong(
    "one softmax over the whole table",
    "Each row is one choice, and each column: not the whole table.",
    (BOTH, "-logits.flatten().log_softmax(0)[:: len(images) + 1].mean()"), believes="the pairs are classes",
)
ex.wrong(
    "the partner does not compete",
    "A softmax runs over all B candidates, also the right one.",
    (BOTH, "sum((logits.masked_fill(partner[:, None] == partner, -torch.inf).logsumexp(axis)"
           " - logits.diagonal()).mean() for axis in (0, 1)) / 2"),
    believes="the others are the negatives", shows=stops_at("one pair", "finite"),
)
ex.wrong(
    "the logarithm of a rounded zero",
    "A probability rounds to 0 at a large scale, and log 0 is infinite: use cross_entropy or log_softmax.",
    (BOTH, "-(logits.softmax(1).diagonal().log() + logits.softmax(0).diagonal().log()).mean() / 2"),
    believes="a softmax, then a logarithm", shows=stops_at(LARGE, "finite"),
)
ex.wrong(
    "the scale is limited",
    "CLIP keeps its scale below 100 between two steps of training, not in the loss: here it may be large.",
    ("log_scale.exp() *", "log_scale.exp().clamp(max=100) *"), believes="the limit belongs to the loss",
    shows=wrong_only_where(lambda case: case.probe.name == LARGE),
)
ex.wrong(
    "the sum over the batch",
    "The loss is a mean over the pairs.",
    (BOTH, "(F.cross_entropy(logits, partner, reduction='sum')"
           " + F.cross_entropy(logits.T, partner, reduction='sum')) / 2"), believes="losses are summed",
)
ex.wrong(
    "a tensor left on the CPU",
    "",
    ("device=images.device", "device='cpu'"), believes="tensors are where they are needed",
)
ex.wrong(
    "the library does the work",
    source="""
def clip_loss(images, texts, log_scale):
    from pioneers.objectives import contrastive_loss, pair_logits

    return contrastive_loss(pair_logits(images, texts, log_scale.exp()))
""", believes="the package has a function for that",
)

ex.right(
    "logsumexp minus the diagonal",
    source="""
def clip_loss(images, texts, log_scale):
    a = images / images.norm(dim=1, keepdim=True)
    b = texts / texts.norm(dim=1, keepdim=True)
    logits = torch.einsum("be,se->bs", a, b) * torch.exp(log_scale)
    both = torch.logsumexp(logits, 0) + torch.logsumexp(logits, 1)
    return both.mean() / 2 - logits.diagonal().mean()
""",
)
ex.right(
    "choice by choice",
    source="""
def clip_loss(images, texts, log_scale):
    total = 0
    for i in range(len(images)):
        to_texts = torch.exp(log_scale) * F.cosine_similarity(images[i : i + 1], texts)
        to_images = torch.exp(log_scale) * F.cosine_similarity(texts[i : i + 1], images)
        total = total - to_texts.log_softmax(0)[i] - to_images.log_softmax(0)[i]
    return total / (2 * len(images))
""",
)
ex.equivalent(
    "It is the default, or the last axis.",
    ("images, dim=1", "images"), ("texts, dim=1", "texts"),
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ('"be,se->bs", a, b', "'be,se->bs', b, a"),
    of="logsumexp minus the diagonal",
)
ex.equivalent(
    "The loss is the same for the transposed table.",
    ('"be,se->bs"', "'be,se->sb'"),
    of="logsumexp minus the diagonal",
)
ex.right("both tables stacked", source='''
def clip_loss(images, texts, log_scale):
    logits = log_scale.exp() * (F.normalize(images) @ F.normalize(texts).T)
    both = torch.stack((logits, logits.T)).log_softmax(-1)
    return -both.diagonal(dim1=1, dim2=2).mean()
''')
ex.right("divided after the product", source='''
def clip_loss(images, texts, log_scale):
    lengths = torch.outer(images.norm(dim=1), texts.norm(dim=1))
    logits = torch.mm(images, texts.t()) / lengths * log_scale.exp()
    own = torch.eye(len(images), dtype=logits.dtype, device=logits.device)
    return -(own * (logits.log_softmax(0) + logits.log_softmax(1))).sum() / (2 * len(images))
''')
ex.right("one cross_entropy of twice the batch", source='''
def clip_loss(images, texts, log_scale):
    a, b = (x / x.square().sum(1, keepdim=True).sqrt() for x in (images, texts))
    logits = a @ b.mT * log_scale.exp()
    partner = torch.arange(len(a), device=a.device).repeat(2)
    return F.cross_entropy(torch.cat((logits, logits.mT)), partner)
''')
ex.right("a helper for one direction", source='''
def clip_loss(images, texts, log_scale):
    def chosen(queries, keys):
        logits = scale * queries @ keys.transpose(0, 1)
        right = scale * (queries * keys).sum(1)
        return (torch.logsumexp(logits, dim=1) - right).mean()

    scale = torch.exp(log_scale)
    images, texts = F.normalize(images, dim=-1), F.normalize(texts, dim=-1)
    return 0.5 * (chosen(images, texts) + chosen(texts, images))
''')
ex.right("cosine_similarity of all pairs", source='''
def clip_loss(images, texts, log_scale):
    logits = F.cosine_similarity(images[:, None], texts[None], dim=-1) * log_scale.exp()
    place = torch.arange(len(logits), device=logits.device)[:, None]
    losses = [-F.log_softmax(z, 1).gather(1, place).mean() for z in (logits, logits.T)]
    return torch.stack(losses).mean()
''')
ex.right("by the differences to the right pair", source='''
def clip_loss(images, texts, log_scale):
    a, b = F.normalize(images, dim=1), F.normalize(texts, dim=1)
    logits = log_scale.exp() * (a[:, None] * b).sum(-1)
    right = logits.diagonal()
    rows = torch.logsumexp(logits - right[:, None], dim=1)
    columns = torch.logsumexp(logits - right[None, :], dim=0)
    return (rows + columns).mean().div(2)
''')

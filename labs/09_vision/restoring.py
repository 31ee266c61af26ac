"""Exercise 9.2: the visible patches go back to their places, and a filler replaces each hidden one."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def put_back(kept: Tensor, filler: Tensor, noise: Tensor) -> Tensor:
    """All patches in reading order, (B, N, D):
    the kept ones at their places, the filler at the others."""
    B, K, D = kept.shape
    fillers = filler.expand(B, noise.shape[1] - K, D)
    both = torch.cat((kept, fillers), dim=1)
    rank = noise.argsort(dim=1).argsort(dim=1)
    return both.gather(1, rank[:, :, None].expand(-1, -1, D))
'''
ex = exercise(
    "9.2", ANSWER, points=8, minutes=11, difficulty=2, reread=("sec-mae-masking", "sec-mae-forward"),
)  # fmt: skip


@ex.maker
def decoder(normal, B, N, D, keep, dtype=torch.float32):
    args = {"kept": normal(B, keep, D), "filler": normal(D)}
    return {name: x.to(dtype) for name, x in args.items()} | {"noise": normal(B, N).sigmoid()}


ex.probe("three of eleven patches were visible", B=5, N=11, D=2, keep=3)
ex.probe("most patches were visible", B=2, N=7, D=13, keep=5)
ex.probe("a batch of one, one patch", B=1, N=5, D=3, keep=1)
ex.probe("every patch was visible", B=3, N=7, D=5, keep=7)
ex.probe("half of the patches", B=3, N=22, D=7, keep=11)
ex.probe("double precision", B=2, N=11, D=5, keep=3, dtype=torch.float64)
ex.probe("half precision", B=3, N=7, D=11, keep=2, dtype=torch.float16)
ex.probe("numbers with gaps in memory", B=2, N=13, D=3, keep=5, strided=True)
ex.hidden("a quarter of 52 patches", B=7, N=52, D=3, keep=13)
ex.hidden("as many images as patches", B=5, N=5, D=5, keep=2)
ex.hidden("patches of one number", B=3, N=17, D=1, keep=4)


@ex.law("what was taken out is at its place", "The patch with the least noise was first, and so on.")
def taken_again(run, probe):
    kept = probe.args["kept"]
    order = probe.args["noise"].argsort(dim=1)[:, : kept.shape[1], None]
    return run(probe).gather(1, order.expand(-1, -1, kept.shape[2])), kept


RANK, BOTH = "noise.argsort(dim=1).argsort(dim=1)", "torch.cat((kept, fillers), dim=1)"
ex.wrong(
    "sorted once instead of twice",
    "argsort says which place comes first. Here each place asks for its rank: sort the order once more.",
    (RANK, "noise.argsort(dim=1)"), believes="a permutation is its own inverse",
)
ex.wrong(
    "nothing is put back",
    "The kept patches are in the order of their noise: each must go back to its own place.",
    ("both.gather(1, rank[:, :, None].expand(-1, -1, D))", "both"), believes="the order does not matter",
)
ex.wrong(
    "the fillers come first",
    "The kept patches have the least noise, so they are the first in the sorted order.",
    (BOTH, "torch.cat((fillers, kept), dim=1)"), believes="the order inside cat is free",
)
ex.wrong(
    "the patches with the most noise",
    "The kept patches are those with the least noise, as in exercise 9.1.",
    (RANK, "noise.argsort(dim=1, descending=True).argsort(dim=1)"), believes="noise is what is visible",
)
ex.wrong(
    "kept patches in reading order",
    "The kept patches come in the order of their noise, not in reading order.",
    source="""
def put_back(kept, filler, noise):
    B, K, D = kept.shape
    visible = noise.argsort(dim=1).argsort(dim=1) < K
    whole = filler.expand(B, noise.shape[1], D)
    return whole.masked_scatter(visible[..., None].expand_as(whole), kept)
""", believes="a mask is enough",
)
ex.wrong(
    "the same places in every image",
    "Each image has noise of its own, and so its own places.",
    (RANK, "noise[:1].argsort(dim=1).argsort(dim=1).expand_as(noise)"), believes="one mask for the batch",
)
ex.wrong(
    "sorted across the images",
    "The patches of one image compete with each other: sort along the second axis.",
    (RANK, "noise.argsort(dim=0).argsort(dim=0)"), believes="any axis will do",
)
ex.wrong(
    "zeros instead of the filler",
    "The filler is a learned vector, the mask token: the decoder must see that something is missing there.",
    ("filler.expand(B, noise.shape[1] - K, D)", "(0 * filler).expand(B, noise.shape[1] - K, D)"),
    believes="hidden means zero",
)
ex.wrong(
    "the mean of the kept patches as a filler",
    "The filler is given: the same vector at every hidden place of every image.",
    ("filler.expand(B, noise.shape[1] - K, D)",
     "(0 * filler + kept.mean(1, keepdim=True)).expand(B, noise.shape[1] - K, D)"),
    believes="a good guess is better than a token",
)
ex.wrong(
    "the fillers are left out",
    "The decoder gets all N patches, K kept ones and N - K fillers.",
    (BOTH, "kept"), believes="only the kept patches are put back",
    shows=lambda symptom: symptom.stage == "runs" and "out of bounds" in symptom.case.outcome.error,
)
ex.wrong(
    "one number of each patch",
    "gather reads one number for each index: give it an index for all D numbers of a patch, by expand.",
    ("rank[:, :, None].expand(-1, -1, D)", "rank[:, :, None]"), believes="gather broadcasts",
)
ex.wrong(
    "the gradient is cut",
    "",
    ("filler.expand(", "filler.detach().expand("), believes="a filler is a constant",
)
ex.wrong(
    "places taken for numbers of images",
    "whole[order] picks images: a place needs the number of its image in front of it, or scatter.",
    source="""
def put_back(kept, filler, noise):
    B, K, D = kept.shape
    whole = filler.repeat(B, noise.shape[1], 1)
    whole[noise.argsort(dim=1)[:, :K]] = kept
    return whole
""", believes="the first axis is that of the places",
    shows=lambda symptom: symptom.stage == "runs" and "indexing result" in symptom.case.outcome.error,
)
ex.wrong(
    "another type than that of the patches",
    "torch.zeros makes float32: give it the type and the device of kept, or begin with the filler.",
    source="""
def put_back(kept, filler, noise):
    B, K, D = kept.shape
    whole = torch.zeros(B, noise.shape[1], D)
    whole[:] = filler
    for b in range(B):
        whole[b, noise[b].argsort()[:K]] = kept[b]
    return whole
""", believes="numbers are float32",
    shows=lambda symptom: symptom.stage == "runs" and "dtypes match" in symptom.case.outcome.error,
)
ex.wrong(
    "the library does the work",
    source="""
def put_back(kept, filler, noise):
    from pioneers.objectives import restore_patches

    return restore_patches(kept, filler, noise.argsort(1).argsort(1))
""", believes="the package has a function for that",
)
ex.wrong(
    "the filler is added to every place",
    "A visible patch comes back as it is: the filler is only where nothing was kept.",
    source="""
def put_back(kept, filler, noise):
    order = noise.argsort(dim=1)[:, : kept.shape[1], None].expand_as(kept)
    whole = kept.new_zeros(len(kept), noise.shape[1], kept.shape[2])
    return whole.scatter(1, order, kept) + filler
""", believes="a mask token is added",
)

ex.right(
    "scattered to where the order says",
    source="""
def put_back(kept, filler, noise):
    B, K, D = kept.shape
    order = torch.argsort(noise, dim=-1)[:, :K, None].repeat(1, 1, D)
    return filler.repeat(B, noise.shape[1], 1).scatter(1, order, kept)
""",
)
ex.right(
    "patch by patch",
    source="""
def put_back(kept, filler, noise):
    images = []
    for patches, row in zip(kept, noise):
        image = [filler] * len(row)
        for patch, place in zip(patches, row.argsort()):
            image[int(place)] = patch
        images.append(torch.stack(image))
    return torch.stack(images)
""",
)
ex.equivalent(
    "Fillers too many are never picked.",
    ("- ", "+ "), (" - K", ""),
)
ex.equivalent(
    "It is the default, or the last axis.",
    (").argsort(dim=1)", ").argsort()"), ("(dim=1).argsort", "().argsort"),
)
ex.equivalent(
    "No gradient flows through it, or none is asked for.",
    ("D)", "D).detach()"),
    of="scattered to where the order says",
)
ex.equivalent(
    "It is the default, or the last axis.",
    ("noise, dim=-1", "noise"),
    of="scattered to where the order says",
)
ex.equivalent(
    "It is the same axis or place, counted from the other end.",
    ("-1", "1"),
    of="scattered to where the order says",
)
ex.right("two kinds of patches by torch.where", source='''
def put_back(kept, filler, noise):
    rank = (noise[:, :, None] > noise[:, None, :]).sum(-1)
    K = kept.shape[1]
    own = kept.take_along_dim(rank.clamp(max=K - 1)[..., None], dim=1)
    return torch.where(rank[..., None] < K, own, filler)
''')
ex.right("written in place", source='''
def put_back(kept, filler, noise):
    B, K, D = kept.shape
    whole = filler.expand(B, noise.shape[1], D).clone()
    images = torch.arange(B, device=noise.device)[:, None]
    whole[images, noise.argsort(dim=1)[:, :K]] = kept
    return whole
''')
ex.right("a matrix of zeros and ones spreads", source='''
def put_back(kept, filler, noise):
    order = noise.topk(kept.shape[1], dim=1, largest=False).indices
    spread = F.one_hot(order, noise.shape[1]).to(kept.dtype)
    hidden = 1 - spread.sum(1)
    return torch.einsum("bkn,bkd->bnd", spread, kept) + hidden[..., None] * filler
''')
ex.right("the inverse order by scatter", source='''
def put_back(kept, filler, noise):
    order = noise.sort(dim=1).indices
    places = torch.arange(noise.shape[1], device=noise.device).expand_as(order)
    rank = torch.empty_like(order).scatter_(1, order, places)
    table = F.pad(kept, (0, 0, 0, 1)) + F.pad(filler.expand(len(kept), 1, -1), (0, 0, kept.shape[1], 0))
    images = torch.arange(len(kept), device=noise.device)[:, None]
    return table[images, rank.clamp(max=kept.shape[1])]
''')
ex.right("a new row for each patch in turn", source='''
def put_back(kept, filler, noise):
    images, order = torch.arange(len(kept), device=noise.device), noise.argsort(dim=1)
    rows = [filler.repeat(len(kept), 1)] * noise.shape[1]
    whole = torch.stack(rows, dim=1)
    for n in range(kept.shape[1]):
        whole = whole.index_put((images, order[:, n]), kept[:, n])
    return whole
''')
ex.right("the image of ranks in plain Python", source='''
def put_back(kept, filler, noise):
    def restored(patches, row):
        rank = {number: n for n, number in enumerate(sorted(row))}
        for number in row:
            n = rank[number]
            yield patches[n] if n < len(patches) else filler

    return torch.stack([torch.stack(list(restored(*pair))) for pair in zip(kept, noise.tolist())])
''')

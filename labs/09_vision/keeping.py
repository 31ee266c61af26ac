"""Exercise 9.1: the patches that a masked autoencoder sees.

The noise comes from outside, so that there is one right result.
"""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def visible_patches(patches: Tensor, noise: Tensor, keep: int) -> Tensor:
    """The patches of each image that have the least noise,
    (B, keep, D), in the order of their noise."""
    chosen = noise.argsort(dim=1)[:, :keep]
    return patches.gather(1, chosen[:, :, None].expand(-1, -1, patches.shape[2]))
'''
ex = exercise(
    "9.1", ANSWER, points=7, minutes=9, difficulty=1, reread=("sec-mae-masking", "sec-vit-patchify"),
)  # fmt: skip


@ex.maker
def pictures(normal, B, N, D, keep, dtype=torch.float32):
    return {"patches": normal(B, N, D).to(dtype), "noise": normal(B, N).sigmoid(), "keep": keep}


ex.probe("three of eleven patches", B=5, N=11, D=2, keep=3)
ex.probe("most patches stay visible", B=2, N=7, D=13, keep=5)
ex.probe("a batch of one, one patch", B=1, N=5, D=3, keep=1)
ex.probe("every patch stays visible", B=3, N=7, D=5, keep=7)
ex.probe("half of the patches", B=3, N=22, D=7, keep=11)
ex.probe("double precision", B=2, N=11, D=5, keep=3, dtype=torch.float64)
ex.probe("half precision", B=3, N=7, D=11, keep=2, dtype=torch.float16)
ex.probe("numbers with gaps in memory", B=2, N=13, D=3, keep=5, strided=True)
ex.hidden("a quarter of 52 patches", B=7, N=52, D=3, keep=13)
ex.hidden("as many images as patches", B=5, N=5, D=5, keep=5)
ex.hidden("patches of one number", B=3, N=17, D=1, keep=4)


@ex.law("hidden patches have no influence", "The encoder must not know what it will be asked to paint.")
def hidden_changed(run, probe):
    rank = probe.args["noise"].argsort(dim=1).argsort(dim=1)
    changed = probe.args["patches"] + 7 * (rank >= probe.args["keep"])[..., None]
    return run(probe), run(probe.having("law", patches=changed))


@ex.law("the places of the patches do not matter", "The noise alone decides: it moves with the patches.")
def places_turned(run, probe):
    moved = {name: probe.args[name].flip(1) for name in ("patches", "noise")}
    return run(probe), run(probe.having("law", **moved))


ORDER, CUT = "noise.argsort(dim=1)", "[:, :keep]"
ex.wrong(
    "the patches with the most noise",
    "The least noise stays visible: sort in ascending order and take the first.",
    (ORDER, "noise.argsort(dim=1, descending=True)"), believes="noise is what one wants to see",
)
ex.wrong(
    "the hidden patches come out",
    "keep is the number of patches that stay visible, at the front of the sorted row.",
    (CUT, "[:, keep:]"), believes="keep says where the hidden ones begin",
)
ex.wrong(
    "the same places in every image",
    "Each image has noise of its own, and so its own visible places.",
    (f"{ORDER}{CUT}", f"{ORDER}[:1, :keep].expand(len(noise), -1)"), believes="one mask for the batch",
)
ex.wrong(
    "the first patches",
    "The visible patches are drawn by the noise. The first ones would always be the upper edge.",
    (ORDER, "torch.arange(noise.shape[1], device=noise.device).expand_as(noise)"),
    believes="which ones does not matter",
)
ex.wrong(
    "in reading order",
    "The patches come in the order of their noise, least first: exercise 9.2 puts them back by it.",
    (CUT, "[:, :keep].sort(dim=1).values"), believes="patches are always in reading order",
)
ex.wrong(
    "ranks taken for places",
    "argsort gives the places in the order of their noise. A second argsort gives the rank of each place.",
    (ORDER, "noise.argsort(dim=1).argsort(dim=1)"), believes="argsort gives ranks",
)
ex.wrong(
    "sorted across the images",
    "The patches of one image compete with each other: sort along the second axis.",
    (ORDER, "noise.argsort(dim=0)"), believes="any axis will do",
)
ex.wrong(
    "one number of each patch",
    "gather reads one number for each index: give it an index for all D numbers of a patch, by expand.",
    (".expand(-1, -1, patches.shape[2])", ""), believes="gather broadcasts",
)
ex.wrong(
    "every image with the places of every image",
    "patches[:, chosen] applies all rows of places to each image: gather pairs them.",
    ("patches.gather(1, chosen[:, :, None].expand(-1, -1, patches.shape[2]))", "patches[:, chosen]"),
    believes="indices pair up by themselves",
)
ex.wrong(
    "hidden patches set to zero",
    "Hidden patches are left out, not blackened: that is why MAE's encoder costs so little.",
    source="""
def visible_patches(patches, noise, keep):
    seen = noise.argsort(dim=1).argsort(dim=1) < keep
    return patches * seen[..., None].to(patches.dtype)
""", believes="hidden means black",
)
ex.wrong(
    "all patches come out",
    "Sorted, but not cut: only the first `keep` places stay visible.",
    (f"{ORDER}{CUT}", ORDER), believes="sorting is choosing",
)
ex.wrong(
    "places taken for numbers of images",
    "patches[chosen] picks images: a place needs the number of its image in front of it, or gather.",
    ("patches.gather(1, chosen[:, :, None].expand(-1, -1, patches.shape[2]))", "patches[chosen]"),
    believes="the first axis is that of the patches",
    shows=lambda symptom: symptom.stage == "runs" and "out of bounds" in symptom.case.outcome.error,
)
ex.wrong(
    "an index with an axis too few",
    "gather wants an index with as many axes as the input: chosen[:, :, None], expanded to D numbers.",
    ("chosen[:, :, None].expand(-1, -1, patches.shape[2])", "chosen"), believes="a place is a patch",
    shows=lambda symptom: symptom.stage == "runs" and "number of dimensions" in symptom.case.outcome.error,
)
ex.wrong(
    "the library does the work",
    source="""
def visible_patches(patches, noise, keep):
    from pioneers.objectives import keep_patches

    return keep_patches(patches, noise.argsort(1)[:, :keep])
""", believes="the package has a function for that",
)
ex.wrong(
    "the last of the order",
    "Sorted upwards, the least noise comes first: take the first ones.",
    ("[:, :keep]", "[:, -keep:]"), believes="what is kept stands at the end",
)
ex.wrong(
    "keep taken for the number of hidden patches",
    "keep is how many patches stay visible, not how many are hidden.",
    (CUT, "[:, : noise.shape[1] - keep]"), (CUT, "[:, keep:].flip(1)"),
    believes="a ratio says how many are masked",
)

ex.right(
    "indices that pair up",
    source="""
def visible_patches(patches, noise, keep):
    images = torch.arange(len(noise), device=noise.device)[:, None]
    return patches[images, torch.sort(noise, dim=1).indices[:, :keep]]
""",
)
ex.right(
    "image by image",
    source="""
def visible_patches(patches, noise, keep):
    rows = []
    for image, drawn in zip(patches, noise):
        rows.append(image[drawn.topk(keep, largest=False).indices])
    return torch.stack(rows)
""",
)
ex.equivalent(
    "It is the default, or the last axis.",
    ("dim=1", ""),
)
ex.equivalent(
    "An index on the CPU picks from a tensor on any device.",
    (", device=noise.device", ""),
    of="indices that pair up",
)
ex.equivalent(
    "It is the default, or the last axis.",
    ("noise, dim=1", "noise"),
    of="indices that pair up",
)
ex.right("the least of topk", source='''
def visible_patches(patches, noise, keep):
    chosen = noise.topk(keep, dim=1, largest=False).indices
    return torch.take_along_dim(patches, chosen.unsqueeze(-1), dim=1)
''')
ex.right("a matrix of zeros and ones picks", source='''
def visible_patches(patches, noise, keep):
    order = noise.argsort(dim=1)[:, :keep]
    pick = F.one_hot(order, noise.shape[1]).to(patches.dtype)
    return torch.einsum("bkn,bnd->bkd", pick, patches)
''')
ex.right("ranks by counting", source='''
def visible_patches(patches, noise, keep):
    rank = (noise[:, None, :] < noise[:, :, None]).sum(2)
    pick = rank[:, None, :] == torch.arange(keep, device=noise.device)[:, None]
    return pick.to(patches.dtype) @ patches
''')
ex.right("the minimum again and again", source='''
def visible_patches(patches, noise, keep):
    left, images, found = noise.clone(), torch.arange(len(noise), device=noise.device), []
    for _ in range(keep):
        place = left.argmin(dim=1)
        found.append(patches[images, place])
        left[images, place] = torch.inf
    return torch.stack(found, dim=1)
''')
ex.right("rows of one long list of patches", source='''
def visible_patches(patches, noise, keep):
    B, N, D = patches.shape
    start = N * torch.arange(B, device=noise.device)
    chosen = start[:, None] + noise.sort(dim=1)[1].narrow(1, 0, keep)
    return patches.reshape(B * N, D).index_select(0, chosen.flatten()).reshape(B, keep, D)
''')
ex.right("Python sorts the places", source='''
def visible_patches(patches, noise, keep):
    def places(drawn):
        return sorted(range(len(drawn)), key=drawn.__getitem__)[:keep]

    return torch.stack([torch.stack([x[n] for n in places(row)]) for x, row in zip(patches, noise.tolist())])
''')

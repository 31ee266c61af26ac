"""Exercise 9.7: how well two boxes agree, also when they do not meet.

No two edges of a probe coincide: there the maximum has two right gradients.
"""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def giou(first: Tensor, second: Tensor) -> Tensor:
    """Generalised IoU of each box (Q, 4) with each (M, 4): (Q, M)."""
    a, b = first[:, None], second[None]
    low, high = torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    area_a, area_b = (a[..., 2:] - a[..., :2]).prod(-1), (b[..., 2:] - b[..., :2]).prod(-1)
    union = area_a + area_b - shared
    low, high = torch.minimum(a[..., :2], b[..., :2]), torch.maximum(a[..., 2:], b[..., 2:])
    hull = (high - low).prod(-1)
    return shared / union - (hull - union) / hull
'''
ex = exercise("9.7", ANSWER, points=8, minutes=12, difficulty=2, reread="sec-detr-overlap")


@ex.maker
def boxes(normal, Q, M, spread=1.0, dtype=torch.float32, **given):
    """``spread`` is how far apart the corners lie, in sizes of a box."""
    args = {}
    for name, count in (("first", Q), ("second", M)):
        corner = spread * normal(count, 2)
        args[name] = torch.cat((corner, corner + 0.7 + normal(count, 2).abs()), dim=1).to(dtype)
    return args | given


ex.probe("five boxes and seven", Q=5, M=7)
ex.probe("boxes far apart", Q=3, M=5, spread=5.0)
ex.probe("boxes close together", Q=7, M=2, spread=0.2)
ex.probe("one box and one", Q=1, M=1)
ex.probe("as many as many", Q=5, M=5)
ex.probe("one box inside another, one beside it", Q=2, M=2, first=[[0.0, 0, 8, 6], [9, 1.5, 11, 2]],
         second=[[2.0, 1, 5, 5], [13, 4, 14, 9]])
ex.probe("one box across another", Q=1, M=2, first=[[0.0, 2, 9, 3]],
         second=[[4.0, -1, 5, 7], [6, 2.5, 11, 13]])
ex.probe("double precision", Q=3, M=2, dtype=torch.float64)
ex.probe("half precision", Q=3, M=5, dtype=torch.float16)
ex.probe("numbers with gaps in memory", Q=2, M=7, strided=True)
ex.hidden("eleven boxes and three", Q=11, M=3, spread=2.0)
ex.hidden("one box and many", Q=1, M=13)
ex.hidden("very far apart", Q=3, M=3, spread=40.0)


@ex.own
def overlapping(whole):
    """Boxes in double precision that all hold the same unit square."""
    low, high = torch.tensor([whole(0, 400, 6, 2), whole(500, 900, 6, 2)], dtype=torch.float64) / 100
    boxes = torch.cat((low, high), dim=1)
    return {"Q": 2, "M": 4, "first": boxes[:2], "second": boxes[2:]}


@ex.law("a box agrees with itself", "Nothing of the union is missing, and nothing around it is empty: 1.")
def itself(run, probe):
    box = probe.args["first"]
    agreed = run(probe.having("law", second=box.clone())).diagonal()
    return agreed, torch.ones_like(agreed)


@ex.law("first and second may be exchanged", "Overlap is mutual.")
def exchanged(run, probe):
    first, second = probe.args["first"], probe.args["second"]
    return run(probe), run(probe.having("law", first=second, second=first)).T


@ex.law("the unit does not matter", "Areas are divided by areas, and only differences count.")
def other_unit(run, probe):
    scaled = {name: 4 * probe.args[name] + 3 for name in ("first", "second")}
    return run(probe), run(probe.having("law", **scaled))


@ex.law("boxes that touch share nothing", "IoU is 0, and half of the hull of these two is empty.")
def touching(run, probe):
    first, second = torch.tensor([[0.0, 0, 2, 2]]), torch.tensor([[2.0, 2, 4, 4]])
    return run(probe.having("law", first=first, second=second)), torch.tensor([[-0.5]])


SHARED, UNION = "(high - low).clamp(min=0).prod(-1)", "area_a + area_b - shared"
RESULT = "shared / union - (hull - union) / hull"
START = "    a, b = first[:, None], second[None]\n"
ex.wrong(
    "boxes apart share an area",
    "Boxes apart in both directions: minus times minus is plus. Clamp each side at 0 before you multiply.",
    (SHARED, "(high - low).prod(-1)"), believes="an area cannot be negative",
)
ex.wrong(
    "the product is clamped instead of the sides",
    "Two negative sides have a positive product: clamp each side at 0 before you multiply.",
    (SHARED, "(high - low).prod(-1).clamp(min=0)"), believes="a product is negative if a side is",
)
ex.wrong(
    "the plain IoU",
    "IoU is 0 for all boxes that do not meet, near or far: GIoU also subtracts the empty share of the hull.",
    (RESULT, "shared / union"), believes="IoU tells enough",
)
ex.wrong(
    "what is shared counts twice",
    "The sum of both areas counts the intersection twice: subtract it once.",
    (UNION, "area_a + area_b"), believes="a union is a sum",
)
ex.wrong(
    "the empty part as a share of the union",
    "It is a share of the hull: divide by the hull.",
    (RESULT, "shared / union - (hull - union) / union"), believes="all shares are of the union",
)
ex.wrong(
    "the empty part as an area",
    "An area depends on the unit: divide by the hull.",
    (RESULT, "shared / union - (hull - union)"), believes="empty is empty",
)
ex.wrong(
    "the sign is wrong",
    "Empty space around two boxes makes them agree less: subtract its share.",
    (RESULT, "shared / union + (hull - union) / hull"), believes="a penalty is added",
)
ex.wrong(
    "a hull that does not hold both boxes",
    "The hull begins at the smaller x0 and y0 and ends at the larger x1 and y1.",
    ("low, high = torch.minimum(a[..., :2], b[..., :2]), torch.maximum(a[..., 2:], b[..., 2:])",
     "low, high = torch.maximum(a[..., :2], b[..., :2]), torch.maximum(a[..., 2:], b[..., 2:])"),
    ("low, high = torch.minimum(a[..., :2], b[..., :2]), torch.maximum(a[..., 2:], b[..., 2:])",
     "low, high = torch.minimum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:])"),
    believes="both ends are the larger ones",
)
ex.wrong(
    "the hull without the intersection",
    "Empty is the part of the hull that neither box covers: hull minus union.",
    (RESULT, "shared / union - (hull - shared) / hull"), believes="what is not shared is empty",
)
ex.wrong(
    "the covered share is subtracted",
    "Subtract the empty share of the hull: (hull - union) / hull.",
    (RESULT, "shared / union - union / hull"), believes="the share is union over hull",
)
ex.wrong(
    "never below zero",
    "Boxes that do not meet get negative values, which tell how far apart they are.",
    (RESULT, f"({RESULT}).clamp(min=0)"), believes="an overlap is not negative",
)
ex.wrong(
    "the loss instead of the agreement",
    "The loss is 1 - GIoU; asked for is GIoU itself.",
    (RESULT, f"1 - ({RESULT})"), believes="GIoU is minimised",
)
ex.wrong(
    "read as centre and size",
    "These boxes are corners: (x0, y0, x1, y1).",
    (START, "    first, second = (torch.cat((x[:, :2] - x[:, 2:] / 2, x[:, :2] + x[:, 2:] / 2), 1)\n"
            "                     for x in (first, second))\n" + START),
    believes="a box is a centre and a size",
)
ex.wrong(
    "only pairs with equal numbers",
    "Every box of first meets every box of second: give them axes of their own, [:, None] and [None].",
    (START, "    n = min(len(first), len(second))\n    a, b = first[:n], second[:n]\n"),
    believes="boxes come in pairs",
)
ex.wrong(
    "a pixel is added to each side",
    "Corners are points, not pixels: the side is x1 - x0.",
    [(SHARED, "(high - low + 1).clamp(min=0).prod(-1)"),
     ("(a[..., 2:] - a[..., :2])", "(a[..., 2:] - a[..., :2] + 1)"),
     ("(b[..., 2:] - b[..., :2])", "(b[..., 2:] - b[..., :2] + 1)"),
     ("hull = (high - low)", "hull = (high - low + 1)")],
    believes="the last pixel belongs to the box",
)
ex.wrong(
    "an epsilon in the division",
    "Union and hull are never 0 here: divide without it.",
    *[(RESULT, result.replace("EPS", eps)) for eps in ("1e-6", "1e-7", "1e-8") for result in (
        "shared / (union + EPS) - (hull - union) / (hull + EPS)",
        "shared / (union + EPS) - (hull - union) / hull",
    )],
    believes="a division needs an epsilon",
)
ex.wrong(
    "axes in another order",
    "",
    (START, "    a, b = first[None], second[:, None]\n"), believes="the second box is the row",
)
ex.wrong(
    "the library does the work",
    source="""
def giou(first, second):
    from pioneers.objectives import generalized_box_iou

    return generalized_box_iou(first, second)
""", believes="the package has a function for that",
)
ex.wrong(
    "box by box instead of all pairs",
    "Each box of first meets each of second: give them an axis each, (Q, 1, 4) and (1, M, 4).",
    ("first[:, None], second[None]", "first, second"), believes="the boxes come in pairs",
    shows=lambda symptom: symptom.stage == "runs" and "must match" in symptom.case.outcome.error,
)
EDGES = ("torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:])",
         "torch.minimum(a[..., :2], b[..., :2]), torch.maximum(a[..., 2:], b[..., 2:])")
ex.wrong(
    "the hull in the place of the intersection",
    "What both share begins at the larger of the lower edges and ends at the smaller of the upper ones.",
    EDGES, believes="the smallest is where it begins",
)
ex.wrong(
    "what is shared is added once more",
    "Both areas hold what is shared: subtract it once, and the union counts it once.",
    ("area_a + area_b - shared", "area_a + area_b + shared"), believes="a union is a sum of all parts",
)

ex.right(
    "x and y by themselves",
    source="""
def giou(first, second):
    shared = hull = 1
    for axis in (0, 1):
        a0, a1 = first[:, axis, None], first[:, axis + 2, None]
        b0, b1 = second[:, axis], second[:, axis + 2]
        shared = shared * F.relu(torch.min(a1, b1) - torch.max(a0, b0))
        hull = hull * (torch.max(a1, b1) - torch.min(a0, b0))
    area = [(x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1]) for x in (first, second)]
    union = area[0][:, None] + area[1] - shared
    return shared / union - 1 + union / hull
""",
)
ex.right(
    "pair by pair",
    source="""
def giou(first, second):
    rows = []
    for a in first:
        for b in second:
            width = (torch.minimum(a[2], b[2]) - torch.maximum(a[0], b[0])).clamp(min=0)
            height = (torch.minimum(a[3], b[3]) - torch.maximum(a[1], b[1])).clamp(min=0)
            union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - width * height
            hull = torch.maximum(a[2], b[2]) - torch.minimum(a[0], b[0])
            hull = hull * (torch.maximum(a[3], b[3]) - torch.minimum(a[1], b[1]))
            rows.append(width * height / union - (hull - union) / hull)
    return torch.stack(rows).reshape(len(first), len(second))
""",
)
ex.equivalent(
    "It broadcasts to the same.",
    ("second[None]", "second"),
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("2:] - a[..., :2", ":2] - a[..., 2:"), ("2:] - b[..., :2", ":2] - b[..., 2:"),
    ("(high - low).prod", "(low - high).prod"),
)
ex.equivalent(
    "A box has four numbers: two to the right is two to the left; the axes are the same.",
    ("axis, None", "None, axis"), ("axis + 2, None", "None, axis + 2"), ("axis + 2,", "axis - 2,"),
    ("axis + 2]", "axis - 2]"),
    of="x and y by themselves",
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("torch.max(a1, b1) - torch.min(a0, b0", "torch.min(a0, b0) - torch.max(a1, b1"),
    of="x and y by themselves",
)
ex.right("corners unbound", source='''
def giou(first, second):
    ax0, ay0, ax1, ay1 = first.unsqueeze(1).unbind(-1)
    bx0, by0, bx1, by1 = second.unbind(-1)
    width = torch.clamp(torch.min(ax1, bx1) - torch.max(ax0, bx0), min=0)
    height = torch.clamp(torch.min(ay1, by1) - torch.max(ay0, by0), min=0)
    inner = width * height
    union = (ax1 - ax0) * (ay1 - ay0) + (bx1 - bx0) * (by1 - by0) - inner
    hull = (torch.max(ax1, bx1) - torch.min(ax0, bx0)) * (torch.max(ay1, by1) - torch.min(ay0, by0))
    return inner / union - (hull - union) / hull
''')
ex.right("a helper for areas", source='''
def giou(first, second):
    def area(low, high):
        sides = (high - low).clamp(min=0)
        return sides[..., 0] * sides[..., 1]

    a, b = first.split(2, dim=1), second.split(2, dim=1)
    a = [x[:, None] for x in a]
    shared = area(torch.maximum(a[0], b[0]), torch.minimum(a[1], b[1]))
    hull = area(torch.minimum(a[0], b[0]), torch.maximum(a[1], b[1]))
    union = area(*a) + area(*b) - shared
    return shared / union + union / hull - 1
''')
ex.right("amin and amax of stacked corners", source='''
def giou(first, second):
    Q, M = len(first), len(second)
    both = torch.stack((first[:, None].expand(Q, M, 4), second.expand(Q, M, 4)))
    low, high = both[..., :2], both[..., 2:]
    area = (high - low).prod(-1)
    shared = F.relu(high.amin(0) - low.amax(0)).prod(-1)
    hull = (high.amax(0) - low.amin(0)).prod(-1)
    union = area.sum(0) - shared
    return shared.div(union) - (hull - union).div(hull)
''')
ex.right("minimum as minus the maximum of minus", source='''
def giou(first, second):
    sign = first.new_tensor([1, 1, -1, -1])
    a, b = (first * sign)[:, None], second * sign
    inner, outer = torch.maximum(a, b), torch.minimum(a, b)

    def area(box):
        sides = -box[..., 2:] - box[..., :2]
        return torch.where(sides > 0, sides, torch.zeros_like(sides)).prod(-1)

    union = area(a) + area(b) - area(inner)
    return area(inner) / union - (area(outer) - union) / area(outer)
''')
ex.right("row by row", source='''
def giou(first, second):
    rows = []
    area = (second[:, 2] - second[:, 0]) * (second[:, 3] - second[:, 1])
    for box in first:
        sides = torch.minimum(box[2:], second[:, 2:]) - torch.maximum(box[:2], second[:, :2])
        around = torch.maximum(box[2:], second[:, 2:]) - torch.minimum(box[:2], second[:, :2])
        shared, hull = sides.clamp(min=0).prod(1), around.prod(1)
        union = area + (box[2] - box[0]) * (box[3] - box[1]) - shared
        rows.append(shared / union - (hull - union) / hull)
    return torch.stack(rows)
''')
ex.right("the hull from sides and overlap", source='''
def giou(first, second):
    size_a, size_b = first[:, 2:] - first[:, :2], second[:, 2:] - second[:, :2]
    ends = torch.minimum(first[:, None, 2:], second[None, :, 2:])
    overlap = ends - torch.maximum(first[:, None, :2], second[None, :, :2])
    hull = size_a[:, None] + size_b - overlap
    hull = hull[..., 0] * hull[..., 1]
    shared = torch.where((overlap > 0).all(-1), overlap[..., 0] * overlap[..., 1], 0)
    union = size_a.prod(1)[:, None] + size_b.prod(1)[None] - shared
    return shared / union - 1 + union / hull
''')

"""Exercise 7.1: how many steps each arm may train for within one budget of operations. Whole numbers."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def equal_steps(
    budget: int, multiply_adds: Tensor, batch_sizes: Tensor
) -> Tensor:
    """Whole steps (A,) within the budget of operations,
    from multiply-adds and batch sizes (A,)."""
    forward = 2 * multiply_adds * batch_sizes
    return budget // (3 * forward)
'''
ex = exercise("7.1", ANSWER, points=6, minutes=6, difficulty=1, reread="sec-vit-data")

VIT = [17_563_828_224, 61_554_712_576]
ex.probe("three arms", budget=10_000, multiply_adds=[7, 11, 13], batch_sizes=[5, 3, 2])
ex.probe("one arm", budget=1_000, multiply_adds=[17], batch_sizes=[3])
ex.probe(
    "a budget that is used up to the last operation", budget=6 * 7 * 11 * 13, multiply_adds=[7, 77],
    batch_sizes=[11, 13],
)
ex.probe("an arm too expensive for a single step", budget=100, multiply_adds=[3, 19], batch_sizes=[5, 1])
ex.probe("a large budget, ViT-B and ViT-L", budget=10**18 - 1, multiply_adds=VIT, batch_sizes=[4096, 512])
ex.probe("more operations than a float counts", budget=6 * 10**17 - 1, multiply_adds=[1], batch_sizes=[1])
ex.hidden("five arms", budget=54_321, multiply_adds=[3, 17, 5, 29, 11], batch_sizes=[7, 2, 13, 3, 5])
ex.hidden("just one operation short", budget=6 * 5 * 19 * 23 - 1, multiply_adds=[19, 5], batch_sizes=[23, 19])
ex.hidden("a very large budget", budget=3 * 10**18 + 1, multiply_adds=[13, 1_000_003], batch_sizes=[7, 11])


@ex.own
def any_arms(whole):
    return {
        "budget": whole(10**4, 10**6), "multiply_adds": whole(3, 30, 3), "batch_sizes": whole(1, 9, 3),
    }


@ex.law("twice the budget pays for twice the batch", "A step of twice the batch costs twice as much.")
def twice_the_budget(run, probe):
    return run(probe.having("law", budget=20_000, batch_sizes=2 * probe.args["batch_sizes"])), run(probe)


def is_fraction(symptom):
    return symptom.stage == "dtype" and symptom.case.outcome.tensor.is_floating_point()


def is_rounded(symptom):
    """Right to the sixteen digits of a float, and not beyond."""
    pairs = ((case.outcome.tensor.double(), case.expected.tensor.double()) for case in symptom.cases)
    return symptom.stage == "value" and all(torch.allclose(*pair, rtol=1e-6, atol=0) for pair in pairs)


STEPS = "budget // (3 * forward)"
ex.wrong(
    "steps that are no whole number",
    "Nobody makes a part of a step: divide with //, and the result is int64.",
    ("//", "/"), believes="a division gives the number of steps", shows=is_fraction,
)
ex.wrong(
    "whole numbers taken through floats",
    "A float has sixteen digits at most: // on whole numbers loses none.",
    (STEPS, "(budget / (3 * forward).double()).floor().long()"), believes="divide, then round down",
    shows=is_rounded,
)
ex.wrong(
    "the forward pass only",
    "Training also goes backward, which costs about two more forward passes: three in all.",
    ("3 * forward", "forward"), believes="training is a forward pass for each batch",
)
ex.wrong(
    "the backward pass counted once",
    "It multiplies twice for each product: by the weights, and by the inputs.",
    ("3 * forward", "2 * forward"), believes="backward costs what forward costs",
)
ex.wrong(
    "multiply-adds taken for operations",
    "A multiply-add is two operations, a product and a sum; the budget counts operations.",
    ("2 * multiply_adds", "multiply_adds"), believes="a multiply-add is one operation",
    section="sec-vit-patch-size",
)
ex.wrong(
    "one image in each step",
    "A step reads a whole batch, and an arm with larger batches may make fewer steps.",
    (" * batch_sizes", ""), believes="a step is an image",
)
ex.wrong(
    "the same images, not the same operations",
    "Equal images favour the arm whose model is larger: the price of an image is multiply_adds.",
    ("multiply_adds *", "multiply_adds.max() *"),
    believes="fair means the same number of images, so of epochs",
)
ex.wrong(
    "more than the budget",
    "The last step must still be paid for: round down, also from 9.9.",
    (STEPS, "-(-budget // (3 * forward))"), ("budget //", "(budget + 3 * forward // 2) //"),
    believes="a part of a step is rounded up",
)
ex.wrong(
    "the same number of steps for every arm",
    "Steps of different arms cost differently: the expensive ones may make fewer of them.",
    (STEPS, f"({STEPS}).min().expand_as(forward)"), believes="fair means the same number of steps",
)
ex.wrong(
    "the budget divided among the arms",
    "Each arm has the whole budget for itself.",
    ("3 * forward", "len(forward) * 3 * forward"), believes="the budget is shared",
)
ex.wrong(
    "rounded to the nearest step",
    "No arm may spend more than the budget: round down, never to the nearest.",
    ("budget // (3 * forward)", "(budget / (3 * forward)).round().long()"), believes="half a step is a step",
)

ex.right(
    "one arm after the other, with Python's whole numbers",
    source="""
def equal_steps(budget, multiply_adds, batch_sizes):
    costs = [6 * m * b for m, b in zip(multiply_adds.tolist(), batch_sizes.tolist())]
    return torch.tensor([budget // cost for cost in costs])
""",
)
ex.right(
    "torch.div, rounded down", (STEPS, 'torch.div(budget, forward + 2 * forward, rounding_mode="floor")'),
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("multiply_adds.tolist(), batch_sizes.tolist", "batch_sizes.tolist(), multiply_adds.tolist"),
    of="one arm after the other, with Python's whole numbers",
)
ex.right("subtracting what is left over", source='''
def equal_steps(budget, multiply_adds, batch_sizes):
    cost = 6 * multiply_adds * batch_sizes
    return (budget - budget % cost) // cost
''')
ex.right("torch.floor_divide, and twos and threes one after the other", source='''
def equal_steps(budget, multiply_adds, batch_sizes):
    image = multiply_adds + multiply_adds
    training = image + 2 * image
    return torch.floor_divide(budget, training.mul(batch_sizes))
''')
ex.right("written into a tensor in place", source='''
def equal_steps(budget, multiply_adds, batch_sizes):
    steps = torch.zeros_like(multiply_adds)
    for a in range(len(steps)):
        steps[a] = budget // (6 * int(multiply_adds[a]) * int(batch_sizes[a]))
    return steps
''')
ex.right("the products as an einsum", source='''
def equal_steps(budget, multiply_adds, batch_sizes):
    costs = torch.einsum("a,a->a", multiply_adds, batch_sizes) * 6
    return torch.full_like(costs, budget).div(costs, rounding_mode="trunc")
''')
ex.right("one division after the other, each rounded down", source='''
def equal_steps(budget, multiply_adds, batch_sizes):
    return budget // 6 // batch_sizes // multiply_adds
''')
ex.right("a function for one step, and map", source='''
def equal_steps(budget, multiply_adds, batch_sizes):
    def step(images, price):
        forward = 2 * images * price
        backward = 2 * forward
        return forward + backward

    costs = map(step, batch_sizes, multiply_adds)
    return torch.stack([budget // cost for cost in costs])
''')

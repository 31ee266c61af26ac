"""Exercise 10.3: the mask of sliding windows with a few global tokens, as in Longformer."""

import torch

from pioneers.checks.building import exercise

ANSWER = '''
def sparse_mask(real: Tensor, is_global: Tensor, window: int) -> Tensor:
    """Which keys (columns) each query (row) may see,
    boolean (B, T, T)."""
    place = torch.arange(real.shape[1], device=real.device)
    near = (place[:, None] - place).abs() <= window
    both = is_global[:, :, None] | is_global[:, None, :]
    return (near | both) & real[:, None, :]
'''
ex = exercise("10.3", ANSWER, points=7, minutes=10, difficulty=2, reread=("sec-cost-window", "sec-padding"))


@ex.maker
def texts(normal, lengths, at, T, window):
    """``lengths`` are those of the texts, ``at`` has the global places of each."""
    is_global = torch.zeros(len(lengths), T, dtype=torch.bool)
    for row, places in enumerate(at):
        is_global[row, places] = True
    real = torch.arange(T) < torch.tensor(lengths)[:, None]
    return {"real": real, "is_global": is_global, "window": window}


ex.probe("two texts, one global token each", lengths=[11, 8], at=[[4], [6]], T=11, window=2)
ex.probe("three texts of different lengths", lengths=[13, 7, 3], at=[[0, 9], [3], []], T=13, window=1)
ex.probe("a wide window, no global token", lengths=[7, 11], at=[[], []], T=11, window=5)
ex.probe("a window of nothing but oneself", lengths=[5], at=[[2]], T=7, window=0)
ex.probe("a global place in the padding", lengths=[5, 9], at=[[1, 7], [8]], T=9, window=2)
ex.probe("a window as long as the text", lengths=[4], at=[[]], T=5, window=7)
ex.probe("one token", lengths=[1], at=[[0]], T=1, window=3)
ex.probe("numbers with gaps in memory", lengths=[7, 5], at=[[3], [0, 4]], T=7, window=1, strided=True)
ex.hidden("seven texts", lengths=[17, 1, 3, 11, 13, 16, 2], at=[[0, 16], [], [2], [5, 6, 7], [12], [0], [1]],
          T=17, window=3)
ex.hidden("as many texts as tokens", lengths=[3, 2, 1], at=[[1], [0], [2]], T=3, window=1)
ex.hidden("all tokens are global", lengths=[4, 6], at=[range(7), range(7)], T=7, window=0)
ex.own(lambda whole: {"lengths": whole(3, 11, 2), "at": whole(0, 10, 2, 1), "T": 11, "window": whole(1, 4)})


@ex.law("no query may see padding", "Its key holds nothing that belongs to the text.")
def no_padding(run, probe):
    mask, real = run(probe), probe.args["real"]
    return mask & ~real[:, None, :], torch.zeros_like(mask)


@ex.law("between real tokens seeing is mutual", "A window and a global token look both ways.")
def mutual(run, probe):
    real = probe.args["real"]
    mask = run(probe) & real[:, :, None]
    return mask, mask.mT


NEAR, BOTH = "(place[:, None] - place).abs() <= window", "is_global[:, :, None] | is_global[:, None, :]"
RESULT = "(near | both) & real[:, None, :]"
ex.wrong(
    "only keys before the query",
    "The window reaches to both sides: this model reads the whole text, as BERT does.",
    (NEAR, "((place[:, None] - place) <= window) & (place[:, None] >= place)"), believes="masks are causal",
)
ex.wrong(
    "one side of the window is open",
    "The distance has no sign: take its absolute value.",
    (NEAR, "(place[:, None] - place) <= window"), (NEAR, "(place - place[:, None]) <= window"),
    believes="a difference is a distance",
)
ex.wrong(
    "the window is counted in all",
    "window is the number of tokens on each side.",
    (NEAR, "(place[:, None] - place).abs() <= window // 2"), believes="a window of w has w tokens",
)
ex.wrong(
    "one token too few on each side",
    "A token at the distance of window is still in it: <=.",
    (NEAR, "(place[:, None] - place).abs() < window"), believes="< is <=",
)
ex.wrong(
    "blocks instead of windows",
    "A window moves with its query. In fixed blocks, neighbours across a border never meet.",
    (NEAR, "place[:, None] // (window + 1) == place // (window + 1)"), believes="a window is a block",
)
ex.wrong(
    "a window that goes around",
    "The last token is not beside the first: a text is not a circle.",
    (NEAR, "torch.minimum((place[:, None] - place) % len(place), (place - place[:, None]) % len(place))"
           " <= window"), believes="indices go around",
)
ex.wrong(
    "global tokens are seen but do not see",
    "A global token also sees all tokens: its row is True as well as its column.",
    (BOTH, "is_global[:, None, :]"), believes="global is a property of keys",
)
ex.wrong(
    "global tokens see but are not seen",
    "A global token is also seen by all tokens: its column is True as well as its row.",
    (BOTH, "is_global[:, :, None]"), believes="global is a property of queries",
)
ex.wrong(
    "only global tokens see each other",
    "One of the two must be global, not both.",
    (BOTH, "is_global[:, :, None] & is_global[:, None, :]"), believes="global tokens form a group",
)
ex.wrong(
    "global tokens only within the window",
    "A global token is seen from any distance: near or global.",
    ("near | both", "near & both"), believes="both conditions must hold",
)
ex.wrong(
    "global tokens are left out",
    "Without them, two tokens that are far apart need many layers to learn of each other.",
    ("near | both", "near | both & near"), believes="a window is enough",
)
ex.wrong(
    "the window is left out",
    "Ordinary tokens see their neighbours too.",
    ("near | both", "both | both & near"), believes="global tokens are enough",
)
ex.wrong(
    "padding is seen",
    "A key that is padding is hidden from every query, near or global.",
    (f"return {RESULT}", "return near | both"), believes="padding is hidden elsewhere",
)
ex.wrong(
    "padding is seen by global tokens",
    "What is padding is hidden last: near or global, and real.",
    (RESULT, "(near & real[:, None, :]) | both"), believes="global tokens see everything",
)
ex.wrong(
    "padding is seen by its neighbours",
    "What is padding is hidden last: near or global, and real.",
    (RESULT, "near | (both & real[:, None, :])"), believes="padding is far away",
)
ex.wrong(
    "the rows of padding are hidden",
    "Columns are keys: it is they that must be real. What padding itself sees is read by nobody.",
    (RESULT, "(near | both) & real[:, :, None]"),
    (RESULT, "(near | both) & real[:, None, :] & real[:, :, None]"),
    believes="padding has no row",
)
ex.wrong(
    "the mask is the wrong way round",
    "True means that the query may see the key.",
    (f"return {RESULT}", f"return ~({RESULT})"), believes="True marks what is hidden",
)
ex.wrong(
    "a mask of numbers", "",
    (f"return {RESULT}", f"return ({RESULT}).float()"),
    (f"return {RESULT}", f"return torch.where({RESULT}, 0.0, -torch.inf)"),
    believes="a mask is added to the scores",
)
ex.wrong(
    "one mask for all texts",
    "Each text has its own length and its own global tokens.",
    ("return (near | both) & real[:, None, :]",
     "mask = (near | both) & real[:, None, :]\n    return mask[:1].expand_as(mask)"),
    believes="a mask is a triangle for all",
)
ex.wrong(
    "the first tokens are global",
    "Which tokens are global is an argument: a question may be anywhere in the text.",
    ("place = torch", "is_global = is_global.sort(1, descending=True)[0]\n    place = torch"),
    believes="the number of global tokens is enough",
)
ex.wrong(
    "a global token in the padding loses its row",
    "Padding is hidden as a key. As a query it follows the same rule as all others.",
    ("place = torch", "is_global = is_global & real\n    place = torch"), believes="padding cannot be global",
)
ex.wrong(
    "a tensor left on the CPU",
    "",
    (", device=real.device", ""), believes="tensors are where they are needed",
)
ex.wrong(
    "the library does the work",
    source="""
def sparse_mask(real, is_global, window):
    from pioneers.layers import window_mask

    T = real.shape[1]
    near = window_mask(T, window=window + 1)
    both = is_global[:, :, None] | is_global[:, None, :]
    return (near | near.T | both) & real[:, None, :]
""", believes="the package has a function for that",
)
ex.wrong(
    "the whole width on each side",
    "`window` counts one side: 2 · window + 1 tokens are seen in all.",
    ("<= window", "<= 2 * window + 1"), ("<= window", "<= 2 * window"),
    believes="the width reaches to both sides",
)
ex.wrong(
    "fixed blocks instead of a window that moves",
    "Each token is in the middle of its own window: compare the distance, not the number of a block.",
    ("(place[:, None] - place).abs() <= window",
     "place[:, None] // (2 * window + 1) == place // (2 * window + 1)"), believes="a window is a block",
)

ex.right(
    "two triangles",
    source="""
def sparse_mask(real, is_global, window):
    band = torch.ones_like(real[:, :, None] | real[:, None, :]).tril(window).triu(-window)
    for b, places in enumerate(is_global):
        band[b, places] = True
        band[b, :, places] = True
    return band.logical_and(real.unsqueeze(1))
""",
)
ex.right(
    "pair by pair",
    source="""
def sparse_mask(real, is_global, window):
    masks = []
    for row, chosen in zip(real.tolist(), is_global.tolist()):
        masks.append([[row[j] and (i - window <= j <= i + window or chosen[i] or chosen[j])
                       for j in range(len(row))] for i in range(len(row))])
    return torch.tensor(masks)
""",
)
ex.equivalent(
    "The two may change places: their sum, product, square or distance is the same.",
    ("place[:, None] - place", "place - place[:, None]"),
)
ex.equivalent(
    "Padding is taken out at the end.",
    ("torch.ones_like", ""), ("|", "&"),
    of="two triangles",
)
ex.right("filled row by row", source='''
def sparse_mask(real, is_global, window):
    B, T = real.shape
    mask = is_global[:, None, :].repeat(1, T, 1)
    for t in range(T):
        mask[:, t, max(0, t - window) : t + window + 1] = True
    mask |= is_global[:, :, None]
    return mask & real[:, None]
''')
ex.right("torch.where for global queries", source='''
def sparse_mask(real, is_global, window):
    row = torch.arange(real.shape[1], device=real.device)
    near = (row >= row[:, None] - window) & (row <= row[:, None] + window)
    keys = near | is_global.unsqueeze(1)
    return torch.where(is_global.unsqueeze(2), real.unsqueeze(1), keys & real.unsqueeze(1))
''')
ex.right("what is hidden, then the contrary", source='''
def sparse_mask(real, is_global, window):
    place = torch.arange(real.shape[1], device=real.device)
    far = (place.unsqueeze(1) - place).pow(2) > window**2
    local = ~is_global
    hidden = far & local[:, :, None] & local[:, None, :]
    return ~(hidden | ~real[:, None, :])
''')
ex.right("sums of whole numbers", source='''
def sparse_mask(real, is_global, window):
    place = torch.arange(real.shape[1], device=real.device)
    near = (torch.cdist(place[:, None].double(), place[:, None].double()) < window + 0.5).long()
    important = is_global.long()
    reasons = near + important[:, :, None] + important[:, None, :]
    return (reasons * real.long()[:, None, :]) > 0
''')
ex.right("diagonal by diagonal", source='''
def sparse_mask(real, is_global, window):
    B, T = real.shape
    near = torch.zeros(T, T, dtype=torch.bool, device=real.device)
    for offset in range(-min(window, T - 1), min(window, T - 1) + 1):
        near.diagonal(offset).fill_(True)
    both = torch.logical_or(is_global.view(B, T, 1), is_global.view(B, 1, T))
    return torch.logical_and(torch.logical_or(near, both), real.view(B, 1, T))
''')
ex.right("text by text with sets", source='''
def sparse_mask(real, is_global, window):
    mask = torch.zeros(*real.shape, real.shape[1], dtype=torch.bool, device=real.device)
    for b in range(len(real)):
        seen = set(real[b].nonzero().flatten().tolist())
        important = set(is_global[b].nonzero().flatten().tolist())
        for q in range(real.shape[1]):
            reach = seen if q in important else seen & (important | set(range(q - window, q + window + 1)))
            mask[b, q, sorted(reach)] = True
    return mask
''')

"""What students really write in lab 1: wrong answers, the diagnosis each must get, and other right ones."""

from pioneers.checks.bank import Right, Wrong

WRONG = {
    "1.1": [
        Wrong(
            "the formula can be typed in as it stands",
            "no maximum subtracted",
            """
def softmax(x, dim):
    return torch.exp(x) / torch.exp(x).sum(dim=dim, keepdim=True)
""",
        ),
        Wrong(
            "the softmax always runs over the last axis",
            "dim is ignored",
            """
def softmax(x, dim):
    x = x - x.max(dim=-1, keepdim=True).values
    return x.exp() / x.exp().sum(dim=-1, keepdim=True)
""",
        ),
        Wrong(
            "any maximum will do",
            "one maximum for the whole tensor",
            """
def softmax(x, dim):
    e = torch.exp(x - x.max())
    return e / e.sum(dim, keepdim=True)
""",
        ),
        Wrong(
            "the whole tensor is one distribution",
            "one sum for the whole tensor",
            """
def softmax(x, dim):
    e = torch.exp(x - torch.max(x))
    return e / torch.sum(e)
""",
        ),
        Wrong(
            "a reduced axis pairs itself up again",
            "the reduced axis is lost",
            """
def softmax(x, dim):
    top = x.max(dim=dim)[0]
    e = (x - top).exp()
    return e / e.sum(dim=dim)
""",
        ),
        Wrong(
            "normalising means dividing by the sum",
            "divided without exp",
            """
def softmax(x, dim):
    return x / torch.sum(x, dim=dim, keepdim=True)
""",
        ),
        Wrong(
            "working in place saves memory and harms nobody",
            "the input is overwritten",
            """
def softmax(x, dim):
    x -= x.amax(dim, keepdim=True)
    e = x.exp()
    return e / e.sum(dim, keepdim=True)
""",
        ),
        Wrong(
            "everything is float32",
            "another precision comes out",
            """
def softmax(x, dim):
    x = x.float()
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)
""",
        ),
        Wrong(
            "NumPy is the same thing",
            "the gradient is cut",
            """
def softmax(x, dim):
    x = x.detach()
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)
""",
        ),
    ],
    "1.2": [
        Wrong(
            "the scores are the weights",
            "scores used as weights",
            """
def look_up(query, keys, values):
    return sum((query @ k) * v for k, v in zip(keys, values))
""",
        ),
        Wrong(
            "a lookup returns the best match",
            "hard lookup",
            """
def look_up(query, keys, values):
    return values[torch.argmax(keys @ query)]
""",
        ),
        Wrong(
            "what is compared is also what is returned",
            "keys mixed instead of values",
            """
def look_up(query, keys, values):
    weights = torch.softmax(keys @ query, dim=0)
    return (weights[:, None] * keys).sum(0)
""",
        ),
        Wrong(
            "dividing by the sum makes weights",
            "scores divided by their sum",
            """
def look_up(query, keys, values):
    scores = keys @ query
    return (scores / scores.sum()) @ values
""",
        ),
        Wrong(
            "similar means near",
            "distance instead of dot product",
            """
def look_up(query, keys, values):
    distance = torch.stack([((query - k) ** 2).sum().sqrt() for k in keys])
    return torch.softmax(-distance, dim=0) @ values
""",
        ),
        Wrong(
            "attention is always scaled",
            "scaled too early",
            """
def look_up(query, keys, values):
    scores = keys @ query / len(query) ** 0.5
    return scores.softmax(0) @ values
""",
        ),
        Wrong(
            "a list of numbers makes as good a tensor",
            "the gradient is cut",
            """
def look_up(query, keys, values):
    scores = torch.tensor([(query * k).sum().item() for k in keys], dtype=query.dtype)
    return scores.softmax(0) @ values
""",
        ),
        Wrong(
            "a function that computes also returns",
            "nothing returned",
            """
def look_up(query, keys, values):
    result = (keys @ query).softmax(0) @ values
""",
        ),
    ],
    "1.3": [
        Wrong(
            "the scale is a detail",
            "not scaled",
            """
def attention(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2), dim=-1) @ v
""",
        ),
        Wrong(
            "every width is the same width",
            "scaled by the width of the values",
            """
def attention(q, k, v):
    d = v.size(-1)
    return torch.softmax(q @ k.transpose(-1, -2) / d**0.5, dim=-1) @ v
""",
        ),
        Wrong(
            "dividing by the width is as good as by its root",
            "divided by d_k instead of its root",
            """
def attention(q, k, v):
    scores = torch.einsum("...tk,...sk->...ts", q, k) / k.size(-1)
    return scores.softmax(-1) @ v
""",
        ),
        Wrong(
            "it does not matter where one divides",
            "scaled after the softmax",
            """
def attention(q, k, v):
    weights = torch.softmax(q @ k.mT, dim=-1) / math.sqrt(q.size(-1))
    return weights @ v
""",
        ),
        Wrong(
            "the softmax runs over the queries",
            "softmax over the queries",
            """
def attention(q, k, v):
    scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
    return torch.softmax(scores, dim=-2) @ v
""",
        ),
        Wrong(
            "matrices multiply as they come",
            "keys not transposed",
            """
def attention(q, k, v):
    scores = q @ k / math.sqrt(q.shape[-1])
    return scores.softmax(-1) @ v
""",
        ),
        Wrong(
            "there is always one batch axis",
            "the wrong axes are transposed",
            """
def attention(q, k, v):
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    return scores.softmax(dim=-1) @ v
""",
        ),
        Wrong(
            "a library call is an answer",
            "the library does the work",
            """
def attention(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)
""",
        ),
    ],
    "1.4": [
        Wrong(
            "a mask says what to hide",
            "True means hidden",
            """
def causal_mask(num_queries, num_keys):
    return torch.triu(torch.ones(num_queries, num_keys), diagonal=num_keys - num_queries + 1).bool()
""",
        ),
        Wrong(
            "the triangle starts in the corner",
            "aligned top left",
            """
def causal_mask(num_queries, num_keys):
    return torch.tril(torch.ones(num_queries, num_keys)).bool()
""",
        ),
        Wrong(
            "earlier means strictly earlier",
            "a token may not see itself",
            """
def causal_mask(num_queries, num_keys):
    now = torch.arange(num_keys - num_queries, num_keys)[:, None]
    return torch.arange(num_keys)[None, :] < now
""",
        ),
        Wrong(
            "upper and lower are easily swapped",
            "only the future is visible",
            """
def causal_mask(num_queries, num_keys):
    return torch.ones(num_queries, num_keys, dtype=torch.bool).triu(num_keys - num_queries)
""",
        ),
        Wrong(
            "a mask is something one adds",
            "a mask of numbers",
            """
def causal_mask(num_queries, num_keys):
    hidden = torch.full((num_queries, num_keys), float("-inf"))
    return hidden.triu(num_keys - num_queries + 1)
""",
        ),
        Wrong(
            "keys come first",
            "rows are keys",
            """
def causal_mask(num_queries, num_keys):
    now = torch.arange(num_keys - num_queries, num_keys)
    return torch.arange(num_keys)[:, None] <= now
""",
        ),
        Wrong(
            "a causal mask is square",
            "always square",
            """
def causal_mask(num_queries, num_keys):
    return torch.tril(torch.ones(num_queries, num_queries, dtype=torch.bool))
""",
        ),
    ],
    "1.5": [
        Wrong(
            "weights can be switched off afterwards",
            "masked after the softmax",
            """
def masked_attention(q, k, v, mask):
    weights = torch.softmax(q @ k.transpose(-2, -1) / q.size(-1) ** 0.5, dim=-1)
    return weights.masked_fill(~mask, 0) @ v
""",
        ),
        Wrong(
            "what was taken can be shared out again",
            "masked after the softmax, then renormalised",
            """
def masked_attention(q, k, v, mask):
    weights = torch.softmax(q @ k.transpose(-2, -1) / q.size(-1) ** 0.5, dim=-1)
    weights = weights * mask
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ v
""",
        ),
        Wrong(
            "a score of zero means no attention",
            "score zero instead of -inf",
            """
def masked_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    return torch.softmax(scores.masked_fill(mask == 0, 0), dim=-1) @ v
""",
        ),
        Wrong(
            "masked_fill fills what stays",
            "the mask is inverted",
            """
def masked_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    return torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1) @ v
""",
        ),
        Wrong(
            "there is always something to attend to",
            "a row of nothing but -inf",
            """
def masked_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    scores = torch.where(mask, scores, float("-inf"))
    return scores.softmax(-1) @ v
""",
        ),
        Wrong(
            "-1e9 is as good as minus infinity",
            "a large negative number for every dtype",
            """
def masked_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    scores = scores.masked_fill(mask == 0, -1e9)
    return torch.softmax(scores, dim=-1) @ v
""",
        ),
        Wrong(
            "the lowest number hides everything",
            "a large negative number in an empty row",
            """
def masked_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-1) @ v
""",
        ),
        Wrong(
            "a mask is added to the scores, whatever it holds",
            "the mask is added",
            """
def masked_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)) + mask
    return torch.softmax(scores, dim=-1) @ v
""",
        ),
        Wrong(
            "nan_to_num mends a NaN",
            "NaN repaired at the end",
            """
def masked_attention(q, k, v, mask):
    hidden = torch.zeros(mask.shape, dtype=q.dtype, device=q.device).masked_fill(~mask, float("-inf"))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)) + hidden
    return torch.nan_to_num(scores.softmax(-1)) @ v
""",
        ),
        Wrong(
            "with a mask the scale is no longer needed",
            "not scaled",
            """
def masked_attention(q, k, v, mask):
    weights = (q @ k.transpose(-2, -1)).masked_fill(~mask, float("-inf")).softmax(-1)
    return weights.masked_fill(~mask, 0) @ v
""",
        ),
    ],
    "1.6": [
        Wrong(
            "a padding mask marks the padding",
            "True means hidden",
            """
def padding_mask(lengths, max_len):
    return (torch.arange(max_len, device=lengths.device) >= lengths[:, None])[:, None, None]
""",
        ),
        Wrong(
            "positions count from one",
            "one token too many",
            """
def padding_mask(lengths, max_len):
    return (torch.arange(max_len, device=lengths.device) <= lengths[:, None])[:, None, None]
""",
        ),
        Wrong(
            "the last token is the end mark",
            "one token too few",
            """
def padding_mask(lengths, max_len):
    return (torch.arange(max_len, device=lengths.device) < lengths[:, None] - 1)[:, None, None]
""",
        ),
        Wrong(
            "broadcasting will find the axes",
            "no axes for heads and queries",
            """
def padding_mask(lengths, max_len):
    return torch.arange(max_len, device=lengths.device)[None] < lengths[:, None]
""",
        ),
        Wrong(
            "the longest sequence sets the width",
            "max_len is ignored",
            """
def padding_mask(lengths, max_len):
    return (torch.arange(lengths.max(), device=lengths.device) < lengths[:, None])[:, None, None]
""",
        ),
        Wrong(
            "ones and zeros are a mask",
            "a mask of numbers",
            """
def padding_mask(lengths, max_len):
    mask = torch.zeros(len(lengths), 1, 1, max_len)
    for i, n in enumerate(lengths):
        mask[i, :, :, :n] = 1
    return mask
""",
        ),
        Wrong(
            "everything lives on the CPU",
            "a tensor left on the CPU",
            """
def padding_mask(lengths, max_len):
    return (torch.arange(max_len) < lengths[:, None])[:, None, None]
""",
        ),
    ],
    "1.7": [
        Wrong(
            "a reshape to the right shape is right",
            "reshaped without a transpose",
            """
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.reshape(B, num_heads, T, D // num_heads)
""",
        ),
        Wrong(
            "the heads take numbers in turn",
            "the width dealt out in turn",
            """
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.reshape(B, T, D // num_heads, num_heads).permute(0, 3, 1, 2)
""",
        ),
        Wrong(
            "cutting the last axis is enough",
            "heads left behind the tokens",
            """
def split_heads(x, num_heads):
    return x.reshape(*x.shape[:2], num_heads, -1)
""",
        ),
        Wrong(
            "heads are more batch",
            "heads folded into the batch",
            """
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.reshape(B, T, num_heads, -1).transpose(1, 2).reshape(B * num_heads, T, -1)
""",
        ),
        Wrong(
            "num_heads is the size of a head",
            "number of heads taken for their width",
            """
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.reshape(B, T, D // num_heads, num_heads).transpose(1, 2)
""",
        ),
        Wrong(
            "the order of transpose and split is free",
            "transposed before the split",
            """
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.transpose(1, 2).reshape(B, num_heads, T, D // num_heads)
""",
        ),
    ],
    "1.8": [
        Wrong(
            "a reshape to the right shape is right",
            "reshaped without a transpose",
            """
def merge_heads(x):
    B, H, T, K = x.shape
    return x.reshape(B, T, H * K)
""",
        ),
        Wrong(
            "the order inside the width is free",
            "the heads shuffled together",
            """
def merge_heads(x):
    B, H, T, K = x.shape
    return x.permute(0, 2, 3, 1).reshape(B, T, K * H)
""",
        ),
        Wrong(
            "heads vote",
            "the heads averaged",
            """
def merge_heads(x):
    return x.mean(dim=1)
""",
        ),
        Wrong(
            "heads add up",
            "the heads added up",
            """
def merge_heads(x):
    return x.sum(dim=1)
""",
        ),
        Wrong(
            "the last two axes are the ones to merge",
            "the tokens merged into the width",
            """
def merge_heads(x):
    B, H, T, K = x.shape
    return x.reshape(B, H, T * K)
""",
        ),
        Wrong(
            "view and reshape are the same",
            "view on a tensor with gaps",
            """
def merge_heads(x):
    B, H, T, K = x.shape
    return x.transpose(1, 2).view(B, T, H * K)
""",
        ),
    ],
    "1.9": [
        Wrong(
            "concatenating is the end",
            "output projection forgotten",
            """
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    B, T, _ = x.shape
    q, k, v = [(x @ w).reshape(B, T, num_heads, -1).transpose(1, 2) for w in (w_q, w_k, w_v)]
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, -1)
""",
        ),
        Wrong(
            "one wide head is as good as several",
            "a single head",
            """
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    q, k, v = [(x @ w)[:, None] for w in (w_q, w_k, w_v)]
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return (scores.softmax(-1) @ v)[:, 0] @ w_o
""",
        ),
        Wrong(
            "the mask can wait",
            "the mask is ignored",
            """
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    B, T, _ = x.shape
    q, k, v = [(x @ w).reshape(B, T, num_heads, -1).transpose(1, 2) for w in (w_q, w_k, w_v)]
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, -1) @ w_o
""",
        ),
        Wrong(
            "d_k is the width of the model",
            "scaled by the full width",
            """
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    B, T, D = x.shape
    q, k, v = [(x @ w).reshape(B, T, num_heads, -1).transpose(1, 2) for w in (w_q, w_k, w_v)]
    scores = q @ k.mT / math.sqrt(D)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, -1) @ w_o
""",
        ),
        Wrong(
            "putting heads side by side is a reshape",
            "heads merged without a transpose",
            """
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    B, T, _ = x.shape
    q, k, v = [(x @ w).reshape(B, T, num_heads, -1).transpose(1, 2) for w in (w_q, w_k, w_v)]
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return (scores.softmax(-1) @ v).reshape(B, T, -1) @ w_o
""",
        ),
        Wrong(
            "splitting into heads is a reshape",
            "heads split without a transpose",
            """
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    B, T, _ = x.shape
    q, k, v = [(x @ w).reshape(B, num_heads, T, -1) for w in (w_q, w_k, w_v)]
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, -1) @ w_o
""",
        ),
        Wrong(
            "keys and values are one thing",
            "keys used as values",
            """
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    B, T, _ = x.shape
    q, k = [(x @ w).reshape(B, T, num_heads, -1).transpose(1, 2) for w in (w_q, w_k)]
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return (scores.softmax(-1) @ k).transpose(1, 2).reshape(B, T, -1) @ w_o
""",
        ),
        Wrong(
            "the book's package may be called",
            "the library does the work",
            """
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    from pioneers.layers import attention as attend

    B, T, _ = x.shape
    q, k, v = [(x @ w).reshape(B, T, num_heads, -1).transpose(1, 2) for w in (w_q, w_k, w_v)]
    return attend(q, k, v, mask=mask).transpose(1, 2).reshape(B, T, -1) @ w_o
""",
        ),
    ],
}

RIGHT = {
    "1.1": [
        Right(
            "slice by slice",
            """
def softmax(x, dim):
    slices = x.unbind(dim)
    top = torch.stack(slices, dim).max(dim).values.detach()
    raised = [(piece - top).exp() for piece in slices]
    total = sum(raised)
    return torch.stack([piece / total for piece in raised], dim)
""",
        ),
        Right(
            "in logarithms",
            """
def softmax(x, dim):
    shifted = x - x.max(dim=dim, keepdim=True).values
    return torch.exp(shifted - shifted.exp().sum(dim=dim, keepdim=True).log())
""",
        ),
    ],
    "1.2": [
        Right(
            "as matrix products",
            """
def look_up(query, keys, values):
    return (keys @ query).softmax(dim=0) @ values
""",
        ),
        Right(
            "a running sum",
            """
def look_up(query, keys, values):
    scores = [torch.dot(query, key) for key in keys]
    top = max(scores)
    raised = [torch.exp(score - top) for score in scores]
    result = torch.zeros_like(values[0])
    for e, value in zip(raised, values):
        result = result + e / sum(raised) * value
    return result
""",
        ),
    ],
    "1.3": [
        Right(
            "einsum",
            """
def attention(q, k, v):
    scores = torch.einsum("...tk,...sk->...ts", q, k) * q.shape[-1] ** -0.5
    return torch.einsum("...ts,...sv->...tv", torch.softmax(scores, dim=-1), v)
""",
        ),
        Right(
            "one query at a time",
            """
def attention(q, k, v):
    rows = []
    for t in range(q.shape[-2]):
        scores = (q[..., t : t + 1, :] * k).sum(-1) / math.sqrt(k.shape[-1])
        weights = torch.nn.functional.softmax(scores, dim=-1)
        rows.append((weights[..., None] * v).sum(-2))
    return torch.stack(rows, dim=-2)
""",
        ),
    ],
    "1.4": [
        Right(
            "positions compared",
            """
def causal_mask(num_queries, num_keys):
    now = torch.arange(num_queries)[:, None] + num_keys - num_queries
    return torch.arange(num_keys) <= now
""",
        ),
        Right(
            "row by row",
            """
def causal_mask(num_queries, num_keys):
    mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)
    for i in range(num_queries):
        mask[i, : num_keys - num_queries + i + 1] = True
    return mask
""",
        ),
    ],
    "1.5": [
        Right(
            "the lowest number, then zeros",
            """
def masked_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1) * mask
    return weights @ v
""",
        ),
        Right(
            "empty rows set aside",
            """
def masked_attention(q, k, v, mask):
    empty = ~mask.any(dim=-1, keepdim=True)
    scores = torch.einsum("...tk,...sk->...ts", q, k) / q.size(-1) ** 0.5
    weights = scores.masked_fill(~(mask | empty), float("-inf")).softmax(-1)
    return (weights @ v).masked_fill(empty, 0)
""",
        ),
    ],
    "1.6": [
        Right(
            "row by row",
            """
def padding_mask(lengths, max_len):
    mask = torch.zeros(len(lengths), 1, 1, max_len, dtype=torch.bool, device=lengths.device)
    for i, length in enumerate(lengths.tolist()):
        mask[i, ..., :length] = True
    return mask
""",
        ),
        Right(
            "positions kept in four axes",
            """
def padding_mask(lengths, max_len):
    positions = torch.arange(max_len, device=lengths.device).view(1, 1, 1, -1)
    return lengths.view(-1, 1, 1, 1) > positions
""",
        ),
    ],
    "1.7": [
        Right(
            "slices stacked",
            """
def split_heads(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
""",
        ),
        Right(
            "einops",
            """
def split_heads(x, num_heads):
    from einops import rearrange

    return rearrange(x, "b t (h k) -> b h t k", h=num_heads)
""",
        ),
    ],
    "1.8": [
        Right(
            "heads concatenated",
            """
def merge_heads(x):
    return torch.cat([x[:, h] for h in range(x.shape[1])], dim=-1)
""",
        ),
        Right(
            "permute and flatten",
            """
def merge_heads(x):
    return x.permute(0, 2, 1, 3).flatten(start_dim=2)
""",
        ),
    ],
    "1.9": [
        Right(
            "one head after the other",
            """
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    size = w_q.shape[1] // num_heads
    heads = []
    for h in range(num_heads):
        part = slice(h * size, (h + 1) * size)
        scores = (x @ w_q[:, part]) @ (x @ w_k[:, part]).mT / size**0.5
        if mask is not None:
            every = mask.expand(x.shape[0], num_heads, x.shape[1], x.shape[1])
            scores = scores.masked_fill(~every[:, h], float("-inf"))
        heads.append(scores.softmax(-1) @ (x @ w_v[:, part]))
    return torch.cat(heads, dim=-1) @ w_o
""",
        ),
        Right(
            "einsum with the heads in the weights",
            """
def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, mask=None):
    q, k, v = (
        torch.einsum("btd,dhk->bhtk", x, w.reshape(w.shape[0], num_heads, -1)) for w in (w_q, w_k, w_v)
    )
    scores = torch.einsum("bhtk,bhsk->bhts", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, float("-inf"))
    out = torch.einsum("bhts,bhsk->bhtk", scores.softmax(-1), v)
    return torch.einsum("bhtk,hkd->btd", out, w_o.reshape(num_heads, -1, w_o.shape[-1]))
""",
        ),
    ],
}

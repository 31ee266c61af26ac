"""What students really write in lab 2: wrong answers, the diagnosis each must get, and other right ones."""

from pioneers.checks.bank import Right, Wrong

WRONG = {
    "2.1": [
        Wrong(
            "positions are always 0, 1, 2, …",
            "positions counted from zero",
            """
def sinusoids(positions, d_model, base=10000.0):
    t = torch.arange(len(positions), device=positions.device)[:, None]
    angles = t * base ** (-torch.arange(0, d_model, 2, device=positions.device) / d_model)
    table = torch.zeros(len(positions), d_model, device=positions.device)
    table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()
    return table
""",
        ),
        Wrong(
            "sines and cosines are two halves",
            "all sines, then all cosines",
            """
def sinusoids(positions, d_model, base=10000.0):
    omega = 1 / base ** (torch.arange(0, d_model, 2, device=positions.device) / d_model)
    angles = torch.outer(positions.float(), omega)
    return torch.cat([torch.sin(angles), torch.cos(angles)], dim=1)
""",
        ),
        Wrong(
            "the cosine comes first",
            "sine and cosine swapped",
            """
def sinusoids(positions, d_model, base=10000.0):
    omega = base ** (-torch.arange(0, d_model, 2, device=positions.device) / d_model)
    angles = positions[:, None] * omega
    return torch.stack((angles.cos(), angles.sin()), dim=-1).flatten(1)
""",
        ),
        Wrong(
            "i counts pairs, so no factor is needed",
            "the exponent runs half as fast",
            """
def sinusoids(positions, d_model, base=10000.0):
    omega = base ** (-torch.arange(d_model // 2, device=positions.device) / d_model)
    angles = positions[:, None] * omega
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
""",
        ),
        Wrong(
            "the formula says 2i, so multiply by two",
            "the exponent runs too fast",
            """
def sinusoids(positions, d_model, base=10000.0):
    i = torch.arange(0, d_model, 2, device=positions.device)
    angles = positions[:, None] / base ** (2 * i / d_model)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
""",
        ),
        Wrong(
            "each column has its own exponent",
            "a frequency for each column",
            """
def sinusoids(positions, d_model, base=10000.0):
    table = torch.zeros(len(positions), d_model)
    for row, t in enumerate(positions.tolist()):
        for j in range(d_model):
            angle = t / base ** (j / d_model)
            table[row, j] = math.sin(angle) if j % 2 == 0 else math.cos(angle)
    return table
""",
        ),
        Wrong(
            "the base is 10000",
            "base is ignored",
            """
def sinusoids(positions, d_model, base=10000.0):
    omega = torch.exp(-math.log(10000.0) * torch.arange(0, d_model, 2, device=positions.device) / d_model)
    angles = positions[:, None] * omega
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
""",
        ),
        Wrong(
            "more digits are better",
            "another type than float32",
            """
def sinusoids(positions, d_model, base=10000.0):
    omega = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64, device=positions.device) / d_model)
    angles = positions[:, None] * omega
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
""",
        ),
        Wrong(
            "everything lives on the CPU",
            "a tensor left on the CPU",
            """
def sinusoids(positions, d_model, base=10000.0):
    omega = base ** (-torch.arange(0, d_model, 2) / d_model)
    angles = positions[:, None] * omega
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
""",
        ),
        Wrong(
            "a table from the package is an answer",
            "the library does the work",
            """
def sinusoids(positions, d_model, base=10000.0):
    from pioneers.layers import sinusoidal_table

    return sinusoidal_table(50, d_model, base=base)[positions]
""",
        ),
    ],
    "2.2": [
        Wrong(
            "vectors are columns",
            "the shift goes the other way",
            """
def shift_matrix(offset, d_model, base=10000.0):
    a = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
    blocks = [torch.stack((torch.stack((c, s)), torch.stack((-s, c)))) for c, s in zip(a.cos(), a.sin())]
    return torch.block_diag(*blocks)
""",
        ),
        Wrong(
            "both addition theorems have a plus",
            "the minus sign is missing",
            """
def shift_matrix(offset, d_model, base=10000.0):
    matrix = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        a = offset * base ** (-i / d_model)
        matrix[i, i] = matrix[i + 1, i + 1] = math.cos(a)
        matrix[i, i + 1] = matrix[i + 1, i] = math.sin(a)
    return matrix
""",
        ),
        Wrong(
            "the coefficients are the position k",
            "the position itself as coefficients",
            """
def shift_matrix(offset, d_model, base=10000.0):
    matrix = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        a = offset * base ** (-i / d_model)
        matrix[i, i], matrix[i + 1, i] = math.sin(a), math.cos(a)
        matrix[i, i + 1], matrix[i + 1, i + 1] = -math.cos(a), math.sin(a)
    return matrix
""",
        ),
        Wrong(
            "a plane is channel i and channel i + D/2",
            "planes of channels far apart",
            """
def shift_matrix(offset, d_model, base=10000.0):
    a = offset * base ** (-torch.arange(0, d_model, 2) / d_model)
    cos, sin = torch.diag(a.cos()), torch.diag(a.sin())
    return torch.cat((torch.cat((cos, -sin), 1), torch.cat((sin, cos), 1)), 0)
""",
        ),
        Wrong(
            "a step turns every pair alike",
            "one angle for all pairs",
            """
def shift_matrix(offset, d_model, base=10000.0):
    c, s = math.cos(offset), math.sin(offset)
    return torch.block_diag(*[torch.tensor([[c, -s], [s, c]])] * (d_model // 2))
""",
        ),
        Wrong(
            "i counts pairs, so no factor is needed",
            "the exponent runs half as fast",
            """
def shift_matrix(offset, d_model, base=10000.0):
    a = offset * base ** (-torch.arange(d_model // 2) / d_model)
    return torch.block_diag(*torch.stack((a.cos(), -a.sin(), a.sin(), a.cos()), -1).view(-1, 2, 2))
""",
        ),
        Wrong(
            "the base is 10000",
            "base is ignored",
            """
def shift_matrix(offset, d_model, base=10000.0):
    a = offset * 10000 ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.block_diag(*torch.stack((a.cos(), -a.sin(), a.sin(), a.cos()), -1).view(-1, 2, 2))
""",
        ),
    ],
    "2.3": [
        Wrong(
            "the paper's pairs are everybody's pairs",
            "neighbouring channels paired",
            """
def rotary(x, positions, base=10000.0):
    theta = base ** (-torch.arange(0, x.shape[-1], 2, device=x.device) / x.shape[-1])
    a = positions[:, None] * theta
    cos, sin = a.cos().to(x.dtype), a.sin().to(x.dtype)
    out = torch.empty_like(x)
    out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., 1::2] * cos + x[..., 0::2] * sin
    return out
""",
        ),
        Wrong(
            "any two recipes for RoPE go together",
            "two conventions mixed",
            """
def rotary(x, positions, base=10000.0):
    theta = base ** (-torch.arange(0, x.shape[-1], 2, device=x.device) / x.shape[-1])
    a = (positions[:, None] * theta).repeat_interleave(2, dim=-1)
    left, right = x.chunk(2, dim=-1)
    return x * a.cos().to(x.dtype) + torch.cat((-right, left), dim=-1) * a.sin().to(x.dtype)
""",
        ),
        Wrong(
            "the order of channels does not matter afterwards",
            "taken apart one way, put together another",
            """
def rotary(x, positions, base=10000.0):
    theta = base ** (-torch.arange(0, x.shape[-1], 2, device=x.device) / x.shape[-1])
    a = positions[:, None] * theta
    cos, sin = a.cos().to(x.dtype), a.sin().to(x.dtype)
    p, q = x[..., ::2], x[..., 1::2]
    return torch.cat((p * cos - q * sin, q * cos + p * sin), dim=-1)
""",
        ),
        Wrong(
            "clockwise is as good as anticlockwise",
            "turned the other way",
            """
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    a = positions[:, None] * base ** (-torch.arange(half, device=x.device) / half)
    cos, sin = a.cos().to(x.dtype), a.sin().to(x.dtype)
    p, q = x[..., :half], x[..., half:]
    return torch.cat((p * cos + q * sin, q * cos - p * sin), dim=-1)
""",
        ),
        Wrong(
            "the minus is in both lines",
            "a sign is wrong",
            """
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    a = positions[:, None] * base ** (-torch.arange(half, device=x.device) / half)
    cos, sin = a.cos().to(x.dtype), a.sin().to(x.dtype)
    p, q = x[..., :half], x[..., half:]
    return torch.cat((p * cos - q * sin, q * cos - p * sin), dim=-1)
""",
        ),
        Wrong(
            "the halves are swapped, that is all",
            "a sign is wrong",
            """
def rotary(x, positions, base=10000.0):
    a = positions[:, None] * base ** (-torch.arange(0, x.shape[-1], 2, device=x.device) / x.shape[-1])
    a = torch.cat((a, a), dim=-1)
    swapped = x.roll(x.shape[-1] // 2, dims=-1)
    return x * a.cos().to(x.dtype) + swapped * a.sin().to(x.dtype)
""",
        ),
        Wrong(
            "positions are always 0, 1, 2, …",
            "positions counted from zero",
            """
def rotary(x, positions, base=10000.0):
    T, half = x.shape[-2], x.shape[-1] // 2
    theta = base ** (-torch.arange(half, device=x.device) / half)
    a = torch.arange(T, device=x.device)[:, None] * theta
    cos, sin = a.cos().to(x.dtype), a.sin().to(x.dtype)
    p, q = x[..., :half], x[..., half:]
    return torch.cat((p * cos - q * sin, q * cos + p * sin), dim=-1)
""",
        ),
        Wrong(
            "i counts planes, so no factor is needed",
            "the exponent runs half as fast",
            """
def rotary(x, positions, base=10000.0):
    K = x.shape[-1]
    a = positions[:, None] * base ** (-torch.arange(K // 2, device=x.device) / K)
    cos, sin = a.cos().to(x.dtype), a.sin().to(x.dtype)
    p, q = x.chunk(2, dim=-1)
    return torch.cat((p * cos - q * sin, q * cos + p * sin), dim=-1)
""",
        ),
        Wrong(
            "the base is 10000",
            "base is ignored",
            """
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    a = positions[:, None] / 10000 ** (torch.arange(half, device=x.device) / half)
    p, q = x.chunk(2, dim=-1)
    cos, sin = a.cos().to(x.dtype), a.sin().to(x.dtype)
    return torch.cat((p * cos - q * sin, q * cos + p * sin), dim=-1)
""",
        ),
        Wrong(
            "the angles have the type of x",
            "angles in half precision",
            """
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    theta = (base ** (-torch.arange(half, device=x.device) / half)).to(x.dtype)
    a = positions.to(x.dtype)[:, None] * theta
    p, q = x.chunk(2, dim=-1)
    return torch.cat((p * a.cos() - q * a.sin(), q * a.cos() + p * a.sin()), dim=-1)
""",
        ),
        Wrong(
            "positions are something one adds",
            "added instead of turned",
            """
def rotary(x, positions, base=10000.0):
    omega = base ** (-torch.arange(0, x.shape[-1], 2, device=x.device) / x.shape[-1])
    a = positions[:, None] * omega
    return x + torch.stack((a.sin(), a.cos()), dim=-1).flatten(1).to(x.dtype)
""",
        ),
        Wrong(
            "float32 in, float32 out",
            "another precision comes out",
            """
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    a = positions[:, None] * base ** (-torch.arange(half, device=x.device) / half)
    p, q = x.chunk(2, dim=-1)
    return torch.cat((p * a.cos() - q * a.sin(), q * a.cos() + p * a.sin()), dim=-1)
""",
        ),
        Wrong(
            "a layer from the package is an answer",
            "the library does the work",
            """
def rotary(x, positions, base=10000.0):
    from pioneers.layers import Rotary

    layer = Rotary(x.shape[-1], max_seq_len=1024, base=base)
    return torch.stack([layer(x[..., t : t + 1, :], start=p)[..., 0, :] for t, p in enumerate(positions)], -2)
""",
        ),
    ],
    "2.4": [
        Wrong(
            "far away is a large number",
            "far keys rewarded",
            """
def alibi_bias(num_heads, num_queries, num_keys):
    slopes = torch.tensor([2 ** (-8 * h / num_heads) for h in range(1, num_heads + 1)])
    queries = torch.arange(num_keys - num_queries, num_keys)[:, None]
    return slopes[:, None, None] * (queries - torch.arange(num_keys)).abs()
""",
        ),
        Wrong(
            "keys always come before their query",
            "keys behind the query rewarded",
            """
def alibi_bias(num_heads, num_queries, num_keys):
    slopes = torch.tensor([2 ** (-8 * h / num_heads) for h in range(1, num_heads + 1)])
    queries = torch.arange(num_keys - num_queries, num_keys)[:, None]
    return -slopes[:, None, None] * (queries - torch.arange(num_keys))
""",
        ),
        Wrong(
            "the bias is causal by itself",
            "keys behind the query cost nothing",
            """
def alibi_bias(num_heads, num_queries, num_keys):
    slopes = 2.0 ** (-8 * torch.arange(1, num_heads + 1) / num_heads)
    queries = torch.arange(num_keys - num_queries, num_keys)[:, None]
    return -slopes.view(-1, 1, 1) * (queries - torch.arange(num_keys)).clamp(min=0)
""",
        ),
        Wrong(
            "the first query is the first token",
            "aligned top left",
            """
def alibi_bias(num_heads, num_queries, num_keys):
    bias = torch.zeros(num_heads, num_queries, num_keys)
    for h in range(num_heads):
        for m in range(num_queries):
            for n in range(num_keys):
                bias[h, m, n] = -(2 ** (-8 * (h + 1) / num_heads)) * abs(m - n)
    return bias
""",
        ),
        Wrong(
            "the slopes are 1/2, 1/4, 1/8, …",
            "slopes that do not know the number of heads",
            """
def alibi_bias(num_heads, num_queries, num_keys):
    slopes = 0.5 ** torch.arange(1, num_heads + 1)
    queries = torch.arange(num_keys - num_queries, num_keys)[:, None]
    return -slopes[:, None, None] * (queries - torch.arange(num_keys)).abs()
""",
        ),
        Wrong(
            "counting begins at zero",
            "heads counted from zero",
            """
def alibi_bias(num_heads, num_queries, num_keys):
    slopes = 2 ** (-8 * torch.arange(num_heads) / num_heads)
    queries = torch.arange(num_keys - num_queries, num_keys)[:, None]
    return -slopes[:, None, None] * (queries - torch.arange(num_keys)).abs()
""",
        ),
        Wrong(
            "heads are the last axis",
            "axes in another order",
            """
def alibi_bias(num_heads, num_queries, num_keys):
    slopes = 2.0 ** (-8 * torch.arange(1, num_heads + 1) / num_heads)
    queries = torch.arange(num_keys - num_queries, num_keys)[:, None]
    return -(queries - torch.arange(num_keys)).abs()[..., None] * slopes
""",
        ),
        Wrong(
            "a function from the package is an answer",
            "the library does the work",
            """
def alibi_bias(num_heads, num_queries, num_keys):
    from pioneers import layers

    return layers.alibi_bias(num_heads, num_queries, num_keys)
""",
        ),
    ],
    "2.5": [
        Wrong(
            "a relative position is query minus key",
            "before and behind mixed up",
            """
def distance_bucket(relative, num_buckets, max_distance):
    d, e = relative.clamp(min=0), num_buckets // 2
    far = e + ((num_buckets - e) * (d.clamp(min=1) / e).log() / math.log(max_distance / e)).long()
    return torch.where(d < e, d, far.clamp(max=num_buckets - 1))
""",
        ),
        Wrong(
            "a distance has no direction",
            "keys behind the query sorted too",
            """
def distance_bucket(relative, num_buckets, max_distance):
    d, e = relative.abs(), num_buckets // 2
    far = e + ((num_buckets - e) * (d.clamp(min=1) / e).log() / math.log(max_distance / e)).long()
    return torch.where(d < e, d, far.clamp(max=num_buckets - 1))
""",
        ),
        Wrong(
            "no text is longer than max_distance",
            "no last bucket",
            """
def distance_bucket(relative, num_buckets, max_distance):
    d, e = (-relative).clamp(min=0), num_buckets // 2
    far = e + ((num_buckets - e) * (d.clamp(min=1) / e).log() / math.log(max_distance / e)).long()
    return torch.where(d < e, d, far)
""",
        ),
        Wrong(
            "one formula is enough",
            "the logarithm for near distances too",
            """
def distance_bucket(relative, num_buckets, max_distance):
    d, e = (-relative).clamp(min=0), num_buckets // 2
    share = (d.clamp(min=1) / e).log() / math.log(max_distance / e)
    far = (e + ((num_buckets - e) * share).floor()).long().clamp(max=num_buckets - 1)
    return torch.where(d > 0, far, 0)
""",
        ),
        Wrong(
            "a whole number is made by rounding",
            "rounded, not rounded down",
            """
def distance_bucket(relative, num_buckets, max_distance):
    d, e = (-relative).clamp(min=0), num_buckets // 2
    share = (d.clamp(min=1) / e).log() / math.log(max_distance / e)
    far = (e + (num_buckets - e) * share).round().long()
    return torch.where(d < e, d, far.clamp(max=num_buckets - 1))
""",
        ),
        Wrong(
            "the rest is divided evenly",
            "a straight line instead of a logarithm",
            """
def distance_bucket(relative, num_buckets, max_distance):
    d, e = (-relative).clamp(min=0), num_buckets // 2
    far = e + (d - e) * (num_buckets - e) // (max_distance - e)
    return torch.where(d < e, d, far.clamp(max=num_buckets - 1))
""",
        ),
        Wrong(
            "beyond the last bucket everything is far",
            "a bucket for each distance, then the last",
            """
def distance_bucket(relative, num_buckets, max_distance):
    return torch.clamp(-relative, 0, num_buckets - 1)
""",
        ),
        Wrong(
            "the logarithm of the distance",
            "the logarithm does not begin at e",
            """
def distance_bucket(relative, num_buckets, max_distance):
    d, e = (-relative).clamp(min=0), num_buckets // 2
    far = e + ((num_buckets - e) * d.clamp(min=1).log() / math.log(max_distance)).floor().long()
    return torch.where(d < e, d, far.clamp(max=num_buckets - 1))
""",
        ),
        Wrong(
            "floor makes an integer",
            "a bucket that is no whole number",
            """
def distance_bucket(relative, num_buckets, max_distance):
    d, e = (-relative).clamp(min=0), num_buckets // 2
    share = (d.clamp(min=1) / e).log() / math.log(max_distance / e)
    far = torch.floor(e + (num_buckets - e) * share).clamp(max=num_buckets - 1)
    return torch.where(d < e, d, far)
""",
        ),
    ],
    "2.6": [
        Wrong(
            "torch.var is the variance",
            "variance divided by D - 1",
            """
def layer_norm(x, gain, bias, eps=1e-5):
    h = x.float()
    y = (h - h.mean(-1, keepdim=True)) / torch.sqrt(h.var(-1, keepdim=True) + eps)
    return (gain * y + bias).to(x.dtype)
""",
        ),
        Wrong(
            "eps keeps the divisor from zero, wherever it is added",
            "eps outside the root",
            """
def layer_norm(x, gain, bias, eps=1e-5):
    h = x.float() - x.float().mean(-1, keepdim=True)
    sigma = h.pow(2).mean(-1, keepdim=True).sqrt()
    return (gain * h / (sigma + eps) + bias).to(x.dtype)
""",
        ),
        Wrong(
            "eps is for proofs",
            "eps forgotten",
            """
def layer_norm(x, gain, bias, eps=1e-5):
    h = x.float()
    return (gain * (h - h.mean(-1, True)) / h.std(-1, correction=0, keepdim=True) + bias).to(x.dtype)
""",
        ),
        Wrong(
            "x.std() + eps, as a well-known tutorial has it",
            "D - 1, and eps outside the root",
            """
def layer_norm(x, gain, bias, eps=1e-5):
    mean, std = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
    return gain * (x - mean) / (std + eps) + bias
""",
        ),
        Wrong(
            "a reduced axis pairs itself up again",
            "the reduced axis is lost",
            """
def layer_norm(x, gain, bias, eps=1e-5):
    h = x.float()
    y = (h - h.mean(-1)) / (h.var(-1, unbiased=False) + eps).sqrt()
    return (gain * y + bias).to(x.dtype)
""",
        ),
        Wrong(
            "σ² is what one divides by",
            "divided by the variance",
            """
def layer_norm(x, gain, bias, eps=1e-5):
    mean = x.mean(dim=-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
    return gain * (x - mean) / (variance + eps) + bias
""",
        ),
        Wrong(
            "the formula has a root, and so has σ",
            "the root taken twice",
            """
def layer_norm(x, gain, bias, eps=1e-5):
    h = x.float()
    sigma = (h.var(-1, keepdim=True, correction=0) + eps).sqrt()
    return (gain * (h - h.mean(-1, keepdim=True)) / sigma.sqrt() + bias).to(x.dtype)
""",
        ),
        Wrong(
            "one normalises over the batch",
            "normalised over the first axis",
            """
def layer_norm(x, gain, bias, eps=1e-5):
    h = x.float()
    y = (h - h.mean(0, keepdim=True)) / (h.var(0, keepdim=True, correction=0) + eps).sqrt()
    return (gain * y + bias).to(x.dtype)
""",
        ),
        Wrong(
            "the layer is the whole tensor",
            "normalised over all axes",
            """
def layer_norm(x, gain, bias, eps=1e-5):
    h = x.float()
    return (gain * (h - h.mean()) / (h.var(correction=0) + eps).sqrt() + bias).to(x.dtype)
""",
        ),
        Wrong(
            "only the size matters",
            "the mean stays",
            """
def layer_norm(x, gain, bias, eps=1e-5):
    h = x.float()
    return (gain * h / (h.square().mean(-1, keepdim=True) + eps).sqrt() + bias).to(x.dtype)
""",
        ),
        Wrong(
            "normalised is normalised",
            "gain forgotten",
            """
def layer_norm(x, gain, bias, eps=1e-5):
    h = x.float() - x.float().mean(-1, keepdim=True)
    return (h * torch.rsqrt(h.square().mean(-1, keepdim=True) + eps) + bias).to(x.dtype)
""",
        ),
        Wrong(
            "gain and bias rescale in any order",
            "gain and bias in the wrong order",
            """
def layer_norm(x, gain, bias, eps=1e-5):
    h = x.float() - x.float().mean(-1, keepdim=True)
    return ((h / (h.square().mean(-1, keepdim=True) + eps).sqrt() + bias) * gain).to(x.dtype)
""",
        ),
        Wrong(
            "E[x²] - E[x]² is the variance",
            "variance as a difference of squares",
            """
def layer_norm(x, gain, bias, eps=1e-5):
    h = x.float()
    mean = h.mean(-1, keepdim=True)
    variance = h.square().mean(-1, keepdim=True) - mean.square()
    return (gain * (h - mean) / (variance + eps).sqrt() + bias).to(x.dtype)
""",
        ),
        Wrong(
            "E[x²] - E[x]² is the variance, in any precision",
            "variance as a difference of squares",
            """
def layer_norm(x, gain, bias, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    variance = (x**2).mean(-1, keepdim=True) - mean**2
    return gain * (x - mean) / (variance + eps).sqrt() + bias
""",
        ),
        Wrong(
            "half precision is only less precise",
            "squares overflow in half precision",
            """
def layer_norm(x, gain, bias, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    return gain * centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() + bias
""",
        ),
        Wrong(
            "statistics are constants",
            "statistics taken for constants",
            """
def layer_norm(x, gain, bias, eps=1e-5):
    h = x.float()
    with torch.no_grad():
        mean, deviation = h.mean(-1, keepdim=True), (h.var(-1, keepdim=True, correction=0) + eps).sqrt()
    return (gain * (h - mean) / deviation + bias).to(x.dtype)
""",
        ),
        Wrong(
            "a library call is an answer",
            "the library does the work",
            """
def layer_norm(x, gain, bias, eps=1e-5):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], gain, bias, eps)
""",
        ),
    ],
    "2.7": [
        Wrong(
            "a norm subtracts the mean",
            "the mean subtracted",
            """
def rms_norm(x, gain, eps=1e-6):
    h = x.float() - x.float().mean(-1, keepdim=True)
    return (gain * h / (h.square().mean(-1, keepdim=True) + eps).sqrt()).to(x.dtype)
""",
        ),
        Wrong(
            "the length is the root mean square",
            "sum instead of mean",
            """
def rms_norm(x, gain, eps=1e-6):
    h = x.float()
    return (gain * h / torch.sqrt((h * h).sum(-1, keepdim=True) + eps)).to(x.dtype)
""",
        ),
        Wrong(
            "eps keeps the divisor from zero, wherever it is added",
            "eps outside the root",
            """
def rms_norm(x, gain, eps=1e-6):
    h = x.float()
    rms = h.norm(dim=-1, keepdim=True) / h.shape[-1] ** 0.5
    return (gain * h / (rms + eps)).to(x.dtype)
""",
        ),
        Wrong(
            "mean square and root mean square are the same",
            "no root",
            """
def rms_norm(x, gain, eps=1e-6):
    h = x.float()
    return (gain * h / (h.square().mean(-1, keepdim=True) + eps)).to(x.dtype)
""",
        ),
        Wrong(
            "the size of a number is its absolute value",
            "mean of absolute values",
            """
def rms_norm(x, gain, eps=1e-6):
    return gain * x / (x.abs().mean(dim=-1, keepdim=True) + eps)
""",
        ),
        Wrong(
            "the layer is the whole tensor",
            "normalised over all axes",
            """
def rms_norm(x, gain, eps=1e-6):
    h = x.float()
    return (gain * h * torch.rsqrt(h.pow(2).mean() + eps)).to(x.dtype)
""",
        ),
        Wrong(
            "half precision is only less precise",
            "squares overflow in half precision",
            """
def rms_norm(x, gain, eps=1e-6):
    return gain * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
""",
        ),
        Wrong(
            "a library call is an answer",
            "the library does the work",
            """
def rms_norm(x, gain, eps=1e-6):
    return torch.rms_norm(x, gain.shape, gain, eps)
""",
        ),
    ],
    "2.8": [
        Wrong(
            "the tanh form is GELU",
            "the tanh form",
            """
def geglu(x, w_gate, w_up, w_down):
    g = x @ w_gate
    gelu = 0.5 * g * (1 + torch.tanh(math.sqrt(2 / math.pi) * (g + 0.044715 * g**3)))
    return (gelu * (x @ w_up)) @ w_down
""",
        ),
        Wrong(
            "1.702 makes a sigmoid the distribution",
            "the sigmoid form",
            """
def geglu(x, w_gate, w_up, w_down):
    g = x @ w_gate
    return (g * torch.sigmoid(1.702 * g) * (x @ w_up)) @ w_down
""",
        ),
        Wrong(
            "erf is the distribution of a standard normal",
            "no root of two inside erf",
            """
def geglu(x, w_gate, w_up, w_down):
    g = x @ w_gate
    return (0.5 * g * (1 + torch.erf(g)) * (x @ w_up)) @ w_down
""",
        ),
        Wrong(
            "Φ is the bell",
            "the density in place of the distribution",
            """
def geglu(x, w_gate, w_up, w_down):
    g = x @ w_gate
    bell = torch.exp(-(g**2) / 2) / math.sqrt(2 * math.pi)
    return (g * bell * (x @ w_up)) @ w_down
""",
        ),
        Wrong(
            "the activation is Φ",
            "Φ without x",
            """
def geglu(x, w_gate, w_up, w_down):
    opened = 0.5 * (1 + torch.erf(x @ w_gate / 2**0.5))
    return (opened * (x @ w_up)) @ w_down
""",
        ),
        Wrong(
            "a gated network is SwiGLU",
            "Swish in place of GELU",
            """
def geglu(x, w_gate, w_up, w_down):
    return (torch.nn.functional.silu(x @ w_gate) * (x @ w_up)) @ w_down
""",
        ),
        Wrong(
            "the activation belongs to the way up, as in the plain network",
            "up and gate swapped",
            """
def geglu(x, w_gate, w_up, w_down):
    u = x @ w_up
    return ((x @ w_gate) * u * torch.special.ndtr(u)) @ w_down
""",
        ),
        Wrong(
            "the plain network, and nothing of the gate",
            "the gate is ignored",
            """
def geglu(x, w_gate, w_up, w_down):
    u = x @ w_up
    return (u * torch.special.ndtr(u)) @ w_down
""",
        ),
        Wrong(
            "the gate alone is the hidden layer",
            "nothing for the gate to multiply",
            """
def geglu(x, w_gate, w_up, w_down):
    g = x @ w_gate
    return (g * torch.special.ndtr(g)) @ w_down
""",
        ),
        Wrong(
            "two branches are added",
            "added instead of multiplied",
            """
def geglu(x, w_gate, w_up, w_down):
    g = x @ w_gate
    return (g * torch.special.ndtr(g) + x @ w_up) @ w_down
""",
        ),
        Wrong(
            "the product goes through the activation",
            "activation after the product",
            """
def geglu(x, w_gate, w_up, w_down):
    h = (x @ w_gate) * (x @ w_up)
    return (h * torch.special.ndtr(h)) @ w_down
""",
        ),
        Wrong(
            "the gate is the last step",
            "never brought back down",
            """
def geglu(x, w_gate, w_up, w_down):
    g = x @ w_gate
    return g * torch.special.ndtr(g) * (x @ w_up)
""",
        ),
        Wrong(
            "a library call is an answer",
            "the library does the work",
            """
def geglu(x, w_gate, w_up, w_down):
    return (torch.nn.GELU()(x @ w_gate) * (x @ w_up)) @ w_down
""",
        ),
    ],
    "2.9": [
        Wrong(
            "a block is pre-norm",
            "norm_first is ignored",
            """
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    layer_norm = torch.nn.functional.layer_norm
    x = x + mix @ (layer_norm(x, gain_attn.shape, gain_attn) @ w_value)
    return x + torch.relu(layer_norm(x, gain_ffn.shape, gain_ffn) @ w_up) @ w_down
""",
        ),
        Wrong(
            "pre-norm means that the norm's result is normalised before it goes on",
            "pre and post swapped",
            """
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    layer_norm = torch.nn.functional.layer_norm
    if norm_first:
        x = layer_norm(x + mix @ x @ w_value, gain_attn.shape, gain_attn)
        return layer_norm(x + torch.relu(x @ w_up) @ w_down, gain_ffn.shape, gain_ffn)
    x = x + mix @ layer_norm(x, gain_attn.shape, gain_attn) @ w_value
    return x + torch.relu(layer_norm(x, gain_ffn.shape, gain_ffn) @ w_up) @ w_down
""",
        ),
        Wrong(
            "layers follow each other",
            "no residual connection",
            """
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    for layer, gain in (
        (lambda h: mix @ h @ w_value, gain_attn),
        (lambda h: torch.relu(h @ w_up) @ w_down, gain_ffn),
    ):
        if norm_first:
            x = layer(torch.nn.functional.layer_norm(x, gain.shape, gain))
        else:
            x = torch.nn.functional.layer_norm(layer(x), gain.shape, gain)
    return x
""",
        ),
        Wrong(
            "one sum around the whole block is enough",
            "one sum for both layers",
            """
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    norm = torch.nn.functional.layer_norm
    if norm_first:
        h = mix @ norm(x, gain_attn.shape, gain_attn) @ w_value
        return x + torch.relu(norm(h, gain_ffn.shape, gain_ffn) @ w_up) @ w_down
    h = norm(mix @ x @ w_value, gain_attn.shape, gain_attn)
    return norm(x + torch.relu(h @ w_up) @ w_down, gain_ffn.shape, gain_ffn)
""",
        ),
        Wrong(
            "x is normalised, then everything happens to x",
            "the normalised stream goes on",
            """
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    norm = torch.nn.functional.layer_norm
    if norm_first:
        x = norm(x, gain_attn.shape, gain_attn)
        x = x + mix @ x @ w_value
        x = norm(x, gain_ffn.shape, gain_ffn)
        return x + torch.relu(x @ w_up) @ w_down
    x = norm(x + mix @ x @ w_value, gain_attn.shape, gain_attn)
    return norm(x + torch.relu(x @ w_up) @ w_down, gain_ffn.shape, gain_ffn)
""",
        ),
        Wrong(
            "post-norm normalises what the layer returns",
            "the norm stands before the sum",
            """
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    def norm(h, gain):
        return torch.nn.functional.layer_norm(h, gain.shape, gain)

    if norm_first:
        x = x + mix @ norm(x, gain_attn) @ w_value
        return x + torch.relu(norm(x, gain_ffn) @ w_up) @ w_down
    x = x + norm(mix @ x @ w_value, gain_attn)
    return x + norm(torch.relu(x @ w_up) @ w_down, gain_ffn)
""",
        ),
        Wrong(
            "both layers look at the same input",
            "both layers read the block's input",
            """
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    def norm(h, gain):
        return torch.nn.functional.layer_norm(h, gain.shape, gain)

    if norm_first:
        attended = mix @ norm(x, gain_attn) @ w_value
        return x + attended + torch.relu(norm(x, gain_ffn) @ w_up) @ w_down
    attended = norm(x + mix @ x @ w_value, gain_attn)
    return norm(attended + torch.relu(x @ w_up) @ w_down, gain_ffn)
""",
        ),
        Wrong(
            "x stays x until the end",
            "what attention added is lost",
            """
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    def norm(h, gain):
        return torch.nn.functional.layer_norm(h, gain.shape, gain)

    if norm_first:
        h = x + mix @ norm(x, gain_attn) @ w_value
        return x + torch.relu(norm(h, gain_ffn) @ w_up) @ w_down
    h = norm(x + mix @ x @ w_value, gain_attn)
    return norm(x + torch.relu(h @ w_up) @ w_down, gain_ffn)
""",
        ),
        Wrong(
            "a norm is a norm",
            "one norm used twice",
            """
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    def norm(h):
        return torch.nn.functional.layer_norm(h, gain_attn.shape, gain_attn)

    if norm_first:
        x = x + mix @ norm(x) @ w_value
        return x + torch.relu(norm(x) @ w_up) @ w_down
    x = norm(x + mix @ x @ w_value)
    return norm(x + torch.relu(x @ w_up) @ w_down)
""",
        ),
        Wrong(
            "layer_norm needs only a shape",
            "the gains are ignored",
            """
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    def norm(h):
        return torch.nn.functional.layer_norm(h, h.shape[-1:])

    if norm_first:
        x = x + mix @ norm(x) @ w_value
        return x + torch.relu(norm(x) @ w_up) @ w_down
    x = norm(x + mix @ x @ w_value)
    return norm(x + torch.relu(x @ w_up) @ w_down)
""",
        ),
        Wrong(
            "columns belong to queries",
            "attention weights transposed",
            """
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    def norm(h, gain):
        return torch.nn.functional.layer_norm(h, gain.shape, gain)

    if norm_first:
        x = x + mix.T @ norm(x, gain_attn) @ w_value
        return x + torch.relu(norm(x, gain_ffn) @ w_up) @ w_down
    x = norm(x + mix.T @ x @ w_value, gain_attn)
    return norm(x + torch.relu(x @ w_up) @ w_down, gain_ffn)
""",
        ),
        Wrong(
            "two matrices make a network",
            "no activation",
            """
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    def norm(h, gain):
        return torch.nn.functional.layer_norm(h, gain.shape, gain)

    if norm_first:
        x = x + mix @ norm(x, gain_attn) @ w_value
        return x + norm(x, gain_ffn) @ w_up @ w_down
    x = norm(x + mix @ x @ w_value, gain_attn)
    return norm(x + x @ w_up @ w_down, gain_ffn)
""",
        ),
        Wrong(
            "+= is a shorter way to write a sum",
            "the input is overwritten",
            """
def block(x, mix, w_value, w_up, w_down, gain_attn, gain_ffn, norm_first=True):
    def norm(h, gain):
        return torch.nn.functional.layer_norm(h, gain.shape, gain)

    if norm_first:
        x += mix @ (norm(x, gain_attn) @ w_value)
        x += torch.relu(norm(x, gain_ffn) @ w_up) @ w_down
        return x
    x += mix @ (x @ w_value)
    x = norm(x, gain_attn)
    return norm(x + torch.relu(x @ w_up) @ w_down, gain_ffn)
""",
        ),
    ],
}

RIGHT = {
    "2.1": [
        Right(
            "number by number",
            """
def sinusoids(positions, d_model, base=10000.0):
    rows = []
    for t in positions.tolist():
        angles = [t * base ** (-2 * i / d_model) for i in range(d_model // 2)]
        rows.append([f(a) for a in angles for f in (math.sin, math.cos)])
    return torch.tensor(rows, device=positions.device)
""",
        ),
        Right(
            "columns filled in, exp and log",
            """
def sinusoids(positions, d_model, base=10000.0):
    steps = torch.arange(0, d_model, 2, device=positions.device)
    angles = torch.outer(positions.float(), torch.exp(-steps * math.log(base) / d_model))
    table = torch.zeros(len(positions), d_model, device=positions.device)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table
""",
        ),
    ],
    "2.2": [
        Right(
            "entry by entry",
            """
def shift_matrix(offset, d_model, base=10000.0):
    matrix = torch.zeros(d_model, d_model)
    for j in range(0, d_model, 2):
        angle = offset * base ** (-j / d_model)
        matrix[j, j] = matrix[j + 1, j + 1] = math.cos(angle)
        matrix[j + 1, j] = math.sin(angle)
        matrix[j, j + 1] = -math.sin(angle)
    return matrix
""",
        ),
        Right(
            "matrix exponential of a step",
            """
def shift_matrix(offset, d_model, base=10000.0):
    omega = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    step = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    return torch.linalg.matrix_exp(offset * torch.block_diag(*omega[:, None, None] * step)).float()
""",
        ),
    ],
    "2.3": [
        Right(
            "complex numbers",
            """
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = positions[:, None] * base ** (-torch.arange(half, device=x.device) / half)
    h = x if x.dtype == torch.float64 else x.float()
    turned = torch.complex(h[..., :half], h[..., half:]) * torch.exp(1j * angles)
    return torch.cat((turned.real, turned.imag), dim=-1).to(x.dtype)
""",
        ),
        Right(
            "rotate_half, as in most code",
            """
def rotary(x, positions, base=10000.0):
    K = x.shape[-1]
    angles = positions[:, None] / base ** (torch.arange(0, K, 2, device=x.device) / K)
    angles = torch.cat((angles, angles), dim=-1)
    rotated = torch.cat((-x[..., K // 2 :], x[..., : K // 2]), dim=-1)
    return x * angles.cos().to(x.dtype) + rotated * angles.sin().to(x.dtype)
""",
        ),
    ],
    "2.4": [
        Right(
            "entry by entry",
            """
def alibi_bias(num_heads, num_queries, num_keys):
    bias = torch.zeros(num_heads, num_queries, num_keys)
    for h in range(num_heads):
        for i in range(num_queries):
            for n in range(num_keys):
                distance = abs(num_keys - num_queries + i - n)
                bias[h, i, n] = -distance * 2 ** (-8 * (h + 1) / num_heads)
    return bias
""",
        ),
        Right(
            "einsum, the last rows of a square",
            """
def alibi_bias(num_heads, num_queries, num_keys):
    places = torch.arange(num_keys, dtype=torch.float32)
    square = -(places[:, None] - places).abs()
    slopes = (2 ** (-8 / num_heads)) ** torch.arange(1, num_heads + 1)
    return torch.einsum("h,ts->hts", slopes, square[num_keys - num_queries :])
""",
        ),
    ],
    "2.5": [
        Right(
            "number by number",
            """
def distance_bucket(relative, num_buckets, max_distance):
    def one(r):
        d, e = max(0, -r), num_buckets // 2
        if d < e:
            return d
        share = math.log(d / e) / math.log(max_distance / e)
        return min(num_buckets - 1, e + math.floor((num_buckets - e) * share))

    return torch.tensor([one(r) for r in relative.flatten().tolist()]).view(relative.shape)
""",
        ),
        Right(
            "counting the borders passed",
            """
def distance_bucket(relative, num_buckets, max_distance):
    e = num_buckets // 2
    steps = torch.arange(1, num_buckets - e, device=relative.device) / (num_buckets - e)
    borders = e * (max_distance / e) ** steps
    d = (-relative).clamp(min=0)
    return d.clamp(max=e) + (d[..., None] >= borders).sum(-1)
""",
        ),
    ],
    "2.6": [
        Right(
            "var_mean and rsqrt",
            """
def layer_norm(x, gain, bias, eps=1e-5):
    variance, mean = torch.var_mean(x.float(), -1, correction=0, keepdim=True)
    return ((x.float() - mean) * torch.rsqrt(variance + eps) * gain.float() + bias.float()).to(x.dtype)
""",
        ),
        Right(
            "a matrix that centres",
            """
def layer_norm(x, gain, bias, eps=1e-5):
    D, h = x.shape[-1], x.double()
    centred = h @ (torch.eye(D, dtype=h.dtype, device=x.device) - 1 / D)
    length = torch.einsum("...d,...d->...", centred, centred)[..., None]
    return torch.addcmul(bias.double(), gain.double(), centred / (length / D + eps) ** 0.5).to(x.dtype)
""",
        ),
    ],
    "2.7": [
        Right(
            "rescaled before squaring, in the type of x",
            """
def rms_norm(x, gain, eps=1e-6):
    size = x.detach().abs().amax(-1, keepdim=True).clamp(min=1)
    h = x / size
    return gain * h / (h.square().mean(-1, keepdim=True) + eps / size / size).sqrt()
""",
        ),
        Right(
            "rsqrt, gain after the cast",
            """
def rms_norm(x, gain, eps=1e-6):
    h = x.double()
    return (h * torch.rsqrt(h.pow(2).sum(-1, keepdim=True) / x.shape[-1] + eps)).to(x.dtype) * gain
""",
        ),
    ],
    "2.8": [
        Right(
            "ndtr",
            """
def geglu(x, w_gate, w_up, w_down):
    gate, up = x @ w_gate, x @ w_up
    return (gate * torch.special.ndtr(gate) * up) @ w_down
""",
        ),
        Right(
            "one product for both projections, erfc",
            """
def geglu(x, w_gate, w_up, w_down):
    gate, up = (x @ torch.cat((w_gate, w_up), dim=1)).chunk(2, dim=-1)
    return torch.einsum("...f,fd->...d", 0.5 * gate * torch.erfc(-gate / 2**0.5) * up, w_down)
""",
        ),
    ],
    "2.9": [
        Right(
            "a loop over the layers",
            """
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
        ),
        Right(
            "the norm by hand",
            """
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
        ),
    ],
}

"""What students really write in lab 4: wrong answers, the diagnosis each must get, and other right ones."""

from pioneers.checks.bank import Right, Wrong

WRONG = {
    "4.1": [
        Wrong(
            "a window has T tokens",
            "one pair too few",
            """
def windows(stream, starts, seq_len):
    rows = torch.stack([stream[s : s + seq_len] for s in starts.tolist()])
    return torch.stack((rows[:, :-1], rows[:, 1:]))
""",
        ),
        Wrong(
            "roll is a shift",
            "the last target comes from the front of the window",
            """
def windows(stream, starts, seq_len):
    inputs = torch.stack([stream[s : s + seq_len] for s in starts.tolist()])
    return torch.stack((inputs, inputs.roll(-1, dims=1)))
""",
        ),
        Wrong(
            "the next token is the next number",
            "the next number instead of the next token",
            """
def windows(stream, starts, seq_len):
    x = stream[starts[:, None] + torch.arange(seq_len, device=stream.device)]
    y = x + 1
    return torch.stack((x, y))
""",
        ),
        Wrong(
            "a model reproduces what it reads",
            "the targets are the inputs",
            """
def windows(stream, starts, seq_len):
    x = stream[starts[:, None] + torch.arange(seq_len, device=stream.device)]
    return torch.stack((x, x.clone()))
""",
        ),
        Wrong(
            "the inputs are the shifted ones",
            "inputs and targets swapped",
            """
def windows(stream, starts, seq_len):
    rows = torch.stack([stream[s : s + seq_len + 1] for s in starts.tolist()])
    return torch.stack((rows[:, 1:], rows[:, :-1]))
""",
        ),
        Wrong(
            "shifting by one means going back by one",
            "the targets lie behind",
            """
def windows(stream, starts, seq_len):
    places = starts[:, None] + torch.arange(seq_len, device=stream.device)
    return torch.stack((stream[places], stream[places - 1]))
""",
        ),
        Wrong(
            "windows lie side by side",
            "the starts are ignored",
            """
def windows(stream, starts, seq_len):
    B = len(starts)
    x = stream[: B * seq_len].view(B, seq_len)
    y = stream[1 : B * seq_len + 1].view(B, seq_len)
    return torch.stack((x, y))
""",
        ),
        Wrong(
            "two results are a pair",
            "two tensors instead of one",
            """
def windows(stream, starts, seq_len):
    rows = torch.stack([stream[s : s + seq_len + 1] for s in starts.tolist()])
    return rows[:, :-1], rows[:, 1:]
""",
        ),
        Wrong(
            "any axis will do for the two",
            "axes in another order",
            """
def windows(stream, starts, seq_len):
    rows = torch.stack([stream[s : s + seq_len + 1] for s in starts.tolist()])
    return torch.stack((rows[:, :-1], rows[:, 1:]), dim=1)
""",
        ),
        Wrong(
            "everything lives on the CPU",
            "a tensor left on the CPU",
            """
def windows(stream, starts, seq_len):
    rows = stream[starts[:, None] + torch.arange(seq_len + 1)]
    return torch.stack((rows[:, :-1], rows[:, 1:]))
""",
        ),
        Wrong(
            "the package's own split is an answer",
            "the library does the work",
            """
def windows(stream, starts, seq_len):
    from pioneers.objectives import causal_lm

    rows = torch.stack([stream[s : s + seq_len + 1] for s in starts.tolist()])
    return torch.stack(causal_lm(rows))
""",
        ),
    ],
    "4.2": [
        Wrong(
            "a target of -100 looks up something harmless",
            "-100 used as an index",
            """
def lm_loss(logits, targets):
    right = logits.gather(-1, targets[..., None]).squeeze(-1)
    nll = logits.logsumexp(-1) - right
    return nll[targets != -100].mean()
""",
        ),
        Wrong(
            "with a legal token in its place padding is harmless",
            "padding scored as a token",
            """
def lm_loss(logits, targets):
    right = logits.gather(-1, targets.clamp(min=0)[..., None]).squeeze(-1)
    return (logits.logsumexp(-1) - right).mean()
""",
        ),
        Wrong(
            "zeros do not change a mean",
            "padding counted in the mean",
            """
def lm_loss(logits, targets):
    right = logits.gather(-1, targets.clamp(min=0)[..., None]).squeeze(-1)
    nll = (logits.logsumexp(-1) - right).masked_fill(targets == -100, 0)
    return nll.mean()
""",
        ),
        Wrong(
            "a mean of means is a mean",
            "a mean of row means",
            """
def lm_loss(logits, targets):
    total = 0
    for z, y in zip(logits, targets):
        z, y = z[y != -100], y[y != -100]
        if len(y):
            total = total - z.log_softmax(-1)[torch.arange(len(y)), y].mean()
    return total / len(logits)
""",
        ),
        Wrong(
            "the loss is a sum",
            "a sum instead of a mean",
            """
def lm_loss(logits, targets):
    real = targets != -100
    log_p = logits.log_softmax(-1)[real]
    return -log_p.gather(-1, targets[real][:, None]).sum()
""",
        ),
        Wrong(
            "likelihood is what counts",
            "the minus sign is missing",
            """
def lm_loss(logits, targets):
    real = targets != -100
    log_p = logits.log_softmax(-1)[real]
    return log_p.gather(-1, targets[real][:, None]).mean()
""",
        ),
        Wrong(
            "log and softmax in two steps are the same",
            "the logarithm of a softmax",
            """
def lm_loss(logits, targets):
    real = targets != -100
    p = logits.softmax(-1)[real]
    return -p.gather(-1, targets[real][:, None]).log().mean()
""",
        ),
        Wrong(
            "the formula can be typed as it is",
            "exp overflows",
            """
def lm_loss(logits, targets):
    real = targets != -100
    z, y = logits[real], targets[real]
    right = z[torch.arange(len(y), device=z.device), y]
    return (torch.log(torch.exp(z).sum(-1)) - right).mean()
""",
        ),
        Wrong(
            "average the probability, then take its logarithm",
            "the logarithm of a mean",
            """
def lm_loss(logits, targets):
    real = targets != -100
    p = logits.softmax(-1)[real].gather(-1, targets[real][:, None])
    return -torch.log(p.mean())
""",
        ),
        Wrong(
            "the loss does the shift",
            "shifted once more",
            """
def lm_loss(logits, targets):
    z, y = logits[:, :-1], targets[:, 1:]
    real = y != -100
    log_p = z.log_softmax(-1)[real]
    return -log_p.gather(-1, y[real][:, None]).mean()
""",
        ),
        Wrong(
            "information is measured in bits",
            "bits instead of nats",
            """
def lm_loss(logits, targets):
    real = targets != -100
    log_p = logits.log_softmax(-1)[real]
    return -log_p.gather(-1, targets[real][:, None]).mean() / math.log(2)
""",
        ),
        Wrong(
            "a loss is a number",
            "a plain number instead of a tensor",
            """
def lm_loss(logits, targets):
    real = targets != -100
    log_p = logits.log_softmax(-1)[real]
    return -log_p.gather(-1, targets[real][:, None]).mean().item()
""",
        ),
        Wrong(
            "torch has this loss",
            "the library does the work",
            """
def lm_loss(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)
""",
        ),
    ],
    "4.3": [
        Wrong(
            "a mean of means is a mean",
            "every window weighs the same",
            """
def perplexity_and_bits(losses, num_tokens, num_characters):
    loss = losses.mean()
    bits = loss / math.log(2) * num_tokens.sum() / num_characters
    return torch.stack((loss.exp(), bits))
""",
        ),
        Wrong(
            "the losses add up",
            "means taken for sums",
            """
def perplexity_and_bits(losses, num_tokens, num_characters):
    nats = losses.sum()
    return torch.stack((torch.exp(nats / num_tokens.sum()), nats / math.log(2) / num_characters))
""",
        ),
        Wrong(
            "perplexities can be averaged",
            "a mean of perplexities",
            """
def perplexity_and_bits(losses, num_tokens, num_characters):
    share = num_tokens / num_tokens.sum()
    nats = (losses * num_tokens).sum()
    return torch.stack(((losses.exp() * share).sum(), nats / math.log(2) / num_characters))
""",
        ),
        Wrong(
            "nats and bits are two words for one thing",
            "nats per character",
            """
def perplexity_and_bits(losses, num_tokens, num_characters):
    nats = (losses * num_tokens).sum()
    return torch.stack(((nats / num_tokens.sum()).exp(), nats / num_characters))
""",
        ),
        Wrong(
            "a nat is less than a bit",
            "multiplied by ln 2",
            """
def perplexity_and_bits(losses, num_tokens, num_characters):
    nats = (losses * num_tokens).sum()
    return torch.stack(((nats / num_tokens.sum()).exp(), nats * math.log(2) / num_characters))
""",
        ),
        Wrong(
            "a token is a character",
            "bits per token",
            """
def perplexity_and_bits(losses, num_tokens, num_characters):
    loss = (losses * num_tokens).sum() / num_tokens.sum()
    return torch.stack((loss.exp(), loss / math.log(2)))
""",
        ),
        Wrong(
            "perplexity is a power of two",
            "two to the nats",
            """
def perplexity_and_bits(losses, num_tokens, num_characters):
    nats = (losses * num_tokens).sum()
    return torch.stack((2 ** (nats / num_tokens.sum()), nats / math.log(2) / num_characters))
""",
        ),
        Wrong(
            "everything is per character",
            "perplexity per character",
            """
def perplexity_and_bits(losses, num_tokens, num_characters):
    per_character = (losses * num_tokens).sum() / num_characters
    return torch.stack((per_character.exp(), per_character / math.log(2)))
""",
        ),
        Wrong(
            "two results are a pair",
            "two numbers instead of one tensor",
            """
def perplexity_and_bits(losses, num_tokens, num_characters):
    nats = float((losses * num_tokens).sum())
    return math.exp(nats / float(num_tokens.sum())), nats / math.log(2) / num_characters
""",
        ),
    ],
    "4.4": [
        Wrong(
            "a high temperature makes everything larger",
            "multiplied by the temperature",
            """
def top_k_distribution(logits, k, temperature=1.0):
    z = logits * temperature
    limit = z.topk(min(k, z.shape[-1]), dim=-1).values[..., -1:]
    return z.masked_fill(z < limit, -math.inf).softmax(-1)
""",
        ),
        Wrong(
            "temperature is for those who need it",
            "the temperature is ignored",
            """
def top_k_distribution(logits, k, temperature=1.0):
    limit = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    return logits.masked_fill(logits < limit, -math.inf).softmax(-1)
""",
        ),
        Wrong(
            "temperature acts on probabilities",
            "temperature after the softmax",
            """
def top_k_distribution(logits, k, temperature=1.0):
    limit = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    return logits.masked_fill(logits < limit, -math.inf).softmax(-1) / temperature
""",
        ),
        Wrong(
            "set the others to zero, done",
            "not renormalised",
            """
def top_k_distribution(logits, k, temperature=1.0):
    p = (logits / temperature).softmax(-1)
    limit = p.topk(min(k, p.shape[-1]), dim=-1).values[..., -1:]
    return torch.where(p >= limit, p, 0.0)
""",
        ),
        Wrong(
            "an excluded token has the logit 0",
            "a logit of zero excludes nothing",
            """
def top_k_distribution(logits, k, temperature=1.0):
    z = logits / temperature
    limit = z.topk(min(k, z.shape[-1]), dim=-1).values[..., -1:]
    return torch.where(z >= limit, z, 0.0).softmax(-1)
""",
        ),
        Wrong(
            "larger than the k-th",
            "the k-th token is lost",
            """
def top_k_distribution(logits, k, temperature=1.0):
    z = logits / temperature
    limit = z.topk(min(k, z.shape[-1]), dim=-1).values[..., -1:]
    return z.masked_fill(~(z > limit), -math.inf).softmax(-1)
""",
        ),
        Wrong(
            "place k of the ranking is the k-th",
            "one token too many",
            """
def top_k_distribution(logits, k, temperature=1.0):
    z = logits / temperature
    ranked = z.sort(dim=-1, descending=True).values
    limit = ranked[..., min(k, z.shape[-1] - 1), None]
    return z.masked_fill(z < limit, -math.inf).softmax(-1)
""",
        ),
        Wrong(
            "k is never larger than V",
            "k larger than the vocabulary stops it",
            """
def top_k_distribution(logits, k, temperature=1.0):
    z = logits / temperature
    limit = z.topk(k, dim=-1).values[..., -1:]
    return z.masked_fill(z < limit, -math.inf).softmax(-1)
""",
        ),
        Wrong(
            "top-k means k tokens and no more",
            "a tie is cut at random",
            """
def top_k_distribution(logits, k, temperature=1.0):
    z = logits / temperature
    values, best = z.topk(min(k, z.shape[-1]), dim=-1)
    return torch.full_like(z, -math.inf).scatter(-1, best, values).softmax(-1)
""",
        ),
        Wrong(
            "topk is the answer",
            "only k numbers come back",
            """
def top_k_distribution(logits, k, temperature=1.0):
    values, _ = (logits / temperature).topk(min(k, logits.shape[-1]), dim=-1)
    return values.softmax(-1)
""",
        ),
        Wrong(
            "sort puts the largest first",
            "the least likely are kept",
            """
def top_k_distribution(logits, k, temperature=1.0):
    z = logits / temperature
    limit = z.sort(dim=-1).values[..., min(k, z.shape[-1]) - 1, None]
    return z.masked_fill(z > limit, -math.inf).softmax(-1)
""",
        ),
        Wrong(
            "the caller needs the logits no more",
            "the input is overwritten",
            """
def top_k_distribution(logits, k, temperature=1.0):
    limit = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    logits[logits < limit] = -math.inf
    return (logits / temperature).softmax(-1)
""",
        ),
        Wrong(
            "the filter of the package is an answer",
            "the library does the work",
            """
def top_k_distribution(logits, k, temperature=1.0):
    from pioneers.generation import filter_logits

    return filter_logits(logits, temperature=temperature, top_k=k).softmax(-1)
""",
        ),
    ],
    "4.5": [
        Wrong(
            "keep while the sum is at most p",
            "the token that reaches p is dropped",
            """
def top_p_distribution(logits, p):
    ranked, order = logits.softmax(-1).sort(-1, descending=True)
    dropped = ranked.cumsum(-1) > p
    dropped = dropped.scatter(-1, order, dropped)
    return logits.masked_fill(dropped, -math.inf).softmax(-1)
""",
        ),
        Wrong(
            "keep while the sum is at most p, and the first one always",
            "the token that reaches p is dropped",
            """
def top_p_distribution(logits, p):
    ranked, order = logits.softmax(-1).sort(-1, descending=True)
    dropped = ranked.cumsum(-1) > p
    dropped[..., 0] = False
    dropped = dropped.scatter(-1, order, dropped)
    return logits.masked_fill(dropped, -math.inf).softmax(-1)
""",
        ),
        Wrong(
            "shift the mask, to be sure",
            "one token too many",
            """
def top_p_distribution(logits, p):
    ranked, order = logits.softmax(-1).sort(-1, descending=True)
    dropped = ranked.cumsum(-1) - ranked >= p
    dropped = torch.cat((torch.zeros_like(dropped[..., :1]), dropped[..., :-1]), dim=-1)
    dropped = dropped.scatter(-1, order, dropped)
    return logits.masked_fill(dropped, -math.inf).softmax(-1)
""",
        ),
        Wrong(
            "the ranking is the result",
            "left in the order of likelihood",
            """
def top_p_distribution(logits, p):
    ranked = logits.sort(-1, descending=True).values
    probabilities = ranked.softmax(-1)
    before = probabilities.cumsum(-1) - probabilities
    return ranked.masked_fill(before >= p, -math.inf).softmax(-1)
""",
        ),
        Wrong(
            "the mask of the ranking fits the logits",
            "places of the ranking used as tokens",
            """
def top_p_distribution(logits, p):
    ranked = logits.softmax(-1).sort(-1, descending=True).values
    before = ranked.cumsum(-1) - ranked
    return logits.masked_fill(before >= p, -math.inf).softmax(-1)
""",
        ),
        Wrong(
            "indexing with the order sorts back",
            "put back with the wrong permutation",
            """
def top_p_distribution(logits, p):
    ranked, order = logits.softmax(-1).sort(-1, descending=True)
    dropped = (ranked.cumsum(-1) - ranked >= p).gather(-1, order)
    return logits.masked_fill(dropped, -math.inf).softmax(-1)
""",
        ),
        Wrong(
            "cumsum needs no order",
            "added up in the order of the vocabulary",
            """
def top_p_distribution(logits, p):
    probabilities = logits.softmax(-1)
    before = probabilities.cumsum(-1) - probabilities
    return logits.masked_fill(before >= p, -math.inf).softmax(-1)
""",
        ),
        Wrong(
            "sort puts the largest first",
            "from the least likely up",
            """
def top_p_distribution(logits, p):
    ranked, order = logits.softmax(-1).sort(-1)
    dropped = ranked.cumsum(-1) - ranked >= p
    dropped = dropped.scatter(-1, order, dropped)
    return logits.masked_fill(dropped, -math.inf).softmax(-1)
""",
        ),
        Wrong(
            "p is a limit for each probability",
            "each token judged by itself",
            """
def top_p_distribution(logits, p):
    probabilities = logits.softmax(-1)
    return logits.masked_fill(probabilities < 1 - p, -math.inf).softmax(-1)
""",
        ),
        Wrong(
            "logits can be added up as well",
            "logits added up",
            """
def top_p_distribution(logits, p):
    ranked, order = logits.sort(-1, descending=True)
    dropped = ranked.cumsum(-1) - ranked >= p
    dropped = dropped.scatter(-1, order, dropped)
    return logits.masked_fill(dropped, -math.inf).softmax(-1)
""",
        ),
        Wrong(
            "set the others to zero, done",
            "not renormalised",
            """
def top_p_distribution(logits, p):
    ranked, order = logits.softmax(-1).sort(-1, descending=True)
    ranked = torch.where(ranked.cumsum(-1) - ranked < p, ranked, 0.0)
    return torch.zeros_like(ranked).scatter(-1, order, ranked)
""",
        ),
        Wrong(
            "the sampler will do the softmax",
            "logits in place of probabilities",
            """
def top_p_distribution(logits, p):
    ranked, order = logits.softmax(-1).sort(-1, descending=True)
    dropped = ranked.cumsum(-1) - ranked >= p
    return logits.masked_fill(dropped.scatter(-1, order, dropped), -math.inf)
""",
        ),
    ],
    "4.6": [
        Wrong(
            "tril is the causal mask",
            "aligned top left",
            """
def cached_attention(q, k, v, past_k, past_v):
    k, v = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    seen = torch.ones(scores.shape[-2:], device=q.device).tril().bool()
    return scores.masked_fill(~seen, -math.inf).softmax(-1) @ v
""",
        ),
        Wrong(
            "with a cache no mask is needed",
            "the new tokens see each other",
            """
def cached_attention(q, k, v, past_k, past_v):
    k, v = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
    return (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1) @ v
""",
        ),
        Wrong(
            "the mask hides the diagonal too",
            "a token does not see itself",
            """
def cached_attention(q, k, v, past_k, past_v):
    P = past_k.shape[2]
    k, v = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:], device=q.device).triu(P).bool()
    return scores.masked_fill(hidden, -math.inf).softmax(-1) @ v
""",
        ),
        Wrong(
            "the cache saves the past from being asked",
            "the past is forgotten",
            """
def cached_attention(q, k, v, past_k, past_v):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:], device=q.device).triu(1).bool()
    return scores.masked_fill(hidden, -math.inf).softmax(-1) @ v
""",
        ),
        Wrong(
            "new queries ask what is in the cache",
            "the new keys are left out",
            """
def cached_attention(q, k, v, past_k, past_v):
    scores = q @ past_k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return scores.softmax(-1) @ past_v
""",
        ),
        Wrong(
            "a set has no order, so append anywhere",
            "the past behind the present",
            """
def cached_attention(q, k, v, past_k, past_v):
    P = past_k.shape[2]
    k, v = torch.cat((k, past_k), dim=2), torch.cat((v, past_v), dim=2)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:], device=q.device).triu(P + 1).bool()
    return scores.masked_fill(hidden, -math.inf).softmax(-1) @ v
""",
        ),
        Wrong(
            "only the newest token matters",
            "the newest query only",
            """
def cached_attention(q, k, v, past_k, past_v):
    k, v = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
    scores = q[:, :, -1:] @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return scores.softmax(-1) @ v
""",
        ),
        Wrong(
            "a cache is for keys",
            "only the keys are kept",
            """
def cached_attention(q, k, v, past_k, past_v):
    P = past_k.shape[2]
    k = torch.cat((past_k, k), dim=2)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:], device=q.device).triu(P + 1).bool()
    return scores.masked_fill(hidden, -math.inf).softmax(-1) @ v
""",
        ),
        Wrong(
            "the softmax takes care of the scale",
            "not scaled",
            """
def cached_attention(q, k, v, past_k, past_v):
    P = past_k.shape[2]
    k, v = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
    scores = q @ k.transpose(-2, -1)
    hidden = torch.ones(scores.shape[-2:], device=q.device).triu(P + 1).bool()
    return scores.masked_fill(hidden, -math.inf).softmax(-1) @ v
""",
        ),
        Wrong(
            "hidden keys get weight 0",
            "masked after the softmax",
            """
def cached_attention(q, k, v, past_k, past_v):
    P = past_k.shape[2]
    k, v = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
    weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1)
    hidden = torch.ones(weights.shape[-2:], device=q.device).triu(P + 1).bool()
    return weights.masked_fill(hidden, 0) @ v
""",
        ),
        Wrong(
            "everything lives on the CPU",
            "a tensor left on the CPU",
            """
def cached_attention(q, k, v, past_k, past_v):
    P = past_k.shape[2]
    k, v = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:]).triu(P + 1).bool()
    return scores.masked_fill(hidden, -math.inf).softmax(-1) @ v
""",
        ),
        Wrong(
            "a step returns the longer cache",
            "the cache comes back too",
            """
def cached_attention(q, k, v, past_k, past_v):
    P = past_k.shape[2]
    k, v = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:], device=q.device).triu(P + 1).bool()
    return scores.masked_fill(hidden, -math.inf).softmax(-1) @ v, k, v
""",
        ),
        Wrong(
            "torch's attention is an answer",
            "the library does the work",
            """
def cached_attention(q, k, v, past_k, past_v):
    P, T = past_k.shape[2], q.shape[2]
    k, v = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
    seen = torch.ones(T, P + T, device=q.device).tril(P).bool()
    return F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
""",
        ),
    ],
    "4.7": [
        Wrong(
            "generation stops after max_new_tokens, that is all",
            "the stop token is ignored",
            """
def write_greedily(table, prompts, max_new_tokens, stop_id, pad_id):
    ids = prompts
    for _ in range(max_new_tokens):
        ids = torch.cat((ids, table[ids[:, -1:]].argmax(-1)), dim=1)
    return ids
""",
        ),
        Wrong(
            "rows that have ended do no harm",
            "rows go on behind their end",
            """
def write_greedily(table, prompts, max_new_tokens, stop_id, pad_id):
    ids, ended = prompts, torch.zeros(len(prompts), dtype=torch.bool, device=prompts.device)
    for _ in range(max_new_tokens):
        if ended.all():
            break
        newest = table[ids[:, -1]].argmax(-1)
        ids = torch.cat((ids, newest[:, None]), dim=1)
        ended = ended | (newest == stop_id)
    return ids
""",
        ),
        Wrong(
            "stop at the stop token",
            "the first end stops all",
            """
def write_greedily(table, prompts, max_new_tokens, stop_id, pad_id):
    ids = prompts
    for _ in range(max_new_tokens):
        newest = table[ids[:, -1]].argmax(-1)
        ids = torch.cat((ids, newest[:, None]), dim=1)
        if (newest == stop_id).any():
            break
    return ids
""",
        ),
        Wrong(
            "the width is known beforehand",
            "written to full length, though all have ended",
            """
def write_greedily(table, prompts, max_new_tokens, stop_id, pad_id):
    B, T = prompts.shape
    ids = torch.full((B, T + max_new_tokens), pad_id, device=prompts.device)
    ids[:, :T] = prompts
    for b in range(B):
        for t in range(T, T + max_new_tokens):
            ids[b, t] = table[ids[b, t - 1]].argmax()
            if ids[b, t] == stop_id:
                break
    return ids
""",
        ),
        Wrong(
            "the stop token is no text",
            "the stop token is thrown away",
            """
def write_greedily(table, prompts, max_new_tokens, stop_id, pad_id):
    ids, ended = prompts, torch.zeros(len(prompts), dtype=torch.bool, device=prompts.device)
    for _ in range(max_new_tokens):
        newest = table[ids[:, -1]].argmax(-1)
        ended = ended | (newest == stop_id)
        newest = torch.where(ended, pad_id, newest)
        ids = torch.cat((ids, newest[:, None]), dim=1)
        if ended.all():
            break
    return ids
""",
        ),
        Wrong(
            "a row with a stop token has ended",
            "a stop token in the prompt ends the row",
            """
def write_greedily(table, prompts, max_new_tokens, stop_id, pad_id):
    ids = prompts
    for _ in range(max_new_tokens):
        ended = (ids == stop_id).any(1)
        if ended.all():
            break
        newest = table[ids[:, -1]].argmax(-1).masked_fill(ended, pad_id)
        ids = torch.cat((ids, newest[:, None]), dim=1)
    return ids
""",
        ),
        Wrong(
            "the answer is what is new",
            "the prompt is thrown away",
            """
def write_greedily(table, prompts, max_new_tokens, stop_id, pad_id):
    newest, written = prompts[:, -1], prompts[:, :0]
    ended = torch.zeros_like(newest, dtype=torch.bool)
    for _ in range(max_new_tokens):
        if ended.all():
            break
        newest = table[newest].argmax(-1).masked_fill(ended, pad_id)
        written = torch.cat((written, newest[:, None]), dim=1)
        ended = ended | (newest == stop_id)
    return written
""",
        ),
        Wrong(
            "max_new_tokens is the longest text",
            "the prompt counted as new tokens",
            """
def write_greedily(table, prompts, max_new_tokens, stop_id, pad_id):
    ids, ended = prompts, torch.zeros(len(prompts), dtype=torch.bool, device=prompts.device)
    while ids.shape[1] < max_new_tokens and not ended.all():
        newest = table[ids[:, -1]].argmax(-1).masked_fill(ended, pad_id)
        ids = torch.cat((ids, newest[:, None]), dim=1)
        ended = ended | (newest == stop_id)
    return ids
""",
        ),
        Wrong(
            "the model gives the next token first",
            "read at the first position",
            """
def write_greedily(table, prompts, max_new_tokens, stop_id, pad_id):
    ids, ended = prompts, torch.zeros(len(prompts), dtype=torch.bool, device=prompts.device)
    for _ in range(max_new_tokens):
        if ended.all():
            break
        drawn = table[ids][:, 0].argmax(-1)
        ids = torch.cat((ids, drawn.masked_fill(ended, pad_id)[:, None]), dim=1)
        ended = ended | (drawn == stop_id)
    return ids
""",
        ),
    ],
    "4.8": [
        Wrong(
            "the last column is the end of the text",
            "read at the last position",
            """
def similarity_logits(hidden, input_ids, extract_id, w):
    return hidden[:, :, -1].sum(1) @ w
""",
        ),
        Wrong(
            "the answer is read at the first token, as in BERT",
            "read at the first position",
            """
def similarity_logits(hidden, input_ids, extract_id, w):
    return (hidden[:, 0, 0] + hidden[:, 1, 0]) @ w
""",
        ),
        Wrong(
            "the extract token only marks the end",
            "read at the last token of the text",
            """
def similarity_logits(hidden, input_ids, extract_id, w):
    b, order, place = (input_ids == extract_id).nonzero(as_tuple=True)
    states = hidden[b, order, place - 1].view(len(hidden), 2, -1)
    return states.sum(1) @ w
""",
        ),
        Wrong(
            "one row shows where the extract token is",
            "one place for the whole batch",
            """
def similarity_logits(hidden, input_ids, extract_id, w):
    place = input_ids[0, 0].tolist().index(extract_id)
    return (hidden[:, 0, place] + hidden[:, 1, place]) @ w
""",
        ),
        Wrong(
            "the text is the mean of its tokens",
            "a mean over all tokens",
            """
def similarity_logits(hidden, input_ids, extract_id, w):
    real = (input_ids != 0).unsqueeze(-1).to(hidden.dtype)
    states = (hidden * real).sum(2) / real.sum(2)
    return states.sum(1) @ w
""",
        ),
        Wrong(
            "the second order says nothing new",
            "one order only",
            """
def similarity_logits(hidden, input_ids, extract_id, w):
    place = (input_ids[:, 0] == extract_id).int().argmax(-1)
    return hidden[torch.arange(len(hidden), device=hidden.device), 0, place] @ w
""",
        ),
        Wrong(
            "symmetric means average",
            "a mean in place of the sum",
            """
def similarity_logits(hidden, input_ids, extract_id, w):
    states = hidden[input_ids == extract_id].view(len(hidden), 2, -1)
    return states.mean(1) @ w
""",
        ),
        Wrong(
            "each row gets its answer",
            "logits for each order",
            """
def similarity_logits(hidden, input_ids, extract_id, w):
    states = hidden[input_ids == extract_id].reshape(len(hidden), 2, -1)
    return states @ w
""",
        ),
        Wrong(
            "similarity is a product",
            "the two states multiplied",
            """
def similarity_logits(hidden, input_ids, extract_id, w):
    states = hidden[input_ids == extract_id].reshape(len(hidden), 2, -1)
    return (states[:, 0] * states[:, 1]) @ w
""",
        ),
        Wrong(
            "a head ends with a softmax",
            "probabilities in place of logits",
            """
def similarity_logits(hidden, input_ids, extract_id, w):
    states = hidden[input_ids == extract_id].reshape(len(hidden), 2, -1)
    return (states.sum(1) @ w).softmax(-1)
""",
        ),
    ],
    "4.9": [
        Wrong(
            "λ is 0.5",
            "λ is ignored",
            """
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    places = torch.arange(input_ids.shape[1], device=input_ids.device)
    targets = input_ids.masked_fill(places > extract[:, None], -100)
    lm = F.cross_entropy(lm_logits[:, :-1].transpose(1, 2), targets[:, 1:])
    return F.cross_entropy(logits, labels) + 0.5 * lm
""",
        ),
        Wrong(
            "λ weighs the task",
            "λ on the wrong loss",
            """
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    places = torch.arange(input_ids.shape[1], device=input_ids.device)
    targets = input_ids.masked_fill(places > extract[:, None], -100)
    lm = F.cross_entropy(lm_logits[:, :-1].transpose(1, 2), targets[:, 1:])
    return lm_weight * F.cross_entropy(logits, labels) + lm
""",
        ),
        Wrong(
            "weights add up to one",
            "a mixture of the two",
            """
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    places = torch.arange(input_ids.shape[1], device=input_ids.device)
    targets = input_ids.masked_fill(places > extract[:, None], -100)
    lm = F.cross_entropy(lm_logits[:, :-1].transpose(1, 2), targets[:, 1:])
    return (1 - lm_weight) * F.cross_entropy(logits, labels) + lm_weight * lm
""",
        ),
        Wrong(
            "padding does no harm",
            "padding scored as a token",
            """
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    lm = F.cross_entropy(lm_logits[:, :-1].flatten(0, 1), input_ids[:, 1:].flatten())
    return F.cross_entropy(logits, labels) + lm_weight * lm
""",
        ),
        Wrong(
            "0 is padding",
            "padding told by its number",
            """
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    lm = F.cross_entropy(lm_logits[:, :-1].transpose(1, 2), input_ids[:, 1:], ignore_index=0)
    return F.cross_entropy(logits, labels) + lm_weight * lm
""",
        ),
        Wrong(
            "logits and tokens of one position belong together",
            "the target is the input",
            """
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    places = torch.arange(input_ids.shape[1], device=input_ids.device)
    targets = input_ids.masked_fill(places > extract[:, None], -100)
    lm = F.cross_entropy(lm_logits.transpose(1, 2), targets)
    return F.cross_entropy(logits, labels) + lm_weight * lm
""",
        ),
        Wrong(
            "the extract token is no text",
            "the extract token is not asked for",
            """
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    places = torch.arange(input_ids.shape[1], device=input_ids.device)
    targets = input_ids.masked_fill(places >= extract[:, None], -100)
    lm = F.cross_entropy(lm_logits[:, :-1].transpose(1, 2), targets[:, 1:])
    return F.cross_entropy(logits, labels) + lm_weight * lm
""",
        ),
        Wrong(
            "the extract token predicts something too",
            "one prediction too many",
            """
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    targets = input_ids[:, 1:].clone()
    places = torch.arange(targets.shape[1], device=input_ids.device)
    targets[places > extract[:, None]] = -100
    lm = F.cross_entropy(lm_logits[:, :-1].transpose(1, 2), targets)
    return F.cross_entropy(logits, labels) + lm_weight * lm
""",
        ),
        Wrong(
            "a mean of means is a mean",
            "a mean of row means",
            """
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    rows = [F.cross_entropy(z[:e], x[1 : e + 1]) for z, x, e in zip(lm_logits, input_ids, extract)]
    return F.cross_entropy(logits, labels) + lm_weight * torch.stack(rows).mean()
""",
        ),
        Wrong(
            "zeros do not change a mean",
            "padding counted in the mean",
            """
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    nll = F.cross_entropy(lm_logits[:, :-1].transpose(1, 2), input_ids[:, 1:], reduction="none")
    places = torch.arange(nll.shape[1], device=input_ids.device)
    lm = nll.masked_fill(places >= extract[:, None], 0).mean()
    return F.cross_entropy(logits, labels) + lm_weight * lm
""",
        ),
        Wrong(
            "the package's loss is an answer",
            "the library does the work",
            """
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    from pioneers.objectives import TaskInputs, classification_loss

    targets = TaskInputs(input_ids, extract).lm_targets()
    return classification_loss(
        logits, labels, lm_logits=lm_logits, lm_targets=targets, lm_weight=lm_weight
    )
""",
        ),
    ],
}

RIGHT = {
    "4.1": [
        Right(
            "slices, one window after the other",
            """
def windows(stream, starts, seq_len):
    inputs = torch.stack([stream[s : s + seq_len] for s in starts.tolist()])
    targets = torch.stack([stream[s + 1 : s + 1 + seq_len] for s in starts.tolist()])
    return torch.stack([inputs, targets])
""",
        ),
        Right(
            "all windows of the text, then those that are wanted",
            """
def windows(stream, starts, seq_len):
    rows = stream.unfold(0, seq_len + 1, 1)[starts]
    return torch.stack((rows[:, :-1], rows[:, 1:]), dim=0)
""",
        ),
        Right(
            "the two shifts as one more axis",
            """
def windows(stream, starts, seq_len):
    shift = torch.arange(2, device=starts.device)[:, None, None]
    place = torch.arange(seq_len, device=starts.device)
    return stream[starts[:, None] + place + shift]
""",
        ),
    ],
    "4.2": [
        Right(
            "log_softmax of the real positions",
            """
def lm_loss(logits, targets):
    real = targets != -100
    log_p = logits[real].log_softmax(-1)
    return -log_p.gather(-1, targets[real][:, None]).mean()
""",
        ),
        Right(
            "position by position",
            """
def lm_loss(logits, targets):
    losses = []
    for z, y in zip(logits.flatten(0, 1), targets.flatten()):
        if y != -100:
            losses.append(torch.logsumexp(z, 0) - z[y])
    return torch.stack(losses).mean()
""",
        ),
        Right(
            "a one-hot row for each target",
            """
def lm_loss(logits, targets):
    one_hot = (targets[..., None] == torch.arange(logits.shape[-1], device=logits.device)).to(logits.dtype)
    return -(one_hot * logits.log_softmax(-1)).sum() / (targets >= 0).sum()
""",
        ),
    ],
    "4.3": [
        Right(
            "a dot product",
            """
def perplexity_and_bits(losses, num_tokens, num_characters):
    nats = losses @ num_tokens.to(losses.dtype)
    return torch.stack([torch.exp(nats / num_tokens.sum()), nats / (math.log(2) * num_characters)])
""",
        ),
        Right(
            "plain numbers in a loop",
            """
def perplexity_and_bits(losses, num_tokens, num_characters):
    nats = sum(loss * n for loss, n in zip(losses.tolist(), num_tokens.tolist()))
    perplexity = math.exp(nats / sum(num_tokens.tolist()))
    return torch.tensor([perplexity, nats * math.log2(math.e) / num_characters], dtype=losses.dtype)
""",
        ),
    ],
    "4.4": [
        Right(
            "sorted, and the limit read off",
            """
def top_k_distribution(logits, k, temperature=1.0):
    z = logits / temperature
    limit = z.sort(dim=-1, descending=True).values[..., min(k, z.shape[-1]) - 1].unsqueeze(-1)
    return torch.where(z >= limit, z, -math.inf).softmax(-1)
""",
        ),
        Right(
            "counting how many are larger",
            """
def top_k_distribution(logits, k, temperature=1.0):
    larger = (logits[..., None, :] > logits[..., :, None]).sum(-1)
    return (logits / temperature).masked_fill(larger >= k, -math.inf).softmax(-1)
""",
        ),
        Right(
            "probabilities, renormalised",
            """
def top_k_distribution(logits, k, temperature=1.0):
    p = (logits / temperature).softmax(-1)
    limit = logits.topk(min(k, logits.shape[-1])).values.amin(-1, keepdim=True)
    p = p * (logits >= limit)
    return p / p.sum(-1, keepdim=True)
""",
        ),
    ],
    "4.5": [
        Right(
            "the mask shifted by one place",
            """
def top_p_distribution(logits, p):
    ranked, order = logits.sort(-1, descending=True)
    dropped = ranked.softmax(-1).cumsum(-1) >= p
    dropped = torch.cat((torch.zeros_like(dropped[..., :1]), dropped[..., :-1]), dim=-1)
    ranked = ranked.masked_fill(dropped, -math.inf)
    return torch.empty_like(logits).scatter(-1, order, ranked).softmax(-1)
""",
        ),
        Right(
            "for each token the mass of those ahead of it",
            """
def top_p_distribution(logits, p):
    probabilities = logits.softmax(-1)
    ahead = logits[..., None, :] > logits[..., :, None]
    before = (probabilities[..., None, :] * ahead).sum(-1)
    return logits.masked_fill(before >= p, -math.inf).softmax(-1)
""",
        ),
        Right(
            "back by sorting the order",
            """
def top_p_distribution(logits, p):
    ranked, order = logits.softmax(-1).sort(-1, descending=True)
    kept = ranked * (ranked.cumsum(-1) - ranked < p)
    return (kept / kept.sum(-1, keepdim=True)).gather(-1, order.argsort(-1))
""",
        ),
    ],
    "4.6": [
        Right(
            "positions compared",
            """
def cached_attention(q, k, v, past_k, past_v):
    k, v = torch.cat((past_k, k), dim=-2), torch.cat((past_v, v), dim=-2)
    T, S = q.shape[-2], k.shape[-2]
    seen = torch.arange(S, device=q.device) <= torch.arange(S - T, S, device=q.device)[:, None]
    scores = torch.einsum("bhtk,bhsk->bhts", q, k) / q.shape[-1] ** 0.5
    return torch.einsum("bhts,bhsl->bhtl", scores.masked_fill(~seen, -torch.inf).softmax(-1), v)
""",
        ),
        Right(
            "token by token, each on the keys so far",
            """
def cached_attention(q, k, v, past_k, past_v):
    out = []
    for t in range(q.shape[2]):
        past_k = torch.cat((past_k, k[:, :, t : t + 1]), dim=2)
        past_v = torch.cat((past_v, v[:, :, t : t + 1]), dim=2)
        scores = q[:, :, t : t + 1] @ past_k.mT / math.sqrt(q.shape[-1])
        out.append(scores.softmax(-1) @ past_v)
    return torch.cat(out, dim=2)
""",
        ),
    ],
    "4.7": [
        Right(
            "row by row, then padded",
            """
def write_greedily(table, prompts, max_new_tokens, stop_id, pad_id):
    rows = []
    for row in prompts.tolist():
        for _ in range(max_new_tokens):
            row.append(int(table[row[-1]].argmax()))
            if row[-1] == stop_id:
                break
        rows.append(row)
    longest = max(map(len, rows))
    rows = [row + [pad_id] * (longest - len(row)) for row in rows]
    return torch.tensor(rows, device=prompts.device)
""",
        ),
        Right(
            "a while loop, and only the newest token goes in",
            """
def write_greedily(table, prompts, max_new_tokens, stop_id, pad_id):
    ids, newest = prompts, prompts[:, -1]
    going = torch.ones_like(newest, dtype=torch.bool)
    while going.any() and ids.shape[1] < prompts.shape[1] + max_new_tokens:
        newest = torch.where(going, table[newest].argmax(-1), pad_id)
        ids = torch.cat((ids, newest[:, None]), dim=1)
        going = going & (newest != stop_id)
    return ids
""",
        ),
    ],
    "4.8": [
        Right(
            "rows and places",
            """
def similarity_logits(hidden, input_ids, extract_id, w):
    place = (input_ids == extract_id).int().argmax(-1)
    rows = torch.arange(len(hidden), device=hidden.device)
    return (hidden[rows, 0, place[:, 0]] + hidden[rows, 1, place[:, 1]]) @ w
""",
        ),
        Right(
            "a product with the mask",
            """
def similarity_logits(hidden, input_ids, extract_id, w):
    here = (input_ids == extract_id).to(hidden.dtype)
    return torch.einsum("brt,brtd,dc->bc", here, hidden, w)
""",
        ),
        Right(
            "two maps, then the sum",
            """
def similarity_logits(hidden, input_ids, extract_id, w):
    logits = hidden[input_ids == extract_id] @ w
    return logits[0::2] + logits[1::2]
""",
        ),
    ],
    "4.9": [
        Right(
            "row by row, summed",
            """
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    total, count = 0, 0
    for z, x, e in zip(lm_logits, input_ids, extract.tolist()):
        total = total + F.cross_entropy(z[:e], x[1 : e + 1], reduction="sum")
        count += e
    return F.cross_entropy(logits, labels) + lm_weight * total / count
""",
        ),
        Right(
            "targets rolled, the rest ignored",
            """
def finetuning_loss(logits, labels, lm_logits, input_ids, extract, lm_weight=0.5):
    places = torch.arange(input_ids.shape[1], device=input_ids.device)
    targets = input_ids.roll(-1, dims=1).masked_fill(places >= extract[:, None], -100)
    task = -logits.log_softmax(-1).gather(-1, labels[:, None]).mean()
    return task + lm_weight * F.cross_entropy(lm_logits.transpose(1, 2), targets, ignore_index=-100)
""",
        ),
    ],
}

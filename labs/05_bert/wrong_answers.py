"""What students really write in lab 5: wrong answers, the diagnosis each must get, and other right ones."""

from pioneers.checks.bank import Right, Wrong

WRONG = {
    "5.1": [
        Wrong(
            "a row that is too long is cut at the end",
            "the whole row is cut at its end",
            """
def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id):
    ids = [cls_id, *a.tolist(), sep_id]
    segments = [0] * len(ids)
    if b is not None:
        ids += [*b.tolist(), sep_id]
        segments += [1] * (len(b) + 1)
    ids, segments = ids[:max_seq_len], segments[:max_seq_len]
    missing = max_seq_len - len(ids)
    real = [1] * len(ids) + [0] * missing
    return torch.tensor([ids + [pad_id] * missing, segments + [0] * missing, real])
""",
        ),
        Wrong(
            "[SEP] stands between two texts",
            "the last [SEP] is missing",
            """
def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id):
    a, b, pair = a.tolist(), [] if b is None else b.tolist(), b is not None
    while len(a) + len(b) > max_seq_len - 2 - pair:
        (a if len(a) >= len(b) else b).pop()
    ids = [cls_id, *a, sep_id, *b]
    row = torch.zeros(3, max_seq_len, dtype=torch.long)
    row[0] = pad_id
    row[0, : len(ids)] = torch.tensor(ids)
    row[1, len(a) + 2 : len(ids)] = 1
    row[2, : len(ids)] = 1
    return row
""",
        ),
        Wrong(
            "[SEP] opens the second text",
            "the first [SEP] counted to the second text",
            """
def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id):
    texts = [a.tolist()] + ([b.tolist()] if b is not None else [])
    while sum(len(text) for text in texts) > max_seq_len - len(texts) - 1:
        max(texts, key=len).pop()
    ids = [cls_id]
    for text in texts:
        ids += [*text, sep_id]
    row = torch.zeros(3, max_seq_len, dtype=torch.long)
    row[0] = pad_id
    row[0, : len(ids)] = torch.tensor(ids)
    if b is not None:
        row[1, ids.index(sep_id) : len(ids)] = 1
    row[2, : len(ids)] = 1
    return row
""",
        ),
        Wrong(
            "the first text is the important one",
            "only the second text is cut",
            """
def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id):
    first = [cls_id, *a.tolist(), sep_id]
    if b is None:
        first = [*first[: max_seq_len - 1][: len(a) + 1], sep_id]
        second = []
    else:
        second = [*b.tolist()[: max(0, max_seq_len - len(first) - 1)], sep_id]
    ids, missing = first + second, max_seq_len - len(first) - len(second)
    segments = [0] * len(first) + [1] * len(second) + [0] * missing
    return torch.tensor([ids + [pad_id] * missing, segments, [1] * len(ids) + [0] * missing])
""",
        ),
        Wrong(
            "equal shares are fair",
            "half of the room for each text",
            """
def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id):
    texts = [a.tolist()] if b is None else [a.tolist(), b.tolist()]
    room = max_seq_len - len(texts) - 1
    ids, segments = [cls_id], [0]
    for number, text in enumerate(texts):
        kept = text[: room // len(texts)] + [sep_id]
        ids, segments = ids + kept, segments + [number] * len(kept)
    missing = max_seq_len - len(ids)
    real = [1] * len(ids) + [0] * missing
    return torch.tensor([ids + [pad_id] * missing, segments + [0] * missing, real])
""",
        ),
        Wrong(
            "the second text gives way when both are equal",
            "of two equally long texts the second is cut",
            """
def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id):
    a, b, pair = a.tolist(), [] if b is None else b.tolist(), b is not None
    while len(a) + len(b) > max_seq_len - 2 - pair:
        if len(a) > len(b):
            a.pop()
        else:
            b.pop()
    ids = [cls_id, *a, sep_id] + ([*b, sep_id] if pair else [])
    segments = [0] * (len(a) + 2) + [1] * (len(ids) - len(a) - 2)
    missing = max_seq_len - len(ids)
    real = [1] * len(ids) + [0] * missing
    return torch.tensor([ids + [pad_id] * missing, segments + [0] * missing, real])
""",
        ),
        Wrong(
            "what is not the first text is segment 1",
            "padding in segment 1",
            """
def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id):
    texts = [a.tolist()] if b is None else [a.tolist(), b.tolist()]
    while sum(map(len, texts)) > max_seq_len - len(texts) - 1:
        max(texts, key=len).pop()
    ids = [cls_id] + [i for text in texts for i in [*text, sep_id]]
    at = torch.arange(max_seq_len)
    row = torch.full((max_seq_len,), pad_id)
    row[: len(ids)] = torch.tensor(ids)
    return torch.stack([row, (at >= len(texts[0]) + 2).long(), (at < len(ids)).long()])
""",
        ),
        Wrong(
            "a mask marks what is hidden",
            "1 means padding",
            """
def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id):
    texts = [a.tolist()] if b is None else [a.tolist(), b.tolist()]
    while sum(map(len, texts)) > max_seq_len - len(texts) - 1:
        max(texts, key=len).pop()
    ids = [cls_id, *texts[0], sep_id]
    segments = [0] * len(ids)
    for text in texts[1:]:
        ids, segments = ids + [*text, sep_id], segments + [1] * (len(text) + 1)
    missing = max_seq_len - len(ids)
    hidden = [0] * len(ids) + [1] * missing
    return torch.tensor([ids + [pad_id] * missing, segments + [0] * missing, hidden])
""",
        ),
        Wrong(
            "padding is done for the batch, later",
            "not padded",
            """
def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id):
    texts = [a.tolist()] if b is None else [a.tolist(), b.tolist()]
    while sum(map(len, texts)) > max_seq_len - len(texts) - 1:
        max(texts, key=len).pop()
    ids = [cls_id, *texts[0], sep_id]
    segments = [0] * len(ids)
    for text in texts[1:]:
        ids, segments = ids + [*text, sep_id], segments + [1] * (len(text) + 1)
    return torch.tensor([ids, segments, [1] * len(ids)])
""",
        ),
    ],
    "5.2": [
        Wrong(
            "the segments are only needed for pairs",
            "segments forgotten",
            """
def bert_embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias):
    x = tokens[input_ids] + positions[: input_ids.shape[1]]
    return F.layer_norm(x, gain.shape, gain, bias, eps=1e-12)
""",
        ),
        Wrong(
            "the sum is all there is to it",
            "not normalised",
            """
def bert_embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias):
    T = input_ids.shape[1]
    return tokens[input_ids] + segments[segment_ids] + positions[torch.arange(T, device=input_ids.device)]
""",
        ),
        Wrong(
            "the default of LayerNorm will do",
            "an epsilon of 1e-5",
            """
def bert_embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias):
    x = tokens[input_ids] + positions[: input_ids.shape[1]] + segments[segment_ids]
    return F.layer_norm(x, gain.shape, gain, bias)
""",
        ),
        Wrong(
            "each table is normalised for itself",
            "normalised before the sum",
            """
def bert_embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias):
    parts = (tokens[input_ids], positions[: input_ids.shape[1]], segments[segment_ids])
    return sum(F.layer_norm(part, gain.shape, gain, bias, eps=1e-12) for part in parts)
""",
        ),
        Wrong(
            "the embedding is scaled, as in the first Transformer",
            "tokens scaled by √D",
            """
def bert_embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias):
    x = tokens[input_ids] * math.sqrt(tokens.shape[1])
    x = x + positions[: x.shape[1]] + segments[segment_ids]
    return F.layer_norm(x, gain.shape, gain, bias, eps=1e-12)
""",
        ),
        Wrong(
            "a norm runs over the whole row",
            "normalised over the whole row",
            """
def bert_embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias):
    x = tokens[input_ids] + positions[: input_ids.shape[1]] + segments[segment_ids]
    return F.layer_norm(x, x.shape[1:], eps=1e-12) * gain + bias
""",
        ),
        Wrong(
            "the norm has no parameters of its own",
            "gain and bias forgotten",
            """
def bert_embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias):
    x = F.embedding(input_ids, tokens) + F.embedding(segment_ids, segments) + positions[: input_ids.shape[1]]
    return F.layer_norm(x, x.shape[-1:], eps=1e-12)
""",
        ),
        Wrong(
            "every table is looked up alike",
            "positions looked up by token",
            """
def bert_embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias):
    x = tokens[input_ids] + positions[input_ids] + segments[segment_ids]
    return F.layer_norm(x, gain.shape, gain, bias, 1e-12)
""",
        ),
        Wrong(
            "attention knows the order",
            "positions forgotten",
            """
def bert_embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias):
    x = tokens[input_ids] + segments[segment_ids]
    return F.layer_norm(x, gain.shape, gain, bias, 1e-12)
""",
        ),
    ],
    "5.3": [
        Wrong(
            "every token has the same chance",
            "special tokens are chosen too",
            """
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    return draws < mask_prob
""",
        ),
        Wrong(
            "a draw must exceed the probability",
            "draws above the probability",
            """
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    special = (input_ids[..., None] == special_ids).any(-1)
    return (draws > mask_prob) & ~special
""",
        ),
        Wrong(
            "only padding is no token",
            "only padding is left out",
            """
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    return (draws < mask_prob) & (input_ids != 0)
""",
        ),
        Wrong(
            "isin says what may be chosen",
            "only special tokens are chosen",
            """
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    return (draws < mask_prob) & torch.isin(input_ids, special_ids)
""",
        ),
        Wrong(
            "special tokens come first in the vocabulary",
            "special ids taken for the smallest ones",
            """
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    return (draws < mask_prob) & (input_ids > special_ids.max())
""",
        ),
        Wrong(
            "the share is 15%",
            "mask_prob is ignored",
            """
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    return (draws < 0.15) & ~torch.isin(input_ids, special_ids)
""",
        ),
        Wrong(
            "15% of each row, exactly",
            "a fixed number in each row",
            """
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    chosen = torch.zeros_like(input_ids, dtype=torch.bool)
    for row in range(len(input_ids)):
        may = [t for t in range(input_ids.shape[1]) if input_ids[row, t] not in special_ids]
        may.sort(key=lambda t: draws[row, t].item())
        chosen[row, may[: round(mask_prob * len(may))]] = True
    return chosen
""",
        ),
        Wrong(
            "less than or equal is the same",
            "a draw that equals the probability",
            """
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    return draws.le(mask_prob).logical_and(~torch.isin(input_ids, special_ids))
""",
        ),
        Wrong(
            "chance must be fresh",
            "dice of its own",
            """
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    ordinary = ~torch.isin(input_ids, special_ids)
    return ordinary & (torch.rand(input_ids.shape, device=input_ids.device) < mask_prob)
""",
        ),
        Wrong(
            "a mask is ones and zeros",
            "numbers instead of True and False",
            """
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    return (draws < mask_prob).float() * (~torch.isin(input_ids, special_ids)).float()
""",
        ),
    ],
    "5.4": [
        Wrong(
            "the targets are read off the row that was made",
            "the targets are the corrupted tokens",
            """
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    inputs = input_ids.clone()
    inputs[chosen & (fate < 0.8)] = mask_id
    swap = chosen & (fate >= 0.8) & (fate < 0.9)
    inputs[swap] = random_ids[swap]
    targets = inputs.clone()
    targets[~chosen] = -100
    return torch.stack((inputs, targets))
""",
        ),
        Wrong(
            "a question is a [MASK]",
            "only [MASK] is asked for",
            """
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    masked = chosen & (fate < 0.8)
    inputs = torch.where(masked, mask_id, input_ids)
    inputs = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), random_ids, inputs)
    return torch.stack((inputs, torch.where(masked, input_ids, -100)))
""",
        ),
        Wrong(
            "what has not changed need not be predicted",
            "kept tokens are not asked for",
            """
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    inputs = torch.where(chosen & (fate < 0.8), mask_id, input_ids)
    inputs = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), random_ids, inputs)
    targets = torch.where(inputs != input_ids, input_ids, -100)
    return torch.stack((inputs, targets))
""",
        ),
        Wrong(
            "fate below 0.9 is a random token",
            "[MASK] overwritten by random tokens",
            """
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    inputs = torch.where(chosen & (fate < 0.8), mask_id, input_ids)
    inputs = torch.where(chosen & (fate < 0.9), random_ids, inputs)
    return torch.stack((inputs, input_ids.masked_fill(~chosen, -100)))
""",
        ),
        Wrong(
            "the targets are the text",
            "targets everywhere",
            """
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    inputs = torch.where(chosen & (fate < 0.8), mask_id, input_ids)
    inputs = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), random_ids, inputs)
    return torch.stack((inputs, input_ids))
""",
        ),
        Wrong(
            "zero means nothing",
            "another number than -100",
            """
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    inputs = torch.where(chosen & (fate < 0.8), mask_id, input_ids)
    inputs = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), random_ids, inputs)
    return torch.stack((inputs, input_ids * chosen))
""",
        ),
        Wrong(
            "masked means [MASK]",
            "every chosen token becomes [MASK]",
            """
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    return torch.stack((input_ids.masked_fill(chosen, mask_id), input_ids.masked_fill(~chosen, -100)))
""",
        ),
        Wrong(
            "the rest is random",
            "no token is kept",
            """
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    new = torch.where(fate < 0.8, mask_id, random_ids)
    return torch.stack((torch.where(chosen, new, input_ids), torch.where(chosen, input_ids, -100)))
""",
        ),
        Wrong(
            "fate alone decides",
            "tokens that were not chosen are corrupted",
            """
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    inputs = input_ids.clone()
    inputs[fate < 0.8] = mask_id
    swap = (fate >= 0.8) & (fate < 0.9)
    inputs[swap] = random_ids[swap]
    return torch.stack((inputs, torch.where(chosen, input_ids, -100)))
""",
        ),
        Wrong(
            "the last tenth is random",
            "kept and random exchanged",
            """
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    inputs = torch.where(chosen & (fate < 0.8), mask_id, input_ids)
    inputs = torch.where(chosen & (fate >= 0.9), random_ids, inputs)
    return torch.stack((inputs, torch.where(chosen, input_ids, -100)))
""",
        ),
        Wrong(
            "the row belongs to the function",
            "the input is overwritten",
            """
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    targets = torch.where(chosen, input_ids, -100)
    swap = chosen & (fate >= 0.8) & (fate < 0.9)
    input_ids[swap] = random_ids[swap]
    input_ids[chosen & (fate < 0.8)] = mask_id
    return torch.stack((input_ids, targets))
""",
        ),
        Wrong(
            "the package has a function for that",
            "the library does the work",
            """
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    from pioneers.objectives import masked_lm

    return torch.stack(masked_lm(input_ids, mask_id=mask_id, vocab_size=200))
""",
        ),
    ],
    "5.5": [
        Wrong(
            "a mean is over the whole tensor",
            "divided by all positions",
            """
def masked_lm_loss(hidden, tokens, bias, targets):
    asked = targets != -100
    log_p = torch.log_softmax(hidden[asked] @ tokens.T + bias, dim=-1)
    costs = torch.zeros(targets.shape, dtype=hidden.dtype, device=hidden.device)
    costs[asked] = -log_p.gather(-1, targets[asked].unsqueeze(-1)).squeeze(-1)
    return costs.mean()
""",
        ),
        Wrong(
            "logits first, choice later",
            "logits computed for every token",
            """
def masked_lm_loss(hidden, tokens, bias, targets):
    asked = targets != -100
    log_p = (hidden @ tokens.T + bias).log_softmax(-1)
    costs = -log_p.gather(-1, targets.clamp(min=0)[..., None])[..., 0]
    return costs[asked].sum() / asked.sum().clamp(min=1)
""",
        ),
        Wrong(
            "a product with 0 makes everything 0",
            "logits computed for every token",
            """
def masked_lm_loss(hidden, tokens, bias, targets):
    asked = targets != -100
    logits = hidden @ tokens.T + bias
    costs = logits.logsumexp(-1) - logits.gather(-1, targets.clamp(min=0)[..., None])[..., 0]
    return (costs * asked).sum() / asked.sum().clamp(min=1)
""",
        ),
        Wrong(
            "each row has its own loss",
            "every row counts the same",
            """
def masked_lm_loss(hidden, tokens, bias, targets):
    rows = []
    for h, t in zip(hidden, targets):
        asked = t != -100
        log_p = (h[asked] @ tokens.T + bias).log_softmax(-1)
        total = -log_p[torch.arange(len(log_p)), t[asked]].sum()
        rows.append(total / max(1, int(asked.sum())))
    return torch.stack(rows).mean()
""",
        ),
        Wrong(
            "there is always a gap",
            "0/0 when nothing is asked",
            """
def masked_lm_loss(hidden, tokens, bias, targets):
    asked = targets != -100
    log_p = (hidden[asked] @ tokens.T + bias).log_softmax(-1)
    return -log_p.gather(1, targets[asked][:, None]).mean()
""",
        ),
        Wrong(
            "a softmax, then a logarithm",
            "the exponential overflows",
            """
def masked_lm_loss(hidden, tokens, bias, targets):
    asked = targets != -100
    powers = (hidden[asked] @ tokens.T + bias).exp()
    p = powers.gather(1, targets[asked][:, None])[:, 0] / powers.sum(-1)
    return -p.log().sum() / max(1, len(p))
""",
        ),
        Wrong(
            "the sum is what one minimises",
            "the sum instead of the mean",
            """
def masked_lm_loss(hidden, tokens, bias, targets):
    asked = targets >= 0
    logits = hidden[asked] @ tokens.T + bias
    return (logits.logsumexp(-1) - logits.gather(1, targets[asked][:, None])[:, 0]).sum()
""",
        ),
        Wrong(
            "0 is padding",
            "token 0 is left out",
            """
def masked_lm_loss(hidden, tokens, bias, targets):
    asked = targets > 0
    logits = hidden[asked] @ tokens.T + bias
    costs = logits.logsumexp(-1) - logits.gather(1, targets[asked][:, None])[:, 0]
    return costs.sum() / max(1, len(costs))
""",
        ),
        Wrong(
            "tied means that nothing is new",
            "the bias is forgotten",
            """
def masked_lm_loss(hidden, tokens, bias, targets):
    asked = targets != -100
    logits = hidden[asked] @ tokens.T
    costs = logits.logsumexp(-1) - logits.gather(1, targets[asked][:, None])[:, 0]
    return costs.sum() / max(1, len(costs))
""",
        ),
        Wrong(
            "the probability itself is the score",
            "no logarithm",
            """
def masked_lm_loss(hidden, tokens, bias, targets):
    asked = targets != -100
    p = (hidden[asked] @ tokens.T + bias).softmax(-1)
    return -p.gather(1, targets[asked][:, None]).sum() / max(1, int(asked.sum()))
""",
        ),
        Wrong(
            "a softmax runs over the first axis",
            "the softmax runs over positions",
            """
def masked_lm_loss(hidden, tokens, bias, targets):
    asked = targets != -100
    log_p = torch.log_softmax(hidden[asked] @ tokens.T + bias, dim=0)
    return -log_p.gather(1, targets[asked][:, None]).sum() / max(1, int(asked.sum()))
""",
        ),
        Wrong(
            "gather takes care of -100",
            "-100 used as an index",
            """
def masked_lm_loss(hidden, tokens, bias, targets):
    log_p = (hidden @ tokens.T + bias).log_softmax(-1)
    return -log_p.gather(-1, targets[..., None])[targets != -100].mean()
""",
        ),
        Wrong(
            "cross_entropy is the exercise",
            "the library does the work",
            """
def masked_lm_loss(hidden, tokens, bias, targets):
    return F.cross_entropy((hidden @ tokens.T + bias).flatten(0, 1), targets.flatten(), ignore_index=-100)
""",
        ),
        Wrong(
            "the package has a function for that",
            "the library does the work",
            """
def masked_lm_loss(hidden, tokens, bias, targets):
    from pioneers import objectives

    return objectives.masked_lm_loss(hidden[targets != -100] @ tokens.T + bias, targets)
""",
        ),
    ],
    "5.6": [
        Wrong(
            "every sentence follows the one before",
            "pairs across the border of two documents",
            """
def sentence_pairs(document, coins, draws):
    pairs = []
    for i in range(len(document) - 1):
        others = [j for j in range(len(document)) if document[j] != document[i]]
        if coins[i] < 0.5:
            pairs.append((i, i + 1, 0))
        else:
            pairs.append((i, others[int(draws[i] * len(others))], 1))
    return torch.tensor(pairs)
""",
        ),
        Wrong(
            "any other sentence is foreign",
            "a foreign sentence from the same document",
            """
def sentence_pairs(document, coins, draws):
    pairs = []
    for i in range(len(document) - 1):
        if document[i] == document[i + 1]:
            others = [j for j in range(len(document)) if j != i + 1]
            true = coins[i] < 0.5
            pairs.append((i, i + 1 if true else others[int(draws[i] * len(others))], 0 if true else 1))
    return torch.tensor(pairs)
""",
        ),
        Wrong(
            "one is yes",
            "1 means follows",
            """
def sentence_pairs(document, coins, draws):
    pairs = []
    for i in range(len(document) - 1):
        if document[i] != document[i + 1]:
            continue
        if coins[i] < 0.5:
            pairs.append([i, i + 1, 1])
        else:
            others = (document != document[i]).nonzero().flatten().tolist()
            pairs.append([i, others[int(draws[i] * len(others))], 0])
    return torch.tensor(pairs)
""",
        ),
        Wrong(
            "heads is foreign",
            "the coin is read the other way",
            """
def sentence_pairs(document, coins, draws):
    pairs = []
    for i in range(len(document) - 1):
        if document[i] == document[i + 1]:
            others = (document != document[i]).nonzero().flatten().tolist()
            foreign = coins[i].item() < 0.5
            pairs.append([i, others[int(draws[i] * len(others))] if foreign else i + 1, int(foreign)])
    return torch.tensor(pairs)
""",
        ),
        Wrong(
            "the draw says which sentence",
            "a place in the list of candidates, not a sentence",
            """
def sentence_pairs(document, coins, draws):
    pairs = []
    for i in range(len(document) - 1):
        if document[i] == document[i + 1]:
            count = int((document != document[i]).sum())
            true = coins[i].item() < 0.5
            pairs.append([i, i + 1 if true else int(draws[i] * count), int(not true)])
    return torch.tensor(pairs)
""",
        ),
        Wrong(
            "one draw after the other",
            "draws counted by pairs",
            """
def sentence_pairs(document, coins, draws):
    pairs, numbers = [], iter(zip(coins.tolist(), draws.tolist()))
    for i, (here, there) in enumerate(zip(document[:-1], document[1:])):
        if here == there:
            coin, draw = next(numbers)
            others = [j for j, d in enumerate(document) if d != here]
            pairs.append([i, i + 1, 0] if coin < 0.5 else [i, others[int(draw * len(others))], 1])
    return torch.tensor(pairs)
""",
        ),
        Wrong(
            "the last index is n - 1",
            "the last candidate is never drawn",
            """
def sentence_pairs(document, coins, draws):
    pairs = []
    for i in range(len(document) - 1):
        if document[i] == document[i + 1]:
            others = [j for j in range(len(document)) if document[j] != document[i]]
            foreign = others[int(draws[i] * (len(others) - 1))]
            pairs.append([i, i + 1, 0] if coins[i] < 0.5 else [i, foreign, 1])
    return torch.tensor(pairs)
""",
        ),
        Wrong(
            "the last sentence gets a foreign one",
            "a pair for every sentence",
            """
def sentence_pairs(document, coins, draws):
    pairs, N = [], len(document)
    for i in range(N):
        if i + 1 < N and document[i + 1] == document[i] and coins[i] < 0.5:
            pairs.append([i, i + 1, 0])
        else:
            others = [j for j in range(N) if document[j] != document[i]]
            pairs.append([i, others[int(draws[i] * len(others))], 1])
    return torch.tensor(pairs)
""",
        ),
        Wrong(
            "chance must be fresh",
            "another foreign sentence than the one drawn",
            """
def sentence_pairs(document, coins, draws):
    pairs = []
    for i in range(len(document) - 1):
        if document[i] == document[i + 1]:
            others = [j for j in range(len(document)) if document[j] != document[i]]
            foreign = others[torch.randint(len(others), (1,)).item()]
            pairs.append([i, i + 1, 0] if coins[i] < 0.5 else [i, foreign, 1])
    return torch.tensor(pairs)
""",
        ),
        Wrong(
            "half or less is true",
            "a coin of exactly one half",
            """
def sentence_pairs(document, coins, draws):
    pairs = []
    for i in range(len(document) - 1):
        if document[i] == document[i + 1]:
            others = [j for j in range(len(document)) if document[j] != document[i]]
            foreign = others[int(draws[i] * len(others))]
            pairs.append([i, i + 1, 0] if coins[i] <= 0.5 else [i, foreign, 1])
    return torch.tensor(pairs)
""",
        ),
    ],
    "5.7": [
        Wrong(
            "a text is the mean of its tokens",
            "the mean over all tokens",
            """
def class_logits(hidden, w_pool, b_pool, w_out, b_out):
    return torch.tanh(hidden.mean(dim=1) @ w_pool + b_pool) @ w_out + b_out
""",
        ),
        Wrong(
            "the last position has read everything",
            "the last token is read",
            """
def class_logits(hidden, w_pool, b_pool, w_out, b_out):
    return torch.tanh(hidden[:, -1] @ w_pool + b_pool) @ w_out + b_out
""",
        ),
        Wrong(
            "two linear maps",
            "no tanh",
            """
def class_logits(hidden, w_pool, b_pool, w_out, b_out):
    return (hidden[:, 0] @ w_pool + b_pool) @ w_out + b_out
""",
        ),
        Wrong(
            "the head is one linear map",
            "no pooler",
            """
def class_logits(hidden, w_pool, b_pool, w_out, b_out):
    return hidden[:, 0, :] @ w_out + b_out
""",
        ),
        Wrong(
            "the classifier ends with a softmax",
            "probabilities instead of logits",
            """
def class_logits(hidden, w_pool, b_pool, w_out, b_out):
    pooled = torch.tanh(hidden[:, 0] @ w_pool + b_pool)
    return torch.softmax(pooled @ w_out + b_out, dim=-1)
""",
        ),
        Wrong(
            "a matrix stands before its vector",
            "the pooler's matrix transposed",
            """
def class_logits(hidden, w_pool, b_pool, w_out, b_out):
    pooled = torch.tanh(F.linear(hidden[:, 0], w_pool, b_pool))
    return F.linear(pooled, w_out.T, b_out)
""",
        ),
        Wrong(
            "every position has a label",
            "logits for every token",
            """
def class_logits(hidden, w_pool, b_pool, w_out, b_out):
    return torch.tanh(hidden @ w_pool + b_pool) @ w_out + b_out
""",
        ),
        Wrong(
            "activations are ReLU",
            "another activation",
            """
def class_logits(hidden, w_pool, b_pool, w_out, b_out):
    return F.relu(hidden[:, 0] @ w_pool + b_pool) @ w_out + b_out
""",
        ),
        Wrong(
            "the activation comes last",
            "the tanh stands behind the logits",
            """
def class_logits(hidden, w_pool, b_pool, w_out, b_out):
    return ((hidden[:, 0] @ w_pool + b_pool) @ w_out + b_out).tanh()
""",
        ),
    ],
    "5.8": [
        Wrong(
            "a piece has the tag of its word",
            "every piece has the tag of its word",
            """
def tag_targets(words, tags):
    targets = torch.full_like(words, -100)
    for b in range(len(words)):
        for t, word in enumerate(words[b].tolist()):
            if word >= 0:
                targets[b, t] = tags[b, word]
    return targets
""",
        ),
        Wrong(
            "the last piece knows the whole word",
            "the tag stands at the last piece",
            """
def tag_targets(words, tags):
    targets = torch.full_like(words, -100)
    for b, row in enumerate(words.tolist()):
        for t, word in enumerate(row):
            following = row[t + 1] if t + 1 < len(row) else -1
            if word >= 0 and word != following:
                targets[b, t] = tags[b, word]
    return targets
""",
        ),
        Wrong(
            "-1 is a word like any other",
            "special tokens have the last tag",
            """
def tag_targets(words, tags):
    targets = torch.full_like(words, -100)
    for b, row in enumerate(words.tolist()):
        before = None
        for t, word in enumerate(row):
            if word != before and not (t == 0 and word == -1):
                targets[b, t] = tags[b, word]
            before = word
    return targets
""",
        ),
        Wrong(
            "0 costs nothing",
            "another number than -100",
            """
def tag_targets(words, tags):
    targets = torch.zeros_like(words)
    for b, row in enumerate(words.tolist()):
        for word in set(row) - {-1}:
            targets[b, row.index(word)] = tags[b, word]
    return targets
""",
        ),
        Wrong(
            "a change of tag is a change of word",
            "a word begins where the tag changes",
            """
def tag_targets(words, tags):
    targets = torch.full_like(words, -100)
    for b, row in enumerate(words.tolist()):
        before = None
        for t, word in enumerate(row):
            tag = int(tags[b, word]) if word >= 0 else None
            if tag is not None and tag != before:
                targets[b, t] = tag
            before = tag
    return targets
""",
        ),
        Wrong(
            "words are tokens",
            "one tag for each token in turn",
            """
def tag_targets(words, tags):
    targets = torch.full_like(words, -100)
    for b in range(len(words)):
        for t in range(min(tags.shape[1], words.shape[1] - 1)):
            targets[b, 1 + t] = tags[b, t]
    return targets
""",
        ),
        Wrong(
            "roll shifts by one",
            "the row taken for a ring",
            """
def tag_targets(words, tags):
    first = (words >= 0) & (words != words.roll(1, dims=1))
    return tags.gather(1, words.clamp(min=0)).masked_fill(~first, -100)
""",
        ),
        Wrong(
            "[CLS] is always there",
            "the first token of a row is never asked for",
            """
def tag_targets(words, tags):
    first = torch.zeros_like(words, dtype=torch.bool)
    first[:, 1:] = (words[:, 1:] >= 0) & (words[:, 1:] != words[:, :-1])
    return torch.where(first, tags.gather(1, words.clamp(min=0)), -100)
""",
        ),
    ],
    "5.9": [
        Wrong(
            "the best start and the best end",
            "start and end chosen apart",
            """
def best_span(start, end, allowed, max_length, tau=0.0):
    found = []
    for s, e, a in zip(start, end, allowed):
        i, j = s.masked_fill(~a, -1e9).argmax(), e.masked_fill(~a, -1e9).argmax()
        better = a.any() and s[i] + e[j] > s[0] + e[0] + tau
        found.append([int(i), int(j)] if better else [0, 0])
    return torch.tensor(found)
""",
        ),
        Wrong(
            "first the start, then an end behind it",
            "the end chosen after the start",
            """
def best_span(start, end, allowed, max_length, tau=0.0):
    found = []
    for s, e, a in zip(start, end, allowed):
        if not a.any():
            found.append([0, 0])
            continue
        i = int(s.masked_fill(~a, -1e9).argmax())
        j = max((j for j in range(i, min(i + max_length, len(s))) if a[j]), key=lambda j: e[j].item())
        found.append([i, j] if s[i] + e[j] > s[0] + e[0] + tau else [0, 0])
    return torch.tensor(found)
""",
        ),
        Wrong(
            "m tokens end at i + m",
            "one token too many",
            """
def best_span(start, end, allowed, max_length, tau=0.0):
    found = []
    for s, e, a in zip(start.tolist(), end.tolist(), allowed.tolist()):
        best, where = s[0] + e[0] + tau, [0, 0]
        for i in range(len(s)):
            for j in range(i, min(i + max_length + 1, len(s))):
                if a[i] and a[j] and s[i] + e[j] > best:
                    best, where = s[i] + e[j], [i, j]
        found.append(where)
    return torch.tensor(found)
""",
        ),
        Wrong(
            "the context is a matter of the start",
            "only the start is in the context",
            """
def best_span(start, end, allowed, max_length, tau=0.0):
    found = []
    for s, e, a in zip(start.tolist(), end.tolist(), allowed.tolist()):
        best, where = s[0] + e[0] + tau, [0, 0]
        for i in range(len(s)):
            for j in range(i, min(i + max_length, len(s))):
                if a[i] and s[i] + e[j] > best:
                    best, where = s[i] + e[j], [i, j]
        found.append(where)
    return torch.tensor(found)
""",
        ),
        Wrong(
            "every position may answer but [CLS]",
            "tokens outside of the context allowed",
            """
def best_span(start, end, allowed, max_length, tau=0.0):
    found = []
    for s, e in zip(start.tolist(), end.tolist()):
        best, where = s[0] + e[0] + tau, [0, 0]
        for i in range(1, len(s)):
            for j in range(i, min(i + max_length, len(s))):
                if s[i] + e[j] > best:
                    best, where = s[i] + e[j], [i, j]
        found.append(where)
    return torch.tensor(found)
""",
        ),
        Wrong(
            "a question has an answer",
            "always an answer",
            """
def best_span(start, end, allowed, max_length, tau=0.0):
    found = []
    for s, e, a in zip(start, end, allowed):
        spans = [
            (i, j) for i in range(len(s)) for j in range(i, min(i + max_length, len(s))) if a[i] and a[j]
        ]
        found.append(max(spans, key=lambda span: (s[span[0]] + e[span[1]]).item(), default=(0, 0)))
    return torch.tensor(found)
""",
        ),
        Wrong(
            "tau is a bonus for answers",
            "the margin on the wrong side",
            """
def best_span(start, end, allowed, max_length, tau=0.0):
    found = []
    for s, e, a in zip(start.tolist(), end.tolist(), allowed.tolist()):
        best, where = s[0] + e[0] - tau, [0, 0]
        for i in range(len(s)):
            for j in range(i, min(i + max_length, len(s))):
                if a[i] and a[j] and s[i] + e[j] > best:
                    best, where = s[i] + e[j], [i, j]
        found.append(where)
    return torch.tensor(found)
""",
        ),
        Wrong(
            "tau is zero",
            "tau is ignored",
            """
def best_span(start, end, allowed, max_length, tau=0.0):
    found = []
    for s, e, a in zip(start.tolist(), end.tolist(), allowed.tolist()):
        best, where = s[0] + e[0], [0, 0]
        for i in range(len(s)):
            for j in range(i, min(i + max_length, len(s))):
                if a[i] and a[j] and s[i] + e[j] > best:
                    best, where = s[i] + e[j], [i, j]
        found.append(where)
    return torch.tensor(found)
""",
        ),
        Wrong(
            "as long as the text allows",
            "max_length is ignored",
            """
def best_span(start, end, allowed, max_length, tau=0.0):
    pairs = start[:, :, None] + end[:, None, :]
    legal = allowed[:, :, None] & allowed[:, None, :]
    T = start.shape[1]
    legal = legal & torch.ones(T, T, dtype=torch.bool, device=start.device).triu()
    best, place = pairs.masked_fill(~legal, -math.inf).flatten(1).max(1)
    spans = torch.stack((place // T, place % T), dim=1)
    return torch.where((best > start[:, 0] + end[:, 0] + tau)[:, None], spans, 0)
""",
        ),
        Wrong(
            "two tokens in either order are a span",
            "the end may come before the start",
            """
def best_span(start, end, allowed, max_length, tau=0.0):
    T = start.shape[1]
    at = torch.arange(T, device=start.device)
    near = (at[:, None] - at).abs() < max_length
    legal = allowed[:, :, None] & allowed[:, None, :] & near
    best, place = (start[:, :, None] + end[:, None]).masked_fill(~legal, -math.inf).flatten(1).max(1)
    spans = torch.stack((place // T, place % T), dim=1)
    return torch.where((best > start[:, 0] + end[:, 0] + tau)[:, None], spans, 0)
""",
        ),
        Wrong(
            "first hide, then compare",
            "an answer where there is none",
            """
def best_span(start, end, allowed, max_length, tau=0.0):
    T = start.shape[1]
    start, end = start.masked_fill(~allowed, -1e9), end.masked_fill(~allowed, -1e9)
    square = torch.ones(T, T, dtype=torch.bool, device=start.device)
    legal = square.triu() & square.tril(max_length - 1)
    best, place = (start[:, :, None] + end[:, None]).masked_fill(~legal, -1e9).flatten(1).max(1)
    spans = torch.stack((place // T, place % T), dim=1)
    return torch.where((best > start[:, 0] + end[:, 0] + tau)[:, None], spans, 0)
""",
        ),
        Wrong(
            "a product with the mask hides",
            "illegal spans have the score 0",
            """
def best_span(start, end, allowed, max_length, tau=0.0):
    T = start.shape[1]
    square = torch.ones(T, T, device=start.device).triu().tril(max_length - 1)
    scores = (start[:, :, None] + end[:, None]) * square * allowed[:, :, None] * allowed[:, None, :]
    best, place = scores.flatten(1).max(1)
    spans = torch.stack((place // T, place % T), dim=1) * allowed.any(1, keepdim=True)
    return torch.where((best > start[:, 0] + end[:, 0] + tau)[:, None], spans, 0)
""",
        ),
        Wrong(
            "at least as good is good enough",
            "as good as no answer is no better",
            """
def best_span(start, end, allowed, max_length, tau=0.0):
    T = start.shape[1]
    square = torch.ones(T, T, dtype=torch.bool, device=start.device)
    legal = allowed[:, :, None] & allowed[:, None, :] & square.triu() & square.tril(max_length - 1)
    best, place = (start[:, :, None] + end[:, None]).masked_fill(~legal, -math.inf).flatten(1).max(1)
    spans = torch.stack((place // T, place % T), dim=1)
    return torch.where((best >= start[:, 0] + end[:, 0] + tau)[:, None], spans, 0)
""",
        ),
        Wrong(
            "the package has a function for that",
            "the library does the work",
            """
def best_span(start, end, allowed, max_length, tau=0.0):
    from pioneers import models

    low = torch.finfo(start.dtype).min / 4
    scores = torch.stack((start, end), dim=-1).masked_fill(~allowed[..., None], low)
    spans = models.best_span(scores, max_length=max_length)
    best = start.gather(1, spans[:, :1]) + end.gather(1, spans[:, 1:])
    return torch.where(best > start[:, :1] + end[:, :1] + tau, spans, 0)
""",
        ),
    ],
}

RIGHT = {
    "5.1": [
        Right(
            "the cut computed, not step by step",
            """
def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id):
    if b is None:
        keep_a, keep_b = min(len(a), max_seq_len - 2), 0
    else:
        room = max_seq_len - 3
        keep_a, keep_b = len(a), len(b)
        if keep_a + keep_b > room:
            short = min(keep_a, keep_b)
            if short <= room // 2:
                keep_a, keep_b = (room - short, short) if keep_a > keep_b else (short, room - short)
            else:
                keep_a, keep_b = room // 2, room - room // 2
    cls, sep = a.new_tensor([cls_id]), a.new_tensor([sep_id])
    parts = [cls, a[:keep_a], sep] + ([] if b is None else [b[:keep_b], sep])
    ids = torch.cat(parts)
    row = a.new_zeros(3, max_seq_len)
    row[0].fill_(pad_id)
    row[0, : len(ids)] = ids
    row[1, keep_a + 2 : len(ids)] = 1
    row[2, : len(ids)] = 1
    return row
""",
        ),
        Right(
            "lists, filled up one by one",
            """
def bert_row(a, b, max_seq_len, cls_id, sep_id, pad_id):
    a = a.tolist()
    b = None if b is None else b.tolist()
    special = 2 if b is None else 3
    while len(a) + len(b or []) + special > max_seq_len:
        if b is None or len(a) >= len(b):
            a = a[:-1]
        else:
            b = b[:-1]
    row = [(cls_id, 0, 1), *((i, 0, 1) for i in a), (sep_id, 0, 1)]
    if b is not None:
        row += [*((i, 1, 1) for i in b), (sep_id, 1, 1)]
    while len(row) < max_seq_len:
        row.append((pad_id, 0, 0))
    return torch.tensor(row).T
""",
        ),
    ],
    "5.2": [
        Right(
            "the norm written out",
            """
def bert_embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias):
    x = F.embedding(input_ids, tokens) + F.embedding(segment_ids, segments) + positions[: input_ids.shape[1]]
    x = x - x.mean(-1, keepdim=True)
    return gain * x * (x.square().mean(-1, keepdim=True) + 1e-12).rsqrt() + bias
""",
        ),
        Right(
            "one-hot vectors times tables",
            """
def bert_embedding(input_ids, segment_ids, tokens, positions, segments, gain, bias):
    x = F.one_hot(input_ids, len(tokens)).to(tokens.dtype) @ tokens
    x = x + F.one_hot(segment_ids, 2).to(tokens.dtype) @ segments
    at = torch.arange(input_ids.shape[1], device=input_ids.device)
    return F.layer_norm(x + positions[at], gain.shape, gain, bias, 1e-12)
""",
        ),
    ],
    "5.3": [
        Right(
            "compared with each special id",
            """
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    ordinary = (input_ids[..., None] != special_ids).all(-1)
    return ordinary & (draws < mask_prob)
""",
        ),
        Right(
            "token by token",
            """
def choose_tokens(input_ids, special_ids, draws, mask_prob=0.15):
    special = set(special_ids.tolist())
    rows = [
        [i not in special and d < mask_prob for i, d in zip(ids, row)]
        for ids, row in zip(input_ids.tolist(), draws.tolist())
    ]
    return torch.tensor(rows)
""",
        ),
    ],
    "5.4": [
        Right(
            "from the last share to the first",
            """
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    new = torch.where(fate < 0.9, random_ids, input_ids)
    new = torch.where(fate < 0.8, mask_id, new)
    return torch.stack((torch.where(chosen, new, input_ids), torch.where(chosen, input_ids, -100)))
""",
        ),
        Right(
            "token by token",
            """
def corrupt(input_ids, chosen, fate, random_ids, mask_id):
    both = torch.stack((input_ids, torch.full_like(input_ids, -100)))
    for b in range(input_ids.shape[0]):
        for t in range(input_ids.shape[1]):
            if chosen[b, t]:
                both[1, b, t] = input_ids[b, t]
                if fate[b, t] < 0.8:
                    both[0, b, t] = mask_id
                elif fate[b, t] < 0.9:
                    both[0, b, t] = random_ids[b, t]
    return both
""",
        ),
    ],
    "5.5": [
        Right(
            "logsumexp minus the logit of the target",
            """
def masked_lm_loss(hidden, tokens, bias, targets):
    asked = targets >= 0
    logits = F.linear(hidden[asked], tokens, bias)
    costs = logits.logsumexp(-1) - logits[torch.arange(len(logits)), targets[asked]]
    return costs.sum() / max(1, len(costs))
""",
        ),
        Right(
            "gap by gap",
            """
def masked_lm_loss(hidden, tokens, bias, targets):
    total, count = hidden.new_zeros(()), 0
    for b, t in (targets != -100).nonzero().tolist():
        logits = tokens @ hidden[b, t] + bias
        total = total - torch.log_softmax(logits, 0)[targets[b, t]]
        count += 1
    return total / count if count else total
""",
        ),
    ],
    "5.6": [
        Right(
            "all borders at once",
            """
def sentence_pairs(document, coins, draws):
    first = (document[:-1] == document[1:]).nonzero().flatten()
    pairs = []
    for i in first.tolist():
        if coins[i] < 0.5:
            pairs.append(torch.tensor([i, i + 1, 0]))
            continue
        others = (document != document[i]).nonzero().flatten()
        pairs.append(torch.tensor([i, int(others[(draws[i] * len(others)).floor().long()]), 1]))
    return torch.stack(pairs)
""",
        ),
        Right(
            "no loop at all",
            """
def sentence_pairs(document, coins, draws):
    first = (document[:-1] == document[1:]).nonzero().flatten()
    other = document != document[first][:, None]
    place = (draws[first] * other.sum(1)).long()
    foreign = ((other.cumsum(1) == place[:, None] + 1) & other).long().argmax(1)
    true = coins[first] < 0.5
    return torch.stack((first, torch.where(true, first + 1, foreign), (~true).long()), dim=1)
""",
        ),
    ],
    "5.7": [
        Right(
            "F.linear with transposed matrices",
            """
def class_logits(hidden, w_pool, b_pool, w_out, b_out):
    pooled = torch.tanh(F.linear(hidden[:, 0], w_pool.T, b_pool))
    return F.linear(pooled, w_out.T, b_out)
""",
        ),
        Right(
            "einsum over the first position",
            """
def class_logits(hidden, w_pool, b_pool, w_out, b_out):
    pooled = (torch.einsum("btd,de->bte", hidden[:, :1], w_pool) + b_pool).tanh()
    return (pooled @ w_out + b_out).squeeze(1)
""",
        ),
    ],
    "5.8": [
        Right(
            "the first place of each word",
            """
def tag_targets(words, tags):
    targets = torch.full_like(words, -100)
    for b, row in enumerate(words.tolist()):
        for word in sorted(set(row) - {-1}):
            targets[b, row.index(word)] = tags[b, word]
    return targets
""",
        ),
        Right(
            "diff with a -1 in front",
            """
def tag_targets(words, tags):
    first = (words >= 0) & (torch.diff(words, dim=1, prepend=words.new_full((len(words), 1), -1)) != 0)
    return tags.gather(1, words.clamp(min=0)).masked_fill(~first, -100)
""",
        ),
    ],
    "5.9": [
        Right(
            "one table of all pairs",
            """
def best_span(start, end, allowed, max_length, tau=0.0):
    T = start.shape[1]
    square = torch.ones(T, T, dtype=torch.bool, device=start.device)
    legal = allowed[:, :, None] & allowed[:, None, :] & square.triu() & square.tril(max_length - 1)
    best, place = (start[:, :, None] + end[:, None]).masked_fill(~legal, -math.inf).flatten(1).max(1)
    spans = torch.stack((place // T, place % T), dim=1)
    return torch.where((best > start[:, 0] + end[:, 0] + tau)[:, None], spans, 0)
""",
        ),
        Right(
            "two loops, one best",
            """
def best_span(start, end, allowed, max_length, tau=0.0):
    found = []
    for s, e, a in zip(start, end, allowed):
        best, where = s[0] + e[0] + tau, [0, 0]
        for i in range(len(s)):
            for j in range(i, min(i + max_length, len(s))):
                if a[i] and a[j] and s[i] + e[j] > best:
                    best, where = s[i] + e[j], [i, j]
        found.append(where)
    return torch.tensor(found)
""",
        ),
    ],
}

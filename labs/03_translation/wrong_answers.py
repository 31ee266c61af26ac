"""What students really write in lab 3: wrong answers, the diagnosis each must get, and other right ones."""

from pioneers.checks.bank import Right, Wrong

# A right beam search; most wrong ones differ from it in one line.
BEAM = """
def beam_search(log_probs, num_beams, alpha, start_id, stop_id, pad_id, max_new_tokens):
    table = log_probs.tolist()
    beams, best, best_score, stopped = [(0.0, [])], [], -math.inf, 0
    for length in range(1, max_new_tokens + 1):
        candidates = []
        for score, text in beams:
            last = text[-1] if text else start_id
            candidates += [(score + p, text + [token]) for token, p in enumerate(table[last])]
        candidates.sort(key=lambda candidate: -candidate[0])
        for score, text in candidates[:num_beams]:
            if text[-1] == stop_id or length == max_new_tokens:
                stopped += text[-1] == stop_id
                final = score / ((5 + length) / 6) ** alpha
                if final > best_score:
                    best, best_score = text, final
        beams = [c for c in candidates if c[1][-1] != stop_id][:num_beams]
        if stopped >= num_beams:
            break
    return torch.tensor(best + [pad_id] * (max_new_tokens - len(best)))
"""


def beam(old: str, new: str) -> str:
    """The right beam search with one piece of it replaced."""
    if BEAM.count(old) != 1:
        raise ValueError(f"{old!r} stands {BEAM.count(old)} times in the beam search")
    return BEAM.replace(old, new)


BLEU = """
def bleu(found, wanted):
    c, r = sum(len(s) for s in found), sum(len(s) for s in wanted)
    penalty = min(1.0, math.exp(1 - r / c))
    product = 1.0
    for n in range(1, 5):
        hits = total = 0
        for ours, theirs in zip(found, wanted):
            a = Counter(ours[i : i + n] for i in range(len(ours) - n + 1))
            b = Counter(theirs[i : i + n] for i in range(len(theirs) - n + 1))
            hits += sum(min(count, b[gram]) for gram, count in a.items())
            total += sum(a.values())
        product *= hits / total if total else 0.0
    return torch.tensor(100 * penalty * product**0.25)
"""


def score(old: str, new: str) -> str:
    """The right BLEU with one piece of it replaced."""
    if BLEU.count(old) != 1:
        raise ValueError(f"{old!r} stands {BLEU.count(old)} times in BLEU")
    return BLEU.replace(old, new)


WRONG = {
    "3.1": [
        Wrong(
            "each word stands once",
            "times is ignored",
            """
def best_pair(words, times):
    counts = Counter()
    for word in words:
        for pair in pairwise(word):
            counts[pair] += 1
    return torch.tensor(min(counts, key=lambda pair: (-counts[pair], pair)))
""",
        ),
        Wrong(
            "max of the counts is enough",
            "another rule for ties",
            """
def best_pair(words, times):
    counts = Counter()
    for word, n in zip(words, times):
        for pair in zip(word, word[1:]):
            counts[pair] += n
    return torch.tensor(max(counts, key=counts.get))
""",
        ),
        Wrong(
            "the larger id wins",
            "another rule for ties",
            """
def best_pair(words, times):
    counts = Counter()
    for word, n in zip(words, times):
        for pair in pairwise(word):
            counts[pair] += n
    return torch.tensor(max(counts, key=lambda pair: (counts[pair], pair)))
""",
        ),
        Wrong(
            "the text is one long row",
            "pairs across words",
            """
def best_pair(words, times):
    text = []
    for word, n in zip(words, times):
        text += list(word) * n
    counts = Counter(zip(text, text[1:]))
    return torch.tensor(min(counts, key=lambda pair: (-counts[pair], pair)))
""",
        ),
        Wrong(
            "a word has a pair or has it not",
            "a pair counted once per word",
            """
def best_pair(words, times):
    counts = {}
    for word, n in zip(words, times):
        for pair in set(pairwise(word)):
            counts[pair] = counts.get(pair, 0) + n
    return torch.tensor(sorted(counts, key=lambda pair: (-counts[pair], pair))[0])
""",
        ),
        Wrong(
            "a pair is a set of two",
            "the order within a pair is lost",
            """
def best_pair(words, times):
    counts = Counter()
    for word, n in zip(words, times):
        for a, b in pairwise(word):
            counts[tuple(sorted((a, b)))] += n
    return torch.tensor(min(counts, key=lambda pair: (-counts[pair], pair)))
""",
        ),
        Wrong(
            "what belongs together is what seldom stands alone",
            "the criterion of WordPiece",
            """
def best_pair(words, times):
    pairs, pieces = Counter(), Counter()
    for word, n in zip(words, times):
        for piece in word:
            pieces[piece] += n
        for pair in pairwise(word):
            pairs[pair] += n
    score = {(a, b): n / (pieces[a] * pieces[b]) for (a, b), n in pairs.items()}
    return torch.tensor(min(score, key=lambda pair: (-score[pair], pair)))
""",
        ),
        Wrong(
            "frequent pieces make a frequent pair",
            "the two most frequent pieces",
            """
def best_pair(words, times):
    pieces = Counter()
    for word, n in zip(words, times):
        for piece in word:
            pieces[piece] += n
    a, b = sorted(pieces, key=lambda piece: (-pieces[piece], piece))[:2]
    return torch.tensor([a, b])
""",
        ),
        Wrong(
            "a pair is a tuple",
            "a result that is no tensor",
            """
def best_pair(words, times):
    counts = Counter()
    for word, n in zip(words, times):
        for pair in pairwise(word):
            counts[pair] += n
    return min(counts, key=lambda pair: (-counts[pair], pair))
""",
        ),
    ],
    "3.2": [
        Wrong(
            "the newest merge knows best",
            "the last merge first",
            """
def encode(word, merges, num_letters):
    word = list(word)
    for i, (a, b) in reversed(list(enumerate(merges))):
        j = 0
        while j < len(word) - 1:
            if word[j] == a and word[j + 1] == b:
                word[j : j + 2] = [num_letters + i]
            j += 1
    return torch.tensor(word)
""",
        ),
        Wrong(
            "read from left to right and join what can be joined",
            "from left to right instead of in the order learned",
            """
def encode(word, merges, num_letters):
    made = {pair: num_letters + i for i, pair in enumerate(merges)}
    word = list(word)
    joined = True
    while joined:
        joined = False
        for j in range(len(word) - 1):
            if (word[j], word[j + 1]) in made:
                word[j : j + 2] = [made[word[j], word[j + 1]]]
                joined = True
                break
    return torch.tensor(word)
""",
        ),
        Wrong(
            "the longest piece that fits",
            "the longest piece first",
            """
def encode(word, merges, num_letters):
    spelled = {(i,): i for i in range(num_letters)}
    letters = {i: (i,) for i in range(num_letters)}
    for i, (a, b) in enumerate(merges):
        letters[num_letters + i] = letters[a] + letters[b]
        spelled[letters[num_letters + i]] = num_letters + i
    ids, begin = [], 0
    while begin < len(word):
        end = len(word)
        while word[begin:end] not in spelled:
            end -= 1
        ids.append(spelled[word[begin:end]])
        begin = end
    return torch.tensor(ids)
""",
        ),
        Wrong(
            "a merge joins one pair",
            "only the first occurrence is joined",
            """
def encode(word, merges, num_letters):
    word = list(word)
    for i, pair in enumerate(merges):
        for j in range(len(word) - 1):
            if (word[j], word[j + 1]) == pair:
                word = word[:j] + [num_letters + i] + word[j + 2 :]
                break
    return torch.tensor(word)
""",
        ),
        Wrong(
            "every place where the pair stands becomes a piece",
            "one letter in two pieces",
            """
def encode(word, merges, num_letters):
    for i, pair in enumerate(merges):
        joined = []
        for j in range(len(word)):
            if tuple(word[j : j + 2]) == pair:
                joined.append(num_letters + i)
            elif j == 0 or tuple(word[j - 1 : j + 1]) != pair:
                joined.append(word[j])
        word = joined
    return torch.tensor(word)
""",
        ),
        Wrong(
            "going backwards saves the trouble with indices",
            "joined from the right",
            """
def encode(word, merges, num_letters):
    word = list(word)
    for i, pair in enumerate(merges):
        j = len(word) - 2
        while j >= 0:
            if (word[j], word[j + 1]) == pair:
                word[j : j + 2] = [num_letters + i]
                j -= 1
            j -= 1
    return torch.tensor(word)
""",
        ),
        Wrong(
            "one pass over the letters",
            "what was joined is not joined again",
            """
def encode(word, merges, num_letters):
    made = {pair: num_letters + i for i, pair in enumerate(merges)}
    ids, j = [], 0
    while j < len(word):
        if word[j : j + 2] in made:
            ids.append(made[word[j : j + 2]])
            j += 2
        else:
            ids.append(word[j])
            j += 1
    return torch.tensor(ids)
""",
        ),
        Wrong(
            "the first merge is number 1",
            "the wrong number for a new piece",
            """
def encode(word, merges, num_letters):
    for i, pair in enumerate(merges, start=1):
        joined = []
        for piece in word:
            if joined and (joined[-1], piece) == pair:
                joined[-1] = num_letters + i
            else:
                joined.append(piece)
        word = joined
    return torch.tensor(word)
""",
        ),
    ],
    "3.3": [
        Wrong(
            "the decoder reads the translation it shall write",
            "no shift",
            """
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    B, T = target_ids.shape
    targets = torch.full((B, T + 1), -100, device=target_ids.device)
    for b in range(B):
        row = [i for i in target_ids[b].tolist() if i != pad_id] + [stop_id]
        targets[b, : len(row)] = torch.tensor(row)
    return torch.stack((targets.masked_fill(targets == -100, pad_id), targets))
""",
        ),
        Wrong(
            "the stop token comes last",
            "the stop token behind the padding",
            """
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    start = torch.full_like(target_ids[:, :1], start_id)
    stop = torch.full_like(target_ids[:, :1], stop_id)
    targets = torch.cat([target_ids.masked_fill(target_ids == pad_id, -100), stop], dim=1)
    return torch.stack((torch.cat([start, target_ids], dim=1), targets))
""",
        ),
        Wrong(
            "padding says that the text is over",
            "nothing says stop",
            """
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    start = torch.full_like(target_ids[:, :1], start_id)
    end = torch.full_like(target_ids[:, :1], -100)
    targets = torch.cat([target_ids.masked_fill(target_ids == pad_id, -100), end], dim=1)
    return torch.stack((torch.cat([start, target_ids], dim=1), targets))
""",
        ),
        Wrong(
            "inputs and targets are as wide as the batch",
            "nothing says stop",
            """
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    inputs = target_ids.roll(1, dims=1)
    inputs[:, 0] = start_id
    return torch.stack((inputs, target_ids.masked_fill(target_ids == pad_id, -100)))
""",
        ),
        Wrong(
            "the loss knows the padding by its id",
            "padding is a target",
            """
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    inputs = F.pad(target_ids, (1, 0), value=start_id)
    targets = F.pad(target_ids, (0, 1), value=pad_id)
    lengths = (target_ids != pad_id).sum(1)
    targets[torch.arange(len(targets)), lengths] = stop_id
    return torch.stack((inputs, targets))
""",
        ),
        Wrong(
            "-100 marks padding everywhere",
            "the mark -100 among the inputs",
            """
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    lengths = (target_ids != pad_id).sum(1)
    marked = target_ids.masked_fill(target_ids == pad_id, -100)
    targets = F.pad(marked, (0, 1), value=-100)
    targets[torch.arange(len(targets)), lengths] = stop_id
    return torch.stack((F.pad(marked, (1, 0), value=start_id), targets))
""",
        ),
        Wrong(
            "the whole row without its last, the whole row without its first",
            "the stop token is read",
            """
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    lengths = (target_ids != pad_id).sum(1)
    whole = F.pad(F.pad(target_ids, (1, 0), value=start_id), (0, 1), value=pad_id)
    whole[torch.arange(len(whole)), lengths + 1] = stop_id
    targets = whole[:, 1:]
    return torch.stack((whole[:, :-1], targets.masked_fill(targets == pad_id, -100)))
""",
        ),
        Wrong(
            "zeros are padding",
            "padding is always 0",
            """
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    inputs = F.pad(target_ids, (1, 0), value=start_id)
    targets = F.pad(target_ids, (0, 1), value=0)
    place = torch.arange(targets.shape[1], device=targets.device)
    lengths = (target_ids != 0).sum(1, keepdim=True)
    targets = torch.where(place < lengths, targets, -100)
    return torch.stack((inputs, torch.where(place == lengths, stop_id, targets)))
""",
        ),
        Wrong(
            "targets first",
            "inputs and targets exchanged",
            """
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    lengths = (target_ids != pad_id).sum(1)
    targets = F.pad(target_ids.masked_fill(target_ids == pad_id, -100), (0, 1), value=-100)
    targets[torch.arange(len(targets)), lengths] = stop_id
    return torch.stack((targets, F.pad(target_ids, (1, 0), value=start_id)))
""",
        ),
        Wrong(
            "two results are a tuple",
            "a result that is no tensor",
            """
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    lengths = (target_ids != pad_id).sum(1)
    targets = F.pad(target_ids.masked_fill(target_ids == pad_id, -100), (0, 1), value=-100)
    targets[torch.arange(len(targets)), lengths] = stop_id
    return F.pad(target_ids, (1, 0), value=start_id), targets
""",
        ),
    ],
    "3.4": [
        Wrong(
            "the source asks the target",
            "queries and keys exchanged",
            """
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    q, k, v = memory @ w_q, x @ w_k, x @ w_v
    scores = q @ k.transpose(-2, -1) / math.sqrt(k.shape[-1])
    real = torch.arange(k.shape[1], device=x.device) < lengths[:, None, None]
    return scores.masked_fill(~real, -math.inf).softmax(-1) @ v
""",
        ),
        Wrong(
            "attention is self-attention",
            "the memory is never read",
            """
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.transpose(-2, -1) / math.sqrt(k.shape[-1])
    real = torch.arange(k.shape[1], device=x.device) < lengths[:, None, None]
    return scores.masked_fill(~real, -math.inf).softmax(-1) @ v
""",
        ),
        Wrong(
            "in attention all lengths are equal",
            "the padding of the source is seen",
            """
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    return (q @ k.mT / k.shape[-1] ** 0.5).softmax(dim=-1) @ v
""",
        ),
        Wrong(
            "True means hide, as in PyTorch's modules",
            "the mask is inverted",
            """
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    hidden = torch.arange(memory.shape[1], device=x.device)[None] >= lengths[:, None]
    return scores.masked_fill(~hidden[:, None], float("-inf")).softmax(-1) @ v
""",
        ),
        Wrong(
            "the length is a place",
            "one padding token too many",
            """
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    hidden = torch.arange(memory.shape[1], device=x.device) > lengths[:, None, None]
    return scores.masked_fill(hidden, float("-inf")).softmax(-1) @ v
""",
        ),
        Wrong(
            "every attention of a decoder is causal",
            "a causal mask across",
            """
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    T, S = x.shape[1], memory.shape[1]
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    real = torch.arange(S, device=x.device) < lengths[:, None, None]
    causal = torch.arange(S, device=x.device) <= torch.arange(T, device=x.device)[:, None]
    return scores.masked_fill(~(real & causal), float("-inf")).softmax(-1) @ v
""",
        ),
        Wrong(
            "weights are masked",
            "masked after the softmax",
            """
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
    real = torch.arange(memory.shape[1], device=x.device) < lengths[:, None, None]
    return (weights * real) @ v
""",
        ),
        Wrong(
            "a padding token has no score, so zero",
            "score zero instead of -inf",
            """
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    real = torch.arange(memory.shape[1], device=x.device) < lengths[:, None, None]
    return scores.masked_fill(~real, 0).softmax(-1) @ v
""",
        ),
        Wrong(
            "d is the width of what comes out",
            "scaled by the wrong width",
            """
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    scores = q @ k.mT / math.sqrt(v.shape[-1])
    real = torch.arange(memory.shape[1], device=x.device) < lengths[:, None, None]
    return scores.masked_fill(~real, float("-inf")).softmax(-1) @ v
""",
        ),
        Wrong(
            "the model's width is d",
            "scaled by the wrong width",
            """
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    scores = torch.einsum("btk,bsk->bts", q, k) / math.sqrt(x.shape[-1])
    real = torch.arange(memory.shape[1], device=x.device) < lengths[:, None, None]
    return scores.masked_fill(~real, float("-inf")).softmax(-1) @ v
""",
        ),
        Wrong(
            "the softmax normalises over the words that are written",
            "softmax over the queries",
            """
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    real = torch.arange(memory.shape[1], device=x.device) < lengths[:, None, None]
    return scores.masked_fill(~real, float("-inf")).softmax(dim=1) @ v
""",
        ),
        Wrong(
            "everything lives on the CPU",
            "a tensor left on the CPU",
            """
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    real = torch.arange(memory.shape[1]) < lengths[:, None, None]
    return scores.masked_fill(~real, float("-inf")).softmax(-1) @ v
""",
        ),
        Wrong(
            "a fused kernel is an answer",
            "the library does the work",
            """
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    real = torch.arange(memory.shape[1], device=x.device) < lengths[:, None, None]
    return F.scaled_dot_product_attention(x @ w_q, memory @ w_k, memory @ w_v, attn_mask=real)
""",
        ),
        Wrong(
            "a layer of the package is an answer",
            "the library does the work",
            """
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    from pioneers.layers import attention, padding_mask

    mask = padding_mask(lengths, memory.shape[1])[:, 0]
    return attention(x @ w_q, memory @ w_k, memory @ w_v, mask=mask)
""",
        ),
    ],
    "3.5": [
        Wrong(
            "the other tokens share ε among themselves",
            "the right token gets no share of ε",
            """
def smoothed_loss(logits, targets, smoothing=0.1):
    V = logits.shape[-1]
    real = targets != -100
    log_p, y = logits[real].log_softmax(-1), targets[real]
    q = torch.full_like(log_p, smoothing / (V - 1))
    q.scatter_(1, y[:, None], 1 - smoothing)
    return -(q * log_p).sum(-1).mean()
""",
        ),
        Wrong(
            "1 - ε stands in the place of the right token",
            "the right token gets no share of ε",
            """
def smoothed_loss(logits, targets, smoothing=0.1):
    V = logits.shape[-1]
    real = targets != -100
    log_p, y = logits[real].log_softmax(-1), targets[real]
    q = torch.full_like(log_p, smoothing / V)
    q[torch.arange(len(y)), y] = 1 - smoothing
    return -(q * log_p).sum(-1).mean()
""",
        ),
        Wrong(
            "zero loss for padding, and then the mean",
            "padding counts as tokens",
            """
def smoothed_loss(logits, targets, smoothing=0.1):
    log_p = logits.log_softmax(-1)
    real = targets != -100
    of_right = -log_p.gather(-1, targets.masked_fill(~real, 0)[..., None])[..., 0]
    loss = (1 - smoothing) * of_right - smoothing * log_p.mean(-1)
    return loss.masked_fill(~real, 0.0).mean()
""",
        ),
        Wrong(
            "padding is token 0",
            "padding counts as tokens",
            """
def smoothed_loss(logits, targets, smoothing=0.1):
    log_p = logits.log_softmax(-1)
    of_right = -log_p.gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return ((1 - smoothing) * of_right - smoothing * log_p.mean(-1)).mean()
""",
        ),
        Wrong(
            "only the first part has to do with targets",
            "the penalty counts the padding",
            """
def smoothed_loss(logits, targets, smoothing=0.1):
    log_p = logits.log_softmax(-1)
    real = targets != -100
    right = -log_p[real].gather(1, targets[real][:, None]).mean()
    return (1 - smoothing) * right - smoothing * log_p.mean()
""",
        ),
        Wrong(
            "a loss per sentence, then the mean",
            "each sentence counts the same",
            """
def smoothed_loss(logits, targets, smoothing=0.1):
    log_p = logits.log_softmax(-1)
    real = targets != -100
    right = -log_p.gather(-1, targets.clamp(min=0)[..., None])[..., 0]
    loss = (1 - smoothing) * right - smoothing * log_p.mean(-1)
    return ((loss * real).sum(dim=1) / real.sum(dim=1)).mean()
""",
        ),
        Wrong(
            "ε times the cost of all tokens",
            "a sum over the vocabulary",
            """
def smoothed_loss(logits, targets, smoothing=0.1):
    real = targets != -100
    log_p = logits[real].log_softmax(-1)
    right = log_p.gather(1, targets[real][:, None])[:, 0]
    return -((1 - smoothing) * right + smoothing * log_p.sum(-1)).mean()
""",
        ),
        Wrong(
            "smoothing comes on top of the loss",
            "the right cost is not reduced",
            """
def smoothed_loss(logits, targets, smoothing=0.1):
    real = targets != -100
    log_p = logits[real].log_softmax(-1)
    right = log_p.gather(1, targets[real][:, None])[:, 0]
    return -(right + smoothing * log_p.mean(-1)).mean()
""",
        ),
        Wrong(
            "the model's probabilities are smoothed",
            "the prediction is smoothed",
            """
def smoothed_loss(logits, targets, smoothing=0.1):
    real = targets != -100
    p = logits[real].softmax(-1)
    p = (1 - smoothing) * p + smoothing / p.shape[-1]
    return -p.gather(1, targets[real][:, None]).log().mean()
""",
        ),
        Wrong(
            "logits are log-probabilities",
            "the softmax is missing",
            """
def smoothed_loss(logits, targets, smoothing=0.1):
    V, real = logits.shape[-1], targets != -100
    q = (1 - smoothing) * F.one_hot(targets[real], V) + smoothing / V
    return -(q * logits[real]).sum(-1).mean()
""",
        ),
        Wrong(
            "the mark is a token like any other",
            "-100 looked up as a token",
            """
def smoothed_loss(logits, targets, smoothing=0.1):
    V = logits.shape[-1]
    q = (1 - smoothing) * F.one_hot(targets, V) + smoothing / V
    loss = -(q * logits.log_softmax(-1)).sum(-1)
    return loss[targets != -100].mean()
""",
        ),
        Wrong(
            "gather skips what it does not find",
            "-100 looked up as a token",
            """
def smoothed_loss(logits, targets, smoothing=0.1):
    log_p = logits.log_softmax(-1)
    right = log_p.gather(-1, targets[..., None])[..., 0]
    loss = -(1 - smoothing) * right - smoothing * log_p.mean(-1)
    return loss[targets != -100].mean()
""",
        ),
        Wrong(
            "the library has it",
            "the library does the work",
            """
def smoothed_loss(logits, targets, smoothing=0.1):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=smoothing)
""",
        ),
        Wrong(
            "a function of the package is an answer",
            "the library does the work",
            """
def smoothed_loss(logits, targets, smoothing=0.1):
    from pioneers.objectives import seq2seq_loss

    return seq2seq_loss(logits, targets, label_smoothing=smoothing)
""",
        ),
    ],
    "3.6": [
        Wrong(
            "the peak is a maximum",
            "the larger of the two",
            """
def learning_rate(updates, d_model, warmup_steps):
    return d_model**-0.5 * torch.maximum(updates**-0.5, updates * warmup_steps**-1.5)
""",
        ),
        Wrong(
            "after the warm-up the rate stays",
            "no decay",
            """
def learning_rate(updates, d_model, warmup_steps):
    return (d_model * warmup_steps) ** -0.5 * (updates / warmup_steps).clamp(max=1)
""",
        ),
        Wrong(
            "computers count from 0",
            "updates counted from 0",
            """
def learning_rate(updates, d_model, warmup_steps):
    s = updates + 1.0
    return d_model**-0.5 * torch.minimum(s**-0.5, s * warmup_steps**-1.5)
""",
        ),
        Wrong(
            "the minus of the first exponent is overlooked",
            "multiplied by the root of the width",
            """
def learning_rate(updates, d_model, warmup_steps):
    s = updates.float()
    return math.sqrt(d_model) * torch.minimum(1 / s.sqrt(), s * warmup_steps**-1.5)
""",
        ),
        Wrong(
            "only the shape matters",
            "the width is ignored",
            """
def learning_rate(updates, d_model, warmup_steps):
    s = updates.float()
    return torch.minimum(1 / s.sqrt(), s * warmup_steps**-1.5)
""",
        ),
        Wrong(
            "the schedule of pioneers is the schedule of the paper",
            "the peak is 1",
            """
def learning_rate(updates, d_model, warmup_steps):
    s = updates / warmup_steps
    return torch.where(s < 1, s, s**-0.5)
""",
        ),
        Wrong(
            "a line from 0 to 1",
            "the wrong slope",
            """
def learning_rate(updates, d_model, warmup_steps):
    return d_model**-0.5 * torch.minimum(updates**-0.5, updates / warmup_steps)
""",
        ),
        Wrong(
            "both exponents are -1/2",
            "the wrong slope",
            """
def learning_rate(updates, d_model, warmup_steps):
    return d_model**-0.5 * torch.minimum(updates**-0.5, updates * warmup_steps**-0.5)
""",
        ),
        Wrong(
            "more digits are better",
            "another type than float32",
            """
def learning_rate(updates, d_model, warmup_steps):
    s = updates.double()
    return d_model**-0.5 * torch.minimum(s**-0.5, s * warmup_steps**-1.5)
""",
        ),
        Wrong(
            "a list of rates",
            "a result that is no tensor",
            """
def learning_rate(updates, d_model, warmup_steps):
    return [d_model**-0.5 * min(s**-0.5, s * warmup_steps**-1.5) for s in updates.tolist()]
""",
        ),
    ],
    "3.7": [
        Wrong(
            "the caller will cut the text",
            "the stop token is not obeyed",
            """
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    rows = torch.arange(len(log_probs), device=log_probs.device)
    token = torch.full_like(rows, start_id)
    tokens = []
    for _ in range(max_new_tokens):
        token = log_probs[rows, token].argmax(-1)
        tokens.append(token)
    return torch.stack(tokens, dim=1)
""",
        ),
        Wrong(
            "when a stop token comes, decoding is over",
            "one row ends the others",
            """
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    B = len(log_probs)
    rows = torch.arange(B, device=log_probs.device)
    out = torch.full((B, max_new_tokens), pad_id, device=log_probs.device)
    token = torch.full_like(rows, start_id)
    for t in range(max_new_tokens):
        token = log_probs[rows, token].argmax(-1)
        out[:, t] = token
        if (token == stop_id).any():
            break
    return out
""",
        ),
        Wrong(
            "go on until all have said stop once",
            "rows that have stopped go on until the last one stops",
            """
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    B = len(log_probs)
    rows = torch.arange(B, device=log_probs.device)
    out = torch.full((B, max_new_tokens), pad_id, device=log_probs.device)
    token = torch.full_like(rows, start_id)
    over = torch.zeros_like(rows, dtype=torch.bool)
    for t in range(max_new_tokens):
        token = log_probs[rows, token].argmax(-1)
        out[:, t] = token
        over |= token == stop_id
        if over.all():
            break
    return out
""",
        ),
        Wrong(
            "the stop token is no word",
            "the stop token is left out",
            """
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    out = torch.full((len(log_probs), max_new_tokens), pad_id)
    for b, table in enumerate(log_probs):
        last = start_id
        for t in range(max_new_tokens):
            last = int(table[last].argmax())
            if last == stop_id:
                break
            out[b, t] = last
    return out
""",
        ),
        Wrong(
            "a row that has stopped says stop for ever",
            "filled up with stop tokens",
            """
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    rows = torch.arange(len(log_probs), device=log_probs.device)
    token = torch.full_like(rows, start_id)
    tokens = []
    for _ in range(max_new_tokens):
        new = log_probs[rows, token].argmax(-1)
        token = torch.where(token == stop_id, stop_id, new)
        tokens.append(token)
    return torch.stack(tokens, dim=1)
""",
        ),
        Wrong(
            "zeros are padding",
            "padding is always 0",
            """
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    B = len(log_probs)
    rows = torch.arange(B, device=log_probs.device)
    out = torch.zeros(B, max_new_tokens, dtype=torch.long, device=log_probs.device)
    token, open_ = torch.full_like(rows, start_id), torch.ones_like(rows, dtype=torch.bool)
    for t in range(max_new_tokens):
        token = log_probs[rows, token].argmax(-1)
        out[:, t] = token * open_
        open_ &= token != stop_id
    return out
""",
        ),
        Wrong(
            "what the decoder reads is what it has written",
            "the start token is part of the text",
            """
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    B = len(log_probs)
    rows = torch.arange(B, device=log_probs.device)
    ids = torch.full((B, 1), start_id, device=log_probs.device)
    over = torch.zeros_like(rows, dtype=torch.bool)
    for _ in range(max_new_tokens):
        token = log_probs[rows, ids[:, -1]].argmax(-1)
        token = torch.where(over, pad_id, token)
        over |= token == stop_id
        ids = torch.cat([ids, token[:, None]], dim=1)
    return ids
""",
        ),
        Wrong(
            "the start token starts every step",
            "the token is not fed back",
            """
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    token = log_probs[:, start_id].argmax(-1)
    over = torch.zeros_like(token, dtype=torch.bool)
    out = []
    for _ in range(max_new_tokens):
        out.append(torch.where(over, pad_id, log_probs[:, start_id].argmax(-1)))
        over |= token == stop_id
    return torch.stack(out, dim=1)
""",
        ),
        Wrong(
            "the columns are the last token",
            "read along the wrong axis",
            """
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    rows = torch.arange(len(log_probs), device=log_probs.device)
    token = torch.full_like(rows, start_id)
    over, out = torch.zeros_like(rows, dtype=torch.bool), []
    for _ in range(max_new_tokens):
        token = log_probs[rows, :, token].argmax(-1)
        out.append(torch.where(over, pad_id, token))
        over |= token == stop_id
    return torch.stack(out, dim=1)
""",
        ),
        Wrong(
            "stop as soon as everybody has stopped",
            "narrower when all rows end early",
            """
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    rows = torch.arange(len(log_probs), device=log_probs.device)
    token = torch.full_like(rows, start_id)
    over, out = torch.zeros_like(rows, dtype=torch.bool), []
    while len(out) < max_new_tokens and not over.all():
        token = log_probs[rows, token].argmax(-1)
        out.append(torch.where(over, pad_id, token))
        over |= token == stop_id
    return torch.stack(out, dim=1)
""",
        ),
        Wrong(
            "the decoding loop of the package is an answer",
            "the library does the work",
            """
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    from pioneers.generation.decode import _decode

    rows = torch.arange(len(log_probs))
    start = torch.full((len(log_probs), 1), start_id)
    found = _decode(
        lambda ids: log_probs[rows, ids[:, -1]], lambda logits: logits.argmax(-1),
        start, max_new_tokens, None, [stop_id], pad_id,
    )
    return F.pad(found[:, 1:], (0, max_new_tokens + 1 - found.shape[1]), value=pad_id)
""",
        ),
    ],
    "3.8": [
        Wrong(
            "the most probable text is wanted",
            "alpha is ignored",
            beam("score / ((5 + length) / 6) ** alpha", "score"),
        ),
        Wrong(
            "the stop token does not count",
            "the length is counted otherwise",
            beam("(5 + length)", "(4 + length)"),
        ),
        Wrong(
            "the start token counts",
            "the length is counted otherwise",
            beam("(5 + length)", "(6 + length)"),
        ),
        Wrong(
            "a length penalty is a power of the length",
            "another penalty",
            beam("((5 + length) / 6) ** alpha", "length**alpha"),
        ),
        Wrong(
            "a penalty is multiplied",
            "multiplied by the penalty",
            beam("score / ((5", "score * ((5"),
        ),
        Wrong(
            "the best extension of each beam",
            "each beginning keeps its own best token",
            beam(
                "candidates += [(score + p, text + [token]) for token, p in enumerate(table[last])]",
                "own = [(score + p, text + [token]) for token, p in enumerate(table[last])]\n"
                "            candidates += [max(own)] if text else own",
            ),
        ),
        Wrong(
            "the newest token decides",
            "scores are not added up",
            beam("(score + p, text + [token])", "(p, text + [token])"),
        ),
        Wrong(
            "the beams begin as copies of one another",
            "the search is greedy",
            beam(
                "beams, best, best_score, stopped = [(0.0, [])]",
                "beams, best, best_score, stopped = [(0.0, [])] * num_beams",
            ),
        ),
        Wrong(
            "a beam is greedy decoding",
            "the search is greedy",
            """
def beam_search(log_probs, num_beams, alpha, start_id, stop_id, pad_id, max_new_tokens):
    text, last = [], start_id
    while len(text) < max_new_tokens and last != stop_id:
        last = int(log_probs[last].argmax())
        text.append(last)
    return torch.tensor(text + [pad_id] * (max_new_tokens - len(text)))
""",
        ),
        Wrong(
            "the stop token is a token like any other",
            "a finished text is continued",
            """
def beam_search(log_probs, num_beams, alpha, start_id, stop_id, pad_id, max_new_tokens):
    V = len(log_probs)
    texts, scores = torch.full((1, 1), start_id), torch.zeros(1)
    for _ in range(max_new_tokens):
        joint = (scores[:, None] + log_probs[texts[:, -1]]).flatten()
        scores, index = joint.topk(min(num_beams, len(joint)))
        texts = torch.cat([texts[index // V], (index % V)[:, None]], dim=1)
    return texts[0, 1:]
""",
        ),
        Wrong(
            "the answer is the best of the beam in the end",
            "finished texts are forgotten",
            beam("text[-1] == stop_id or length == max_new_tokens", "length == max_new_tokens"),
        ),
        Wrong(
            "the first text that ends is the answer",
            "the first finished text wins",
            beam("if final > best_score:", "if not best:"),
        ),
        Wrong(
            "the latest is the best",
            "the last finished text wins",
            beam("if final > best_score:", "if True:"),
        ),
        Wrong(
            "search to the end, it can only get better",
            "the search does not end when k have stopped",
            beam("        if stopped >= num_beams:\n            break\n", ""),
        ),
        Wrong(
            "the best k, without those that stop",
            "a finished text leaves a gap in the beam",
            beam(
                "[c for c in candidates if c[1][-1] != stop_id][:num_beams]",
                "[c for c in candidates[:num_beams] if c[1][-1] != stop_id]",
            ),
        ),
        Wrong(
            "a finished text fills its place",
            "a finished text keeps its place in the beam",
            """
def beam_search(log_probs, num_beams, alpha, start_id, stop_id, pad_id, max_new_tokens):
    table, beams, done = log_probs.tolist(), [(0.0, [])], []
    for length in range(1, max_new_tokens + 1):
        candidates = []
        for score, text in beams:
            last = text[-1] if text else start_id
            candidates += [(score + p, text + [token]) for token, p in enumerate(table[last])]
        kept = sorted(candidates, reverse=True)[: num_beams - len(done)]
        beams = []
        for score, text in kept:
            if text[-1] == stop_id or length == max_new_tokens:
                done.append((score / ((5 + length) / 6) ** alpha, text))
            else:
                beams.append((score, text))
        if not beams:
            break
    best = max(done)[1]
    return torch.tensor(best + [pad_id] * (max_new_tokens - len(best)))
""",
        ),
        Wrong(
            "every text that can stop is finished",
            "a stop that is not among the best k",
            beam("candidates[:num_beams]:", "candidates[: num_beams if length == max_new_tokens else None]:"),
        ),
        Wrong(
            "there are always k candidates",
            "more candidates asked for than there are",
            """
def beam_search(log_probs, num_beams, alpha, start_id, stop_id, pad_id, max_new_tokens):
    V = len(log_probs)
    texts, scores, best, best_score, stopped = [[]], torch.zeros(1), [], -math.inf, 0
    for length in range(1, max_new_tokens + 1):
        last = torch.tensor([text[-1] if text else start_id for text in texts])
        joint = scores[:, None] + log_probs[last]
        for score, i in zip(*(found.tolist() for found in joint.flatten().topk(num_beams))):
            text, penalty = [*texts[i // V], i % V], ((5 + length) / 6) ** alpha
            stopped += i % V == stop_id
            if (i % V == stop_id or length == max_new_tokens) and score / penalty > best_score:
                best, best_score = text, score / penalty
        if stopped >= num_beams:
            break
        joint[:, stop_id] = -math.inf
        scores, index = joint.flatten().topk(num_beams)
        texts = [[*texts[i // V], i % V] for i in index.tolist()]
    return torch.tensor(best + [pad_id] * (max_new_tokens - len(best)))
""",
        ),
        Wrong(
            "the search of the package is an answer",
            "the library does the work",
            """
def beam_search(log_probs, num_beams, alpha, start_id, stop_id, pad_id, max_new_tokens):
    from pioneers.generation.beam import beam_loop

    class Table:
        def __call__(self, ids):
            return log_probs[ids[:, -1]]

        def reorder(self, rows):
            pass

    found = beam_loop(
        Table(), torch.tensor([[start_id]]), max_new_tokens,
        num_beams=num_beams, alpha=alpha, stop_id=stop_id, pad_id=pad_id,
    ).tokens[0, 1:]
    return F.pad(found, (0, max_new_tokens - len(found)), value=pad_id)
""",
        ),
    ],
    "3.9": [
        Wrong(
            "a word that occurs in the reference is right",
            "precision without clipping",
            score("min(count, b[gram])", "count if gram in b else 0"),
        ),
        Wrong(
            "n-grams are sets",
            "each n-gram counted once",
            score("            total += sum(a.values())", "            total += len(a)").replace(
                "min(count, b[gram])", "gram in b"
            ),
        ),
        Wrong(
            "clip to one",
            "each n-gram counted once",
            score("min(count, b[gram])", "min(1, b[gram])"),
        ),
        Wrong(
            "a corpus is one bag of n-grams",
            "all sentences in one bag",
            """
def bleu(found, wanted):
    product = 1.0
    for n in range(1, 5):
        a = Counter(s[i : i + n] for s in found for i in range(len(s) - n + 1))
        b = Counter(s[i : i + n] for s in wanted for i in range(len(s) - n + 1))
        product *= (a & b).total() / a.total()
    c, r = sum(map(len, found)), sum(map(len, wanted))
    return torch.tensor(100 * min(1.0, math.exp(1 - r / c)) * product**0.25)
""",
        ),
        Wrong(
            "what share of the reference was found",
            "recall instead of precision",
            score("total += sum(a.values())", "total += sum(b.values())"),
        ),
        Wrong(
            "a sentence has len - n + 1 runs",
            "a negative number of n-grams",
            score("total += sum(a.values())", "total += len(ours) - n + 1"),
        ),
        Wrong(
            "BLEU is the mean over sentences",
            "the mean of sentence scores",
            BLEU.replace("def bleu", "def one")
            + """

def bleu(found, wanted):
    return torch.stack([one([ours], [theirs]) for ours, theirs in zip(found, wanted)]).mean()
""",
        ),
        Wrong(
            "each sentence pays for itself",
            "a penalty for each sentence",
            score(
                "min(1.0, math.exp(1 - r / c))",
                "sum(min(1.0, math.exp(1 - len(b) / len(a))) for a, b in zip(found, wanted)) / len(found)",
            ),
        ),
        Wrong(
            "a mean is a sum divided by four",
            "the arithmetic mean",
            score("product *= hits / total if total else 0.0", "product += hits / total / 4")
            .replace("product = 1.0", "product = 0.0")
            .replace("product**0.25", "product"),
        ),
        Wrong(
            "the precisions are multiplied",
            "the product without its root",
            score("product**0.25", "product"),
        ),
        Wrong(
            "precision is enough",
            "no brevity penalty",
            score("penalty * product", "product"),
        ),
        Wrong(
            "the exponential is the penalty",
            "length is rewarded",
            score("min(1.0, math.exp(1 - r / c))", "math.exp(1 - r / c)"),
        ),
        Wrong(
            "r is the longer one",
            "c and r exchanged",
            score("1 - r / c", "1 - c / r"),
        ),
        Wrong(
            "half the words, half the score",
            "the penalty is the ratio of the lengths",
            score("math.exp(1 - r / c)", "c / r"),
        ),
        Wrong(
            "a score is a share",
            "a share instead of a percentage",
            score("100 * penalty", "penalty"),
        ),
        Wrong(
            "range(1, 4) is one to four",
            "runs of up to three words",
            score("range(1, 5)", "range(1, 4)").replace("product**0.25", "product ** (1 / 3)"),
        ),
        Wrong(
            "no precision is ever zero",
            "the logarithm of zero",
            """
def bleu(found, wanted):
    log_p = 0.0
    for n in (1, 2, 3, 4):
        hits = total = 0
        for ours, theirs in zip(found, wanted):
            a = Counter(zip(*(ours[i:] for i in range(n))))
            b = Counter(zip(*(theirs[i:] for i in range(n))))
            hits, total = hits + (a & b).total(), total + a.total()
        log_p += math.log(hits / total) / 4
    c, r = sum(map(len, found)), sum(map(len, wanted))
    return torch.tensor(100 * min(1.0, math.exp(1 - r / c)) * math.exp(log_p))
""",
        ),
        Wrong(
            "a number is a number",
            "a result that is no tensor",
            score("torch.tensor(100 * penalty * product**0.25)", "100 * penalty * product**0.25"),
        ),
    ],
}

RIGHT = {
    "3.1": [
        Right(
            "a sorted list",
            """
def best_pair(words, times):
    counts = {}
    for word, n in zip(words, times):
        for i in range(len(word) - 1):
            pair = word[i], word[i + 1]
            counts[pair] = counts.get(pair, 0) + n
    most = max(counts.values())
    return torch.tensor(sorted(pair for pair, n in counts.items() if n == most)[0])
""",
        ),
        Right(
            "tensors, one word at a time",
            """
def best_pair(words, times):
    size = 1 + max(max(word) for word in words)
    counts = torch.zeros(size, size, dtype=torch.long)
    for word, n in zip(words, times):
        ids = torch.tensor(word)
        counts.index_put_((ids[:-1], ids[1:]), torch.tensor(n), accumulate=True)
    return torch.stack(torch.unravel_index(counts.argmax(), counts.shape))
""",
        ),
        Right(
            "negative ids as the key of max",
            """
def best_pair(words, times):
    counts = Counter()
    for word, n in zip(words, times):
        for pair in pairwise(word):
            counts[pair] += n
    return torch.tensor(max(counts, key=lambda pair: (counts[pair], -pair[0], -pair[1])))
""",
        ),
    ],
    "3.2": [
        Right(
            "always the earliest merge that is left, as GPT-2's code does it",
            """
def encode(word, merges, num_letters):
    rank = {pair: i for i, pair in enumerate(merges)}
    word = list(word)
    while len(word) > 1:
        pair = min(pairwise(word), key=lambda pair: rank.get(pair, len(merges)))
        if pair not in rank:
            break
        i = 0
        while i < len(word) - 1:
            if (word[i], word[i + 1]) == pair:
                word[i : i + 2] = [num_letters + rank[pair]]
            i += 1
    return torch.tensor(word)
""",
        ),
        Right(
            "the lecture's join",
            """
def encode(word, merges, num_letters):
    for new, pair in enumerate(merges, start=num_letters):
        joined = []
        for piece in word:
            if joined and (joined[-1], piece) == pair:
                joined[-1] = new
            else:
                joined.append(piece)
        word = joined
    return torch.tensor(word)
""",
        ),
    ],
    "3.3": [
        Right(
            "row by row",
            """
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    B, T = target_ids.shape
    inputs = torch.full((B, T + 1), pad_id, device=target_ids.device)
    targets = torch.full((B, T + 1), -100, device=target_ids.device)
    for b, row in enumerate(target_ids):
        real = row[row != pad_id]
        inputs[b, 0], inputs[b, 1 : len(real) + 1] = start_id, real
        targets[b, : len(real)], targets[b, len(real)] = real, stop_id
    return torch.stack((inputs, targets))
""",
        ),
        Right(
            "the stop token added once, scattered",
            """
def teacher_forcing(target_ids, start_id, stop_id, pad_id):
    inputs = F.pad(target_ids, (1, 0), value=start_id)
    marked = torch.where(target_ids == pad_id, -100, target_ids)
    lengths = (target_ids != pad_id).sum(dim=1, keepdim=True)
    targets = F.pad(marked, (0, 1), value=-100).scatter(1, lengths, stop_id)
    return torch.stack((inputs, targets))
""",
        ),
    ],
    "3.4": [
        Right(
            "one sentence at a time, without its padding",
            """
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    out = []
    for z, m, n in zip(x, memory, lengths.tolist()):
        m = m[:n]
        scores = (z @ w_q) @ (m @ w_k).T / math.sqrt(w_k.shape[1])
        out.append(scores.softmax(dim=1) @ (m @ w_v))
    return torch.stack(out)
""",
        ),
        Right(
            "einsum",
            """
def cross_attention(x, memory, w_q, w_k, w_v, lengths):
    q = torch.einsum("btd,dk->btk", x, w_q) * w_q.shape[1] ** -0.5
    k, v = torch.einsum("bsd,dk->bsk", memory, w_k), torch.einsum("bsd,dv->bsv", memory, w_v)
    hidden = torch.arange(memory.shape[1], device=x.device)[None, None] >= lengths[:, None, None]
    weights = torch.einsum("btk,bsk->bts", q, k).masked_fill(hidden, -torch.inf).softmax(-1)
    return torch.einsum("bts,bsv->btv", weights, v)
""",
        ),
    ],
    "3.5": [
        Right(
            "the target as a distribution",
            """
def smoothed_loss(logits, targets, smoothing=0.1):
    real, V = targets != -100, logits.shape[-1]
    q = (1 - smoothing) * F.one_hot(targets[real], V) + smoothing / V
    return -(q * logits[real].log_softmax(-1)).sum(-1).mean()
""",
        ),
        Right(
            "padding as token 0 with weight 0",
            """
def smoothed_loss(logits, targets, smoothing=0.1):
    cost = logits.logsumexp(-1, keepdim=True) - logits
    real = (targets != -100).to(logits.dtype)
    right = cost.gather(-1, targets.clamp(min=0)[..., None])[..., 0]
    loss = (1 - smoothing) * right + smoothing * cost.mean(-1)
    return (loss * real).sum() / real.sum()
""",
        ),
    ],
    "3.6": [
        Right(
            "a line up to w, the root behind it",
            """
def learning_rate(updates, d_model, warmup_steps):
    s = updates.float()
    rate = torch.where(updates < warmup_steps, s * warmup_steps**-1.5, s**-0.5)
    return rate / math.sqrt(d_model)
""",
        ),
        Right(
            "a list of numbers",
            """
def learning_rate(updates, d_model, warmup_steps):
    rates = [d_model**-0.5 * min(s**-0.5, s * warmup_steps**-1.5) for s in updates.tolist()]
    return torch.tensor(rates, device=updates.device)
""",
        ),
    ],
    "3.7": [
        Right(
            "row by row",
            """
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    rows = []
    for table in log_probs:
        text, last = [], start_id
        while len(text) < max_new_tokens and last != stop_id:
            last = int(table[last].argmax())
            text.append(last)
        rows.append(text + [pad_id] * (max_new_tokens - len(text)))
    return torch.tensor(rows, device=log_probs.device)
""",
        ),
        Right(
            "all steps first, the padding after",
            """
def greedy(log_probs, start_id, stop_id, pad_id, max_new_tokens):
    best = log_probs.argmax(dim=-1)
    ids = torch.full((len(best), 1), start_id, device=best.device)
    for _ in range(max_new_tokens):
        ids = torch.cat([ids, best.gather(1, ids[:, -1:])], dim=1)
    tokens = ids[:, 1:]
    stops = (tokens == stop_id).long()
    return torch.where(stops.cumsum(1) - stops > 0, pad_id, tokens)
""",
        ),
    ],
    "3.8": [
        Right("lists of texts", BEAM),
        Right(
            "tensors and topk",
            """
def beam_search(log_probs, num_beams, alpha, start_id, stop_id, pad_id, max_new_tokens):
    V, stopped, best_score = len(log_probs), 0, -math.inf
    texts = torch.full((1, 1), start_id, device=log_probs.device)
    scores = torch.zeros(1, device=log_probs.device)
    for length in range(1, max_new_tokens + 1):
        joint = scores[:, None] + log_probs[texts[:, -1]]
        top, index = joint.flatten().topk(min(num_beams, joint.numel()))
        stops = index % V == stop_id
        for score, i, stop in zip(top, index, stops):
            final = score / ((5 + length) / 6) ** alpha
            if (stop or length == max_new_tokens) and final > best_score:
                best, best_score = torch.cat([texts[i // V, 1:], i[None] % V]), final
        stopped += int(stops.sum())
        if stopped >= num_beams:
            break
        joint[:, stop_id] = -math.inf
        scores, index = joint.flatten().topk(min(num_beams, len(joint) * (V - 1)))
        texts = torch.cat([texts[index // V], index[:, None] % V], dim=1)
    return F.pad(best, (0, max_new_tokens - len(best)), value=pad_id)
""",
        ),
        Right(
            "it stops as soon as no open text can win",
            beam(
                "if stopped >= num_beams:",
                "if stopped >= num_beams or beams[0][0] / ((5 + max_new_tokens) / 6) ** alpha <= best_score:",
            ),
        ),
    ],
    "3.9": [
        Right("hits and totals in a double loop", BLEU),
        Right(
            "logarithms and the intersection of counters",
            """
def bleu(found, wanted):
    def ngrams(words, n):
        return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))

    log_p = 0.0
    for n in (1, 2, 3, 4):
        ours, theirs = [ngrams(x, n) for x in found], [ngrams(x, n) for x in wanted]
        hits = sum((a & b).total() for a, b in zip(ours, theirs))
        if hits == 0:
            return torch.tensor(0.0)
        log_p += math.log(hits / sum(a.total() for a in ours)) / 4
    c, r = sum(map(len, found)), sum(map(len, wanted))
    return torch.tensor(100 * min(1.0, math.exp(1 - r / c)) * math.exp(log_p))
""",
        ),
    ],
}

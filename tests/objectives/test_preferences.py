"""Losses on pairs: closed forms, a slow oracle, and the mistakes that the tests tell apart."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F

from pioneers.objectives import (
    answer_mask,
    causal_lm,
    dpo_loss,
    reward_pair_loss,
    sequence_log_probs,
    simpo_loss,
    token_log_probs,
)

B, L, V, BETA = 3, 11, 7, 0.3  # pairs, tokens, vocabulary
PAD = 0


def pair_inputs(seed=0):
    """Rows of chosen and rejected answers to the same prompts, and logits of policy and reference."""
    draw = torch.Generator().manual_seed(seed)
    prompt_lengths = torch.tensor([3, 2, 5])
    prompts = torch.randint(1, V, (B, L), generator=draw)
    sides = {}
    for side, lengths in (("chosen", (6, 11, 8)), ("rejected", (9, 5, 7))):
        tokens = torch.randint(1, V, (B, L), generator=draw)
        for row in range(B):
            tokens[row, : prompt_lengths[row]] = prompts[row, : prompt_lengths[row]]
            tokens[row, lengths[row] :] = PAD
        logits = [torch.randn(B, L - 1, V, generator=draw, dtype=torch.float64) for _ in range(2)]
        sides[side] = tokens, torch.tensor(lengths), *logits
    return prompt_lengths, sides


def right(prompt_lengths, sides):
    """The loss with the functions of the package."""
    sums = {}
    for side, (tokens, lengths, policy, reference) in sides.items():
        _, targets = causal_lm(tokens)
        mask = answer_mask(prompt_lengths, lengths, L - 1)
        sums[side] = [sequence_log_probs(logits, targets, mask) for logits in (policy, reference)]
    (chosen, reference_chosen), (rejected, reference_rejected) = sums["chosen"], sums["rejected"]
    return dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=BETA)


def oracle(prompt_lengths, sides):
    """The same with loops and products of probabilities, as the paper writes it."""
    losses = []
    for b in range(B):
        ratio = {}
        for side, (tokens, lengths, policy, reference) in sides.items():
            now = then = 1.0
            for t in range(prompt_lengths[b], lengths[b]):
                now *= policy[b, t - 1].softmax(-1)[tokens[b, t]].item()
                then *= reference[b, t - 1].softmax(-1)[tokens[b, t]].item()
            ratio[side] = now / then
        margin = BETA * math.log(ratio["chosen"]) - BETA * math.log(ratio["rejected"])
        losses.append(-math.log(1 / (1 + math.exp(-margin))))
    return sum(losses) / B


# Each mistake is the answer of somebody who got one thing wrong.
def written_out(
    prompt_lengths,
    sides,
    *,
    reference=1.0,
    sign=1.0,
    beta_inside=True,
    inverse_beta=False,
    first=0,
    padding=False,
    mean=False,
    shift=0,
    exchanged=False,
    crossed=False,
    squash=F.logsigmoid,
    whole_vocabulary=False,
    raw_logits=False,
    total=torch.mean,
    detached=False,
    reference_learns=False,
    no_prompt_subtraction=False,
):
    values = {}
    for side, (tokens, lengths, policy, ref) in sides.items():
        found = []
        for number, logits in enumerate((policy, ref)):
            scores = logits if raw_logits else logits.log_softmax(-1)  # (B, T, V)
            targets = tokens[:, 1 - shift : L - shift]
            taken = scores.gather(-1, targets[..., None])[..., 0]
            if whole_vocabulary:
                taken = scores.sum(-1)
            place = torch.arange(1, L)
            start = first if no_prompt_subtraction else prompt_lengths[:, None] + first
            mask = (place >= start) & (padding | (place < lengths[:, None]))
            summed = (taken * mask).sum(-1)
            summed = summed / mask.sum(-1) if mean else summed
            if number == 1 and not reference_learns:
                summed = summed.detach()
            found.append(summed)
        now, then = found
        values[side] = (now.detach() if detached else now), then
    (a, ref_a), (b, ref_b) = values["chosen"], values["rejected"]
    if exchanged:
        (a, ref_a), (b, ref_b) = (b, ref_b), (a, ref_a)
    if crossed:
        ref_a, ref_b = ref_b, ref_a
    beta = 1 / BETA if inverse_beta else BETA
    margin = (a - reference * ref_a) - (b - reference * ref_b)
    inner = -sign * squash(beta * margin) if beta_inside else -sign * beta * squash(margin)
    return total(inner)


MISTAKES = {
    "no reference": {"reference": 0.0},
    "reference of the other answer": {"crossed": True},
    "sign of the loss": {"sign": -1.0},
    "chosen and rejected exchanged": {"exchanged": True},
    "beta outside the sigmoid": {"beta_inside": False},
    "divided by beta": {"inverse_beta": True},
    "prompt counted": {"no_prompt_subtraction": True},
    "first answer token missed": {"first": 1},
    "last prompt token counted": {"first": -1},
    "padding counted": {"padding": True},
    "mean instead of sum": {"mean": True},
    "targets not shifted": {"shift": 1},
    "logits instead of log-probabilities": {"raw_logits": True},
    "all of the vocabulary": {"whole_vocabulary": True},
    "sigmoid without logarithm": {"squash": torch.sigmoid},
    "sum over the batch": {"total": torch.sum},
    "tanh": {"squash": torch.tanh},
}


def test_dpo_is_the_papers_equation():
    for seed in range(3):
        given = pair_inputs(seed)
        assert right(*given).item() == pytest.approx(oracle(*given), rel=1e-9)
        torch.testing.assert_close(written_out(*given), right(*given))


@pytest.mark.parametrize("name", MISTAKES)
def test_dpo_tells_a_mistake_by_its_value(name):
    given = pair_inputs()
    wrong = written_out(*given, **MISTAKES[name])
    assert abs(wrong.item() - oracle(*given)) > 0.01, name


def test_the_mistakes_differ_from_each_other():
    given = pair_inputs()
    values = sorted(written_out(*given, **how).item() for how in MISTAKES.values())
    assert all(b - a > 1e-6 for a, b in itertools.pairwise(values))


def gradients(loss, prompt_lengths, sides, **how):
    """The gradients of the logits of the policy and of the reference, for the chosen answers."""
    tokens, lengths, *logits = sides["chosen"]
    logits = [part.clone().requires_grad_() for part in logits]
    value = loss(prompt_lengths, sides | {"chosen": (tokens, lengths, *logits)}, **how)
    return torch.autograd.grad(value, logits, allow_unused=True) if value.requires_grad else (None, None)


def test_the_policy_learns_and_the_reference_does_not():
    """Two more mistakes, which the value of the loss does not show."""
    given = pair_inputs()
    policy, reference = gradients(right, *given)
    assert policy.any()
    assert reference is None
    assert gradients(written_out, *given, detached=True)[0] is None
    assert gradients(written_out, *given, reference_learns=True)[1].any()


def test_the_gradient_has_the_papers_form():
    """Rafailov et al. 2023, section 4: β σ(- margin) times the difference of the log-probabilities."""
    logs = torch.tensor([[-40.0, -31.0], [-50.0, -29.0], [-41.0, -30.0], [-46.0, -33.0]], dtype=torch.float64)
    chosen, rejected = (part.clone().requires_grad_() for part in logs[:2])
    dpo_loss(chosen, rejected, logs[2], logs[3], beta=BETA).backward()
    margin = BETA * ((logs[0] - logs[2]) - (logs[1] - logs[3]))
    weight = BETA * torch.sigmoid(-margin) / 2  # a mean of two pairs
    torch.testing.assert_close(chosen.grad, -weight)
    torch.testing.assert_close(rejected.grad, weight)


def test_the_gradients_match_finite_differences():
    draw = torch.Generator().manual_seed(0)
    logs = [torch.randn(5, generator=draw, dtype=torch.float64) for _ in range(4)]
    policy = [part.requires_grad_() for part in logs[:2]]
    lengths = torch.tensor([2, 3, 5, 7, 11]), torch.tensor([13, 7, 5, 3, 2])
    assert torch.autograd.gradcheck(lambda a, b: dpo_loss(a, b, *logs[2:], beta=BETA), policy)
    assert torch.autograd.gradcheck(lambda a, b: simpo_loss(a, b, *lengths, beta=BETA, margin=0.5), policy)
    assert torch.autograd.gradcheck(reward_pair_loss, policy)
    logits = torch.randn(2, 3, V, generator=draw, dtype=torch.float64, requires_grad=True)
    targets, mask = torch.tensor([[1, 5, 2], [0, 3, 6]]), torch.tensor([[0, 1, 1], [1, 0, 0]]).bool()
    assert torch.autograd.gradcheck(lambda x: sequence_log_probs(x, targets, mask), logits)


def test_a_large_margin_stays_finite():
    """``log(sigmoid(x))`` is -inf from about x = -104 on in float32; logsigmoid is not."""
    far, near = torch.tensor([-1e5]), torch.tensor([0.0])
    loss = dpo_loss(far, near, near, near, beta=1.0)
    assert loss.item() == pytest.approx(1e5)
    assert torch.sigmoid(far - near).log().isinf()
    assert reward_pair_loss(far, near).item() == pytest.approx(1e5)
    assert dpo_loss(near, far, near, near, beta=1.0).item() == pytest.approx(0)


def test_masked_positions_count_for_nothing_whatever_they_hold():
    logits = torch.zeros(1, 3, V)
    logits[0, 2, 1] = -torch.inf  # the padding is impossible under the model
    found = sequence_log_probs(logits, torch.tensor([[4, 5, 1]]), torch.tensor([[True, True, False]]))
    assert found.item() == pytest.approx(-2 * math.log(V))


def test_the_mask_begins_with_the_target_that_is_the_first_answer_token():
    mask = answer_mask(torch.tensor([2, 3, 3]), torch.tensor([5, 7, 3]), 6)
    assert mask.int().tolist() == [[0, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1], [0] * 6]


def test_reward_pairs_have_a_closed_form():
    chosen, rejected = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([0.0, 1.0, 0.5])
    expected = sum(math.log(1 + math.exp(-d)) for d in (1, -3, 0)) / 3
    assert reward_pair_loss(chosen, rejected).item() == pytest.approx(expected)
    shifted = reward_pair_loss(chosen + 7, rejected + 7).item()
    assert shifted == pytest.approx(expected)


def test_simpo_compares_means():
    lengths = torch.tensor([2, 3]), torch.tensor([5, 1])
    chosen, rejected = torch.tensor([-4.0, -9.0]), torch.tensor([-5.0, -1.0])  # means -2, -3 and -1, -1
    expected = sum(math.log(1 + math.exp(-(2 * d - 0.5))) for d in (-1, -2)) / 2
    found = simpo_loss(chosen, rejected, *lengths, beta=2.0, margin=0.5)
    assert found.item() == pytest.approx(expected)


def test_token_log_probs_are_those_of_the_softmax():
    logits = torch.randn(2, 3, V, generator=torch.Generator().manual_seed(0))
    targets = torch.tensor([[1, 5, 2], [0, 3, 6]])
    found = token_log_probs(logits, targets)
    for b in range(2):
        for t in range(3):
            expected = logits[b, t].softmax(-1)[targets[b, t]].log()
            torch.testing.assert_close(found[b, t], expected)


def test_what_does_not_fit_is_refused():
    one, two, count = torch.zeros(1), torch.zeros(2), torch.ones(2)
    with pytest.raises(ValueError, match=r"a pair needs equal shapes, not \(1,\) and \(2,\)"):
        reward_pair_loss(one, two)
    with pytest.raises(ValueError, match="a pair needs equal shapes"):
        dpo_loss(two, two, one, two, beta=0.1)
    with pytest.raises(ValueError, match="beta must be positive, not 0"):
        dpo_loss(two, two, two, two, beta=0)
    with pytest.raises(ValueError, match="beta must be positive, not -1"):
        simpo_loss(two, two, count, count, beta=-1)
    with pytest.raises(ValueError, match="an answer has no token"):
        simpo_loss(two, two, count, two, beta=1)
    with pytest.raises(ValueError, match=r"logits \(2, 3, 7\) do not fit targets \(2, 4\)"):
        token_log_probs(torch.zeros(2, 3, 7), torch.zeros(2, 4).long())
    with pytest.raises(ValueError, match="texts at most 6"):
        answer_mask(torch.tensor([2]), torch.tensor([7]), 5)
    for prompt, length in ((0, 3), (4, 3)):
        with pytest.raises(ValueError, match="prompts need at least one token"):
            answer_mask(torch.tensor([prompt]), torch.tensor([length]), 5)

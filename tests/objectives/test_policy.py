"""PPO's parts against closed forms and a slow oracle, and the mistakes that the tests tell apart."""

import math

import pytest
import torch

from pioneers.objectives import (
    clipped_objective,
    generalized_advantages,
    kl_rewards,
    masked_mean,
    ppo_loss,
    value_loss,
)

B, T = 3, 7
MASK = torch.zeros(B, T, dtype=torch.bool)
MASK[0, 2:7] = MASK[1, 1:4] = MASK[2, 4:5] = True


def numbers(seed):
    return torch.randn(B, T, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize(
    ("ratio", "advantage", "expected", "learns"),
    [
        (1.0, 2.0, 2.0, True),
        (1.1, 2.0, 2.2, True),
        (1.5, 2.0, 2.4, False),  # likelier by more than the clip: enough
        (0.5, 2.0, 1.0, True),  # less likely although good: pull it back
        (0.5, -2.0, -1.6, False),
        (1.5, -2.0, -3.0, True),
    ],
)
def test_the_clipped_objective_in_its_six_cases(ratio, advantage, expected, learns):
    log_prob = torch.tensor(math.log(ratio) - 3, dtype=torch.float64, requires_grad=True)
    found = clipped_objective(log_prob, torch.tensor(-3.0).double(), torch.tensor(advantage).double())
    assert found.item() == pytest.approx(expected)
    (grad,) = torch.autograd.grad(found, log_prob)
    assert grad.item() == pytest.approx(ratio * advantage if learns else 0)


def test_gradients_match_finite_differences():
    now, old, advantages = (numbers(seed) for seed in range(3))
    now = (old + 0.3 * now).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: ppo_loss(x, old, advantages, MASK), now)
    assert torch.autograd.gradcheck(lambda x: value_loss(x, advantages, MASK), now)


def test_at_the_first_step_it_is_the_policy_gradient():
    """With a ratio of one the gradient is that of ``- mean of advantage · log-probability``."""
    log_probs, advantages = numbers(0).requires_grad_(), numbers(1)
    (found,) = torch.autograd.grad(ppo_loss(log_probs, log_probs.detach(), advantages, MASK), log_probs)
    torch.testing.assert_close(found, -advantages.where(MASK, 0) / MASK.sum())


def test_only_the_policy_and_the_values_learn():
    now, old, advantages, values = (numbers(seed).requires_grad_() for seed in range(4))
    (ppo_loss(now, old, advantages, MASK) + value_loss(values, advantages, MASK)).backward()
    assert now.grad.any()
    assert values.grad.any()
    assert old.grad is advantages.grad is None


def slow_advantages(rewards, values, mask, discount, smoothing):
    """The definition: a sum over all later surprises of the row."""
    found = torch.zeros_like(values)
    for b in range(B):
        places = mask[b].nonzero()[:, 0].tolist()
        for i in places:
            for power, j in enumerate(range(i, places[-1] + 1)):
                later = values[b, j + 1] if j + 1 in places else 0.0
                surprise = rewards[b, j] + discount * later - values[b, j]
                found[b, i] += (discount * smoothing) ** power * surprise
    return found


@pytest.mark.parametrize(("discount", "smoothing"), [(1.0, 0.95), (0.9, 0.8), (1.0, 0.0), (0.7, 1.0)])
def test_advantages_are_sums_of_surprises(discount, smoothing):
    rewards, values = numbers(0), numbers(1)  # also where the mask is False
    advantages, returns = generalized_advantages(
        rewards, values, MASK, discount=discount, smoothing=smoothing
    )
    expected = slow_advantages(rewards, values, MASK, discount, smoothing)
    torch.testing.assert_close(advantages, expected)
    torch.testing.assert_close(returns, (expected + values).where(MASK, 0))


def test_with_smoothing_one_returns_are_what_is_still_to_come():
    rewards, values = numbers(0), numbers(1)
    _, returns = generalized_advantages(rewards, values, MASK, smoothing=1.0)
    expected = rewards.where(MASK, 0).flip(1).cumsum(1).flip(1).where(MASK, 0)
    torch.testing.assert_close(returns, expected)


def test_right_values_leave_no_surprise():
    rewards = numbers(0)
    _, expected = generalized_advantages(rewards, torch.zeros_like(rewards), MASK, smoothing=1.0)
    advantages, _ = generalized_advantages(rewards, expected, MASK, smoothing=0.3)
    torch.testing.assert_close(advantages, torch.zeros_like(rewards))


def test_rewards_sum_to_the_score_minus_the_penalty():
    scores, now, then = torch.tensor([2.0, -3.0, 5.0]).double(), numbers(0), numbers(1)
    found = kl_rewards(scores, now, then, MASK, beta=0.3)
    assert not found[~MASK].any()
    for b in range(B):
        places = MASK[b].nonzero()[:, 0].tolist()
        for t in places:
            bonus = scores[b] if t == places[-1] else 0
            assert found[b, t].item() == pytest.approx((bonus - 0.3 * (now[b, t] - then[b, t])).item())
    assert torch.equal(kl_rewards(scores, now, then, MASK, beta=0.0).sum(1), scores)


WRONG = {
    "no clip": lambda r, a: r * a,
    "clip alone": lambda r, a: r.clamp(0.8, 1.2) * a,
    "larger of the two": lambda r, a: torch.maximum(r * a, r.clamp(0.8, 1.2) * a),
    "ratio upside down": lambda r, a: torch.minimum(a / r, (1 / r).clamp(0.8, 1.2) * a),
    "log-ratio": lambda r, a: torch.minimum(r.log() * a, r.log().clamp(-0.2, 0.2) * a),
    "clipped advantage": lambda r, a: torch.minimum(r * a, r * a.clamp(0.8, 1.2)),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_in_the_objective_shows(name):
    now, old, advantages = numbers(0), numbers(1), numbers(2)
    found = masked_mean(clipped_objective(now, old, advantages), MASK)
    wrong = masked_mean(WRONG[name]((now - old).exp(), advantages), MASK)
    assert abs(found - wrong) > 0.01
    torch.testing.assert_close(ppo_loss(now, old, advantages, MASK), -found)


def test_padding_does_not_count_whatever_it_holds():
    values = torch.full((1, 3), torch.nan)
    values[0, 1] = 5.0
    assert masked_mean(values, ~values.isnan()).item() == 5


def test_what_does_not_fit_is_refused():
    x, short = torch.zeros(2, 3), torch.zeros(2, 2)
    mask, scores = torch.ones(2, 3, dtype=torch.bool), torch.zeros(2)
    for clip in (0, 1.0):
        with pytest.raises(ValueError, match="clip must lie between 0 and 1"):
            clipped_objective(x, x, x, clip=clip)
    with pytest.raises(ValueError, match=r"now and then differ in shape: \(2, 3\) and \(2, 2\)"):
        clipped_objective(x, short, x)
    with pytest.raises(ValueError, match="values and mask differ"):
        masked_mean(short, mask)
    with pytest.raises(ValueError, match="values and returns differ"):
        value_loss(x, short, mask)
    with pytest.raises(ValueError, match="policy and reference differ"):
        kl_rewards(scores, x, short, mask, beta=0.1)
    with pytest.raises(ValueError, match="log-probabilities and mask differ"):
        kl_rewards(scores, short, short, mask, beta=0.1)
    with pytest.raises(ValueError, match="beta must be at least 0, not -1"):
        kl_rewards(scores, x, x, mask, beta=-1)
    with pytest.raises(ValueError, match="an answer has no token"):
        kl_rewards(scores, x, x, ~mask, beta=0.1)
    with pytest.raises(ValueError, match="rewards and values differ"):
        generalized_advantages(x, short, mask)
    with pytest.raises(ValueError, match="rewards and mask differ"):
        generalized_advantages(short, short, mask)
    for how in ({"discount": 1.1}, {"smoothing": -0.1}):
        with pytest.raises(ValueError, match=f"{next(iter(how))} must lie between 0 and 1"):
            generalized_advantages(x, x, mask, **how)

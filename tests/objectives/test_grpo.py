"""GRPO against hand-written sums, and a list of mistakes that each check must notice."""

import inspect
import math
import statistics
from types import SimpleNamespace

import pytest
import torch

from pioneers.objectives import answer_mask, group_advantages, grpo_loss, kl_estimate, policy, token_log_probs
from pioneers.objectives import grpo as module

RIGHT = SimpleNamespace(group_advantages=group_advantages, kl_estimate=kl_estimate, grpo_loss=grpo_loss)


def answers(seed=0):
    """Five answers of up to seven tokens: log-probabilities now, then and of the reference, and a mask."""
    draw = torch.Generator().manual_seed(seed)
    logs = -torch.rand(3, 5, 7, generator=draw, dtype=torch.float64)
    mask = torch.arange(7) < torch.tensor([3, 7, 1, 5, 2])[:, None]
    mask[1, :2] = False  # a longer prompt
    advantages = torch.tensor([1.5, -0.5, 0.25, -2.0, 0.75], dtype=torch.float64)
    return [log.requires_grad_() for log in logs], advantages, mask


def by_hand(logs, advantages, mask, beta, clip, average):
    """The loss as sums over lists of numbers."""
    now, then, reference = (log.tolist() for log in logs)
    means, terms = [], []
    for i, advantage in enumerate(advantages.tolist()):
        own = []
        for t in mask[i].nonzero().flatten().tolist():
            ratio = math.exp(now[i][t]) / math.exp(then[i][t])
            clipped = min(max(ratio, 1 - clip), 1 + clip)
            share = math.exp(reference[i][t]) / math.exp(now[i][t])
            own.append(min(ratio * advantage, clipped * advantage) - beta * (share - math.log(share) - 1))
        means.append(statistics.fmean(own))
        terms += own
    return -statistics.fmean(means if average == "answers" else terms)


def advantages_by_hand(tested):
    rewards = torch.tensor([[1.0, 0.0, 2.0, 0.5, 0.0], [3.0, 9.0, 4.0, 3.0, 3.0], [0.0, 0.0, 0.0, 0.0, 7.0]])
    expected = [
        [(r - statistics.fmean(row)) / (statistics.pstdev(row) + 0.01) for r in row]
        for row in rewards.tolist()
    ]
    torch.testing.assert_close(tested.group_advantages(rewards, eps=0.01), torch.tensor(expected))


def advantages_of_right_and_wrong(tested):
    """With a share p of right answers they are √((1 - p) / p) and -√(p / (1 - p))."""
    found = tested.group_advantages(torch.tensor([[1.0, 0.0, 0.0, 0.0]]), eps=0.0)
    torch.testing.assert_close(found, torch.tensor([[3**0.5, *[-(3**-0.5)] * 3]]))


def advantages_of_equal_rewards(tested):
    rewards = torch.tensor([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]])
    found = tested.group_advantages(rewards)
    assert found[:2].abs().max() == 0
    assert found[2].isfinite().all()
    assert (found[2] != 0).all()


def advantages_without_scale(tested):
    found = tested.group_advantages(torch.tensor([[4.0, 0.0], [1.0, 2.0]]), scale=False)
    assert found.tolist() == [[2.0, -2.0], [-0.5, 0.5]]


def advantages_are_constants(tested):
    rewards = torch.tensor([[1.0, 0.0]], requires_grad=True)
    assert not tested.group_advantages(rewards).requires_grad


def kl_is_right_on_average(tested):
    """Over all tokens, weighted by their probability, the estimate is the divergence; and never negative."""
    logits = torch.randn(2, 11, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    now, reference = logits.log_softmax(-1)
    estimates = tested.kl_estimate(now, reference)
    assert (now.exp() * estimates).sum().item() == pytest.approx((now.exp() * (now - reference)).sum().item())
    assert estimates.min() >= 0
    assert tested.kl_estimate(now, now).abs().max() == 0


def kl_by_hand(tested):
    found = tested.kl_estimate(torch.tensor([0.5]).log(), torch.tensor([0.25]).log())
    assert found.item() == pytest.approx(0.5 + math.log(2) - 1)


def loss_by_hand(tested):
    for beta, average in ((0.0, "answers"), (0.3, "answers"), (0.0, "tokens"), (0.3, "tokens")):
        logs, advantages, mask = answers()
        found = tested.grpo_loss(
            *logs[:2], advantages, mask, reference_log_probs=logs[2], beta=beta, clip=0.15, average=average
        )
        assert found.item() == pytest.approx(by_hand(logs, advantages, mask, beta, 0.15, average))


def gradient_at_the_start(tested):
    """Where nothing has moved yet, it is that of the plain policy gradient, and only at answer tokens."""
    (now, *_), advantages, mask = answers()
    tested.grpo_loss(now, now, advantages, mask).backward()
    expected = -advantages[:, None] / mask.sum(1, keepdim=True) / 5 * mask
    torch.testing.assert_close(now.grad, expected)


def gradient_by_differences(tested):
    """In float64, through a softmax, with tokens that are clipped and tokens that are not."""
    _, advantages, mask = answers()
    draw = torch.Generator().manual_seed(3)
    logits, before, reference = torch.randn(3, 5, 7, 3, generator=draw, dtype=torch.float64)
    tokens = torch.randint(3, (5, 7), generator=draw)
    then, others = (token_log_probs(part, tokens) for part in (before, reference))

    def loss(logits):
        now = token_log_probs(logits, tokens)
        return tested.grpo_loss(now, then, advantages, mask, reference_log_probs=others, beta=0.3)

    assert torch.autograd.gradcheck(loss, logits.requires_grad_())


def only_the_model_learns(tested):
    logs, advantages, mask = answers()
    tested.grpo_loss(*logs[:2], advantages, mask, reference_log_probs=logs[2], beta=0.3).backward()
    assert logs[0].grad is not None
    assert logs[1].grad is None
    assert logs[2].grad is None


def far_enough_is_clipped(tested):
    """Likelier by half: no more gradient if that was good, but one that takes it back if it was bad."""
    for advantage, moves in ((1.0, False), (-1.0, True)):
        now = torch.tensor([[1.5]]).log().requires_grad_()
        mask = torch.tensor([[True]])
        tested.grpo_loss(now, torch.zeros(1, 1), torch.tensor([advantage]), mask).backward()
        assert bool(now.grad.abs() > 0) == moves


def what_is_outside_the_mask_does_not_count(tested):
    logs, advantages, mask = answers()
    how = {"reference_log_probs": logs[2], "beta": 0.3}
    clean = tested.grpo_loss(*logs[:2], advantages, mask, **how)
    for rubbish in (math.nan, -math.inf):
        spoiled = [log.detach().masked_fill(~mask, rubbish) for log in logs]
        found = tested.grpo_loss(*spoiled[:2], advantages, mask, reference_log_probs=spoiled[2], beta=0.3)
        assert found.item() == pytest.approx(clean.item())


CHECKS = {
    check.__name__: check
    for check in (
        advantages_by_hand,
        advantages_of_right_and_wrong,
        advantages_of_equal_rewards,
        advantages_without_scale,
        advantages_are_constants,
        kl_is_right_on_average,
        kl_by_hand,
        loss_by_hand,
        gradient_at_the_start,
        gradient_by_differences,
        only_the_model_learns,
        far_enough_is_clipped,
        what_is_outside_the_mask_does_not_count,
    )
}
MEAN = "rewards.mean(dim=1, keepdim=True)"
SCALE = "rewards.std(dim=1, keepdim=True, correction=0)"
EACH = "(objective.where(mask, 0).sum(dim=1) / mask.sum(dim=1))"
RATIO = "(log_probs - old_log_probs.detach()).exp()"
CLAMP = "ratio.clamp(1 - clip, 1 + clip)"
MISTAKES = {  # name → the check that must notice it, what is replaced, and by what
    "std over the batch": ("advantages_by_hand", SCALE, "rewards.std(correction=0)"),
    "std across the groups": ("advantages_by_hand", SCALE, "rewards.std(dim=0, keepdim=True, correction=0)"),
    "std with n - 1": ("advantages_of_right_and_wrong", SCALE, "rewards.std(dim=1, keepdim=True)"),
    "variance for std": ("advantages_by_hand", SCALE, "rewards.var(dim=1, keepdim=True, correction=0)"),
    "mean over the batch": (
        "advantages_without_scale",
        "rewards.mean(dim=1, keepdim=True)",
        "rewards.mean()",
    ),
    "no baseline": ("advantages_without_scale", f"rewards - {MEAN}", "rewards"),
    "no eps": ("advantages_of_equal_rewards", " + eps", ""),
    "gradient through rewards": (
        "advantages_are_constants",
        "rewards = rewards.detach()",
        "rewards = rewards",
    ),
    "scaled in any case": ("advantages_without_scale", "if not scale", "if False"),
    "k1": ("kl_is_right_on_average", "difference.exp() - difference - 1", "-difference"),
    "k2": ("kl_by_hand", "difference.exp() - difference - 1", "difference.square() / 2"),
    "k3 without its 1": ("kl_is_right_on_average", "- difference - 1", "- difference"),
    "KL the wrong way round": (
        "kl_is_right_on_average",
        "reference_log_probs.detach() - log_probs",
        "log_probs - reference_log_probs.detach()",
    ),
    "KL added to the objective": ("loss_by_hand", "objective - beta *", "objective + beta *"),
    "reference learns": ("only_the_model_learns", "reference_log_probs.detach() -", "reference_log_probs -"),
    "old log-probabilities learn": ("only_the_model_learns", RATIO, "(log_probs - old_log_probs).exp()"),
    "ratio of the logarithms": ("loss_by_hand", RATIO, "log_probs / old_log_probs.detach()"),
    "ratio upside down": ("gradient_at_the_start", RATIO, "(old_log_probs.detach() - log_probs).exp()"),
    "no exponential": ("loss_by_hand", RATIO, "(log_probs - old_log_probs.detach())"),
    "maximum for minimum": ("far_enough_is_clipped", "torch.minimum", "torch.maximum"),
    "clipped whatever the sign": (
        "far_enough_is_clipped",
        f"torch.minimum(ratio * advantages, {CLAMP} * advantages)",
        f"{CLAMP} * advantages",
    ),
    "clipped above only": ("loss_by_hand", CLAMP, "ratio.clamp(max=1 + clip)"),
    "not clipped": ("far_enough_is_clipped", CLAMP, "ratio"),
    "advantages along the tokens": (
        "gradient_at_the_start",
        "advantages[:, None].expand_as(log_probs)",
        "advantages.repeat(log_probs.shape[1]).view_as(log_probs)",
    ),
    "padding counted": ("loss_by_hand", EACH, "objective.mean(dim=1)"),
    "padding in the length": (
        "gradient_at_the_start",
        EACH,
        EACH.replace("sum(dim=1))", "shape[1])"),
    ),
    "padding multiplied by zero": (
        "what_is_outside_the_mask_does_not_count",
        EACH,
        EACH.replace("objective.where(mask, 0)", "(objective * mask)"),
    ),
    "no division by the length": ("gradient_at_the_start", EACH, EACH.replace(" / mask.sum(dim=1)", "")),
    "sum over the answers": ("gradient_at_the_start", f"{EACH}.mean()", f"{EACH}.sum()"),
    "answers and tokens swapped": ("loss_by_hand", 'average == "tokens"', 'average == "answers"'),
    "reward minimised": ("gradient_at_the_start", f"-{EACH}", EACH),
}


@pytest.mark.parametrize("check", CHECKS)
def test_the_reference_passes(check):
    assert CHECKS[check](RIGHT) is None


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_noticed(mistake):
    check, old, new = MISTAKES[mistake]
    source = inspect.getsource(policy) + inspect.getsource(module).replace(
        "from pioneers.objectives.policy import clipped_objective, masked_mean", ""
    )
    assert source.count(old) == 1
    planted = {}
    exec(source.replace(old, new), planted)
    with pytest.raises((AssertionError, RuntimeError)):
        CHECKS[check](SimpleNamespace(**planted))


def test_a_token_is_judged_by_the_logits_before_it():
    """From ids to the loss, with a model that knows what follows each token."""
    table = torch.randn(5, 5, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    ids = torch.tensor([[1, 4, 2, 3, 0], [1, 4, 3, 3, 2]])  # two tokens of prompt; 0 is padding
    mask = answer_mask(torch.tensor([2, 2]), torch.tensor([4, 5]), 4)
    now = token_log_probs(table[ids[:, :-1]], ids[:, 1:])
    loss = grpo_loss(now, now.detach() - 0.1, torch.tensor([1.0, -1.0]), mask, clip=0.5)
    assert loss.item() == pytest.approx(0.0, abs=1e-6)  # the answers have the same ratio, 1.1052
    first = grpo_loss(now, torch.zeros(2, 4), torch.tensor([1.0, 0.0]), mask, clip=0.5)
    ratios = [table[4, 2].exp().item(), table[2, 3].exp().item()]
    assert first.item() == pytest.approx(-sum(ratios) / 2 / 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"advantages": torch.zeros(3)}, "one advantage per row"),
        ({"mask": torch.ones(2, 3, dtype=torch.bool)}, "one advantage per row"),
        ({"mask": torch.tensor([[True] * 4, [False] * 4])}, "no token"),
        ({"average": "words"}, "answers, tokens"),
        ({"beta": 0.1}, "give reference_log_probs"),
    ],
)
def test_bad_input_is_refused(change, message):
    good = {
        "log_probs": torch.zeros(2, 4),
        "old_log_probs": torch.zeros(2, 4),
        "advantages": torch.zeros(2),
        "mask": torch.ones(2, 4, dtype=torch.bool),
    }
    with pytest.raises(ValueError, match=message):
        grpo_loss(**(good | change))


def test_rewards_come_in_groups_and_estimates_in_pairs():
    with pytest.raises(ValueError, match="row of G"):
        group_advantages(torch.zeros(6))
    with pytest.raises(ValueError, match="differ in shape"):
        kl_estimate(torch.zeros(2), torch.zeros(3))

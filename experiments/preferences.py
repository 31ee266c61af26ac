"""Teach the stored GPT to answer, then to answer as a reader prefers: DPO, and PPO with a learned reward.

    make experiments NAME=preferences

Each seed fine-tunes the stored GPT to describe functions (SFT), samples pairs of answers, has the reader
choose, and fits a reward model to the choices. Every case begins with these. The reader is a rule, so that
thousands of answers can be judged: an answer with a full stop at its end wins against one without, and of two
with a full stop the one with fewer words wins. Measured on prompts and texts that were held out: how often an
answer wins against one of the fine-tuned model, the share of answers of three words or more, the loss of the
language model, the learned reward, and the KL divergence.
"""

import copy
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from experiments.common import FINISHED, run
from experiments.text.answers import (
    answer_log_probs,
    answer_loss,
    asked,
    encoded,
    is_sentence,
    last_scores,
    log_probs,
    preferred,
    prompts,
    rows,
    sample,
    stored_gpt,
    text_loss,
    texts,
    wins,
)
from pioneers.data import AnswerTokens
from pioneers.device import autocast, best_device
from pioneers.models import GPT, GPTScorer
from pioneers.objectives import (
    dpo_loss,
    generalized_advantages,
    kl_rewards,
    ppo_loss,
    reward_pair_loss,
    simpo_loss,
    value_loss,
)
from pioneers.training import TrainConfig, fit

CONFIG = {"pairs": 384, "new_tokens": 24, "sft_steps": 60, "reward_steps": 40}
CASES: dict[str, dict[str, Any]] = {
    "SFT": {"method": "none", "beta": 0.0, "lr": 0.0, "steps": 0},
    "DPO": {"method": "dpo", "beta": 0.3, "lr": 1e-4, "steps": 32},
    "SimPO": {"method": "simpo", "beta": 2.0, "lr": 1e-4, "steps": 32},
    "PPO": {"method": "ppo", "beta": 0.2, "lr": 2e-4, "steps": 32},
    "PPO without KL": {"method": "ppo", "beta": 0.0, "lr": 2e-4, "steps": 32},
}
BATCH = 16  # instructions, or pairs, in a step
ROLLOUT = 64  # answers sampled at a time for PPO
MINIBATCH = 32
EPOCHS = 2  # how often each of them is used
TESTED = 160  # held-out prompts
SHOWN = 6  # of them, whose answers are kept
CURVE = 2  # measurements on the way

Batches = Callable[[int], Any]


class Prepared(NamedTuple):
    """What all cases of a seed begin with."""

    reference: GPT
    scorer: GPTScorer
    chosen: AnswerTokens
    rejected: AnswerTokens
    rest: dict[str, Any]

    def score(self, answers: AnswerTokens) -> Tensor:
        """The learned reward, of mean 0 and standard deviation 1 on the pairs, ``(B,)``."""
        return (last_scores(self.scorer, answers) - self.rest["centre"]) / self.rest["spread"]


Pair = tuple[AnswerTokens, AnswerTokens]


def recipe(seed: int, steps: int, lr: float, every: int | None = None) -> TrainConfig:
    """The settings that all training here shares."""
    return TrainConfig(
        max_steps=steps, lr=lr, warmup_steps=10, schedule="linear", weight_decay=0.0, seed=seed,
        log_every=every or steps,
    )  # fmt: skip


def drawn(size: int, seed: int, step: int, among: int) -> Tensor:
    """The numbers of the rows in a batch."""
    return torch.randint(among, (size,), generator=torch.Generator().manual_seed(100_000 * seed + step))


def fine_tune(model: nn.Module, seed: int, steps: int) -> None:
    """SFT: the language model's loss on the answers of the training instructions."""
    data = encoded(asked("train"))

    def batch(step: int) -> AnswerTokens:
        return rows(data, drawn(BATCH, seed, step, len(data.tokens)))

    fit(model, answer_loss, batch, recipe(seed, steps, 3e-4))


def fit_reward(
    scorer: nn.Module, chosen: AnswerTokens, rejected: AnswerTokens, seed: int, steps: int
) -> None:
    """The reward model: of two answers, the chosen one gets the higher score."""

    def batch(step: int) -> tuple[AnswerTokens, AnswerTokens]:
        numbers = drawn(BATCH, seed, step, len(chosen.tokens))
        return rows(chosen, numbers), rows(rejected, numbers)

    def loss(scorer: nn.Module, batch: tuple[AnswerTokens, AnswerTokens]) -> Tensor:
        return reward_pair_loss(*(last_scores(scorer, answers) for answers in batch))

    fit(scorer, loss, batch, recipe(seed, steps, 2e-4))


@torch.no_grad()
def prepare(seed: int, pairs: int, new_tokens: int, sft_steps: int, reward_steps: int) -> Prepared:
    """Fine-tune, sample two answers to each prompt, let the reader choose, and fit the reward model."""
    model, test = stored_gpt(), encoded(asked("test"))
    first = texts(sample(model, prompts("test", TESTED), new_tokens, seed=seed))
    facts = {
        "before": {
            "text_loss": text_loss(model),
            "answer_loss": answer_loss(model, test).item(),
            "sentences": share(first),
            "answers": first[:SHOWN],
        }
    }
    with torch.enable_grad():
        fine_tune(model, seed, sft_steps)
    facts["answer_loss"] = answer_loss(model, test).item()
    twice = [sample(model, prompts("train", pairs), new_tokens, seed=2 * seed + i) for i in (1000, 1001)]
    chosen, rejected = preferred(*twice)
    kept = len(chosen.tokens) * 9 // 10
    scorer = GPTScorer(copy.deepcopy(model))
    parts = [AnswerTokens(*(part[:kept] for part in side)) for side in (chosen, rejected)]
    with torch.enable_grad():
        fit_reward(scorer, *parts, seed, reward_steps)
    scores = torch.stack([last_scores(scorer, side) for side in (chosen, rejected)])  # (2, pairs)
    facts |= {
        "tested": TESTED,
        "pairs": len(chosen.tokens),
        "reward_accuracy": (scores[0, kept:] > scores[1, kept:]).float().mean().item(),
    }
    rest = {
        "facts": facts,
        "centre": scores.mean().item(),
        "spread": scores.std().item(),
        "answers": texts(sample(model, prompts("test", TESTED), new_tokens, seed=seed)),
    }
    return Prepared(model, scorer, chosen, rejected, rest)


def share(answers: list[str]) -> float:
    """How many are full sentences."""
    return sum(map(is_sentence, answers)) / len(answers)


@torch.no_grad()
def evaluate(model: GPT, start: Prepared, seed: int, new_tokens: int) -> dict[str, Any]:
    """Sample an answer to each held-out prompt, and judge it."""
    was_training = model.training
    model.eval()
    made = sample(model, prompts("test", TESTED), new_tokens, seed=500 + seed)
    answers = texts(made)
    with autocast(best_device()):
        now, mask = log_probs(model, made)
        then, _ = log_probs(start.reference, made)
        scores = start.score(made)
    found = {
        "win_rate": wins(answers, start.rest["answers"]),
        "text_loss": text_loss(model),
        "reward": scores.mean().item(),
        "kl": (now - then).where(mask, 0).sum(dim=1).mean().item(),
        "sentences": share(answers),
        "words": sum(len(answer.split()) for answer in answers) / len(answers),
        "distinct": len(set(answers)) / len(answers),
        "answers": answers[:SHOWN],
    }
    model.train(was_training)
    return found


@functools.cache
def begin(seed: int, *sizes: int) -> tuple[Prepared, dict[str, Any]]:
    """What all cases of a seed begin with, and new samples of the fine-tuned model against its own.

    It is kept on the disk.
    """
    path = FINISHED / f"preferences-{seed}-{'-'.join(map(str, sizes))}.pt"
    if not path.exists():
        start = prepare(seed, *sizes)
        path.parent.mkdir(parents=True, exist_ok=True)
        first = evaluate(start.reference, start, seed, sizes[1])
        weights = start.reference.state_dict(), start.scorer.state_dict()
        torch.save((weights, *map(tuple, (start.chosen, start.rejected)), start.rest, first), path)
    weights, chosen, rejected, rest, first = torch.load(path)
    reference, scorer = stored_gpt(), GPTScorer(stored_gpt()).to(best_device())
    for model, values in zip((reference, scorer), weights, strict=True):
        model.load_state_dict(values)
    pairs = AnswerTokens(*chosen), AnswerTokens(*rejected)
    return Prepared(reference, scorer.eval(), *pairs, rest), first


@torch.no_grad()
def examples(model: GPT, start: Prepared, seed: int, new_tokens: int) -> list[dict[str, Any]]:
    """Pairs of answers to held-out prompts, with their log-probabilities before and after training."""
    asked_now = prompts("test", SHOWN)
    twice = [sample(start.reference, asked_now, new_tokens, seed=700 + 2 * seed + i) for i in range(2)]
    before, after = (
        torch.stack([answer_log_probs(one, side) for side in twice], dim=1).tolist()
        for one in (start.reference, model)
    )
    answers = zip(*map(texts, twice), strict=True)
    return [
        {
            "prompt": one.prompt,
            "answers": pair,
            "before": b,
            "after": a,
            "preferred": [wins(pair[:1], pair[1:]), wins(pair[1:], pair[:1])],
        }
        for one, pair, b, a in zip(asked("test"), answers, before, after, strict=False)
    ]


def learn_pairs(start: Prepared, method: str, beta: float, seed: int) -> tuple[Any, Batches]:
    """The loss and the batches of DPO or SimPO."""
    with torch.no_grad():
        reference = [answer_log_probs(start.reference, side) for side in (start.chosen, start.rejected)]

    def batch(step: int) -> tuple[AnswerTokens, AnswerTokens, Tensor, Tensor]:
        numbers = drawn(BATCH, seed, step, len(start.chosen.tokens))
        kept = [part[numbers] for part in reference]
        return rows(start.chosen, numbers), rows(start.rejected, numbers), kept[0], kept[1]

    def loss(model: nn.Module, batch: tuple[AnswerTokens, AnswerTokens, Tensor, Tensor]) -> Tensor:
        sides = batch[:2]
        now = [answer_log_probs(model, side) for side in sides]
        if method == "dpo":
            return dpo_loss(*now, *batch[2:], beta=beta)
        return simpo_loss(*now, *(side.lengths - side.prompt_lengths for side in sides), beta=beta)

    return loss, batch


class ActorCritic(nn.Module):
    """The policy and its value model, which are trained together."""

    def __init__(self, policy: GPT, critic: GPTScorer) -> None:
        super().__init__()
        self.policy, self.critic = policy, critic


@torch.no_grad()
def rollout(both: ActorCritic, start: Prepared, beta: float, new_tokens: int, seed: int) -> list[Tensor]:
    """Sample answers to training prompts, and say how much better than expected each token was."""
    both.eval()
    chosen = rows(prompts("train"), drawn(ROLLOUT, seed, 0, len(asked("train"))))
    made = sample(both.policy, chosen, new_tokens, seed=seed)
    made = rows(made, torch.arange(ROLLOUT))
    with autocast(best_device()):  # as in training, so that the first ratio is 1
        now, mask = log_probs(both.policy, made)
        then, _ = log_probs(start.reference, made)
        scores = start.score(made)
        values = both.critic(made.tokens[:, :-1]).float()
    given = kl_rewards(scores, now, then, mask, beta=beta)
    advantages, returns = generalized_advantages(given, values, mask)
    used = advantages[mask]
    advantages = (advantages - used.mean()) / (used.std() + 1e-6)
    both.train()
    return [*made, mask, now, advantages, returns]


def learn_rewards(
    both: ActorCritic, start: Prepared, beta: float, seed: int, new_tokens: int
) -> tuple[Any, Batches]:
    """The loss and the batches of PPO: new answers every few steps, each used ``EPOCHS`` times."""
    held: list[Tensor] = []
    per_epoch = ROLLOUT // MINIBATCH

    def batch(step: int) -> list[Tensor]:
        number, place = divmod(step, EPOCHS * per_epoch)
        if place == 0:
            held[:] = rollout(both, start, beta, new_tokens, seed=10_000 * (seed + 1) + number)
        part = slice(place % per_epoch * MINIBATCH, (place % per_epoch + 1) * MINIBATCH)
        return [tensor[part] for tensor in held]

    def loss(both: nn.Module, batch: list[Tensor]) -> Tensor:
        answers, (mask, old, advantages, returns) = AnswerTokens(*batch[:3]), batch[3:]
        now, _ = log_probs(both.policy, answers)
        values = both.critic(answers.tokens[:, :-1]).float()
        return ppo_loss(now, old, advantages, mask) + value_loss(values, returns, mask)

    return loss, batch


def one_case(
    *,
    seed: int,
    method: str,
    beta: float,
    lr: float,
    steps: int,
    pairs: int,
    new_tokens: int,
    sft_steps: int,
    reward_steps: int,
) -> dict[str, Any]:
    """Train one policy from the fine-tuned model of this seed, and judge its answers."""
    start, first = begin(seed, pairs, new_tokens, sft_steps, reward_steps)
    if method == "none":
        return start.rest["facts"] | first
    policy = copy.deepcopy(start.reference)
    model: Any = policy
    if method == "ppo":
        model = ActorCritic(policy, copy.deepcopy(start.scorer))
        loss, batch = learn_rewards(model, start, beta, seed, new_tokens)
    else:
        loss, batch = learn_pairs(start, method, beta, seed)
    curve = [first | {"step": 0}]

    def watch(_: nn.Module) -> dict[str, float]:
        curve.append(evaluate(policy, start, seed, new_tokens))
        return {}

    history = fit(model, loss, batch, recipe(seed, steps, lr, max(1, steps // CURVE)), evaluate=watch)
    del curve[1]  # after the very first step
    for row, found in zip(history, curve, strict=True):
        found["step"] = row["step"]
    if method == "dpo":
        curve[-1]["examples"] = examples(policy, start, seed, new_tokens)
    kept = ("step", "win_rate", "text_loss", "reward", "kl", "sentences", "words")
    return curve[-1] | {"curve": [{key: row[key] for key in kept} for row in curve]}


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)
    print(run("preferences", CASES, one_case, config=CONFIG))


if __name__ == "__main__":
    main()

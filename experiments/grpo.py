"""GRPO on sums of two numbers of two digits, beside supervised training at equal compute, five seeds.

    make experiments NAME=grpo

A small GPT learns from a class of which a fifth writes the working down and is right; the others forget to
carry. Then it goes on in one of several ways, each for as many operations as GRPO takes, the sampling of
answers included. Accuracies are those of sampled answers to held-out sums, unless it says greedy.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from experiments.common import Row, run
from pioneers.analysis import pass_at_k
from pioneers.data import (
    check_sum,
    decode_sums,
    encode_sums,
    pupil_answers,
    sum_answer,
    sum_problems,
)
from pioneers.data.sums import SUM_CHARACTERS
from pioneers.generation import generate
from pioneers.models import GPT, GPTConfig
from pioneers.objectives import (
    answer_mask,
    causal_lm_loss,
    group_advantages,
    grpo_loss,
    masked_mean,
    token_log_probs,
)
from pioneers.training import TrainConfig, fit

CONFIG: dict[str, Any] = {
    "digits": 2,
    "sizes": {"d_model": 64, "num_layers": 2, "num_heads": 4},
    "base": {"steps": 800, "lr": 4e-3, "batch_size": 64, "written": 0.2},
    "grpo": {"steps": 25, "lr": 3e-4, "prompts": 32, "group": 8, "beta": 0.04, "clip": 0.2},
    "rates": [3e-4, 1e-3],
}
CASES: dict[str, dict[str, Any]] = {"sums": {}}
ABLATIONS: dict[str, dict[str, Any]] = {  # what differs from CONFIG["grpo"]
    "no scale": {"scale": False},
    "all tokens": {"average": "tokens"},
    "groups of 2": {"prompts": 128, "group": 2},
    "last digit": {"check": "last digit"},
}
STOP = SUM_CHARACTERS.index(".")
TEST_PROBLEMS, TRIES = 400, 16


def last_digit(problem: str, answer: str) -> bool:
    """A lazy check: whether the last digit before the stop is right."""
    right = sum_answer(problem, working=False)
    return answer[-2:] == right[-2:]


CHECKS: dict[str, Callable[[str, str], bool]] = {"result": check_sum, "last digit": last_digit}


def sample(model: GPT, problems: list[str], seed: int, **how: Any) -> tuple[Tensor, Tensor, list[str]]:
    """Answer each problem once: the ids, which targets belong to the answer, and the answers as texts."""
    prompts = encode_sums(problems)
    size = prompts.shape[1]
    ids = generate(
        model, prompts, model.config.max_seq_len - size, stop_ids=[STOP], seed=seed, **how
    )  # (B, T + 1)
    ends = (ids == STOP).long().argmax(dim=1) + 1
    ends = ends.where((ids == STOP).any(dim=1), ids.shape[1])
    mask = answer_mask(torch.full_like(ends, size), ends, ids.shape[1] - 1)
    return ids, mask, decode_sums(ids[:, size:])


def log_probs(model: nn.Module, ids: Tensor) -> Tensor:
    """The log-probability of each token but the first, ``(B, T)``."""
    return token_log_probs(model(ids[:, :-1]), ids[:, 1:])


def supervised_batch(step: int, seed: int, digits: int, batch_size: int, written: float) -> Tensor:
    """Problems and a class's answers ``(B, T + 1)``."""
    problems = sum_problems(batch_size, digits=digits, seed=1_000_000 * seed + step)
    answers = pupil_answers(problems, written=written, seed=1_000_000 * seed + step)
    return encode_sums([p + a for p, a in zip(problems, answers, strict=True)])


def supervised_loss(model: nn.Module, ids: Tensor) -> Tensor:
    """Cross-entropy of the answers alone, up to their stops."""
    equals = SUM_CHARACTERS.index("=")
    asked = (ids == equals).cumsum(1)[:, :-1].bool() & (ids[:, 1:] != 0)
    return causal_lm_loss(model(ids[:, :-1]), ids[:, 1:].masked_fill(~asked, -100))


def supervise(
    model: GPT, *, steps: int, lr: float, written: float, batch_size: int, digits: int, seed: int
) -> Row:
    """Train a model in place on what a class wrote; returns its curve."""
    recipe = TrainConfig(
        max_steps=steps,
        lr=lr,
        warmup_steps=min(50, steps // 4),
        schedule="linear",
        weight_decay=0.0,
        precision="fp32",
        log_every=max(1, steps // 20),
        seed=seed,
    )

    def batches(step: int) -> Tensor:
        return supervised_batch(step, seed, digits, batch_size, written)

    return {"loss": [row["loss"] for row in fit(model, supervised_loss, batches, recipe)]}


def problems_of(step: int, seed: int, digits: int, prompts: int, group: int) -> list[str]:
    """The problems of a step of GRPO, each ``group`` times."""
    drawn = sum_problems(prompts, digits=digits, seed=1_000_000 * seed + 500_000 + step)
    return [problem for problem in drawn for _ in range(group)]


def grpo_steps(
    model: GPT,
    *,
    seed: int,
    digits: int,
    steps: int,
    lr: float,
    prompts: int,
    group: int,
    beta: float,
    clip: float,
    scale: bool = True,
    average: str = "answers",
    check: str = "result",
    keep: bool = False,
) -> Iterator[Row]:
    """Train a model in place on its own answers; yields what each step saw.

    With ``keep`` the right answers are learned by heart instead: cross-entropy, no advantages, no reference.
    """
    # long: one step of GRPO in one piece
    reference = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.95), weight_decay=0.0)
    for step in range(steps):
        problems = problems_of(step, seed, digits, prompts, group)
        ids, mask, answers = sample(model, problems, seed=1_000 * seed + step)
        rewards = torch.tensor([float(CHECKS[check](p, a)) for p, a in zip(problems, answers, strict=True)])
        now = log_probs(model, ids)
        if keep:
            right = mask & (rewards > 0)[:, None]
            loss = -now.where(right, 0).sum() / right.sum().clamp(min=1)
        else:
            with torch.no_grad():
                then = log_probs(reference, ids) if beta else None
            advantages = group_advantages(rewards.view(prompts, group), scale=scale).flatten()
            loss = grpo_loss(
                now,
                now.detach(),
                advantages,
                mask,
                reference_log_probs=then,
                beta=beta,
                clip=clip,
                average=average,
            )
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        groups = rewards.view(prompts, group)
        yield {
            "reward": rewards.mean().item(),
            "right": accuracy(problems, answers),
            "written": sum("(" in answer for answer in answers) / len(answers),
            "length": mask.sum(1).float().mean().item(),
            "equal": (groups == groups[:, :1]).all(dim=1).float().mean().item(),
        }


def operations(model: GPT, ids: Tensor) -> float:
    """Floating-point operations of the matrix products of a forward pass."""
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model(ids)
    return float(counter.get_total_flops())


def accuracy(problems: list[str], answers: list[str]) -> float:
    """The share of right answers."""
    return sum(map(check_sum, problems, answers)) / len(problems)


@torch.inference_mode()
def measure(model: GPT, digits: int, seed: int) -> Row:
    """Accuracy, sampled and greedy, pass@k, the share that is written down, length and entropy."""
    problems = sum_problems(TEST_PROBLEMS, digits=digits, split="test", seed=seed)
    ids, mask, answers = sample(model, problems, seed)
    log_p = model(ids[:, :-1]).log_softmax(-1)
    entropy = -(log_p.exp() * log_p).sum(-1)  # (B, T)
    *_, greedy = sample(model, problems, seed, top_k=1)
    few = problems[: TEST_PROBLEMS // 5]
    *_, tries = sample(model, [p for p in few for _ in range(TRIES)], seed + 1)
    right = torch.tensor([check_sum(few[i // TRIES], a) for i, a in enumerate(tries)]).view(-1, TRIES)
    return {
        "sampled": accuracy(problems, answers),
        "greedy": accuracy(problems, greedy),
        "written": sum("(" in answer for answer in answers) / len(answers),
        "length": mask.sum(1).float().mean().item(),
        "entropy": masked_mean(entropy, mask).item(),
        "answer entropy": (entropy * mask).sum(1).mean().item(),
        "pass": {
            str(k): sum(pass_at_k(n, TRIES, k) for n in right.sum(1).tolist()) / len(few)
            for k in (1, 2, 4, 8, 16)
        },
        "examples": answers[:6],
    }


def base_model(digits: int, sizes: dict[str, int], base: Row, seed: int) -> GPT:
    """A GPT trained on what the class wrote."""
    torch.manual_seed(seed)
    longest = len(sum_answer("9" * digits + "+" + "9" * digits + "=", working=True))
    config = GPTConfig(vocab_size=len(SUM_CHARACTERS), max_seq_len=2 * digits + 2 + longest, **sizes)
    model = GPT(config)
    supervise(model, digits=digits, seed=seed, **base)
    return model


def run_grpo(model: GPT, settings: Row, seed: int, digits: int) -> Row:
    """Train with GRPO in place; returns its curves by name."""
    rows = list(grpo_steps(model, seed=seed, digits=digits, **settings))
    return {name: [row[name] for row in rows] for name in rows[0]}


def costs(model: GPT, base: Row, grpo: Row, digits: int) -> dict[str, float]:
    """Operations of one step of each kind.

    One row costs a forward pass to sample, with the cache, one to be read by the reference, and three to be
    learned from: the backward pass counts double.
    """
    longest = "9" * digits + "+" + "9" * digits + "="
    row = operations(model, encode_sums([longest + sum_answer(longest, working=True)])[:, :-1])
    answers = grpo["prompts"] * grpo["group"] * row
    return {"supervised": 3 * base["batch_size"] * row, "grpo": 5 * answers, "keep": 4 * answers}


def one_case(
    *, seed: int, digits: int, sizes: dict[str, int], base: Row, grpo: Row, rates: list[float]
) -> Row:
    """Train one base model and go on from it in every way, the compared ways at every learning rate."""
    model = base_model(digits, sizes, base, seed)
    cost = costs(model, base, grpo, digits)
    steps = {
        "supervised": round(grpo["steps"] * cost["grpo"] / cost["supervised"]),
        "keep": round(grpo["steps"] * cost["grpo"] / cost["keep"]),
    }

    def supervised(written: float, share: float = 1.0) -> Callable[[GPT, float], Row]:
        settings = base | {"steps": max(1, round(share * steps["supervised"])), "written": written}
        return lambda copied, lr: supervise(copied, digits=digits, seed=50 + seed, **(settings | {"lr": lr}))

    def reinforced(**other: Any) -> Callable[[GPT, float], Row]:
        return lambda copied, lr: run_grpo(copied, grpo | {"lr": lr} | other, seed, digits)

    def after(way: Callable[[GPT, float], Row], lr: float) -> Row:
        copied = copy.deepcopy(model)
        curves = way(copied, lr)
        others = sum_problems(TEST_PROBLEMS, digits=digits, split="test", seed=200 + seed)
        valid = accuracy(others, sample(copied, others, seed)[2])  # the learning rate is chosen by this
        return measure(copied, digits, 100 + seed) | {"valid": valid, "curves": curves}

    ways = {
        "GRPO": reinforced(),
        "keep the right ones": reinforced(keep=True, steps=steps["keep"]),
        "the same class": supervised(base["written"]),
        "right working": supervised(1.0),
        "right working, a fifth": supervised(1.0, share=0.2),
    }
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "operations": cost,
        "steps": steps,
        "before": measure(model, digits, 100 + seed),
        "ways": {name: {str(lr): after(way, lr) for lr in rates} for name, way in ways.items()},
        "ablations": {name: after(reinforced(**other), grpo["lr"]) for name, other in ABLATIONS.items()},
    }


def main() -> None:
    """Run what is missing and write the result."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("grpo", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

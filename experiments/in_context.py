"""Linear regression in context: a transformer trained on prompts with a new function in each, five seeds.

    make experiments NAME=in_context

Errors are mean squared differences to the values without noise, by the number of examples read. Each seed has
test prompts of its own, and all methods predict on the same ones.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from experiments.common import run
from pioneers.analysis.regression import predict_average, predict_neighbours, predict_ridge
from pioneers.data import LinearFunctions, RegressionPrompts
from pioneers.device import best_device
from pioneers.models import InContextRegressor
from pioneers.training import TrainConfig, fit

CONFIG = {"num_examples": 16, "noise": 0.5, "batch_size": 64, "warmup_steps": 200}
SKEWED = [(5 / sum(j**-2 for j in range(1, 6))) ** 0.5 / i for i in range(1, 6)]  # variances ~ 1 / i², mean 1
CASES: dict[str, dict[str, Any]] = {
    "d = 1": {
        "sizes": {"num_inputs": 1, "d_model": 32, "num_layers": 3, "num_heads": 4},
        "steps": 1200,
        "lr": 2e-3,
        "others": {},
    },
    "d = 5": {
        "sizes": {"num_inputs": 5, "d_model": 64, "num_layers": 4, "num_heads": 4},
        "steps": 8000,
        "lr": 4e-3,
        "others": {"skewed": SKEWED, "twice as large": [2.0] * 5, "three times as large": [3.0] * 5},
    },
}
TEST_PROMPTS = 4096
CURVES = 2  # prompts whose predicted curve is kept, for models of one input
POINTS = torch.linspace(-6, 6, 41)  # where


def loss_fn(model: nn.Module, prompts: RegressionPrompts) -> Tensor:
    """Mean squared error at every position, against the noisy values: nothing else is known in training."""
    return (model(prompts.x, prompts.y) - prompts.y).square().mean()


@torch.inference_mode()
def errors(model: nn.Module, prompts: RegressionPrompts, noise: float) -> dict[str, list[float]]:
    """The squared error of each method by the number of examples, from 0 on."""
    x, y, clean = (part.cpu() for part in prompts)
    pieces = zip(prompts.x.split(1024), prompts.y.split(1024), strict=True)
    predictions = {
        "model": torch.cat([model(*piece) for piece in pieces]).cpu(),
        "ridge": predict_ridge(x, y, strength=noise**2),
        "least squares": predict_ridge(x, y, strength=0.0),
        "3 neighbours": predict_neighbours(x, y, count=3),
        "average": predict_average(x, y),
    }
    return {name: (made - clean).square().mean(0).tolist() for name, made in predictions.items()}


@torch.inference_mode()
def curves(model: nn.Module, prompts: RegressionPrompts) -> list[dict[str, Any]]:
    """For each prompt, what the model predicts at ``POINTS`` after 0, 1, 2 … of its examples."""
    found = []
    for x, y in zip(prompts.x, prompts.y, strict=True):
        rows = []
        for k in range(len(x)):
            asked = POINTS.to(x.device)[:, None, None]  # (P, 1, 1)
            known = x[:k].expand(len(asked), k, 1)
            zeros = torch.zeros(len(asked), 1, device=x.device)  # the value asked for is not seen
            given = torch.cat([y[:k].expand(len(asked), k), zeros], dim=1)
            rows.append(model(torch.cat([known, asked], dim=1), given)[:, -1].tolist())
        found.append({"x": x[:, 0].tolist(), "y": y.tolist(), "model": rows})
    return found


def one_case(
    *,
    seed: int,
    sizes: dict[str, int],
    steps: int,
    others: dict[str, Sequence[float]],
    num_examples: int,
    noise: float,
    batch_size: int,
    lr: float,
    warmup_steps: int,
) -> dict[str, Any]:
    """Train one model and compare it with the classical methods, on inputs as in training and on others."""
    torch.manual_seed(seed)
    device = best_device()
    model = InContextRegressor(max_examples=num_examples, **sizes).to(device)
    recipe = TrainConfig(
        max_steps=steps,
        lr=lr,
        warmup_steps=warmup_steps,
        weight_decay=0.0,
        betas=(0.9, 0.98),
        precision="fp32",
        log_every=steps // 20,
        seed=seed,
    )

    def prompts(step: int, seed: int = seed, size: int = batch_size, **how: Any) -> RegressionPrompts:
        draw = LinearFunctions(
            sizes["num_inputs"], num_examples, batch_size=size, noise=noise, seed=seed, **how
        )
        return RegressionPrompts(*(part.to(device) for part in draw(step)))

    test = prompts(0, seed=1000 + seed, size=TEST_PROMPTS)
    watched = 2 * sizes["num_inputs"]

    def evaluate(model: nn.Module) -> dict[str, float]:
        return {"error": (model(test.x[:1024], test.y[:1024]) - test.clean[:1024]).square().mean(0)[watched]}

    history = fit(model, loss_fn, prompts, recipe, evaluate=evaluate)
    tests = {"as trained": test}
    for name, scales in others.items():
        tests[name] = prompts(0, seed=1000 + seed, size=TEST_PROMPTS, scales=scales)
    drawn = curves(model, prompts(0, seed=7, size=CURVES)) if sizes["num_inputs"] == 1 else []
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "watched": [float(row["error"]) for row in history],  # at 2 d examples, every steps // 20
        "errors": {name: errors(model, given, noise) for name, given in tests.items()},
        "curves": drawn,
    }


def main() -> None:
    """Run what is missing and write the results."""
    torch.set_num_threads(1)  # such small models are slower with more
    run("in_context", CASES, one_case, config=CONFIG)


if __name__ == "__main__":
    main()

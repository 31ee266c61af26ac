"""Train the detector that ships with the package and that the pages on detection look into.

    make experiments NAME=detr_digits

The recipe is that of the case "anchors, longest" of ``detr``. The digits are scikit-learn's, so that pages
need nothing that has to be downloaded. The weights, in float16, go to ``pioneers/weights/detr_digits``; the
result file says how good they are as they are stored.
"""

from typing import Any

import torch

from experiments.common import ROOT, run
from experiments.detr import CASES as DETR_CASES
from experiments.detr import CONFIG as DETR_CONFIG
from experiments.detr import judge, learn
from pioneers.data import Scenes, digit_scenes, digits, photograph_parts
from pioneers.device import best_device, seed_everything
from pioneers.models import AnchorDETR, DETRConfig
from pioneers.weights import from_pretrained, save_pretrained

FOLDER = ROOT / "pioneers" / "weights" / "detr_digits"
CONFIG: dict[str, Any] = {
    name: (DETR_CONFIG | DETR_CASES["anchors, longest"])[name]
    for name in ("scenes", "train", "test", "batch_size", "steps", "lr", "queries")
}


def parts(train: int, test: int, seed: int, **scenes: Any) -> tuple[Scenes, Scenes]:
    """Scenes to train with, and those that judge: other digits on other parts of the photographs."""
    own, others = digits()
    seen, unseen = photograph_parts()
    made = (
        digit_scenes(own, seen, train, **scenes, seed=1 + seed),
        digit_scenes(others, unseen, test, **scenes, seed=0),
    )
    return tuple(Scenes(*(part.to(best_device()) for part in each)) for each in made)


def one_case(
    *, seed: int, scenes: dict[str, Any], train: int, test: int, queries: int, **recipe: Any
) -> dict[str, Any]:
    """Train a detector, keep it, and judge what was kept on scenes that it has not seen."""
    seen, unseen = parts(train, test, seed, **scenes)
    seed_everything(seed)
    model = AnchorDETR(DETRConfig.preset("digits", num_queries=queries)).to(best_device())
    learn(model, seen, seed=seed, **recipe)
    save_pretrained(model.half(), FOLDER)
    stored = from_pretrained(FOLDER).to(best_device())
    return {"parameters": sum(p.numel() for p in stored.parameters()), **judge(stored, unseen)._asdict()}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(run("detr_digits", {"stored": {}}, one_case, config=CONFIG, seeds=[0]))

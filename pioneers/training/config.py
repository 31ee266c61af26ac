"""The configuration of a training run, and the learning rate it gives for each step."""

import dataclasses

from pioneers.config import Config
from pioneers.device import PRECISIONS
from pioneers.optim import constant, cosine, inverse_sqrt, linear

SCHEDULES = ("cosine", "linear", "inverse_sqrt", "constant")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainConfig(Config):
    """Settings of a training run. One step is one update of the weights.

    Attributes:
        max_steps: number of updates.
        lr: peak learning rate, reached by a linear warm-up.
        warmup_steps: length of the warm-up.
        schedule: after the warm-up: ``"cosine"``, ``"linear"``, ``"inverse_sqrt"`` or ``"constant"``; see
            :mod:`pioneers.optim`.
        cooldown_steps: last steps of the constant schedule, in which the learning rate falls to 0.
        min_lr_factor: final learning rate of the cosine schedule, as a fraction of the peak.
        weight_decay: of AdamW, on matrices only.
        betas: of AdamW.
        clip_norm: largest gradient norm; longer gradients are scaled down to it.
        precision: see :func:`pioneers.device.autocast`.
        accumulate: number of micro-batches per batch; more of them need less memory.
        compile: compile the model by ``torch.compile``, or, sharded, each of its blocks. It stays compiled.
        shard: under ``torchrun``, shard weights, gradients and optimiser state over processes (FSDP2), for
            models that do not fit on one card. Loss and evaluation must then call the model itself, as
            ``model(...)`` or through :mod:`pioneers.generation`, alike in all processes; evaluation computes
            in ``precision`` too. A run may resume with another value.
        log_every: steps between two rows of the history.
        checkpoint_every: steps between two checkpoints, when a path is given.
        watch: the number from ``evaluate`` to minimise: the weights with its lowest value are the best.
        patience: stop after this many rows of the history without a new best.
        seed: of dropout and everything else that is random in training.

    Raises:
        ValueError: a field is out of range, or two of them do not go together.
    """

    max_steps: int
    lr: float = 1e-3
    warmup_steps: int = 0
    schedule: str = "cosine"
    cooldown_steps: int = 0
    min_lr_factor: float = 0.0
    weight_decay: float = 0.1
    betas: tuple[float, float] = (0.9, 0.95)
    clip_norm: float = 1.0
    precision: str = "auto"
    accumulate: int = 1
    compile: bool = False
    shard: bool = False
    log_every: int = 10
    checkpoint_every: int = 100
    watch: str | None = None
    patience: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "betas", tuple(self.betas))  # JSON knows lists only
        self._require_positive("max_steps", "accumulate", "log_every", "checkpoint_every")
        self._require(self.lr > 0, "lr", "positive")
        self._require(self.clip_norm > 0, "clip_norm", "positive")
        self._require(self.weight_decay >= 0, "weight_decay", "at least 0")
        self._require(self.warmup_steps >= 0, "warmup_steps", "at least 0")
        self._require(0 <= self.min_lr_factor <= 1, "min_lr_factor", "at least 0 and at most 1")
        fit = len(self.betas) == 2 and all(0 <= beta < 1 for beta in self.betas)
        self._require(fit, "betas", "two numbers, at least 0 and less than 1")
        self._require_known("precision", PRECISIONS)
        self._require_known("schedule", SCHEDULES)
        if self.schedule == "inverse_sqrt" and self.warmup_steps < 1:
            raise ValueError("TrainConfig: the inverse_sqrt schedule needs warmup_steps of at least 1")
        if self.schedule != "cosine" and self.min_lr_factor:
            raise ValueError(
                f"TrainConfig: min_lr_factor applies to the cosine schedule, not to {self.schedule}"
            )
        self._require(0 <= self.cooldown_steps <= self.max_steps, "cooldown_steps", "from 0 to max_steps")
        if self.schedule != "constant" and self.cooldown_steps:
            raise ValueError(
                f"TrainConfig: cooldown_steps applies to the constant schedule, not to {self.schedule}"
            )
        if self.patience is not None:
            self._require_positive("patience")
            if self.watch is None:
                raise ValueError("TrainConfig: patience needs watch, the number to minimise")

    def lr_at(self, step: int) -> float:
        """Return the learning rate of a step; the first is step 0.

        Example:
            >>> recipe = TrainConfig(max_steps=6, lr=0.5, warmup_steps=2, schedule="linear")
            >>> [recipe.lr_at(step) for step in range(6)]
            [0.25, 0.5, 0.5, 0.375, 0.25, 0.125]
        """
        if self.schedule == "inverse_sqrt":
            return self.lr * inverse_sqrt(step, warmup_steps=self.warmup_steps)
        end = {"max_steps": self.max_steps, "warmup_steps": self.warmup_steps}
        if self.schedule == "linear":
            return self.lr * linear(step, **end)
        if self.schedule == "constant":
            return self.lr * constant(step, **end, cooldown_steps=self.cooldown_steps)
        return self.lr * cosine(step, **end, min_factor=self.min_lr_factor)

    def continues(self, other: "TrainConfig", step: int) -> bool:
        """Return True if a run that made ``step`` steps with ``other`` can go on with this configuration.

        It can if it was to make the same steps: their learning rates are equal.

        Example:
            >>> short = TrainConfig(max_steps=6, schedule="constant", cooldown_steps=2)
            >>> longer = short.replace(max_steps=9)
            >>> longer.continues(short, 4), longer.continues(short, 6)
            (True, False)
        """
        rates = ((self.lr_at(i), other.lr_at(i)) for i in range(step))
        return step <= self.max_steps and all(a == b for a, b in rates)

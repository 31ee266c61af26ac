"""Power laws, fitted in logarithms, with intervals from resampled residuals."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

ZOOMS = 6  # the range of offsets shrinks to a sixteenth, so many times
TRIED = np.linspace(0, 1, 33)  # offsets tried in each range, as shares of it


@dataclass(frozen=True)
class PowerLaw:
    """A fitted law ``y = offset + scale * x ** -exponent``.

    Attributes:
        offset: what remains for an infinite x.
        scale: the factor of the power.
        exponent: of x, positive if y falls.
        level: the share of the intervals, such as 0.9.
        intervals: name of a parameter → its interval ``(low, high)``.
        residuals: of the logarithms of y, ``(n,)``.
        draws: parameters fitted to resampled data, ``(draws, 3)``: offset, scale, exponent.
        noise: a resampled residual for each draw, ``(draws,)``.
    """

    offset: float
    scale: float
    exponent: float
    level: float
    intervals: dict[str, tuple[float, float]]
    residuals: Array = field(repr=False)
    draws: Array = field(repr=False)
    noise: Array = field(repr=False)

    def __call__(self, x: ArrayLike) -> Array:
        """The value of the law at every ``x``."""
        return self.offset + self.scale * np.asarray(x, dtype=float) ** -self.exponent

    def interval(self, x: ArrayLike, *, noise: bool = True) -> tuple[Array, Array]:
        """Where a new measurement at ``x`` is expected, with the probability ``level``.

        Args:
            x: where.
            noise: False for the interval of the law itself, without the scatter of measurements around it.

        Returns:
            The lower and the upper ends, in the shape of ``x``.
        """
        offset, scale, exponent = self.draws.T  # each (draws,)
        drawn = offset + scale * np.asarray(x, dtype=float)[..., None] ** -exponent  # (..., draws)
        low, high = _quantiles(drawn * np.exp(self.noise) if noise else drawn, self.level)
        return low, high


def fit_power_law(
    x: Sequence[float] | Array,
    y: Sequence[float] | Array,
    *,
    offset: bool = True,
    level: float = 0.9,
    draws: int = 1000,
    seed: int = 0,
) -> PowerLaw:
    """Fit ``y = offset + scale * x ** -exponent`` by the least squares of the logarithms of y.

    For a given offset, ``log(y - offset)`` is a straight line in ``log(x)``, and its fit is direct; the
    offset is searched for. Points count by their relative errors. The intervals come from the bootstrap:
    residuals are drawn with replacement and put on the fitted law, to which a law is fitted again.
    Henighan et al. 2020, equation 1.1, fit losses with an offset.

    Args:
        x: what was varied, such as parameters, tokens or operations, ``(n,)``.
        y: what was measured, such as losses, ``(n,)``.
        offset: False to fit a pure power law, with an offset of 0.
        level: the share of the intervals.
        draws: how many times data are resampled.
        seed: of the resampling.

    Returns:
        The law, with an interval for each parameter and, by :meth:`PowerLaw.interval`, for new measurements.

    Raises:
        ValueError: there are fewer than four points or three different x, the lengths differ, a number is not
            positive, the level is not between 0 and 1, or there is no draw.

    Example:
        >>> x = np.array([1, 10, 100, 1000, 10000])
        >>> law = fit_power_law(x, 2 + 3 * x**-0.5)
        >>> print(f"{law.offset:.3f} {law.scale:.3f} {law.exponent:.3f}")
        2.000 3.000 0.500
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    _check(x, y, level, draws)
    log_x = np.log(x)
    found = _search(log_x, y[None], offset)[0]  # (3,)
    fitted = _values(log_x, found[None])[0]  # (n,)
    residuals = np.log(y / fitted)
    scatter = residuals - residuals.mean()
    # A fit comes closer to its own data than to new data: as with a variance, by n less the parameters.
    scatter *= np.sqrt(len(x) / (len(x) - 2 - offset))
    rng = np.random.default_rng(seed)
    resampled = fitted * np.exp(rng.choice(scatter, (draws, len(x))))  # (draws, n)
    drawn = _search(log_x, resampled, offset)  # (draws, 3)
    names = ("offset", "scale", "exponent")
    low, high = _quantiles(drawn.T, level)
    intervals = {name: (float(low[i]), float(high[i])) for i, name in enumerate(names)}
    parameters = dict(zip(names, found.tolist(), strict=True))
    noise = rng.choice(scatter, draws)
    return PowerLaw(
        **parameters, level=level, intervals=intervals, residuals=residuals, draws=drawn, noise=noise
    )


def _check(x: Array, y: Array, level: float, draws: int) -> None:
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"x and y must be lists of the same length, not of shapes {x.shape} and {y.shape}")
    if len(x) < 4:
        raise ValueError(f"a power law and its intervals need at least 4 points, not {len(x)}: measure more")
    for name, values in (("x", x), ("y", y)):
        if not (np.isfinite(values) & (values > 0)).all():
            wrong = values[~(np.isfinite(values) & (values > 0))][0]
            raise ValueError(f"{name} must be positive, as its logarithm is taken, but contains {wrong:g}")
    if len(set(x)) < 3:
        raise ValueError(f"a power law needs at least 3 different x, not {len(set(x))}: measure more of them")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, not {level}")
    if draws < 1:
        raise ValueError(f"draws must be at least 1, not {draws}")


def _search(log_x: Array, y: Array, offset: bool) -> Array:
    """The best law ``(offset, scale, exponent)`` for each row of y ``(rows, n)``: ``(rows, 3)``."""
    rows = np.arange(len(y))
    if not offset:
        return _line(log_x, y, np.zeros(len(y)))
    end = y.min(axis=1) * (1 - 1e-9)
    low, high = np.zeros(len(y)), end
    for _ in range(ZOOMS):
        tried = low[:, None] + (high - low)[:, None] * TRIED  # (rows, tried)
        laws = _line(log_x, y[:, None], tried)  # (rows, tried, 3)
        errors = np.log(y[:, None] / _values(log_x, laws))
        best = np.square(errors).sum(axis=-1).argmin(axis=1)  # (rows,)
        step = (high - low) / (len(TRIED) - 1)
        middle = tried[rows, best]
        low, high = np.maximum(middle - step, 0), np.minimum(middle + step, end)
    return laws[rows, best]


def _line(log_x: Array, y: Array, offset: Array) -> Array:
    """The weighted least-squares line of ``log(y - offset)``, as ``(offset, scale, exponent)``."""
    above = y - offset[..., None]  # (..., n)
    weights = np.square(above / y)  # an error of log(y) is so much larger in log(y - offset)
    weights = weights / weights.sum(axis=-1, keepdims=True)
    target = np.log(above)
    mean_x = (weights * log_x).sum(axis=-1, keepdims=True)
    mean = (weights * target).sum(axis=-1, keepdims=True)
    slope = (weights * (log_x - mean_x) * (target - mean)).sum(axis=-1, keepdims=True)
    slope = slope / (weights * np.square(log_x - mean_x)).sum(axis=-1, keepdims=True)
    scale = np.exp(mean - slope * mean_x)
    return np.concatenate([offset[..., None], scale, -slope], axis=-1)


def _values(log_x: Array, laws: Array) -> Array:
    offset, scale, exponent = (laws[..., i, None] for i in range(3))
    return offset + scale * np.exp(-exponent * log_x)


def _quantiles(values: Array, level: float) -> tuple[Array, Array]:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=-1)
    return low, high

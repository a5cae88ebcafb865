"""What flows of rational-quadratic splines are made of, for any library of arrays (Durkan et al. 2019)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array

__all__ = ["BOUND", "LEAST", "UNIT_SLOPE", "Frame", "framed", "kept_columns", "rational_quadratic"]

#: The splines live on [−BOUND, BOUND] in units of standard deviations; beyond they are the identity.
BOUND = 5.0
#: The least width, height and slope of a bin.
LEAST = 1e-3
#: softplus of this, plus the least, is 1: the slope of a spline whose networks give zeros, as at both ends.
UNIT_SLOPE = math.log(math.expm1(1.0 - LEAST))


@dataclass(frozen=True, eq=False)
class Frame:
    """The parts of a flow that are not learned: the whitening of the data, and a rotation before every coupling layer."""

    location: Array
    #: Lower triangular: rows are location + factor z.
    factor: Array
    turns: Array

    @property
    def log_volume(self) -> float:
        """log det of the factor."""
        return float(np.log(np.diagonal(self.factor)).sum())


def framed(rows: Array, layers: int, seed: int) -> Frame:
    """Whitening by mean and covariance, and random rotations."""
    d = rows.shape[1]
    covariance = np.cov(rows.T).reshape(d, d) + 1e-6 * np.diag(rows.var(axis=0, ddof=1) + 1e-12)
    rng = np.random.default_rng([seed, 19])
    turns = np.stack([np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(layers)])
    return Frame(rows.mean(axis=0), np.asarray(np.linalg.cholesky(covariance)), np.asarray(turns))


def kept_columns(columns: int) -> int:
    """How many columns a coupling layer leaves as they are, and gives to the network that moves the others; none of one."""
    return columns - columns // 2 if columns > 1 else 0


def rational_quadratic(
    at: Any, knots: tuple[Any, ...], log: Callable[[Any], Any], sqrt: Callable[[Any], Any], inverse: bool
) -> tuple[Any, Any]:
    """A monotone rational-quadratic spline within its bin, or its inverse, with the logarithm of the map's slope.

    Args:
        at: where, within the bin.
        knots: the bin's left and right end, its low and high value, and the slopes at both ends.
        log, sqrt: of the library of arrays.
        inverse: whether `at` is a value whose place is asked for.
    """
    left, right, low, high, near, far = knots
    rise = (high - low) / (right - left)
    bend = near + far - 2 * rise
    if inverse:
        y = at - low
        a = (high - low) * (rise - near) + y * bend
        b = (high - low) * near - y * bend
        c = -rise * y
        discriminant = b * b - 4 * a * c
        # Rounding alone makes it negative.
        t = 2 * c / (-b - sqrt(0.5 * (discriminant + abs(discriminant))))
        out = left + t * (right - left)
    else:
        t = (at - left) / (right - left)
        out = low + (high - low) * (rise * t * t + near * t * (1 - t)) / (rise + bend * t * (1 - t))
    bottom = rise + bend * t * (1 - t)
    log_slope = 2 * log(rise) + log(far * t * t + 2 * rise * t * (1 - t) + near * (1 - t) * (1 - t)) - 2 * log(bottom)
    return out, -log_slope if inverse else log_slope

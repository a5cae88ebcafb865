"""Noises fitted by expectation–maximisation: mixtures of multivariate Student or normal densities, chosen on held-out rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array

__all__ = ["Elliptical", "fit_mixture", "fit_student", "split", "wide_student"]

#: Degrees of freedom that are tried for a Student noise.
DEGREES = (3.0, 5.0, 8.0, 15.0, 30.0)
#: Numbers of components that are tried for a mixture.
COMPONENTS = (1, 2, 4, 8, 16, 32)
#: Added to every covariance, as a share of the data's: a component on few rows must keep a volume.
RIDGE = 1e-3
#: Iterations of expectation–maximisation.
ITERATIONS = 100


@dataclass(frozen=True, eq=False)
class Elliptical:
    """A mixture of K multivariate Student densities (normal where the degrees of freedom are infinite)."""

    weights: Array
    locations: Array
    #: Lower triangular factors of the scale matrices, (K, d, d).
    factors: Array
    degrees: float

    def log_parts(self, x: Array) -> Array:
        """log π_k q_k(x), one row per point."""
        return np.log(self.weights) + self._log_densities(self.distances(x))

    def distances(self, x: Array) -> Array:
        """Squared Mahalanobis distances, one row per point and one column per component."""
        columns = [np.square(np.linalg.solve(l, (x - m).T)).sum(axis=0) for m, l in zip(self.locations, self.factors)]
        return np.stack(columns, axis=1)

    def log_density(self, x: Array) -> Array:
        """The log-density at rows."""
        parts = self.log_parts(x)
        peak = parts.max(axis=1, keepdims=True)
        return np.asarray(peak[:, 0] + np.log(np.exp(parts - peak).sum(axis=1)))

    def _log_densities(self, distances: Array) -> Array:
        d, nu = self.locations.shape[1], self.degrees
        volume = np.log(np.abs(np.diagonal(self.factors, axis1=1, axis2=2))).sum(axis=1)
        if math.isinf(nu):
            return np.asarray(-0.5 * distances - volume - 0.5 * d * math.log(2 * math.pi))
        start = math.lgamma((nu + d) / 2) - math.lgamma(nu / 2) - 0.5 * d * math.log(nu * math.pi)
        return np.asarray(start - volume - 0.5 * (nu + d) * np.log1p(distances / nu))


def split(rows: int, share: float, seed: int) -> tuple[Any, Any]:
    """The numbers of the rows to train on and of those held out, at random."""
    order = np.random.default_rng([seed, 31]).permutation(rows)
    held = max(1, round(share * rows))
    return order[held:], order[:held]


def fit_student(train: Array, held_out: Array) -> Elliptical:
    """A multivariate Student density whose degrees of freedom are the best of a few on held-out rows."""
    tried = [_student(train, nu) for nu in DEGREES]
    return max(tried, key=lambda fitted: float(fitted.log_density(held_out).mean()))


def fit_mixture(train: Array, held_out: Array, seed: int = 0) -> Elliptical:
    """A normal mixture whose number of components is the best of a few on held-out rows; it stops when more do not help."""
    best, best_score = None, -math.inf
    for count in COMPONENTS:
        if count * (train.shape[1] + 1) > len(train):
            break
        fitted = _mixture(train, count, seed)
        score = float(fitted.log_density(held_out).mean())
        if score <= best_score:
            break
        best, best_score = fitted, score
    return best if best is not None else _mixture(train, 1, seed)


def wide_student(rows: Array, widen: float) -> Elliptical:
    """A Student density with few degrees of freedom around the rows, its scale so many times theirs, so that no tail is without noise."""
    factor = np.diag(widen * rows.std(axis=0) + 1e-12)
    return Elliptical(np.ones(1), rows.mean(axis=0)[None], factor[None], DEGREES[0])


def _student(x: Array, degrees: float) -> Elliptical:
    """Location and scatter by the EM algorithm of the multivariate t (Lange, Little and Taylor 1989)."""
    fitted = _normal(x, degrees)
    for _ in range(ITERATIONS):
        weights = (degrees + x.shape[1]) / (degrees + fitted.distances(x)[:, 0])
        location = np.average(x, axis=0, weights=weights)
        centred = x - location
        scatter = (centred * weights[:, None]).T @ centred / len(x)
        moved = float(np.abs(location - fitted.locations[0]).max())
        fitted = Elliptical(np.ones(1), location[None], _factor(scatter, x)[None], degrees)
        if moved < 1e-8 * float(np.abs(x).max()):
            break
    return fitted


def _mixture(x: Array, count: int, seed: int) -> Elliptical:
    """Expectation–maximisation from centres by k-means++."""
    rng = np.random.default_rng([seed, count])
    whole = _normal(x, math.inf)
    centres = _spread(x @ np.linalg.inv(whole.factors[0]).T, count, rng)
    factor = whole.factors[0] * count ** (-1.0 / x.shape[1])
    fitted = Elliptical(np.full(count, 1.0 / count), x[centres], np.repeat(factor[None], count, axis=0), math.inf)
    last = -math.inf
    for _ in range(ITERATIONS if count > 1 else 1):
        parts = fitted.log_parts(x)
        total = np.logaddexp.reduce(parts, axis=1)
        fitted = _maximised(x, np.exp(parts - total[:, None]))
        if total.mean() - last < 1e-6:
            break
        last = float(total.mean())
    return fitted


def _maximised(x: Array, shares: Array) -> Elliptical:
    sizes = shares.sum(axis=0) + 1e-10
    locations = shares.T @ x / sizes[:, None]
    factors = []
    for k, location in enumerate(locations):
        centred = x - location
        factors.append(_factor((centred * shares[:, k : k + 1]).T @ centred / sizes[k], x))
    return Elliptical(sizes / sizes.sum(), locations, np.stack(factors), math.inf)


def _normal(x: Array, degrees: float) -> Elliptical:
    location = x.mean(axis=0)
    return Elliptical(np.ones(1), location[None], _factor(np.cov(x.T, bias=True).reshape(x.shape[1], -1), x)[None], degrees)


def _factor(scatter: Array, x: Array) -> Array:
    ridge = RIDGE * x.var(axis=0) + 1e-12 * (1.0 + float(np.square(x).max()))
    return np.asarray(np.linalg.cholesky(scatter + np.diag(ridge)))


def _spread(x: Array, count: int, rng: np.random.Generator) -> list[int]:
    """k-means++: centres far from each other (Arthur and Vassilvitskii 2007)."""
    chosen = [int(rng.integers(len(x)))]
    nearest = np.square(x - x[chosen[0]]).sum(axis=1)
    while len(chosen) < count:
        chosen.append(int(rng.choice(len(x), p=nearest / nearest.sum())))
        nearest = np.minimum(nearest, np.square(x - x[chosen[-1]]).sum(axis=1))
    return chosen

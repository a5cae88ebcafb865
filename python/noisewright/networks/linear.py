"""The last layer of a network as a linear model: its features go to `fit`, which solves it exactly and has errors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError, NoisewrightWarning
from ..fitting import FitResult, NoiseDraws, fit
from ..models import Model

__all__ = ["linear_fit"]

#: Standardised features with a larger condition number are replaced by their principal components: units of a smooth network are
#: nearly linear combinations of each other, and their coefficients then have no finite estimate.
CONDITION = 1e4
#: Components whose standard deviation is less than this share of the first one's are left out.
LEAST_COMPONENT = 1e-3


def linear_fit(data: Array, noise: Array, base_data: Array, base_noise: Array, **options: Any) -> FitResult:
    """The exact solution of log f = θ·h(x) − base, told from the noise, conditional on the features h.

    Args:
        data, noise: the features of the rows and of the noise points, one row each.
        base_data, base_noise: what is taken off θ·h for the log ratio: the noise's log-density, less what of the energy is
            not linear in the last layer; zeros in the residual form.
        options: what `fit` takes further.

    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(0.5, 1.0, (500, 1)), rng.normal(0.0, 1.0, (2000, 1))
    >>> found = linear_fit(x, y, np.zeros(500), np.zeros(2000))
    >>> abs(found["h0"].estimate - 0.5) < 4 * found["h0"].se
    True
    """
    both = np.concatenate([data, noise])
    spread = both.std(axis=0)
    kept = np.flatnonzero(spread > 1e-9 * np.abs(both).max(axis=0, initial=0.0))
    if len(kept) == 0:
        raise InputError("every feature of the last layer is constant on data and noise: there is nothing to fit")
    names = [f"h{j}" for j in kept]
    both = both[:, kept]
    values, turn = np.linalg.eigh(np.corrcoef(both.T).reshape(len(kept), -1))
    if values[-1] > CONDITION**2 * max(values[0], 0.0):
        both, names = _components(both, values, turn)
        warnings.warn(
            f"{len(kept)} features of the last layer are nearly linear combinations of {len(names)}: their principal components "
            "are fitted instead",
            NoisewrightWarning,
            stacklevel=3,
        )
    # The features lie in a bounded set, however large their values: without ends the fit would look for an integral over all of space.
    low, high = both.min(axis=0), both.max(axis=0)
    ends = {name: (float(2 * a - b), float(2 * b - a)) for name, a, b in zip(names, low, high)}
    model = Model.from_features(names, variables=names, domain=ends)
    draws = NoiseDraws(both[len(data) :], base_noise, base_data)
    return fit(model, both[: len(data)], noise=draws, **options)


def _components(both: Array, values: Array, turn: Array) -> tuple[Array, list[str]]:
    """The principal components of standardised features, each of unit variance, the largest first."""
    order = np.argsort(values)[::-1]
    order = order[values[order] > LEAST_COMPONENT**2 * values[order[0]]]
    standard = (both - both.mean(axis=0)) / both.std(axis=0)
    return standard @ (turn[:, order] / np.sqrt(values[order])), [f"pc{j}" for j in range(len(order))]

"""The best weights of a mixture of noises for a linear last layer: a convex problem, solved with a certificate (MATH §9.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..results import Column, Result

__all__ = ["DictionaryResult", "design_weights", "target_matrix"]

#: Added to the information matrix, as a share of its trace: features of a network are nearly dependent.
RIDGE = 1e-6
#: Multiplicative updates at most, and the relative gap at which they end.
UPDATES, GAP = 5000, 1e-5


@dataclass(frozen=True, repr=False, eq=False)
class DictionaryResult(Result):
    """Weights of noises, with a bound on how far from the best they are. Conditional on the features and on the fitted model."""

    weights: Array
    #: V(π): the error of the target times the budget.
    error: float
    #: (V(π) − least V) / V(π) is at most this.
    gap: float
    #: V of each noise alone; infinite where it cannot tell the features.
    alone: Array
    updates: int

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        columns: list[Column] = [("noise", None), ("weight", 4), ("error alone", 5)]
        rows: list[list[Any]] = [[str(k), float(w), float(v)] for k, (w, v) in enumerate(zip(self.weights, self.alone))]
        notes = [f"error {self.error:.6g}, within {100 * self.gap:.2g} % of the best mixture; conditional on the features"]
        return "weights of noises", columns, rows, notes

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        return [str(k) for k in range(len(self.weights))], [{"weight": w, "alone": v} for w, v in zip(self.weights, self.alone)]

    def __repr__(self) -> str:
        return f"<weights {np.round(self.weights, 3).tolist()}, error {self.error:.5g}, gap {self.gap:.1g}>"


def target_matrix(features: Array, target: Any, of: Any) -> Array:
    """M of a question: `all` (the sum of the coefficients' variances), `kl`, or two points, whose log-density ratio is asked for.

    Args:
        features: ψ at draws of the model, the last column −1 for the constant.
        target: the question.
        of: the features of rows.
    """
    size = features.shape[1]
    if isinstance(target, str):
        if target not in ("all", "kl"):
            raise InputError(f"`target` must be all, kl or a pair of points, not {target!r}")
        return np.eye(size) if target == "all" else features.T @ features / len(features)
    first, second = (np.asarray(of(point), dtype=float).reshape(-1) for point in target)
    question = np.append(first - second, 0.0)
    return np.outer(question, question)


def design_weights(features: Array, log_ratios: Array, target: Array, nu: float) -> DictionaryResult:
    """The weights π of the mixture Σ π_k q_k that make tr(ΣM) least.

    Args:
        features: ψ at draws of the data's density (by the current model), the last column −1.
        log_ratios: log q_k − log p_d at these draws, one row per noise, normalized.
        target: M.
        nu: noise points per data point.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=4000)
    >>> psi = np.stack([x, -np.ones(4000)], axis=1)
    >>> log_q = [-0.5 * (x / s) ** 2 - np.log(s) + 0.5 * x**2 for s in (0.5, 1.0, 2.0)]
    >>> design_weights(psi, np.stack(log_q), np.eye(2), 1.0).weights.round(1)
    array([0. , 0.7, 0.3])
    """
    count = len(log_ratios)
    ratios = np.exp(log_ratios)
    weights = np.full(count, 1.0 / count)
    value, slopes = _value(features, ratios, weights, target, nu)
    updates = 0
    gap = np.inf
    for updates in range(1, UPDATES + 1):
        mean = float(weights @ slopes)
        # All slopes are negative: V(π) − V* ≤ Σ π_j ∂_j − min ∂_k.
        gap = (mean - float(slopes.min())) / value
        if gap < GAP:
            break
        weights = weights * np.sqrt(slopes / mean)
        weights /= weights.sum()
        value, slopes = _value(features, ratios, weights, target, nu)
    alone = np.array([_value(features, ratios, one, target, nu)[0] for one in np.eye(count)])
    return DictionaryResult(weights, value, gap, alone, updates)


def _value(features: Array, ratios: Array, weights: Array, target: Array, nu: float) -> tuple[float, Array]:
    """V(π) and its slopes, all expectations over the same draws of p_d: E_{q_k}[h] = E_d[(q_k/p_d) h]."""
    noise = nu * (weights @ ratios)
    share = noise / (1.0 + noise)
    information = (features * share[:, None]).T @ features / len(features)
    information += RIDGE * np.trace(information) / len(information) * np.eye(len(information))
    inverse = np.linalg.inv(information)
    value = (1 + nu) * (float(np.trace(inverse @ target)) - (1 + 1 / nu) * float(target[-1, -1]))
    leverage = np.einsum("ij,jk,ik->i", features, inverse @ target @ inverse, features)
    slopes = -(1 + nu) * nu * (ratios * ((1.0 - share) ** 2 * leverage)).mean(axis=1)
    return value, slopes

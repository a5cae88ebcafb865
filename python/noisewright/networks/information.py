"""Log ratios through bridges: neighbours are told apart one by one, and their log ratios add up, with an error for the sum.

Rhodes, Xu and Gutmann (2020), MATH §12; all waymarks are told apart at once (Srivastava et al. 2023). The networks are trained on some rows; on others every bridge's output is
recalibrated by a logistic regression on (output, 1), whose scores are stacked and clustered by row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import counted, shown
from ..errors import InputError, NoAnswerError
from ..results import Column, Estimate, Panel, Result
from .evaluation import interval

__all__ = ["EPOCHS", "MOST_BRIDGES", "PILOT_ROWS", "PILOT_STEPS", "Bridge", "InformationResult", "Judged", "combined", "equal_angles", "extrapolated", "asked_bridges", "cross_fitted", "folds_of", "placed", "telescoped", "too_far", "waymark"]

#: Passes over the rows.
EPOCHS = 60
#: More bridges than this are not tried: the two samples have then nothing to do with each other.
MOST_BRIDGES = 64
#: Steps of the pilot that places the bridges, for every round, and rows that it is judged on.
PILOT_STEPS, PILOT_ROWS = 400, 1 << 14

#: A bridge whose logistic loss (log 2 = 0.693 where the sides are equal, 0 where they are separate) falls below this is split. Twice as
#: many bridges than are needed to overlap at all (a loss near 0.1) lower the standard error by a third (MATH §12).
LEAST_LOSS = 0.3
#: A bridge with less than this is said to be nearly separated.
SEPARATED = 0.1


@dataclass(frozen=True)
class Bridge:
    """One step of the way, as the held-out rows see it."""

    start: float
    end: float
    #: The logistic loss, between 0 (separate) and log 2 = 0.693 (equal).
    loss: float
    #: The slope of the recalibration: 1 for a network that is neither over- nor underconfident.
    slope: float
    slope_se: float
    #: The mean of this bridge's log ratio over rows of the first sample.
    contribution: float


@dataclass(frozen=True, repr=False, eq=False)
class InformationResult(Result):
    """A mean log ratio, such as the mutual information, in nats, with its interval and every bridge on the way."""

    information: Estimate
    bridges: list[Bridge]
    #: The estimate of every fold, each network being judged on rows that it was not trained on.
    folds: list[Estimate]
    rows: int
    warnings: list[str]

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        columns: list[Column] = [("bridge", None), ("loss", 4), ("slope", 4), ("se", 2), ("mean log ratio", 5)]
        rows: list[list[Any]] = [
            [f"{b.start:.3f} – {b.end:.3f}", b.loss, b.slope, b.slope_se, b.contribution] for b in self.bridges
        ]
        e = self.information
        notes = [f"{e.estimate:.6g} ± {e.se:.2g} nats, from {e.lower:.6g} to {e.upper:.6g}", *self.warnings]
        return f"mutual information of {self.rows} rows", columns, rows, notes

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        return [str(k) for k in range(len(self.bridges))], [vars(b) for b in self.bridges]

    def _panels(self) -> list[Panel]:
        at = [[float(k) for k in range(len(self.bridges))], [b.contribution for b in self.bridges]]
        return [(("bridge", "linear"), ("mean log ratio", "linear"), [("line", "mean log ratio", at)])]

    def __repr__(self) -> str:
        return f"<{self.information.estimate:.5g} ± {self.information.se:.2g} nats by {len(self.bridges)} bridges>"


def waymark(first: Any, second: Any, place: float) -> Any:
    """√(1 − α²) x₀ + α x₁: at 0 the first sample, at 1 the second."""
    return math.sqrt(1.0 - place * place) * first + place * second


def equal_angles(bridges: int) -> Array:
    """The places of waymarks at equal angles from the first sample to the second.

    >>> equal_angles(2).round(4)
    array([0.    , 0.7071, 1.    ])
    """
    return np.asarray(np.sin(np.linspace(0.0, np.pi / 2, bridges + 1)))


def folds_of(x: Array, y: Array, folds: int) -> tuple[Array, slice, list[tuple[Any, Any]]]:
    """Both sides of the rows beside each other, the columns of the second, and for every fold the other rows and its own."""
    if len(x) != len(y):
        raise InputError(f"`x` has {len(x)} rows and `y` {len(y)}, and they must belong together")
    count = counted(folds, "folds")
    if count < 2:
        raise InputError("`folds` must be at least 2: networks are judged on rows that they were not trained on")
    label = np.arange(len(x)) % count
    parts = [(np.flatnonzero(label != fold), np.flatnonzero(label == fold)) for fold in range(count)]
    return np.concatenate([x, y], axis=1), slice(x.shape[1], x.shape[1] + y.shape[1]), parts


def too_far(losses: Array, places: Array) -> Array:
    """Where to put further waymarks: into the middle, by angle, of every bridge whose sides are nearly separate.

    >>> too_far(np.array([0.05, 0.4]), np.array([0.0, 0.5, 1.0])).round(4)
    array([0.2588])
    """
    angle = np.arcsin(places)
    middle = 0.5 * (angle[:-1] + angle[1:])
    return np.sin(middle[np.asarray(losses) < LEAST_LOSS])


def asked_bridges(bridges: Any) -> int | str:
    """`auto` or a number of bridges, checked."""
    if bridges != "auto" and (isinstance(bridges, str) or counted(bridges, "bridges") > MOST_BRIDGES):
        raise InputError(f"`bridges` must be auto or a number up to {MOST_BRIDGES}, not {shown(bridges)}")
    return "auto" if bridges == "auto" else int(bridges)


def placed(bridges: int | str, pilot: Callable[[Array], Judged]) -> Array:
    """Waymarks: equal angles, or with `auto` more where a short training can tell the sides of a bridge too well.

    Args:
        bridges: how many, or `auto`.
        pilot: trains shortly with waymarks at these places, and judges every bridge.
    """
    if bridges != "auto":
        return equal_angles(int(bridges))
    places = equal_angles(1)
    while True:
        added = too_far(np.array([bridge.loss for bridge in pilot(places).bridges]), places)
        if len(added) == 0 or len(places) - 1 + len(added) > MOST_BRIDGES:
            return places
        places = np.sort(np.concatenate([places, added]))


@dataclass(frozen=True, eq=False)
class Judged:
    """A mean log ratio by networks that were trained on other rows: the estimate, its influence by row, and the bridges."""

    estimate: float
    influence: Array
    bridges: list[Bridge]

    @property
    def se(self) -> float:
        """The standard error, given the networks."""
        return float(self.influence.std(ddof=1) / math.sqrt(len(self.influence)))


def telescoped(near: Array, far: Array, at_data: Array, places: Array) -> Judged:
    """The mean of the sum of the log ratios over rows of the first sample, and every bridge.

    Args:
        near, far: for every bridge (row) its network's output at waymarks of the near and of the far side; column i belongs
            to row i of the data, in every bridge and on both sides.
        at_data: its output at the rows of the first sample.
        places: the waymarks' places, one more than there are bridges.
    """
    rows = near.shape[1]
    total, influence = 0.0, np.zeros(rows)
    bridges = []
    for k in range(len(near)):
        theta, scores, curvature = _recalibrated(near[k], far[k])
        log_ratio = theta[0] * at_data[k] + theta[1]
        mean = np.array([at_data[k].mean(), 1.0])
        # Delta method: the mean's own spread, and that of the two fitted numbers, by the same rows.
        influence += log_ratio - log_ratio.mean() + scores @ np.linalg.solve(curvature, mean)
        total += float(log_ratio.mean())
        covariance = np.linalg.solve(curvature, np.linalg.solve(curvature, scores.T @ scores).T) / rows**2
        sides = np.logaddexp(0, -theta[0] * near[k] - theta[1]).mean(), np.logaddexp(0, theta[0] * far[k] + theta[1]).mean()
        slope_se = math.sqrt(max(float(covariance[0, 0]), 0.0))
        bridges.append(Bridge(float(places[k]), float(places[k + 1]), float(sum(sides)) / 2, float(theta[0]), slope_se, float(log_ratio.mean())))
    return Judged(total, influence, bridges)


def _recalibrated(near: Array, far: Array) -> tuple[Array, Array, Array]:
    """A logistic regression on (output, 1): its solution, the scores by row, and the mean curvature.

    Newton's method from slope 1: the loss is convex in two numbers, and the networks' outputs are nearly calibrated already.
    """
    theta = np.array([1.0, 0.0])
    one = np.ones_like(near)
    first, second = np.stack([near, one], axis=1), np.stack([far, one], axis=1)
    for _ in range(50):
        p, q = _sigmoid(-(first @ theta)), _sigmoid(second @ theta)
        scores = p[:, None] * first - q[:, None] * second
        weights = p * (1 - p), q * (1 - q)
        curvature = ((first * weights[0][:, None]).T @ first + (second * weights[1][:, None]).T @ second) / len(near)
        if np.linalg.cond(curvature) > 1e12:
            raise NoAnswerError("a bridge is separated: its two sides do not overlap; use more bridges, or bridges=\"auto\"")
        step = np.linalg.solve(curvature, scores.mean(axis=0))
        theta = theta + step / max(1.0, float(np.abs(step).max()))
        if float(np.abs(step).max()) < 1e-10:
            break
    return theta, scores, curvature


def _sigmoid(g: Array) -> Array:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * g)))


def extrapolated(full: Judged, half: Judged) -> Judged:
    """Twice the estimate of networks trained on all rows less that of networks trained on half of them, judged on the same rows.

    What training on n rows leaves unlearned falls like 1/n, and cancels (Quenouille's jackknife).
    """
    return Judged(2 * full.estimate - half.estimate, 2 * full.influence - half.influence, full.bridges)


def cross_fitted(
    parts: list[tuple[Any, Any]],
    judged: Callable[[Any, Any, dict[str, Any], int], Judged],
    rows: int,
    epochs: int,
    options: dict[str, Any],
    confidence: float,
) -> InformationResult:
    """Every fold judged by networks trained on the other rows, and on half of them twice as often: as many steps, so that only the rows make
    a difference.

    Args:
        parts: for every fold the other rows' numbers and its own.
        judged: of rows to train on, rows to judge, settings and a seed: a network's answer.
        rows, epochs, confidence: in all, of a training, of the interval.
        options: settings of the training.
    """
    found = []
    for fold, (rest, held) in enumerate(parts):
        settings = {**options, "seed": options.get("seed", 0) + fold}
        full, half = (judged(at, held, {**settings, "epochs": passes * epochs}, fold) for at, passes in ((rest, 1), (rest[::2], 2)))
        found.append(extrapolated(full, half))
    return combined(found, rows, confidence)


def combined(folds: list[Judged], rows: int, confidence: float = 0.95) -> InformationResult:
    """The mean over folds. The error is the larger of what the judged rows have, given the networks, and what the folds' spread has,
    with its Student quantile: it knows how networks differ that were trained on other rows."""
    values, errors = np.array([fold.estimate for fold in folds]), np.array([fold.se for fold in folds])
    own = float(np.sqrt((errors**2).sum())) / len(folds)
    between = float(values.std(ddof=1)) / math.sqrt(len(folds))
    # The Student quantile over the normal one: 1.42 for 5 folds, 6.48 for 2.
    wider = student_quantile(0.5 + confidence / 2, len(folds) - 1) / NormalDist().inv_cdf(0.5 + confidence / 2)
    information = interval(float(values.mean()), max(own, wider * between), 0.0, confidence)
    sentences = [
        f"the bridge from {b.start:.3f} to {b.end:.3f} is nearly separated (loss {b.loss:.3f}): use more bridges"
        for b in folds[0].bridges
        if b.loss < SEPARATED
    ]
    each = [interval(fold.estimate, fold.se, 0.0, confidence) for fold in folds]
    return InformationResult(information, folds[0].bridges, each, rows, sentences)


def student_quantile(probability: float, degrees: int) -> float:
    """The quantile of Student's t, by bisection of its distribution function, which is elementary for whole degrees of freedom.

    >>> round(student_quantile(0.975, 4), 4), round(student_quantile(0.975, 1), 3)
    (2.7764, 12.706)
    """
    low, high = 0.0, 1e4
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _student_cdf(middle, degrees) < probability else (low, middle)
    return 0.5 * (low + high)


def _student_cdf(t: float, degrees: int) -> float:
    """Abramowitz and Stegun 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees % 2
    term = cosine if odd else 1.0
    total = term if degrees > 1 else 0.0
    for k in range(2 + odd, degrees - 1, 2):
        term *= cosine**2 * (k - 1) / k
        total += term
    area = 2 / math.pi * (angle + sine * total) if odd else sine * total
    return 0.5 * (1.0 + area)

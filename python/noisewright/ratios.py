"""Ratios of densities without features or through bridges, and mutual information."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from . import _core
from .arrays import Array, names_of, points, rows_of
from .checks import number, whole
from .errors import InputError
from .models import Model
from .progress import Bar
from .results import Column, Estimate, Panel, Result, columns_of

__all__ = ["DensityRatioResult", "Divergences", "InformationResult", "LogRatio", "density_ratio", "mutual_information"]


class LogRatio(NamedTuple):
    """Log ratios at points. The interval is wider than the standard error says by what the penalty pulls."""

    log_ratio: Array
    se: Array
    lower: Array
    upper: Array


@dataclass(frozen=True)
class Divergences:
    """Divergences of two densities, in nats, each an `Estimate`."""

    kl: Estimate
    reverse_kl: Estimate
    js: Estimate
    pearson: Estimate


@dataclass(frozen=True, repr=False, eq=False)
class DensityRatioResult(Result):
    """The ratio of two samples' densities on a basis, or through bridges."""

    #: Rows of the first and of the second sample.
    rows: list[int]
    variables: list[str]
    #: The basis that was chosen: `basis`, `functions`, `knots`, `products`, `centers`, `strength`, `held_out`; `None` where a
    #: model gave the features.
    basis: dict[str, Any] | None
    #: All bases that were compared.
    candidates: list[dict[str, Any]]
    #: The bridges: `from`, `to`, `divergence`, `overlap`, `iterations`.
    bridges: list[dict[str, Any]]
    divergences: Divergences
    #: `effective_size` and `largest_share` of the importance weights.
    importance: dict[str, float]
    #: The two-sample test: `statistic`, `degrees`, `p_value`, `p_value_permutation`, `permutations`.
    test: dict[str, Any]
    confidence: float
    #: Weights of mean one that make the rows of the second sample look like the first.
    importance_weights: Array
    fitted: Any

    _hidden: ClassVar[frozenset[str]] = frozenset({"fitted", "importance_weights"})

    def log_ratio(self, x: Any) -> LogRatio:
        """The log ratio at points, with its standard error and interval."""
        found = self._at(x)
        return LogRatio(found["log_ratio"], found["se"], found["lower"], found["upper"])

    def typicality(self, x: Any) -> Array:
        """The share of the first sample's rows, each left out in turn, whose log ratio is as small as that of a point: small for
        points that look like the second sample and not like the first (an out-of-distribution score)."""
        return np.asarray(self._at(x)["typicality"])

    def _at(self, x: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.fitted.log_ratio(points(x, self.variables, "x"))
        return answer

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        columns: list[Column] = [("", None), ("estimate", 5), ("std. error", 3), ("from", 5), ("to", 5)]
        index, rows = self._frame()
        cells = [[name, *row.values()] for name, row in zip(index, rows)]
        test = self.test
        notes = [
            f"Two-sample test: χ² = {test['statistic']:.4g} on {test['degrees']} degrees of freedom, p = {test['p_value']:.3g}.",
            f"{self.rows[1]} rows of the second sample are worth {self.importance['effective_size']:.4g} of the first.",
        ]
        return "ratio of the first density to the second", columns, cells, notes

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        named = {
            "KL(p₁, p₂)": self.divergences.kl,
            "KL(p₂, p₁)": self.divergences.reverse_kl,
            "Jensen–Shannon": self.divergences.js,
            "Pearson χ²": self.divergences.pearson,
        }
        return list(named), [_numbers(estimate) for estimate in named.values()]

    def _panels(self) -> list[Panel]:
        return _path_panel(self.bridges)

    def __repr__(self) -> str:
        return f"<ratio of {self.rows[0]} rows to {self.rows[1]}: KL {self.divergences.kl.estimate:.4g}>"


@dataclass(frozen=True, repr=False, eq=False)
class InformationResult(Result):
    """A mutual information, in nats."""

    information: Estimate
    variables: list[list[str]]
    rows: int
    #: The basis of the log ratio, as for `DensityRatioResult`.
    basis: dict[str, Any] | None
    bridges: list[dict[str, Any]]
    #: The same with other numbers of bridges: `bridges`, and `information`, `None` where they do not overlap.
    trials: list[dict[str, Any]]
    confidence: float

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        columns: list[Column] = [("", None), ("estimate", 5), ("std. error", 3), ("from", 5), ("to", 5)]
        index, rows = self._frame()
        cells = [[name, *row.values()] for name, row in zip(index, rows)]
        return "mutual information, in nats", columns, cells, [f"{self.rows} rows, {len(self.bridges)} bridges."]

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        known = [trial for trial in self.trials if trial["information"] is not None]
        return [f"{trial['bridges']} bridges" for trial in known], [_numbers(trial["information"]) for trial in known]

    def _panels(self) -> list[Panel]:
        return _path_panel(self.bridges)

    def __repr__(self) -> str:
        return f"<mutual information {self.information.estimate:.5g} ± {self.information.se:.2g}>"


def _numbers(estimate: Estimate) -> dict[str, float]:
    return {"estimate": estimate.estimate, "se": estimate.se, "lower": estimate.lower, "upper": estimate.upper}


def _path_panel(bridges: list[dict[str, Any]]) -> list[Panel]:
    if len(bridges) < 2:
        return []
    middle = [(bridge["from"] + bridge["to"]) / 2 for bridge in bridges]
    columns = columns_of(middle, [bridge["divergence"] for bridge in bridges])
    return [(("α", "linear"), ("divergence of a bridge's ends", "linear"), [("line", "", columns)])]


def _names(data: Any) -> list[str]:
    """The names of the columns, or `x0`, `x1`, …"""
    names = names_of(data)
    return names if names is not None else [f"x{j}" for j in range(rows_of(data) or 0)]


def _settings(
    basis: str, bridges: Any, permutations: int, confidence: float, max_iterations: int, tolerance: float, seed: int
) -> dict[str, Any]:
    if not isinstance(basis, str):
        raise InputError(f"`basis` must be auto, quadratic, splines or centers, not {basis!r}")
    return {
        "basis": basis,
        "bridges": bridges if isinstance(bridges, str) else str(whole(bridges, "bridges")),
        "permutations": whole(permutations, "permutations"),
        "confidence": number(confidence, "confidence"),
        "max_iterations": whole(max_iterations, "max_iterations"),
        "tolerance": number(tolerance, "tolerance"),
        "seed": whole(seed, "seed"),
    }


def density_ratio(
    model: Model | None,
    first: Any,
    second: Any,
    *,
    basis: str,
    bridges: int | str,
    permutations: int,
    confidence: float,
    max_iterations: int,
    tolerance: float,
    seed: int,
    progress: bool | None,
) -> DensityRatioResult:
    """What `noisewright.ratio` does without a model, or through bridges."""
    built = None if model is None else model._for(first)
    variables = _names(first) if built is None else built.variables
    arrays = [points(sample, variables, name) for sample, name in ((first, "first"), (second, "second"))]
    settings = _settings(basis, bridges, permutations, confidence, max_iterations, tolerance, seed)
    with Bar("ratio", progress) as bar:
        answer, fitted = _core.ratio_on_basis(built, variables, arrays[0], arrays[1], settings, bar)
    answer["divergences"] = Divergences(**{name: Estimate(**own) for name, own in answer["divergences"].items()})
    answer["rows"] = [int(count) for count in answer["rows"]]
    return DensityRatioResult(**answer, fitted=fitted)


def mutual_information(
    x: Any,
    y: Any,
    *,
    model: Model | None = None,
    basis: Literal["auto", "quadratic", "splines", "centers"] = "auto",
    bridges: int | Literal["auto"] = "auto",
    confidence: float = 0.95,
    seed: int = 0,
    progress: bool | None = None,
) -> InformationResult:
    """The mutual information of `x` and `y`, in nats, from rows of both.

    The joint density is told from the product of its marginals, whose draws are the same rows in other orders, by a logistic
    regression on a basis that is chosen by cross-validation, through as many bridges as the two are far apart.

    Args:
        x, y: arrays or frames with one row per point.
        model: features of the log ratio, in the variables of `x` and `y`, instead of a basis. Arrays without names have the
            variables `x0`, `x1`, … and `y0`, `y1`, ….
        basis, bridges, confidence, seed, progress: as for `ratio`.

    >>> import numpy as np, noisewright as nw
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=4000)
    >>> y = 0.8 * x + 0.6 * rng.normal(size=4000)
    >>> found = nw.mutual_information(x, y).information
    >>> abs(found.estimate + np.log(1 - 0.8**2) / 2) < 4 * found.se
    True
    """
    names = [names_of(side) or [f"{letter}{j}" for j in range(rows_of(side) or 0)] for side, letter in ((x, "x"), (y, "y"))]
    both = sorted(set(names[0]) & set(names[1]))
    if both:
        raise InputError(f"`x` and `y` both have a column `{both[0]}`: give every variable to one side")
    sides = [points(x, names[0], "x"), points(y, names[1], "y")]
    if sides[0].shape[1] != sides[1].shape[1]:
        raise InputError(f"`x` has {sides[0].shape[1]} rows but `y` {sides[1].shape[1]}")
    data = np.concatenate(sides)
    if model is not None and basis != "auto":
        raise InputError("`basis` is for an information without a model, whose features are its basis")
    built = None if model is None else model._for({name: () for name in names[0] + names[1]})
    settings = _settings(basis, bridges, 0, confidence, 200, 1e-6, seed)
    with Bar("information", progress) as bar:
        answer = _core.information(built, names[0] + names[1], data, (names[0], names[1]), settings, bar)
    for trial in answer["trials"]:
        trial["information"] = None if trial["information"] is None else Estimate(**trial["information"])
    answer["information"] = Estimate(**answer["information"])
    return InformationResult(**answer)

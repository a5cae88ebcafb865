"""What fits give: the estimates of a model, and those of a ratio of two densities."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from . import _core
from .after import AfterFit, fitted_from
from .arrays import Array
from .errors import NoisewrightWarning
from .fitted_noises import FittedNoise
from .models import Model
from .results import Column, Estimate, Panel, Result, columns_of, plain, short

__all__ = ["FitResult", "RatioResult", "shaped"]


@dataclass(frozen=True, repr=False, eq=False)
class FitResult(AfterFit, Result):
    """A fitted model: every parameter and the constant with its standard error, in two parts.

    `se_data` is the part that no amount of noise removes, `se_noise` the part that more noise does.
    """

    #: By which method: `nce`, `exact`, `score-matching`, `pseudo-likelihood` or `mc-mle`.
    method: str
    parameters: dict[str, Estimate]
    log_normalizer: Estimate | None
    coordinates: list[str]
    covariance: Array
    covariance_data: Array
    covariance_noise: Array
    loss: float
    loss_name: str
    iterations: int
    converged: bool
    stop: str
    nu: float
    noise: FittedNoise | str
    noise_points: int
    #: K, the noise points of every row of a model with covariates; `None` without noise, and for other models.
    choices: int | None
    #: How the noise was drawn, `quiet` or `random`; `None` without noise or with draws of your own.
    draws: str | None
    #: Independent scrambles of quiet noise.
    replicates: int | None
    #: M, the ratio inside the loss js.
    loss_ratio: float | None
    #: How many times smaller the noise part of the variances is than that of as many independent points.
    noise_gain: float | None
    noise_share: float
    budget_spent: bool
    rows: int
    total_weight: float
    #: The sum of the weights for every unknown. Below ten, errors and intervals are approximate.
    rows_per_unknown: float | None
    #: How many independent rows the rows of Markov chains are worth; `None` for other rows.
    effective_rows: float | None
    #: The log-likelihood of all rows, for an exact fit, and with covariates where it can be computed in little time.
    log_likelihood: float | None
    #: Which curvature of the loss the standard errors rest on: `observed`, or at kinks `expected` or `smoothed`.
    curvature: str
    #: Rows of a file that were left out for a missing value.
    dropped: int
    #: Passes over a file, beside the first look; `None` for data in memory.
    passes: int | None
    confidence: float
    #: By name: the variance of maximum likelihood over that of the fit, both if the fitted model is true.
    efficiency: dict[str, float | None] | None
    optima: list[dict[str, Any]]
    #: How the intervals of the parameters were made: `wald` or `profile`.
    interval: str
    #: The bootstrap: `replicates`, `failed`, `unit`, and by name the `estimates` with `se`, `bias`, `percentile`, `basic`.
    bootstrap: dict[str, Any] | None
    #: The held-out log-likelihood: `folds`, `log_likelihood`, `se`, `by_fold`.
    held_out: dict[str, Any] | None
    #: The penalty: `kind`, `strength`, `rule`, the names `selected`, and the `path` of strengths that were tried.
    penalty: dict[str, Any] | None
    #: The share of the rows that follow the model, for the loss `brier`, where log Z can be computed.
    clean_share: Estimate | None
    diagnostics: dict[str, Any]
    warnings: list[str]
    #: Why the estimates are no answer at all, if they are none.
    no_answer: str | None
    variables: list[str]
    grid: dict[str, Any] | None
    #: The numbers that `derive`, `wald`, `log_density`, `simulate` and `save` go on with.
    fitted: _core.Fitted | None
    model: Model | None

    _hidden: ClassVar[frozenset[str]] = frozenset({"grid", "fitted", "model"})

    def __getitem__(self, name: str) -> Estimate:
        """The estimate of a parameter, or of the constant as `log_normalizer`."""
        return self.estimates[name]

    @property
    def estimates(self) -> dict[str, Estimate]:
        """All that was estimated: the parameters and, where it is free, the constant."""
        constant = {} if self.log_normalizer is None else {"log_normalizer": self.log_normalizer}
        return {**self.parameters, **constant}

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        columns: list[Column] = [
            ("", None),
            ("estimate", 6),
            ("se", 3),
            ("se data", 3),
            ("se noise", 3),
            ("lower", 6),
            ("upper", 6),
        ]
        rows: list[list[Any]] = [
            [name, e.estimate, e.se, e.se_data, e.se_noise, e.lower, e.upper] for name, e in self.estimates.items()
        ]
        title = f"{self._row_count()} rows of {', '.join(self.variables)}, loss {self.loss_name} = {self.loss:.6g}"
        steps = f"{self.iterations} step{'' if self.iterations == 1 else 's'}"
        state = f"converged after {steps}" if self.converged else f"not converged after {steps}: {self.stop}"
        notes = [
            f"lower and upper: {100 * self.confidence:g} % intervals",
            f"noise {short(str(self.noise))}, {self.noise_points} {'quiet ' if self.draws == 'quiet' else ''}points (ν = {self.nu:.4g})",
            state,
            *self._few_rows(),
            *self.warnings,
        ]
        return title, columns, rows, notes

    def _few_rows(self) -> list[str]:
        """That there are few rows for so many unknowns; a lasso gives no errors, and a fit saved by an older version has no count."""
        rows, errors = self.rows_per_unknown, [estimate.se for estimate in self.estimates.values()]
        if rows is None or rows >= 10 or self.interval != "wald" or not np.isfinite(errors).any():
            return []
        return [f"{rows:.2g} rows for each unknown: with fewer than 10 the errors and intervals are approximate"]

    def _row_count(self) -> str:
        return str(self.rows)

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        names = ("estimate", "se", "se_data", "se_noise", "lower", "upper")
        rows = [{name: getattr(e, name) for name in names} for e in self.estimates.values()]
        return list(self.estimates), rows

    def _panels(self) -> list[Panel]:
        if self.grid is None:
            return [self._estimates_panel()]
        grid = self.grid
        series = [
            ("bars", "data", [grid["edges"].tolist(), grid["heights"].tolist()]),
            ("line", "fitted model", columns_of(grid["x"], grid["density"])),
        ]
        if grid["noise_density"] is not None:
            series.append(("dashed", "noise", columns_of(grid["x"], grid["noise_density"])))
        return [((self.variables[0], "linear"), ("density", "linear"), series)]

    def _estimates_panel(self) -> Panel:
        values = list(self.estimates.values())
        at = [float(place) for place in range(len(values))]
        columns = columns_of(at, *([getattr(e, n) for e in values] for n in ("estimate", "lower", "upper")))
        return ("coordinate", "linear"), ("estimate", "linear"), [("points", "estimates", columns)]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} = {e.estimate:.4g} ± {e.se:.2g}" for name, e in self.estimates.items())
        return f"<fit: {shown}>"


@dataclass(frozen=True, repr=False, eq=False)
class RatioResult(FitResult):
    """The fitted logarithm of a ratio of two densities, `log p₁/p₂ = θ·t(x) − c`; what it calls noise is the second sample."""

    #: Rows of the first and of the second sample.
    rows: list[int]  # type: ignore[assignment]

    def _row_count(self) -> str:
        return " and ".join(map(str, self.rows))

    @property
    def constant(self) -> Estimate:
        """The constant c."""
        assert self.log_normalizer is not None
        return self.log_normalizer

    def to_dict(self) -> dict[str, Any]:
        """The result as plain dictionaries, lists and numbers, as the command's JSON has it."""
        return {**super().to_dict(), "constant": plain(self.constant)}

    def log_ratio(self, x: Any) -> tuple[Array, Array]:
        """The log ratio at points, and its standard error."""
        value, se = self.log_density(x)
        return value, se

    def __repr__(self) -> str:
        return super().__repr__().replace("<fit", "<ratio")


def shaped(
    answer: dict[str, Any], built: _core.Model, text: str | None, x: Array | None, weights: Array | None
) -> dict[str, Any]:
    """The fields of a result from what the library answers, the model's text, and values of the first variable."""
    fatal = answer["no_answer"]
    if fatal is not None or not answer["converged"]:
        reason = fatal if fatal is not None else f"the fit did not converge: {answer['stop']}"
        warnings.warn(reason, NoisewrightWarning, stacklevel=3)
    words = answer.pop("noise_words")
    answer["noise"] = words if answer["noise"] is None else FittedNoise(answer["noise"], built.domains, text)
    answer["parameters"] = {name: Estimate(**value) for name, value in answer["parameters"].items()}
    constant = answer["log_normalizer"]
    answer["log_normalizer"] = None if constant is None else Estimate(**constant)
    if (share := answer.get("clean_share")) is not None:
        answer["clean_share"] = Estimate(**share)
    if answer["grid"] is not None and x is not None:
        bins = int(np.clip(np.ceil(2 * len(x) ** (1 / 3)), 5, 80))
        heights, edges = np.histogram(x, bins=bins, density=True, weights=weights)
        answer["grid"] |= {"edges": edges, "heights": heights}
    fitted = fitted_from(answer.pop("kept"))
    return {**answer, "variables": built.variables, "fitted": fitted}

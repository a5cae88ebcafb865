"""Fits: an unnormalized model from data or from a file, against noise, with standard errors that hold."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from . import _core
from .after import AfterFit, fitted_from
from .arrays import Array, labels, of_rows, points, vector
from .checks import chain_lengths, counted, loss_ratio_of, number, whole
from .errors import InputError, NoisewrightWarning
from .models import Model
from .fitted_noises import FittedNoise
from .noises import NoiseLike, noise_request
from .progress import Bar
from .ratios import DensityRatioResult, density_ratio
from .results import Column, Estimate, Panel, Result, columns_of, plain, short

__all__ = ["FitResult", "NoiseDraws", "RatioResult", "fit", "ratio"]


@dataclass(frozen=True, eq=False)
class NoiseDraws:
    """Noise drawn elsewhere: the points, the log-density of the noise there, and at the data.

    Pass it as `noise=` of `fit`.
    """

    points: Any
    log_density: Any
    log_density_at_data: Any


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
            *self.warnings,
        ]
        return title, columns, rows, notes

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


def fit(
    model: Model,
    data: Any,
    *,
    method: Literal["nce", "exact", "score-matching", "pseudo-likelihood", "mc-mle"] = "nce",
    noise: NoiseLike | NoiseDraws = "auto",
    nu: float | Literal["auto"] = "auto",
    loss: str = "js",
    seed: int = 0,
    draws: Literal["auto", "quiet", "random"] = "auto",
    loss_ratio: float | Literal["auto"] = "auto",
    weights: Any = None,
    clusters: Any = None,
    chains: Sequence[int] | int | None = None,
    noise_points: int | None = None,
    noise_share: float = 0.1,
    max_noise: int | None = None,
    errors: Literal["robust", "model"] = "robust",
    confidence: float = 0.95,
    refit_noise: bool = False,
    check_ratio: bool = False,
    target: str | Sequence[str] = "mse",
    starts: int = 10,
    max_iterations: int = 200,
    tolerance: float = 1e-6,
    format: str | None = None,
    drop_missing: bool = False,
    progress: bool | None = None,
    covariance: Literal["robust", "model"] | None = None,
    check_nu: bool = False,
    fixed: Mapping[str, float] | None = None,
    constraints: Sequence[str] = (),
    strata: Any = None,
    chosen: Any = None,
    log_probability: Any = None,
    choices: int | Literal["auto"] = "auto",
    penalty: str | None = None,
    penalty_factors: Mapping[str, float] | None = None,
    refit_selected: bool = False,
    interval: Literal["wald", "profile"] = "wald",
    bootstrap: int | None = None,
    cross_validate: int | None = None,
    executor: Any = None,
    storage_options: Mapping[str, Any] | None = None,
) -> FitResult:
    """Fits a model to data by telling them from noise.

    Args:
        model: the model.
        data: one row per point: an array, a data frame or table (columns by the names of the model's variables), or a
            dictionary of columns. The path of a file (CSV, Parquet, NPY) is read in blocks, again at each pass, and may be
            larger than memory; its rows are taken to be independent.
        method: `nce` (against noise), `exact` (maximum likelihood, as `noise="exact"`), `mc-mle` (the loss `kl`: Monte-Carlo
            maximum likelihood), or without noise and constant: `score-matching` for continuous variables,
            `pseudo-likelihood` for variables with finitely many states.
        noise: the noise, as an object or in words; `auto` is fitted to the data, `optimal` is designed at a pilot fit,
            `exact` is maximum likelihood with the constant integrated; `NoiseDraws` are draws of your own.
        nu: noise points per data point; `auto` adds noise until it hardly matters.
        loss: `js`, `kl`, `reverse-kl`, `hellinger`, `pearson`, `brier` or `power:A`.
        seed: seed of the noise; the same seed gives the same result to the bit.
        draws: `random` (independent noise points), `quiet` (scrambled Sobol points in 16 replicates, whose spread gives the
            noise part of the errors), or `auto` (with `nu="auto"`: quiet where that needs at most half the points). With
            covariates quiet points are the others of a net that the row lies in.
        loss_ratio: the ratio M inside the loss `js` (`math.inf`: `kl`); `auto` is ν for random noise and the best of a
            few for quiet noise.
        weights: how many times each row counts; the name of a column where the data are a file.
        clusters: a label for each row; rows of the same label belong together in the standard errors.
        chains: the rows are Markov chains: their lengths one after the other, or the number of equal ones.
        noise_points: the number of noise points, instead of `nu`.
        noise_share: with `nu="auto"`, the largest share of a standard error that the noise may have.
        max_noise: with `nu="auto"`, the most noise points; as many as the memory allows by default.
        errors: `robust` (right also where the model is not) or `model` (taking the model to be true).
        confidence: of the intervals.
        refit_noise: fit a parametric noise again to its own draws, which lowers the variance.
        check_ratio: fit again with four times as much noise, and test that nothing changes.
        target: the error that `noise="optimal"` is to make small.
        starts: from how many places a model that is not linear in its parameters is fitted.
        max_iterations, tolerance: when a descent ends.
        format: the format of a file, `csv`, `parquet` or `npy`; told from the file by default.
        drop_missing: leave out rows of a file with a missing value instead of refusing them.
        progress: whether to show a progress bar; by default when somebody is looking.
        covariance, check_nu: `errors` and `check_ratio` under the names that the command gives them.
        fixed: parameters that are held at values, by name.
        constraints: linear equations between parameters, such as `"a + b = 1"` or `"a = b"`.
        strata: a label for each row: rows of the same label are the alternatives of one choice, and the fit is the
            conditional logit, without noise; a column of the data by its name, or an array.
        chosen: which rows of each stratum were chosen, likewise: one, or several, whose likelihood is that of the set of them.
        log_probability: the logarithm of the probability with which a row was sampled into its stratum, likewise.
        choices: for a model with covariates, the noise points of every row, among which it is ranked; `auto` adds them until
            they hardly matter.
        penalty: a penalty on the parameters of a linear model, `lasso:0.1` or `ridge:0.1`; with the strength by ten-fold
            cross-validation `lasso:auto` (or `auto`: the sparsest whose refit is within one standard error of the best),
            `lasso:min` or `ridge:auto` (the smallest held-out loss). After the lasso there are no standard errors.
        penalty_factors: by how much the penalties of parameters are multiplied, by name; 0 for none at all.
        refit_selected: fit the parameters that the lasso selects again without a penalty, with standard errors.
        interval: `wald`, or `profile`: where the profile of the likelihood, or of the loss, has risen as far as the
            confidence says.
        bootstrap: so many samples of the rows (or of the clusters or strata) are drawn with replacement and fitted, by `executor` where
            there is one and the rows are in memory.
        cross_validate: so many folds of a cross-validation, which finds the held-out log-likelihood, for `compare`.
        executor: who sums over the rows: a Dask `Client`, an executor of `concurrent.futures`, or a number of processes. The data are
            then paths or patterns of files (Parquet, CSV, NPY; local, or addresses of fsspec such as `s3://bucket/*.parquet`), a PyArrow
            dataset or a Dask collection; the workers read them, and the result is the same to the bit.
        storage_options: with `executor`, options of fsspec for addresses.

    >>> import noisewright as nw
    >>> model, data = nw.load_example("old-faithful")
    >>> result = nw.fit(model, data)
    >>> result.converged, abs(result["t1"].estimate - 0.97559) < 4 * result["t1"].se_noise
    (True, True)
    """
    if not isinstance(model, Model):
        raise InputError(f"`model` must be a noisewright.Model, not {type(model).__name__}")
    if covariance is not None:
        if errors != "robust":
            raise InputError("`covariance` and `errors` are the same argument: give one of them")
        errors = covariance
    settings = _settings(
        noise,
        nu,
        noise_points,
        noise_share,
        max_noise,
        method=method,
        loss=loss,
        draws=draws,
        loss_ratio=loss_ratio,
        errors=errors,
        confidence=confidence,
        seed=seed,
        starts=starts,
        max_iterations=max_iterations,
        tolerance=tolerance,
        refit_noise=refit_noise,
        check_ratio=check_ratio or check_nu,
        target=target,
        choices=choices,
        penalty=penalty,
        penalty_factors=penalty_factors,
        refit_selected=refit_selected,
        interval=interval,
        bootstrap=bootstrap,
        cross_validate=cross_validate,
    )
    if (strata is None) != (chosen is None) or (strata is None and log_probability is not None):
        raise InputError("`strata` and `chosen` belong together: give both")
    if executor is None and storage_options is not None:
        raise InputError("`storage_options` are for `executor`: give one, or leave them out")
    replicated = executor is not None and bootstrap is not None and not _is_elsewhere(data)
    if (executor is not None and not replicated) or isinstance(data, (str, os.PathLike)):
        in_memory = {
            "clusters": clusters is not None,
            "chains": chains is not None,
            "noise": isinstance(noise, NoiseDraws),
            "strata": strata is not None,
            "choices": not (isinstance(choices, str) and choices == "auto"),
        }
        for argument, given in in_memory.items():
            if given:
                raise InputError(f"`{argument}` needs the rows in memory: read the file, and pass its columns as `data`")
        if weights is not None and not isinstance(weights, str):
            raise InputError("`weights` must be the name of a column of the data")
        if executor is None:
            return _fit_file(model, data, weights, settings, format, drop_missing, progress, fixed, constraints)
        assert not isinstance(noise, NoiseDraws)
        if drop_missing:
            raise InputError("`drop_missing` cannot stand beside `executor`: give a PyArrow dataset with a filter")
        from .cluster import fit_on

        with Bar("fit", progress) as bar:
            answer, built = fit_on(
                executor,
                model,
                data,
                weights=weights,
                format=format,
                storage_options=storage_options,
                noise=noise,
                settings=settings,
                fixed=fixed,
                constraints=constraints,
                bar=bar,
            )
        return FitResult(**_shaped(answer, built, model.text, None, None), model=model)
    if format is not None or drop_missing:
        raise InputError("`format` and `drop_missing` are for files: give the path of one as `data`")
    built = _constrained(model._for(data), fixed, constraints)
    rows = points(data, built.variables)
    count = rows.shape[1]
    shares = _weights(weights, data, count)
    handed = {
        "points": rows,
        "weights": shares,
        "clusters": None if clusters is None else labels(of_rows(clusters, data, "clusters"), count, "clusters"),
        "chains": chain_lengths(chains, count, "chains"),
    }
    drawn = None
    if isinstance(noise, NoiseDraws):
        drawn = (
            points(noise.points, built.variables, "noise.points"),
            vector(noise.log_density, "noise.log_density"),
            vector(noise.log_density_at_data, "noise.log_density_at_data"),
        )
    with Bar("fit", progress) as bar:
        if replicated:
            if strata is not None:
                raise InputError("`executor` cannot stand beside `strata`: leave it out")
            how = (model, built.variables, fixed, constraints, "auto" if isinstance(noise, NoiseDraws) else noise)
            answer = _replicated(executor, how, (built, handed, settings, drawn), bar)
        elif strata is None:
            answer = _core.fit(built, handed, settings, drawn, bar)
        else:
            sets = _choices(strata, chosen, log_probability, data, count)
            _refuse_noise(
                {
                    "method": (method, "nce"),
                    "noise": (noise, "auto"),
                    "nu": (nu, "auto"),
                    "noise_points": (noise_points, None),
                    "max_noise": (max_noise, None),
                    "draws": (draws, "auto"),
                    "loss": (loss, "js"),
                    "loss_ratio": (loss_ratio, "auto"),
                    "refit_noise": (refit_noise, False),
                    "check_ratio": (check_ratio or check_nu, False),
                    "choices": (choices, "auto"),
                }
            )
            answer = _core.fit_choices(built, handed, sets, settings, bar)
    return FitResult(**_shaped(answer, built, model.text, rows[0], shares), model=model)


def _is_elsewhere(data: Any) -> bool:
    """Whether an executor is to read the data, which are not rows in memory."""
    from .cluster import is_elsewhere

    return is_elsewhere(data)


def _replicated(executor: Any, how: tuple[Any, ...], given: tuple[Any, ...], bar: Bar) -> dict[str, Any]:
    """A fit here, and the replicates of its bootstrap by an executor."""
    from .cluster import Replicates

    built, rows, settings, drawn = given
    replicates = Replicates(executor, *how, settings, rows, drawn)
    try:
        return _core.fit(built, rows, settings, drawn, bar, replicates)
    except BaseException:
        replicates.stop()
        raise


def _settings(
    noise: NoiseLike | NoiseDraws = "auto",
    nu: float | str = "auto",
    noise_points: int | None = None,
    noise_share: float = 0.1,
    max_noise: int | None = None,
    *,
    method: str = "nce",
    loss: str,
    draws: str = "auto",
    loss_ratio: float | str = "auto",
    errors: str,
    confidence: float,
    seed: int,
    starts: int,
    max_iterations: int,
    tolerance: float,
    refit_noise: bool = False,
    check_ratio: bool = False,
    target: str | Sequence[str] = "mse",
    choices: int | str = "auto",
    penalty: str | None = None,
    penalty_factors: Mapping[str, float] | None = None,
    refit_selected: bool = False,
    interval: str = "wald",
    bootstrap: int | None = None,
    cross_validate: int | None = None,
) -> dict[str, Any]:
    """How to fit, checked, for the library."""
    if errors not in ("robust", "model"):
        raise InputError(f"`errors` must be robust or model, not {errors!r}")
    if penalty is None and (penalty_factors or refit_selected):
        argument = "penalty_factors" if penalty_factors else "refit_selected"
        raise InputError(f"`{argument}` has no meaning without `penalty`: give one, or leave it out")
    request = noise_request("auto" if isinstance(noise, NoiseDraws) else noise)
    given = {
        "nu": not (isinstance(nu, str) and nu == "auto"),
        "noise_points": noise_points is not None,
        "noise_share": noise_share != 0.1,
        "max_noise": max_noise is not None,
        "loss": loss != "js",
        "draws": draws != "auto",
        "loss_ratio": not (isinstance(loss_ratio, str) and loss_ratio == "auto"),
        "refit_noise": bool(refit_noise),
        "target": not (isinstance(target, str) and target == "mse"),
        "check_ratio": bool(check_ratio),
        "choices": not (isinstance(choices, str) and choices == "auto"),
    }
    _core.check_settings(str(method), request[0], isinstance(noise, NoiseDraws), [name for name, is_given in given.items() if is_given])
    return {
        "method": str(method),
        "noise": request,
        "nu": number(nu, "nu") if given["nu"] else None,
        "noise_points": None if noise_points is None else whole(noise_points, "noise_points"),
        "noise_share": number(noise_share, "noise_share"),
        "max_noise": None if max_noise is None else counted(max_noise, "max_noise"),
        "choices": counted(choices, "choices") if given["choices"] else None,
        "loss": str(loss),
        "draws": str(draws),
        "loss_ratio": loss_ratio_of(loss_ratio),
        "model_based": errors == "model",
        "confidence": number(confidence, "confidence"),
        "seed": whole(seed, "seed"),
        "starts": whole(starts, "starts"),
        "max_iterations": whole(max_iterations, "max_iterations"),
        "tolerance": number(tolerance, "tolerance"),
        "refit_noise": bool(refit_noise),
        "check_ratio": bool(check_ratio),
        "target": target if isinstance(target, str) else ",".join(target),
        "penalty": None if penalty is None else str(penalty),
        "penalty_factors": [
            (str(name), number(value, f"penalty_factors[{name!r}]")) for name, value in (penalty_factors or {}).items()
        ],
        "refit_selected": bool(refit_selected),
        "interval": str(interval),
        "bootstrap": None if bootstrap is None else whole(bootstrap, "bootstrap"),
        "cross_validate": None if cross_validate is None else whole(cross_validate, "cross_validate"),
    }


def _constrained(built: _core.Model, fixed: Mapping[str, float] | None, constraints: Sequence[str]) -> _core.Model:
    """The model with what is held fixed or tied together."""
    if isinstance(constraints, str):
        raise InputError('`constraints` must be a list of equations, such as ["a + b = 1"]')
    if not fixed and not constraints:
        return built
    values = [(str(name), number(value, f"fixed[{name!r}]")) for name, value in (fixed or {}).items()]
    return built.constrained(values, [str(text) for text in constraints])


def _choices(
    strata: Any, chosen: Any, log_probability: Any, data: Any, rows: int
) -> dict[str, Any]:
    """The stratum of each row, whether it was chosen, and the log probability of its coming in."""

    def column(values: Any, argument: str) -> Any:
        if not isinstance(values, str):
            return of_rows(values, data, argument)
        try:
            return data[values]
        except (KeyError, IndexError, TypeError, ValueError):
            raise InputError(f"`{argument}`: the data have no column {values!r}") from None

    marks = vector(column(chosen, "chosen"), "chosen")
    if len(marks) != rows:
        raise InputError(f"`chosen` has {len(marks)} values, and must have one for each of the {rows} rows")
    if not np.isin(marks, (0.0, 1.0)).all():
        raise InputError("`chosen` must be true or 1 for the chosen rows of each stratum, false or 0 for the others")
    offsets = None if log_probability is None else vector(column(log_probability, "log_probability"), "log_probability")
    return {
        "strata": labels(column(strata, "strata"), rows, "strata"),
        "chosen": [mark == 1.0 for mark in marks],
        "log_probability": None if offsets is None else offsets.tolist(),
    }


def _refuse_noise(given: Mapping[str, tuple[Any, Any]]) -> None:
    """Choices have alternatives in the place of noise: what is not as by default has no meaning."""
    for argument, (value, default) in given.items():
        if type(value) is not type(default) or value != default:
            raise InputError(
                f"`{argument}` has no meaning beside `strata`, where the alternatives take the place of the noise: leave it out"
            )


def _fit_file(
    model: Model,
    path: str | os.PathLike[str],
    weights: Any,
    settings: dict[str, Any],
    format: str | None,
    drop_missing: bool,
    progress: bool | None,
    fixed: Mapping[str, float] | None,
    constraints: Sequence[str],
) -> FitResult:
    """A fit of a file that is never in memory as a whole."""
    file = {
        "path": os.fspath(path),
        "format": None if format is None else str(format),
        "drop_missing": bool(drop_missing),
        "weights": weights,
    }
    names = [] if model.variables is not None else [name for name in _core.file_columns(file) if name != weights]
    built = _constrained(model._for({name: () for name in names}), fixed, constraints)
    with Bar("fit", progress) as bar:
        answer = _core.fit_file(built, file, settings, bar)
    some = answer.pop("some")
    x, shares = (None, None) if some is None else (some["x"], some["weights"])
    return FitResult(**_shaped(answer, built, model.text, x, shares), model=model)


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


def ratio(
    model: Any = None,
    first: Any = None,
    second: Any = None,
    *,
    basis: Literal["auto", "quadratic", "splines", "centers"] = "auto",
    bridges: int | Literal["auto"] | None = None,
    permutations: int | None = None,
    loss: str = "js",
    weights: Any = None,
    errors: Literal["robust", "model"] = "robust",
    confidence: float = 0.95,
    starts: int = 10,
    max_iterations: int = 200,
    tolerance: float = 1e-6,
    seed: int = 0,
    progress: bool | None = None,
    format: str | None = None,
    executor: Any = None,
    storage_options: Mapping[str, Any] | None = None,
) -> RatioResult | DensityRatioResult:
    """Fits the logarithm of the ratio of two samples' densities: `ratio(first, second)`, or `ratio(model, first, second)`.

    Without a model the log ratio is a combination of functions of a basis with a ridge penalty, both chosen by their
    leave-one-out loss. With a model it is a combination of its features.

    Args:
        model: the features: `log p₁/p₂` is its log-density less a constant.
        first, second: the samples, as for `fit`.
        basis: the functions where there is no model: `quadratic`, `splines` with products of pairs, `centers` (Gaussian bumps), or
            `auto` for the best.
        bridges: so many bridges between the samples, for densities that are far apart, or `auto` for as many as needed.
        permutations: permutations of the two-sample test (default 499; without a model, or with bridges).
        weights: how many times each row of the first sample counts (with a model, without bridges).
        loss, errors: as for `fit` (with a model, without bridges).
        confidence, starts, max_iterations, tolerance, seed, progress: as for `fit`.
        executor: who sums over the rows of both samples, which are then files, datasets or Dask collections, as for `fit`; `weights` is
            the name of a column of the first (with a model, without bridges).
        format, storage_options: with `executor`, as for `fit`.

    >>> import noisewright as nw
    >>> first, second = nw.Normal(1, 1).sample(4000, seed=1), nw.Normal(0, 1).sample(4000, seed=2)
    >>> result = nw.ratio(nw.Model.from_features(["x"], variables="x"), first, second)
    >>> abs(result["x"].estimate - 1) < 4 * result["x"].se
    True
    >>> kl = nw.ratio(first, second).divergences.kl
    >>> abs(kl.estimate - 0.5) < 4 * kl.se
    True
    """
    if second is None and not isinstance(model, Model):
        model, first, second = None, model, first
    if model is not None and not isinstance(model, Model):
        raise InputError(f"`model` must be a noisewright.Model, not {type(model).__name__}")
    if first is None or second is None:
        raise InputError("`ratio` needs two samples: ratio(first, second) or ratio(model, first, second)")
    if model is not None and basis != "auto":
        raise InputError("`basis` is for a ratio without a model, whose features are its basis")
    if model is None or bridges is not None:
        given = {
            "loss": loss != "js",
            "weights": weights is not None,
            "errors": errors != "robust",
            "executor": executor is not None,
        }
        wrong = [name for name, is_given in given.items() if is_given]
        if wrong:
            raise InputError(f"`{wrong[0]}` is for a ratio of a model's features without bridges: give a model, and no bridges")
        return density_ratio(
            model,
            first,
            second,
            basis=basis,
            bridges=1 if bridges is None else bridges,
            permutations=499 if permutations is None else permutations,
            confidence=confidence,
            max_iterations=max_iterations,
            tolerance=tolerance,
            seed=seed,
            progress=progress,
        )
    if permutations is not None:
        raise InputError("`permutations` is for a ratio without a model, or with bridges")
    settings = _settings(
        loss=loss,
        errors=errors,
        confidence=confidence,
        seed=seed,
        starts=starts,
        max_iterations=max_iterations,
        tolerance=tolerance,
    )
    if executor is not None:
        if weights is not None and not isinstance(weights, str):
            raise InputError("`weights` must be the name of a column of the first sample")
        from .cluster import ratio_on

        with Bar("ratio", progress) as bar:
            answer, built = ratio_on(
                executor,
                model,
                (first, second),
                weights=weights,
                format=format,
                storage_options=storage_options,
                settings=settings,
                bar=bar,
            )
        return RatioResult(**_shaped(answer, built, model.text, None, None), model=model)
    if format is not None or storage_options is not None:
        raise InputError("`format` and `storage_options` are for `executor`: give one, or leave them out")
    built = model._for(first)
    rows = [points(sample, built.variables, name) for sample, name in ((first, "first"), (second, "second"))]
    count = rows[0].shape[1]
    shares = _weights(weights, first, count)
    nothing = {"weights": None, "clusters": None, "chains": None}
    with Bar("ratio", progress) as bar:
        answer = _core.ratio(
            built, {**nothing, "points": rows[0], "weights": shares}, {**nothing, "points": rows[1]}, settings, bar
        )
    return RatioResult(**_shaped(answer, built, model.text, rows[0][0], shares), model=model)


def _shaped(
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


def _weights(weights: Any, data: Any, rows: int) -> Array | None:
    """How often each row of the data counts."""
    if weights is None:
        return None
    values = vector(of_rows(weights, data, "weights"), "weights")
    if len(values) != rows:
        raise InputError(f"`weights` has {len(values)} values, and must have one for each of the {rows} rows")
    return values

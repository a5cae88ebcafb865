"""Fits: an unnormalized model from data or from a file, against noise, with standard errors that hold."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from . import _core
from .arrays import labels, of_rows, points, vector, without
from .checks import chain_lengths
from .errors import InputError
from .fitting_arguments import (
    SETTINGS,
    NoiseDraws,
    constrained,
    read_choices,
    read_draws,
    read_settings,
    read_weights,
    refuse_elsewhere,
    refuse_noise,
)
from .fitting_results import FitResult, RatioResult, shaped
from .models import Model
from .noises import NoiseLike
from .progress import Bar
from .ratios import DensityRatioResult, density_ratio

__all__ = ["FitResult", "NoiseDraws", "RatioResult", "fit", "ratio"]

#: What is held at values, and linear equations between parameters.
Held = tuple[Mapping[str, float] | None, Sequence[str]]


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
        weights: how many times each row counts: an array, or a column of the data by its name (by its name only where the data
            are a file).
        clusters: a label for each row, likewise; rows of the same label belong together in the standard errors. The name of a
            column of numbers where the data are a file, or are read by `executor`.
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
            conditional logit, without noise; a column of the data by its name, or an array. `weights` and `clusters` are
            then those of whole strata.
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
    asked = dict(locals())
    if not isinstance(model, Model):
        raise InputError(f"`model` must be a noisewright.Model, not {type(model).__name__}")
    if covariance is not None:
        if errors != "robust":
            raise InputError("`covariance` and `errors` are the same argument: give one of them")
        asked["errors"] = covariance
    asked["check_ratio"] = check_ratio or check_nu
    settings = read_settings(**{name: asked[name] for name in SETTINGS})
    if (strata is None) != (chosen is None) or (strata is None and log_probability is not None):
        raise InputError("`strata` and `chosen` belong together: give both")
    if executor is None and storage_options is not None:
        raise InputError("`storage_options` are for `executor`: give one, or leave them out")
    held = (fixed, constraints)
    replicated = executor is not None and bootstrap is not None and not _is_elsewhere(data)
    if (executor is None or replicated) and not isinstance(data, (str, os.PathLike)):
        if format is not None or drop_missing:
            raise InputError("`format` and `drop_missing` are for files: give the path of one as `data`")
        return _fit_rows(model, data, asked, settings, held)
    refuse_elsewhere(asked)
    file = {
        "format": None if format is None else str(format),
        "drop_missing": bool(drop_missing),
        "weights": weights,
        "clusters": clusters,
    }
    if executor is None:
        return _fit_file(model, {"path": os.fspath(data), **file}, settings, progress, held)
    if drop_missing:
        raise InputError("`drop_missing` cannot stand beside `executor`: give a PyArrow dataset with a filter")
    return _fit_on(model, data, asked, settings, held)


def _fit_rows(model: Model, data: Any, asked: dict[str, Any], settings: dict[str, Any], held: Held) -> FitResult:
    """A fit of rows in memory; with an executor, which then has the samples of the bootstrap."""
    beside = {name: asked[name] for name in ("weights", "clusters", "strata", "chosen", "log_probability")}
    strata, noise, executor = asked["strata"], asked["noise"], asked["executor"]
    built = constrained(model._for(without(data, beside, model.variables)), *held)
    rows = points(data, built.variables)
    count = rows.shape[1]
    shares = read_weights(asked["weights"], data, count)
    clusters = asked["clusters"]
    handed = {
        "points": rows,
        "weights": shares,
        "clusters": None if clusters is None else labels(of_rows(clusters, data, "clusters"), count, "clusters"),
        "chains": chain_lengths(asked["chains"], count, "chains"),
    }
    drawn = read_draws(noise, built.variables) if isinstance(noise, NoiseDraws) else None
    with Bar("fit", asked["progress"]) as bar:
        if strata is not None:
            if executor is not None:
                raise InputError("`executor` cannot stand beside `strata`: leave it out")
            sets = read_choices(strata, asked["chosen"], asked["log_probability"], data, count)
            refuse_noise(asked)
            answer = _core.fit_choices(built, handed, sets, settings, bar)
        elif executor is not None:
            how = (model, built.variables, *held, "auto" if isinstance(noise, NoiseDraws) else noise)
            answer = _replicated(executor, how, (built, handed, settings, drawn), bar)
        else:
            answer = _core.fit(built, handed, settings, drawn, bar)
    return FitResult(**shaped(answer, built, model.text, rows[0], shares), model=model)


def _fit_on(model: Model, data: Any, asked: dict[str, Any], settings: dict[str, Any], held: Held) -> FitResult:
    """A fit of rows that an executor's workers read."""
    from .cluster import fit_on

    fixed, constraints = held
    passed = {name: asked[name] for name in ("weights", "clusters", "format", "storage_options", "noise")}
    with Bar("fit", asked["progress"]) as bar:
        answer, built = fit_on(
            asked["executor"], model, data, **passed, settings=settings, fixed=fixed, constraints=constraints, bar=bar
        )
    return FitResult(**shaped(answer, built, model.text, None, None), model=model)


def _is_elsewhere(data: Any) -> bool:
    """Whether an executor is to read the data, which are not rows in memory."""
    from .cluster import is_elsewhere

    return is_elsewhere(data)


def _replicated(executor: Any, how: tuple[Any, ...], given: tuple[Any, ...], bar: Bar) -> dict[str, Any]:
    """A fit here, and the replicates of its bootstrap by an executor."""
    from .cluster import Replicates

    model, variables, fixed, constraints, noise = how
    built, rows, settings, drawn = given
    replicates = Replicates(executor, model, variables, fixed, constraints, noise, settings, rows, drawn)
    try:
        return _core.fit(built, rows, settings, drawn, bar, replicates)
    except BaseException:
        replicates.stop()
        raise


def _fit_file(
    model: Model,
    file: dict[str, Any],
    settings: dict[str, Any],
    progress: bool | None,
    held: Held,
) -> FitResult:
    """A fit of a file that is never in memory as a whole."""
    beside = (file["weights"], file["clusters"])
    names = [] if model.variables is not None else [name for name in _core.file_columns(file) if name not in beside]
    built = constrained(model._for({name: () for name in names}), *held)
    with Bar("fit", progress) as bar:
        answer = _core.fit_file(built, file, settings, bar)
    some = answer.pop("some")
    x, shares = (None, None) if some is None else (some["x"], some["weights"])
    return FitResult(**shaped(answer, built, model.text, x, shares), model=model)


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
        weights: how many times each row of the first sample counts, as an array or by the name of its column (with a model, without
            bridges).
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
    search: dict[str, Any] = {"confidence": confidence, "max_iterations": max_iterations, "tolerance": tolerance, "seed": seed}
    if model is None or bridges is not None:
        given = {
            "loss": loss != "js",
            "weights": weights is not None,
            "errors": errors != "robust",
            "starts": starts != 10,
            "executor": executor is not None,
            "format": format is not None,
            "storage_options": storage_options is not None,
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
            progress=progress,
            **search,
        )
    if permutations is not None:
        raise InputError("`permutations` is for a ratio without a model, or with bridges")
    settings = read_settings(loss=loss, errors=errors, starts=starts, **search)
    if executor is None:
        if format is not None or storage_options is not None:
            raise InputError("`format` and `storage_options` are for `executor`: give one, or leave them out")
        return _ratio_rows(model, first, second, weights, settings, progress)
    if weights is not None and not isinstance(weights, str):
        raise InputError("`weights` must be the name of a column of the first sample")
    from .cluster import ratio_on

    passed: dict[str, Any] = {"weights": weights, "format": format, "storage_options": storage_options}
    with Bar("ratio", progress) as bar:
        answer, built = ratio_on(executor, model, (first, second), **passed, settings=settings, bar=bar)
    return RatioResult(**shaped(answer, built, model.text, None, None), model=model)


def _ratio_rows(
    model: Model, first: Any, second: Any, weights: Any, settings: dict[str, Any], progress: bool | None
) -> RatioResult:
    """A ratio of two samples in memory by a model's features."""
    built = model._for(without(first, {"weights": weights}, model.variables))
    rows = [points(sample, built.variables, name) for sample, name in ((first, "first"), (second, "second"))]
    shares = read_weights(weights, first, rows[0].shape[1])
    nothing = {"weights": None, "clusters": None, "chains": None}
    with Bar("ratio", progress) as bar:
        answer = _core.ratio(
            built, {**nothing, "points": rows[0], "weights": shares}, {**nothing, "points": rows[1]}, settings, bar
        )
    return RatioResult(**shaped(answer, built, model.text, rows[0][0], shares), model=model)

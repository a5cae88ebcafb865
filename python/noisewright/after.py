"""What comes after a fit: functions of its parameters, tests, densities, draws, comparisons, and saved fits."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from .arrays import Array, names_of, points
from .checks import counted, whole
from .errors import InputError, NoAnswerError
from .files import write_whole
from .models import Model
from .results import Column, Estimate, Result, Rows, by_name

if TYPE_CHECKING:
    from .fitting import FitResult

__all__ = ["AfterFit", "ComparisonResult", "FittedLogDensity", "WaldTest", "compare", "load"]


@dataclass(frozen=True)
class WaldTest:
    """A test that some functions of the parameters are zero."""

    hypotheses: list[str]
    statistic: float
    degrees: int
    #: Degrees of freedom of the covariance: statistic / degrees is compared with Fisher's distribution.
    degrees_denominator: float
    p_value: float

    def __getitem__(self, name: str) -> Any:
        """The same numbers by name, as in the command's JSON."""
        return by_name(self, name)


@dataclass(frozen=True, eq=False)
class FittedLogDensity:
    """A fitted log-density at points, with standard errors and intervals; unpacked it is the first two."""

    log_density: Array
    se: Array
    lower: Array
    upper: Array

    def __iter__(self) -> Iterator[Array]:
        return iter((self.log_density, self.se))

    def __getitem__(self, name: str) -> Array:
        """A column by name."""
        values: Array = by_name(self, name)
        return values


class AfterFit:
    """What can be asked of a fit once it is made."""

    fitted: _core.Fitted | None
    model: Model | None
    no_answer: str | None

    def _numbers(self) -> _core.Fitted:
        if self.fitted is None:
            raise NoAnswerError(self.no_answer or "the fit has no answer")
        return self.fitted

    def _built(self, x: Any = None) -> _core.Model:
        if self.model is None:
            raise InputError("the model of this fit was made of functions, which no file holds: fit again")
        return self.model._for(x)

    def derive(self, formula: str) -> Estimate:
        """A function of the parameters and of `log_normalizer`, with its standard error by the delta method.

        Names that are no identifiers, such as those of features, stand between backquotes.

        >>> import numpy as np, noisewright as nw
        >>> model = nw.Model.from_formula("m*x - p*x^2/2", variables="x", parameters={"m": 0.0, "p": 1.0})
        >>> x = np.arange(-20, 41) / 20
        >>> mean = nw.fit(model, x, noise="exact").derive("m/p")
        >>> bool(abs(mean.estimate - x.mean()) < 1e-6)
        True
        """
        return Estimate(**self._numbers().derive(str(formula)))

    def wald(self, *hypotheses: str) -> WaldTest:
        """Wald's test that all hypotheses hold: `"a = b"`, or `"a - b"`, which says the same; a list of them may be given too."""
        listed = hypotheses[0] if len(hypotheses) == 1 and not isinstance(hypotheses[0], str) else hypotheses
        return WaldTest(**self._numbers().wald([str(text) for text in listed]))

    def log_density(self, x: Any) -> FittedLogDensity:
        """The fitted log-density at points, with standard errors by the delta method; with covariates, at points that have them."""
        built = self._built(x)
        return FittedLogDensity(**self._numbers().log_density(built, points(x, built.variables, "x")))

    def log_normalizer_at(self, z: Any) -> list[Estimate]:
        """log Z(z) of a model with covariates, with its error, at rows of covariates (columns by name, or an array in their order).

        >>> import noisewright as nw
        >>> model, data = nw.load_example("freight")
        >>> there = nw.fit(model, data, noise="exact").log_normalizer_at({"transfers": [0.0, 1.0]})
        >>> len(there), there[0].se > 0
        (2, True)
        """
        built = self._built()
        if not built.covariates:
            raise InputError("the model has no covariates: its constant is `log_normalizer`")
        return [Estimate(**found) for found in self._numbers().log_normalizer_at(built, _covariates(z, built, "z"))]

    def simulate(self, n: int, *, seed: int = 0, given: Any = None) -> Array:
        """`n` draws of the fitted model, one row each (a vector where there is one variable).

        Exact for up to three continuous variables and for states that can be listed, by Markov chains elsewhere. A model with
        covariates draws `n` times at each row of `given` (columns by name, or an array in their order), and has the covariates
        in the last columns of the draws.
        """
        built = self._built()
        if built.covariates:
            if given is None:
                raise InputError(f"`given` is missing: the model is a density given {', '.join(built.covariates)}")
            at = _covariates(given, built, "given")
            return self._numbers().simulate_given(built, at, counted(n, "n"), whole(seed, "seed"))
        if given is not None:
            raise InputError("`given` is for models with covariates, which this one has not")
        draws = self._numbers().simulate(self._built(), counted(n, "n"), whole(seed, "seed"))
        return np.ascontiguousarray(draws[:, 0] if draws.shape[1] == 1 else draws)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the fit to a file that `load` and the commands `compare`, `density` and `simulate` read."""
        _, record = self._numbers().texts()
        if record is None:
            raise InputError("only a fit of one model to data can be saved")
        result = {name: value for name, value in self.to_dict().items() if not name.startswith("covariance")}  # type: ignore[attr-defined]
        write_whole(Path(path), _as_json({**json.loads(record), "result": result}) + "\n")


def _covariates(given: Any, built: _core.Model, argument: str) -> Array:
    """Rows of covariates, by name or in their order; numbers alone are one row."""
    if isinstance(given, Mapping):
        given = {name: np.atleast_1d(values) for name, values in given.items()}
    elif np.ndim(given) == 0 and isinstance(given, (int, float, np.number)):
        given = [float(given)]
    names = names_of(given)
    missing = [] if names is None else [name for name in built.covariates if name not in names]
    if missing:
        raise InputError(f"`{argument}` has no column {missing[0]!r}, a covariate of the model")
    return points(given, built.covariates, argument)


def load(path: str | os.PathLike[str], *, model: Model | None = None) -> FitResult:
    """A fit that was saved by `FitResult.save` or by `noisewright fit --out FILE.json`.

    Args:
        path: the file.
        model: the model, where it was made of functions, which the file does not hold.
    """
    from .fitting import FitResult

    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"`path`: {os.fspath(path)} cannot be read: {error}") from error
    try:
        fitted = _core.Fitted(None, text)
    except InputError as error:
        raise InputError(f"`path`: {os.fspath(path)}: {error}") from None
    record = json.loads(text)
    told = dict(record.get("result") or {})
    if model is None and fitted.model is not None:
        model = Model._from_text(fitted.model)
    known: dict[str, Any] = {**_unknown_results(record), **told, **fitted.covariances()}
    known["parameters"] = {name: _estimate(value) for name, value in known["parameters"].items()}
    constant = known["log_normalizer"]
    known["log_normalizer"] = None if constant is None else _estimate(constant)
    if known.get("clean_share") is not None:
        known["clean_share"] = _estimate(known["clean_share"])
    known["warnings"] = [] if known["warnings"] is None else list(known["warnings"])
    names = {field.name for field in fields(FitResult)}
    chosen = {name: known.get(name) for name in names}
    return FitResult(**{**chosen, "variables": record["variables"], "grid": None, "fitted": fitted, "model": model})


def _estimate(numbers: Mapping[str, Any]) -> Estimate:
    """An estimate from JSON, in which what is no number is null."""
    known: dict[str, Any] = {name: float("nan") if value is None else value for name, value in numbers.items()}
    return Estimate(**known)


def _as_json(value: Any) -> str:
    """JSON as the command writes it: infinity as 1e999, and what is no number as null."""
    infinite = {float("inf"): "\x01inf", float("-inf"): "\x01-inf"}

    def finite(entry: Any) -> Any:
        if isinstance(entry, Mapping):
            return {name: finite(part) for name, part in entry.items()}
        if isinstance(entry, list):
            return [finite(part) for part in entry]
        if isinstance(entry, float):
            return infinite.get(entry, entry) if entry == entry else None
        return entry

    text = json.dumps(finite(value), indent=1, allow_nan=False)
    return text.replace('"\\u0001inf"', "1e999").replace('"\\u0001-inf"', "-1e999")


def _unknown_results(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a file of the command does not say of a result, as Python has it."""
    return {"warnings": None, "no_answer": None, "coordinates": record["joint"]["coordinates"]}


@dataclass(frozen=True, repr=False, eq=False)
class ComparisonResult(Result):
    """Fits of several models to the same rows."""

    #: One record a model: `name`, `method`, `log_likelihood` (an estimate), `parameters`, `aic`, `bic`, `tic`, `held_out`.
    models: Rows
    #: Likelihood-ratio tests of nested models: `smaller`, `larger`, `statistic`, `statistic_se`, `degrees`, `p_value`,
    #: `p_value_se`, and the `reason` where there is no p-value.
    tests: Rows
    #: Parameters that two or more fits share: `name`, and in `fits` the `estimate` and `se` of each, in their order.
    estimates: Rows
    rows: int

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        columns: list[Column] = [
            ("", None),
            ("log-likelihood", 7),
            ("se", 3),
            ("parameters", 6),
            ("AIC", 7),
            ("BIC", 7),
        ]
        rows: list[list[Any]] = [
            [m["name"], m["log_likelihood"].estimate, m["log_likelihood"].se, m["parameters"], m["aic"], m["bic"]]
            for m in self.models
        ]
        notes = [
            f"{t['smaller']} within {t['larger']}: χ² = {t['statistic']:.5g} on {t['degrees']}, "
            + (f"p = {t['p_value']:.3g}" if t["p_value"] is not None else str(t["reason"]))
            for t in self.tests
        ]
        return f"{len(self.models)} models of the same {self.rows} rows", columns, rows, notes

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        names = ("parameters", "aic", "bic", "tic")
        rows = [
            {"log_likelihood": m["log_likelihood"].estimate, "se": m["log_likelihood"].se, **{n: m[n] for n in names}}
            for m in self.models
        ]
        return [m["name"] for m in self.models], rows

    def __repr__(self) -> str:
        shown = ", ".join(f"{m['name']}: AIC {m['aic']:.6g}" for m in self.models)
        return f"<comparison: {shown}>"


def compare(*fits: Any, nested: bool = False) -> ComparisonResult:
    """Compares fits of several models to the same rows: log-likelihoods, AIC, BIC, TIC, and tests of nested models.

    Args:
        fits: results of `fit`, files that `save` wrote, or one dictionary of them by name.
        nested: take every model as contained in each one with more parameters, also where that cannot be found out.

    >>> import numpy as np, noisewright as nw
    >>> x = np.random.default_rng(1).normal(size=200)
    >>> models = {k: nw.Model.from_features(f, variables="x") for k, f in {"even": ["x^2"], "all": ["x", "x^2"]}.items()}
    >>> found = nw.compare({name: nw.fit(model, x, noise="exact") for name, model in models.items()})
    >>> found.tests[0]["degrees"], 0 < found.tests[0]["p_value"] < 1
    (1, True)
    """
    given = dict(fits[0]) if len(fits) == 1 and isinstance(fits[0], Mapping) else dict(_named(fits))
    results = {str(name): load(fit) if isinstance(fit, (str, os.PathLike)) else fit for name, fit in given.items()}
    for name, fit in results.items():
        if not isinstance(fit, AfterFit):
            raise InputError(f"`fits`: {name} must be a fit or the path of a saved one, not {type(fit).__name__}")
    numbers = [fit._numbers() for fit in results.values()]
    models = [None if fit.model is None else fit.model._built for fit in results.values()]
    answer = _core.compare(list(results), numbers, models, bool(nested))
    scores = [{**m, "log_likelihood": Estimate(**m["log_likelihood"])} for m in answer["models"]]
    return ComparisonResult(models=Rows(scores), tests=Rows(answer["tests"]), estimates=Rows(answer["estimates"]), rows=answer["rows"])


def _named(fits: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """Paths by themselves, results by their number."""
    for number, fit in enumerate(fits, start=1):
        yield (os.fspath(fit) if isinstance(fit, (str, os.PathLike)) else f"fit {number}"), fit


def fitted_from(kept: Mapping[str, Any]) -> _core.Fitted | None:
    """The numbers that are left of a fit, from the texts that the library hands over."""
    if kept["joint"] is None and kept["record"] is None:
        return None
    return _core.Fitted(kept["joint"], kept["record"])

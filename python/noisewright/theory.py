"""The asymptotic error of a design, and the design that minimises it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from . import _core
from .arrays import Array, points
from .checks import counted, loss_ratio_of, number, positive, whole
from .errors import InputError, NoAnswerError, NoisewrightWarning
from .fitting import FitResult, fit
from .models import Model, values_at
from .fitted_noises import DesignedNoise, FittedNoise
from .noises import NoiseLike, noise_request
from .normalizers import settings
from .progress import Bar
from .results import Column, Panel, Result, columns_of, compared, percent, sentences, short

__all__ = ["DesignResult", "ErrorResult", "design", "error"]

#: Where expectations come from.
Expectations = Literal["auto", "model", "data"]


@dataclass(frozen=True, repr=False, eq=False)
class ErrorResult(Result):
    """What a design costs; errors are times the budget T of data and noise points together."""

    error: float
    covariance: Array
    cramer_rao: float | None
    efficiency: float | None
    weights_mean: float
    coordinates: list[str]
    parts: Array
    error_noise_equals_data: float
    infinite: str | None
    log_normalizer: float
    divergences: dict[str, float] | None
    normalizer_errors: dict[str, float] | None
    nu: float
    noise: FittedNoise
    loss: str
    #: M, the ratio inside the loss js: ν unless asked otherwise; `None` for other losses.
    loss_ratio: float | None
    target: str
    parameters: dict[str, float]
    accuracy: dict[str, Any]
    curve: dict[str, Array]
    grid: dict[str, Array] | None

    _hidden: ClassVar[frozenset[str]] = frozenset({"curve", "grid"})

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        title = f"{_target_words(self.target)} × T, loss {self.loss}, ν = {self.nu:g} ({_share(self.nu)} noise)"
        columns: list[Column] = [("", None), ("error × T", 6), ("noise = data", 6), ("Cramér–Rao", 6)]
        asked = self.coordinates if self.target in ("mse", "kl") else self.target.split(",")
        rows: list[list[Any]] = [
            [name, float(part) if name in asked else None, None, None]
            for name, part in zip(self.coordinates, self.parts)
        ]
        rows.append(["total", self.error, self.error_noise_equals_data, self.cramer_rao])
        notes = [
            f"noise {short(self.noise.words)}",
            "" if self.infinite is None else f"The error is infinite: {self.infinite}.",
            "" if self.efficiency is None else f"Efficiency {percent(self.efficiency)}: Cramér–Rao over error.",
            compared(self.error, self.error_noise_equals_data, "noise = data at the same ν"),
        ]
        return title, columns, rows, sentences(notes)

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        return self.coordinates, [{"error": float(part)} for part in self.parts]

    def _panels(self) -> list[Panel]:
        return _density_panels(self.grid, self.noise.words) + [_curve_panel(self.curve, self.nu, "error")]

    def __repr__(self) -> str:
        return f"<error × T = {self.error:.6g} with noise {self.noise.words}, ν = {self.nu:g}, loss {self.loss}>"


@dataclass(frozen=True, repr=False, eq=False)
class DesignResult(Result):
    """The best noise and how much of it; `noise` can be drawn from and passed to `fit` and `error`."""

    error: float
    nu: float
    noise_proportion: float
    error_noise_equals_data: float
    error_conventional: float
    gap: float | None
    stationary_points: int | None
    noise: DesignedNoise
    #: The weights of the members of a dictionary, in their order; `None` for other designs.
    weights: Array | None
    #: What quiet draws of the noise would need: `rows`, `independent_points`, `points` (`None` where they would not pay),
    #: `replicates`, `loss_ratio`, `relative_error`; `None` for a noise that cannot be drawn quietly.
    quiet: dict[str, Any] | None
    efficiency: dict[str, Any] | None
    curve: dict[str, Array]
    target: str
    price_data: float
    price_noise: float
    parameters: dict[str, float]
    #: Why the parameters are these: `given` as `at`, `start` values of the model, or a `fit` to the data.
    parameters_from: str
    remarks: list[str]

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        columns: list[Column] = [("", None), ("noise", None), ("ν", 5), ("error × T", 6)]
        here = _share(self.nu)
        rows: list[list[Any]] = [
            [_title(self.noise), here, self.nu, self.error],
            ["noise = data", here, self.nu, self.error_noise_equals_data],
            ["noise = data, half and half", "50 %", 1.0, self.error_conventional],
        ]
        notes = [
            compared(self.error, self.error_conventional, "noise = data with 50 % noise"),
            compared(self.error, self.error_noise_equals_data, "noise = data at the same proportion"),
            *self.remarks,
            ""
            if self.efficiency is None
            else f"With the data given, ν = {self.efficiency['nu']:.4g} reaches an efficiency of {self.efficiency['asked']:g}.",
        ]
        return f"The best noise for {self.target}", columns, rows, sentences(notes)

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        labels = [_title(self.noise), "noise = data", "noise = data, half and half"]
        nus = [self.nu, self.nu, 1.0]
        errors = [self.error, self.error_noise_equals_data, self.error_conventional]
        return labels, [{"nu": nu, "noise_proportion": nu / (1 + nu), "error": e} for nu, e in zip(nus, errors)]

    def _panels(self) -> list[Panel]:
        return _density_panels(self.noise.grid, "designed noise") + [_curve_panel(self.curve, self.nu, "best noise")]

    def __repr__(self) -> str:
        return f"<error × T = {self.error:.6g} with {_title(self.noise)} at {_share(self.nu)} noise>"


def error(
    model: Model,
    *,
    noise: NoiseLike = "auto",
    nu: float = 1.0,
    at: Any = None,
    loss: str = "js",
    loss_ratio: float | Literal["auto"] = "auto",
    target: str | Sequence[str] = "mse",
    data: Any = None,
    expectations: Expectations = "auto",
    log_normalizer: float | None = None,
    accuracy: float = 1e-10,
    draws: int = 131_072,
    seed: int = 0,
    progress: bool | None = None,
) -> ErrorResult:
    """The asymptotic error of estimating a model with a noise: what a design would cost, before any data are drawn.

    Args:
        model: the model.
        noise: the noise, as an object or in words.
        nu: noise points per data point.
        at: where the model is true: parameters by name, a sequence, or a fit; the start values by default.
        loss: `js`, `kl`, `reverse-kl`, `hellinger`, `pearson`, `brier` or `power:A`.
        loss_ratio: the ratio M inside the loss `js` where it is not `nu` (`math.inf`: `kl`).
        target: `mse` (all coordinates), `kl`, or some parameters.
        data: a sample, for noises that are fitted to data, and for expectations.
        expectations: `"model"`: integrals over the model by quadrature, enumeration or sampling; `"data"`: averages over
            the data; by default the data's for a model from functions that has data, and the model's otherwise.
        log_normalizer: the model's log Z at these parameters, where expectations are the data's and it is known.
        accuracy: relative accuracy asked of the integrals.
        draws: draws where the space is too large for quadrature and enumeration.
        seed: seed of those draws.
        progress: whether to show a progress bar; by default when somebody is looking.

    >>> import noisewright as nw
    >>> model = nw.Model.from_formula("-(x - m)^2/2", variables="x", parameters={"m": 0.0})
    >>> round(nw.error(model, noise=nw.Normal(0, 1), nu=1).error, 9)
    4.0
    """
    built, question = _question(
        model, at, data, expectations, "model", log_normalizer, accuracy, draws, seed
    )
    with Bar("asymptotic error", progress) as bar:
        answer = _core.error(
            built, question, noise_request(noise), number(nu, "nu"), loss, loss_ratio_of(loss_ratio), _target(target), bar
        )
    answer["noise"] = FittedNoise(answer["noise"], built.domains, model.text)
    return ErrorResult(**answer)


def design(
    model: Model,
    data: Any = None,
    *,
    noise: NoiseLike = "optimal",
    nu: float | Literal["auto"] = "auto",
    at: Any = None,
    target: str | Sequence[str] = "mse",
    price_data: float = 1.0,
    price_noise: float = 1.0,
    efficiency: float | None = None,
    expectations: Expectations = "auto",
    log_normalizer: float | None = None,
    accuracy: float = 1e-10,
    draws: int = 131_072,
    seed: int = 0,
    progress: bool | None = None,
) -> DesignResult:
    """The noise and the proportion of it that minimise the error for a budget.

    Args:
        model: the model.
        data: a sample of the data: expectations are then averages over it, in any dimension.
        noise: what to optimise: `optimal` (over all noises), a family with free places such as `Normal(FREE, FREE)` or
            `"normal(?, ?)"`, `histogram(bins, lo, hi)`, `mixture` (weights of a dictionary), or a noise (its best ν).
        nu: noise points per data point, or `auto` for the best.
        at: where the model is true, as for `error`; with data and nothing said, where a fit to them ends.
        target: what error: `mse`, `kl`, or some parameters.
        price_data, price_noise: the prices of a data and of a noise point.
        efficiency: with the data given: how much noise until the error is within this share of what endless noise gives.
        expectations, log_normalizer, accuracy, draws, seed, progress: as for `error`, but data that are given are used.

    >>> import noisewright as nw
    >>> model = nw.Model.from_formula("-(x - m)^2/2", variables="x", parameters={"m": 0.0})
    >>> best = nw.design(model, nu=1)
    >>> round(best.error, 5), round(best.error_conventional, 9)
    (3.50813, 4.0)
    """
    place = "start" if at is None else "given"
    if at is None and data is not None and isinstance(model, Model):
        at, place = _fitted(model, data, seed, progress), "fit"
    built, question = _question(model, at, data, expectations, "data", log_normalizer, accuracy, draws, seed)
    ratio = None if nu == "auto" else number(nu, "nu")
    with Bar("best noise", progress) as bar:
        answer = _core.design(
            built,
            question,
            model.text,
            noise_request(noise),
            ratio,
            _target(target),
            number(price_data, "price_data"),
            number(price_noise, "price_noise"),
            None if efficiency is None else number(efficiency, "efficiency"),
            bar,
        )
    kind, details, grid, record = (answer.pop(name) for name in ("kind", "details", "grid", "record"))
    answer["noise"] = DesignedNoise(answer["noise"], kind, details, grid, record)
    return DesignResult(**answer, parameters_from=place)


def _question(
    model: Model,
    at: Any,
    data: Any,
    expectations: Expectations,
    usual: str,
    log_normalizer: float | None,
    accuracy: float,
    draws: int,
    seed: int,
) -> tuple[_core.Model, dict[str, Any]]:
    """What `error` and `design` ask alike."""
    if not isinstance(model, Model):
        raise InputError(f"`model` must be a noisewright.Model, not {type(model).__name__}")
    if expectations not in ("auto", "model", "data"):
        raise InputError(f"`expectations` must be auto, model or data, not {expectations!r}")
    if expectations == "data" and data is None:
        raise InputError("`data` are missing: expectations cannot be averages over them")
    if expectations == "auto":
        expectations = "data" if data is not None and (usual == "data" or model.text is None) else "model"
    if log_normalizer is not None and expectations == "model":
        raise InputError("`log_normalizer` has no meaning where expectations are the model's: leave it out")
    built = model._for(data)
    parameters = values_at(built, at)
    table = None if data is None else points(data, built.variables)
    question = {
        "parameters": parameters,
        "data": table,
        "on_data": expectations == "data",
        "log_normalizer": None if log_normalizer is None else number(log_normalizer, "log_normalizer"),
        "accuracy": positive(accuracy, "accuracy"),
        "draws": counted(draws, "draws"),
        "seed": whole(seed, "seed"),
    }
    if log_normalizer is None and expectations == "data":
        question["log_normalizer"] = _log_normalizer(model, built, at, question)
    return built, question


def _log_normalizer(model: Model, built: _core.Model, at: Any, question: dict[str, Any]) -> float | None:
    """log Z where expectations are averages over data: integrated, or what a fit or the data themselves say of it."""
    constant = _constant(at)
    if model.text is not None:
        try:
            return _core.log_normalizer(built, question)
        except NoAnswerError:
            if constant is None:
                raise
            return constant
    return constant if constant is not None else _from_sample(built, question)


def _fitted(model: Model, data: Any, seed: int, progress: bool | None) -> FitResult:
    """Where the data put the model."""
    try:
        with warnings.catch_warnings():
            # What leaves no answer is raised below.
            warnings.simplefilter("ignore", NoisewrightWarning)
            result = fit(model, data, seed=seed, progress=progress)
        reason = result.no_answer
    except NoAnswerError as error:
        reason = str(error)
    if reason is not None:
        raise NoAnswerError(f"the model cannot be fitted to `data`: {reason}; or give its parameters as `at`")
    return result


def _constant(at: Any) -> float | None:
    """The constant that a fit comes with."""
    constant = None if isinstance(at, Mapping) else getattr(at, "log_normalizer", None)
    value = getattr(constant, "estimate", None)
    return None if value is None else float(value)


def _from_sample(built: _core.Model, question: dict[str, Any]) -> float | None:
    """log Z of functions from a sample of their density, where no quadrature reaches; `None` where it is known."""
    if built.normalized:
        return None
    own = {"noise": "auto", "noise_draws": None, "evaluations": None, "chains": None, "symmetrize": False}
    how = settings(0.95, True, False, None, (), question["seed"])
    answer = _core.evidence(built, question["parameters"], question["data"], own, None, how)
    return float(answer["log_evidence"])


def _target(target: str | Sequence[str]) -> str:
    return target if isinstance(target, str) else ",".join(target)


def _target_words(target: str) -> str:
    return "Kullback–Leibler divergence" if target == "kl" else "mean squared error"


def _share(nu: float) -> str:
    return percent(nu / (1 + nu), 4)


def _title(noise: DesignedNoise) -> str:
    titles = {"optimal": "the exact optimum", "mixture": "the best mixture", "histogram": "the best histogram"}
    return titles.get(noise.kind, short(noise.words))


def _density_panels(grid: dict[str, Array] | None, title: str) -> list[Panel]:
    if grid is None:
        return []
    data = ("line", "data", columns_of(grid["x"], grid["data_density"]))
    noise = ("dashed", title if len(title) < 40 else "noise", columns_of(grid["x"], grid["density"]))
    weight = ("line", "weight", columns_of(grid["x"], grid["weight"]))
    return [
        (("x", "linear"), ("density", "linear"), [data, noise]),
        (("x", "linear"), ("weight w(x)", "linear"), [weight]),
    ]


def _curve_panel(curve: dict[str, Array], nu: float, label: str) -> Panel:
    line = ("line", label, columns_of(curve["noise_proportion"], curve["error"]))
    return ("noise proportion", "percent"), ("error × T", "log"), [line, ("at", "here", [[nu / (1 + nu)]])]

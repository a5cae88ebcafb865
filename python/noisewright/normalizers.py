"""Normalizing constants: from the log-densities of two samples, or along a path that is sampled here."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core
from .arrays import Array, vector
from .checks import chain_lengths, counted, number, positive, whole
from .errors import InputError, NoisewrightWarning
from .models import Model, values_at
from .noises import NoiseLike, noise_request
from .progress import Bar
from .results import Column, Panel, Result, Rows, by_name, columns_of, short

__all__ = [
    "LogZResult",
    "NormalizerEstimate",
    "PathResult",
    "log_z",
    "log_z_path",
]


@dataclass(frozen=True)
class NormalizerEstimate:
    """One estimate of log Z; `refused` says why nothing can be said, where nothing can, and `se` is then infinite."""

    log_z: float
    se: float
    se_data: float
    se_noise: float
    lower: float
    upper: float
    ess: float
    ess_data: float | None
    ess_noise: float | None
    pareto_k: float | None
    converged: bool
    refused: str | None
    #: The name of that reason for programs.
    refused_code: str | None
    bootstrap_se: float | None

    def __getitem__(self, name: str) -> Any:
        """The same numbers by name, as in the command's JSON."""
        return by_name(self, name)


@dataclass(frozen=True, repr=False, eq=False)
class LogZResult(Result):
    """log Z by several estimators; `log_z`, `se`, `lower`, `upper` and `refused` are those of the recommended one."""

    log_z: float
    se: float
    lower: float
    upper: float
    #: Why no estimate can be trusted, if none can.
    refused: str | None
    #: The name of that reason for programs.
    refused_code: str | None
    #: Whether both densities are unnormalized, so that the result is the log of the ratio of their constants.
    ratio: bool
    dependence: str
    noise_words: str | None
    estimates: dict[str, NormalizerEstimate]
    recommended: str
    reason: str
    reason_code: str
    overlap: float
    expected_crossings: float
    confidence: float
    data: dict[str, Any]
    noise: dict[str, Any]
    divergences: dict[str, float]
    #: What the budget should buy, by the name of the estimator; `None` without prices.
    allocation: dict[str, dict[str, float]] | None
    warnings: list[str]
    #: The names of the warnings for programs.
    warning_codes: list[str]
    converged: bool

    @property
    def allocations(self) -> dict[str, dict[str, float]]:
        """The same as `allocation`, empty without prices."""
        return self.allocation or {}

    def __getitem__(self, method: str) -> NormalizerEstimate:
        """The estimate of one estimator: `is`, `revis`, `is-revis`, `nce`, `power:A`, `alpha`."""
        return self.estimates[method]

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        notes = [
            f"{self.recommended}: {self.reason}",
            f"overlap {self.overlap:.3g}; {self.data['draws']} and {self.noise['draws']} draws, worth "
            f"{self.data['ess']:.4g} and {self.noise['ess']:.4g} independent ones",
            *self.warnings,
        ]
        return self._quantity, *estimates_table(self.estimates), notes

    @property
    def _quantity(self) -> str:
        """What is estimated, in words."""
        return "log of the ratio of the two constants" if self.ratio else "log Z"

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        return list(self.estimates), [vars(estimate) for estimate in self.estimates.values()]

    def _panels(self) -> list[Panel]:
        return [estimates_panel(self.estimates)]

    def __repr__(self) -> str:
        return f"<{self._quantity} = {self.log_z:.6g} ± {self.se:.2g} by {self.recommended}>"


@dataclass(frozen=True, repr=False, eq=False)
class PathResult(Result):
    """log Z by a path of states from a noise to a model; `path` is a list of them, and `path["t"]` the `t` of all."""

    log_z: float
    se: float
    lower: float
    upper: float
    confidence: float
    #: Why there is no answer, if there is none.
    refused: str | None
    #: The name of that reason for programs.
    refused_code: str | None
    path: Rows
    noise: str
    moves: str
    draws: int
    #: Steps of the chains for every draw: up to four times as many as asked for where the warm-up was slow.
    thin: int
    #: Trips of points from the noise to the model and back, in all chains together.
    round_trips: int
    #: `log_z` by the first `draws` of every `chain`.
    trace: Rows
    overlap: Array
    ess: Array
    converged: bool
    warnings: list[str]
    #: The names of the warnings for programs.
    warning_codes: list[str]

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        columns: list[Column] = [
            ("t", 4),
            ("log Z", 7),
            ("se", 3),
            ("se of the step", 3),
            ("acceptance", 3),
            ("R̂", 4),
            ("inefficiency", 3),
        ]
        fields = ("t", "log_z", "se", "step_se", "acceptance", "r_hat", "inefficiency")
        rows = [[float(value) for value in row] for row in zip(*(self.path[field] for field in fields))]
        notes = [
            f"log Z = {self.log_z:.7g} ± {self.se:.2g}, {100 * self.confidence:g} % from {self.lower:.7g} to {self.upper:.7g}",
            f"noise {short(self.noise)} at t = 0, the model at t = 1, moves {self.moves}, {self.draws} draws of each state",
            f"{self.thin} moves for every draw; {self.round_trips} round trips from the noise to the model and back",
            *self.warnings,
        ]
        return f"log Z by a path of {len(rows)} states", columns, rows, notes

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        return [f"{k}" for k in range(len(self.path))], [dict(state) for state in self.path]

    def _panels(self) -> list[Panel]:
        t, z, se = (self.path[name] for name in ("t", "log_z", "se"))
        columns = columns_of(t, z, z - 1.96 * se, z + 1.96 * se)
        return [(("t", "linear"), ("log Z", "linear"), [("points", "log Z", columns)])]

    def __repr__(self) -> str:
        return f"<log Z = {self.log_z:.6g} ± {self.se:.2g} by a path of {len(self.path)} states>"


def log_z(
    log_f_data: Any,
    log_noise_data: Any,
    log_f_noise: Any,
    log_noise_noise: Any,
    *,
    chains_data: Sequence[int] | int | None = None,
    chains_noise: Sequence[int] | int | None = None,
    independent: bool = False,
    confidence: float = 0.95,
    weight_by_ess: bool = False,
    bootstrap: int | None = None,
    powers: Sequence[float] = (),
    alpha: str | None = None,
    prices: tuple[float, float] | None = None,
    budget: float | None = None,
    ratio: bool = False,
    seed: int = 0,
    progress: bool | None = None,
) -> LogZResult:
    """log Z of an unnormalized density from draws of it ("data") and of a noise whose density is known.

    If the noise is known only up to a constant too, the result is the logarithm of the ratio of the two constants.

    Args:
        log_f_data, log_noise_data: the log-densities of both at the draws of the density.
        log_f_noise, log_noise_noise: those at the draws of the noise; −∞ is a density of zero.
        chains_data, chains_noise: the lengths of the Markov chains that the draws are, or the number of equal ones.
        independent: the draws are independent; otherwise the standard errors allow for autocorrelation.
        confidence: of the intervals.
        weight_by_ess: balance the bridge by effective numbers of draws.
        bootstrap: resamples of a block bootstrap, as a second opinion on the standard errors.
        powers: exponents of further members of the power family: 0 is `is`, 0.5 `is-revis`, 1 `revis`.
        alpha: also the bridge with this log α, a formula in `log_f` and `log_noise` such as `"-(log_f + log_noise)/2"`.
        prices: the prices of a data draw (0 if the data are what they are) and of a noise draw: how many of each would be best comes in `allocation`,
        budget: for this much, or for what the present draws cost.
        ratio: say in the result that the noise is known only up to a constant too.
        seed: seed of the bootstrap.
        progress: whether to show a progress bar; by default when somebody is looking.

    >>> import numpy as np
    >>> log_noise = np.array([-0.3, -1.2, -0.7, -2.5])
    >>> result = log_z(log_noise + np.log(3), log_noise, log_noise + np.log(3), log_noise)
    >>> round(float(np.exp(result.log_z)), 12), result.recommended
    (3.0, 'nce')
    """
    data = _side(log_f_data, log_noise_data, "data")
    noise = _side(log_f_noise, log_noise_noise, "noise")
    with Bar("log Z", progress) as bar:
        answer = _core.log_z(
            data,
            noise,
            chain_lengths(chains_data, len(data[0]), "chains_data"),
            chain_lengths(chains_noise, len(noise[0]), "chains_noise"),
            settings(confidence, independent, weight_by_ess, bootstrap, powers, seed, prices, budget, alpha, ratio),
            bar,
        )
    answer["estimates"] = named(answer["estimates"])
    warn(answer)
    return LogZResult(**answer)


def log_z_path(
    model: Model,
    *,
    at: Any = None,
    noise: NoiseLike = "auto",
    states: int | None = None,
    draws: int = 2000,
    chains: int = 4,
    warm_up: int = 200,
    thin: int = 1,
    moves: str = "auto",
    confidence: float = 0.95,
    seed: int = 0,
    progress: bool | None = None,
) -> PathResult:
    """log Z of a model that is far from every noise, by bridges from a noise to it that are sampled here.

    Args:
        model: the model.
        at: its parameters: by name, as a sequence, or a fit; the start values by default.
        noise: where the path begins, as an object or in words; `auto` is fitted to chains of the model.
        states: the number of states, both ends included; by default as many as the distance needs.
        draws: draws of every state.
        chains: chains that the draws of every state come from.
        warm_up: steps of each chain before its draws are kept.
        thin: steps per draw, at least: where the warm-up is slow they are up to four times as many.
        moves: `auto`, `random-walk`, `hamiltonian` or `single-site`.
        confidence: of the interval.
        seed: seed of all draws; the same seed gives the same result to the bit.
        progress: whether to show a progress bar; by default when somebody is looking.

    >>> import numpy as np
    >>> import noisewright as nw
    >>> model = nw.Model.from_formula("-(x - m)^2/2", variables="x", parameters={"m": 30.0})
    >>> result = nw.log_z_path(model, noise=nw.Normal(0, 1), draws=400)
    >>> bool(abs(result.log_z - 0.5 * np.log(2 * np.pi)) < 4 * result.se)
    True
    """
    if not isinstance(model, Model):
        raise InputError(f"`model` must be a noisewright.Model, not {type(model).__name__}")
    built = model._core
    how = {
        "states": None if states is None else whole(states, "states"),
        "draws": counted(draws, "draws"),
        "chains": whole(chains, "chains"),
        "warm_up": whole(warm_up, "warm_up"),
        "thin": whole(thin, "thin"),
        "moves": str(moves),
        "confidence": number(confidence, "confidence"),
        "seed": whole(seed, "seed"),
    }
    with Bar("log Z along a path", progress) as bar:
        answer = _core.log_z_path(built, values_at(built, at), noise_request(noise), how, bar)
    if not answer["converged"]:
        reason = answer["refused"] or "; ".join(answer["warnings"]) or "the states could not be joined"
        warnings.warn(f"log_z_path gives no answer: {reason}", NoisewrightWarning, stacklevel=2)
    answer["path"] = Rows(answer["path"])
    answer["trace"] = Rows(answer["trace"])
    return PathResult(**answer)


def _side(log_f: Any, log_noise: Any, side: str) -> tuple[Array, Array]:
    """The two log-densities of one side, as they are where the layout allows."""
    first, second = vector(log_f, f"log_f_{side}"), vector(log_noise, f"log_noise_{side}")
    if len(first) != len(second):
        raise InputError(
            f"`log_f_{side}` has {len(first)} values and `log_noise_{side}` {len(second)}, and they must have the same number"
        )
    return first, second


def settings(
    confidence: float,
    independent: bool,
    weight_by_ess: bool | None,
    bootstrap: int | None,
    powers: Sequence[float],
    seed: int,
    prices: tuple[float, float] | None = None,
    budget: float | None = None,
    alpha: str | None = None,
    ratio: bool = False,
) -> dict[str, Any]:
    """How log Z is estimated, for the library; `weight_by_ess` is the library's own choice where it is None."""
    return {
        "confidence": number(confidence, "confidence"),
        "independent": bool(independent),
        "weight_by_ess": None if weight_by_ess is None else bool(weight_by_ess),
        "bootstrap": None if bootstrap is None else whole(bootstrap, "bootstrap"),
        "powers": [number(power, "powers") for power in powers],
        "seed": whole(seed, "seed"),
        "prices": _prices(prices, budget),
        "alpha": None if alpha is None else str(alpha),
        "ratio": bool(ratio),
    }


def _prices(prices: Any, budget: float | None) -> tuple[float, float, float | None] | None:
    if prices is None and budget is None:
        return None
    if prices is not None and (isinstance(prices, str) or np.shape(prices) != (2,)):
        raise InputError(f"`prices` must be two numbers, those of a data and of a noise draw, not {prices!r}")
    data, noise = (1.0, 1.0) if prices is None else prices
    # Data that are what they are cost nothing: only noise is bought.
    data, noise = number(data, "prices"), positive(noise, "prices")
    if not 0.0 <= data < np.inf:
        raise InputError(f"`prices`: that of a data draw must be zero or positive and finite, not {data!r}")
    return data, noise, None if budget is None else positive(budget, "budget")


def named(estimates: dict[str, dict[str, Any]]) -> dict[str, NormalizerEstimate]:
    """Estimates as objects."""
    return {name: NormalizerEstimate(**estimate) for name, estimate in estimates.items()}


def warn(answer: dict[str, Any]) -> None:
    """Says aloud that nothing can be said."""
    refused = answer["estimates"][answer["recommended"]].refused
    if refused is not None:
        warnings.warn(refused, NoisewrightWarning, stacklevel=3)


def estimates_table(estimates: dict[str, NormalizerEstimate]) -> tuple[list[Column], list[list[Any]]]:
    """The estimators beside each other."""
    columns: list[Column] = [
        ("estimator", None),
        ("log Z", 7),
        ("se", 3),
        ("lower", 7),
        ("upper", 7),
        ("ess", 4),
        ("k̂", 2),
    ]
    rows = [[name, e.log_z, e.se, e.lower, e.upper, e.ess, e.pareto_k] for name, e in estimates.items()]
    return columns, rows


def estimates_panel(estimates: dict[str, NormalizerEstimate]) -> Panel:
    """The estimators beside each other, as a picture."""
    kept = [e for e in estimates.values() if np.isfinite([e.log_z, e.lower, e.upper]).all()]
    columns = [
        [float(place) for place in range(len(kept))],
        [e.log_z for e in kept],
        [e.lower for e in kept],
        [e.upper for e in kept],
    ]
    label = "estimator: " + ", ".join(name for name, e in estimates.items() if e in kept)
    return (label, "linear"), ("log Z", "linear"), [("points", "log Z", columns)]

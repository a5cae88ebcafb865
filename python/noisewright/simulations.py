"""Designs simulated: fits to many drawn data sets, held against what the theory predicts of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .arrays import Array
from .checks import number, whole
from .errors import InputError, NoisewrightWarning
from .fitting import fit
from .models import Model
from .noises import Noise, NoiseLike
from .progress import Bar
from .results import Column, Panel, Result, columns_of
from .theory import error

__all__ = ["SimulationResult", "simulate_design"]

#: Data sets of one task, at most: enough that a task is worth sending.
PER_TASK = 8


@dataclass(frozen=True, repr=False, eq=False)
class SimulationResult(Result):
    """Fits to many drawn data sets."""

    coordinates: list[str]
    rows: int
    nu: float
    #: Data sets that were fitted, and those of them without an answer, which are left out of everything else.
    repeats: int
    failed: int
    #: What each coordinate is in truth; `nan` where it is not known.
    truth: Array
    mean: Array
    #: Simulated standard deviations, and their own standard errors (those of normal estimates).
    sd: Array
    sd_error: Array
    #: The standard deviations that the theory predicts; `None` where the noise is fitted to the data.
    predicted: Array | None
    #: Means of the standard errors that the fits claim.
    claimed: Array
    #: Share of intervals that contain the truth, and of how many they are to contain it.
    coverage: Array
    confidence: float
    #: All estimates, one row per data set with an answer.
    estimates: Array

    _hidden: ClassVar[frozenset[str]] = frozenset({"estimates"})

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        columns: list[Column] = [("", None), ("truth", 5), ("mean", 5), ("sd", 4), ("predicted", 4), ("claimed", 4), ("coverage", 4)]
        index, rows = self._frame()
        cells = [[name, *(row[column] for column in ("truth", "mean", "sd", "predicted", "claimed", "coverage"))] for name, row in zip(index, rows)]
        notes = [f"{self.failed} of {self.repeats} data sets had no answer." if self.failed else ""]
        title = f"{self.repeats - self.failed} data sets of {self.rows} rows, ν = {self.nu:g}"
        return title, columns, cells, [note for note in notes if note]

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        names = ("truth", "mean", "sd", "sd_error", "claimed", "coverage")
        rows: list[dict[str, Any]] = [{name: float(getattr(self, name)[j]) for name in names} for j in range(len(self.coordinates))]
        for j, row in enumerate(rows):
            row["predicted"] = None if self.predicted is None else float(self.predicted[j])
        return self.coordinates, rows

    def _panels(self) -> list[Panel]:
        at = [float(place) for place in range(len(self.coordinates))]
        series = [("points", "simulated", columns_of(at, self.sd.tolist(), (self.sd - self.sd_error).tolist(), (self.sd + self.sd_error).tolist()))]
        if self.predicted is not None:
            series.append(("line", "predicted", columns_of(at, self.predicted.tolist())))
        return [(("coordinate", "linear"), ("standard deviation", "linear"), series)]

    def __repr__(self) -> str:
        return f"<{self.repeats - self.failed} simulated fits of {self.rows} rows>"


@dataclass(frozen=True)
class _Task:
    """Some data sets, by their seeds."""

    model: Model
    sample: Any
    rows: int
    settings: dict[str, Any]
    seeds: list[int]

    def data(self, seed: int) -> Any:
        """One data set."""
        return self.sample.sample(self.rows, seed=seed) if isinstance(self.sample, Noise) else self.sample(self.rows, seed)


#: Estimate, standard error and interval of every coordinate, by name.
_Numbers = dict[str, tuple[float, float, float, float]]


def _fitted(task: _Task) -> list[_Numbers | None]:
    """What the fit to every data set says; `None` where there is no answer. Run by a worker."""
    found: list[_Numbers | None] = []
    for seed in task.seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoisewrightWarning)
            result = fit(task.model, task.data(seed), seed=seed, progress=False, **task.settings)
        sound = result.converged and all(math.isfinite(e.se) for e in result.estimates.values())
        numbers = {name: (e.estimate, e.se, e.lower, e.upper) for name, e in result.estimates.items()}
        found.append(numbers if sound else None)
    return found


def simulate_design(
    model: Model,
    sample: Noise | Callable[[int, int], Any],
    *,
    at: Mapping[str, float],
    rows: int,
    noise: NoiseLike = "auto",
    nu: float = 1.0,
    loss: str = "js",
    repeats: int = 200,
    confidence: float = 0.95,
    log_normalizer: float | None = None,
    seed: int = 0,
    executor: Any = None,
    progress: bool | None = None,
) -> SimulationResult:
    """Draws data sets, fits the model to each with a noise, and holds errors and intervals against truth and theory.

    Args:
        model: the model.
        sample: who draws the data: a noise with the density that the model has at `at`, or a function of the number of rows and a
            seed that gives rows as `fit` takes them.
        at: the true parameters, by name.
        rows: rows of a data set.
        noise, nu, loss, confidence: as for `fit`; what is predicted is what `error` says of them.
        repeats: number of data sets.
        log_normalizer: the true log Z, where it is known, for the coverage of its intervals.
        seed: seed of data sets and noise; the result does not depend on who computes it.
        executor: who fits: a Dask `Client`, an executor of `concurrent.futures`, or a number of processes; this process by default.
        progress: whether to show a progress bar; by default when somebody is looking.

    >>> import noisewright as nw
    >>> model = nw.Model.from_formula("-(x - m)^2/2", variables="x", parameters={"m": 0.0})
    >>> found = nw.simulate_design(model, nw.Normal(0, 1), at={"m": 0.0}, rows=400, noise=nw.Normal(0, 1), repeats=40)
    >>> bool(abs(found.sd[0] - found.predicted[0]) < 4 * found.sd_error[0])
    True
    """
    from .cluster import map_on

    if not isinstance(sample, Noise) and not callable(sample):
        raise InputError("`sample` must be a noise, or a function of a number of rows and a seed")
    if whole(repeats, "repeats") < 2:
        raise InputError("`repeats` must be at least 2")
    settings = {"noise": noise, "nu": number(nu, "nu"), "loss": loss, "draws": "random", "confidence": number(confidence, "confidence")}
    predicted: dict[str, float] | None = None
    if not (isinstance(noise, str) and noise in ("auto", "optimal")):
        theory = error(model, noise=noise, nu=nu, at=at, loss=loss, progress=False)
        # `error` is times the budget of data and noise points together.
        predicted = {name: math.sqrt(part / (rows * (1.0 + nu))) for name, part in zip(theory.coordinates, theory.parts)}
    # Seeds of their own for every data set, whoever fits it.
    seeds = [int(state) for state in np.random.SeedSequence(seed).generate_state(repeats, np.uint64) >> np.uint64(1)]
    size = max(1, min(PER_TASK, repeats // 16))
    tasks = [_Task(model, sample, whole(rows, "rows"), settings, seeds[start : start + size]) for start in range(0, repeats, size)]
    with Bar("simulation", progress) as bar:
        fitted = [one for some in map_on(executor, _fitted, tasks, "simulation", bar) for one in some]
    answers = [one for one in fitted if one is not None]
    if len(answers) < 2:
        raise InputError(f"{len(fitted) - len(answers)} of {len(fitted)} data sets could not be fitted, and the others tell nothing")
    constant = math.nan if log_normalizer is None else log_normalizer
    return _result(answers, len(fitted), (rows, nu, confidence), lambda name: at.get(name, constant), predicted)


def _result(
    answers: list[_Numbers],
    repeats: int,
    design: tuple[int, float, float],
    truth: Callable[[str], float],
    predicted: dict[str, float] | None,
) -> SimulationResult:
    names = list(answers[0])
    sound = np.array([[one[name] for name in names] for one in answers])
    known = np.array([truth(name) for name in names])
    sd = sound[:, :, 0].std(axis=0, ddof=1)
    inside = (sound[:, :, 2] <= known) & (known <= sound[:, :, 3])
    return SimulationResult(
        coordinates=names,
        rows=design[0],
        nu=design[1],
        repeats=repeats,
        failed=repeats - len(sound),
        truth=known,
        mean=sound[:, :, 0].mean(axis=0),
        sd=sd,
        sd_error=sd / math.sqrt(2 * (len(sound) - 1)),
        predicted=None if predicted is None else np.array([predicted[name] for name in names]),
        claimed=sound[:, :, 1].mean(axis=0),
        coverage=np.where(np.isnan(known), np.nan, inside.mean(axis=0)),
        confidence=design[2],
        estimates=sound[:, :, 0],
    )

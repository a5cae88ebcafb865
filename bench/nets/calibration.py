"""Calibration matrix: how often the default intervals cover the truth, for every number that has an error.

    python bench/nets/calibration.py [--sets 200] [--sizes 10 30 100 1000] > bench/nets/CALIBRATION.md

Every cell draws `sets` samples of a known member of a family or kind of model, estimates, and counts how often the 95 %
interval holds the truth. Families, losses and noises are those that the library lists. Refusals and answers with a warning
are counted beside it: an answer that is not given, or that says it is weak, is no wrong answer.

A cell is outside its bounds when the misses that nothing warned of are more than 8 % of the answers, or the misses of all
fewer than 2 %, with a probability below 1 in 1,000 if the coverage were 92 % or 98 % (binomial): of 1,000 cells at the very
bound one is outside by chance.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from scipy import stats

import noisewright as nw

import lists
from systems import System, systems

LOWEST, HIGHEST, CHANCE = 0.92, 0.98, 1e-3


@dataclass
class Cell:
    """What was seen of one number in one setting."""

    system: str
    setting: str
    size: int
    number: str
    covered: int = 0
    missed_unwarned: int = 0
    answered: int = 0
    warned: int = 0
    refused: int = 0
    z: list[float] = field(default_factory=list)

    @property
    def coverage(self) -> float:
        return self.covered / self.answered if self.answered else math.nan

    @property
    def outside(self) -> bool:
        """Beyond the bounds by more than chance, with misses that nothing warned of."""
        if self.answered == 0:
            return False
        low = stats.binom.sf(self.missed_unwarned - 1, self.answered, 1 - LOWEST) < CHANCE
        high = stats.binom.sf(self.covered - 1, self.answered, HIGHEST) < CHANCE
        return bool(low or high)

    def count(self, estimate: float, se: float, interval: tuple[float, float], truth: float, warned: bool) -> None:
        if not math.isfinite(se):
            self.refused += 1
            return
        covered = interval[0] <= truth <= interval[1]
        self.answered += 1
        self.covered += covered
        self.warned += warned
        self.missed_unwarned += not covered and not warned
        if se > 0:
            self.z.append((estimate - truth) / se)


def measure(system: System, size: int, setting: str, given: dict[str, Any], sets: int, seed: int = 1) -> list[Cell]:
    """The cells of one system, size and setting of a fit."""
    cells = {name: Cell(system.name, setting, size, name) for name in system.truth}
    for k in range(sets):
        data = system.draw(np.random.default_rng([seed, size, k]), size)
        fit = _quietly(nw.fit, system.model, data, seed=k, progress=False, **given)
        if fit is None or fit.no_answer is not None or not fit.converged:
            for cell in cells.values():
                cell.refused += 1
            continue
        _count_fit(cells, fit, system.truth)
    return list(cells.values())


def _count_fit(cells: dict[str, Cell], fit: nw.FitResult, truth: dict[str, float]) -> None:
    for name, cell in cells.items():
        if name in fit.estimates:
            found = fit.estimates[name]
            warned = bool(fit.diagnostics["warnings"]) or found.at_bound
            cell.count(found.estimate, found.se, (found.lower, found.upper), truth[name], warned)


def _quietly(function: Any, *arguments: Any, **given: Any) -> Any:
    """The answer, or none where it is refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*arguments, **given)
    except nw.NoisewrightError:
        return None


#: How every system is fitted: with nothing said, by maximum likelihood and against noise, with robust and model-based errors.
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "exact": {"noise": "exact"},
    "exact, model": {"noise": "exact", "errors": "model"},
    "auto": {"nu": 5.0},
    "auto, model": {"nu": 5.0, "errors": "model"},
}


def fits(sizes: list[int], units: list[float], sets: int, chosen: list[str]) -> Iterator[list[Cell]]:
    """Every system at every size and unit with each of the settings."""
    settings = {name: SETTINGS[name] for name in chosen}
    for unit in units:
        for system in systems(unit):
            named = system if unit == 1.0 else System(f"{system.name}, × {unit:g}", *_rest(system))
            for setting, given in settings.items():
                for size in sizes:
                    yield measure(named, size, setting, given, sets)


def _rest(system: System) -> tuple[Any, ...]:
    return system.model, system.truth, system.draw, system.kind, system.powers


def losses_and_noises(sets: int, size: int = 300) -> Iterator[list[Cell]]:
    """Every loss and every noise that is fitted by its name alone, at the systems whose domain it stands on."""
    by_name = {system.name: system for system in systems()}
    for name in ("features", "formula", "gamma", "von-mises", "com-poisson"):
        for loss in lists.losses():
            yield measure(by_name[name], size, f"loss {loss}", {"nu": 5.0, "loss": loss}, sets)
    for noise in [*lists.noises(), "0.5*auto + 0.5*kde"]:
        for name in ("features", "gamma", "beta", "von-mises", "von-mises-fisher", "ising", "com-poisson"):
            cells = measure(by_name[name], size, f"noise {noise}", {"nu": 5.0, "noise": noise}, sets)
            # A noise that does not stand on a domain is refused there every time.
            if any(cell.answered for cell in cells):
                yield cells
    for refit in ("normal", "student"):
        yield measure(by_name["features"], size, f"noise {refit}, refitted", {"nu": 5.0, "noise": refit, "refit_noise": True}, sets)


def dependent(sets: int) -> Iterator[list[Cell]]:
    """Clusters, chains and weights."""
    model = nw.Model.from_family("gaussian", variables="x", parametrization="moments")
    for noise in ({"noise": "exact"}, {"nu": 5.0}):
        words = "exact" if noise == {"noise": "exact"} else "auto"
        for count in (3, 5, 10, 30):
            cell = Cell("gaussian, moments", f"{count} clusters, {words}", 20 * count, "m0")
            for k in range(sets):
                rng = np.random.default_rng([2, count, k])
                labels = np.repeat(np.arange(count), 20)
                data = rng.normal(0, 1, count)[labels] + rng.normal(0, 1, 20 * count)
                _count_one(cell, _quietly(nw.fit, model, data, clusters=labels, seed=k, progress=False, **noise), 0.0)
            yield [cell]
        for size in (300, 1000, 3000):
            cell = Cell("gaussian, moments", f"4 chains, {words}", size, "m0")
            for k in range(sets):
                data = autoregressive(np.random.default_rng([3, size, k]), 4, size // 4).ravel()
                _count_one(cell, _quietly(nw.fit, model, data, chains=4, seed=k, progress=False, **noise), 0.0)
            yield [cell]
    for system in systems():
        if system.name in ("ising", "com-poisson"):
            for size in (100, 1000):
                cells = {name: Cell(system.name, "weights", size, name) for name in system.truth}
                for k in range(sets):
                    rows = system.draw(np.random.default_rng([4, size, k]), size)
                    states, counts = np.unique(rows, axis=0, return_counts=True)
                    fit = _quietly(nw.fit, system.model, states, weights=counts, seed=k, progress=False)
                    if fit is not None and fit.no_answer is None:
                        _count_fit(cells, fit, system.truth)
                yield list(cells.values())


def autoregressive(rng: np.random.Generator, chains: int, steps: int, rho: float = 0.6) -> np.ndarray:
    """Stationary chains of standard normal values with this autocorrelation, one row each."""
    x = np.empty((chains, steps))
    x[:, 0] = rng.normal(size=chains)
    for t in range(1, steps):
        x[:, t] = rho * x[:, t - 1] + math.sqrt(1 - rho**2) * rng.normal(size=chains)
    return x


def _count_one(cell: Cell, fit: nw.FitResult | None, truth: float) -> None:
    if fit is None or fit.no_answer is not None:
        cell.refused += 1
    else:
        _count_fit({cell.number: cell}, fit, {cell.number: truth})


def constants(sets: int) -> Iterator[list[Cell]]:
    """log Z by every estimator and by the recommended one, of many states, along a path, and the evidence."""
    for size in (100, 1000):
        for words in ("independent", "chains"):
            yield _log_z(size, words, sets)
            yield _states(size, words, sets)
            yield _evidence(size, words, sets)
    yield _path(max(sets // 5, 10))


def _draws(rng: np.random.Generator, words: str, size: int) -> np.ndarray:
    return rng.normal(size=size) if words == "independent" else autoregressive(rng, 1, size)[0]


def _log_z(size: int, words: str, sets: int) -> list[Cell]:
    """A normal density and a wider noise: log Z = ½ log 2π."""
    cells: dict[str, Cell] = {}
    for k in range(sets):
        rng = np.random.default_rng([5, size, k])
        x, y = _draws(rng, words, size), 0.5 + 1.5 * rng.normal(size=size)
        log_noise = lambda t: stats.norm.logpdf(t, 0.5, 1.5)
        result = _quietly(
            nw.log_z, -(x**2) / 2, log_noise(x), -(y**2) / 2, log_noise(y),
            independent=words == "independent", chains_noise=None if words == "independent" else [1] * size, progress=False,
        )
        for name, found in {**result.estimates, "recommended": result}.items():
            cell = cells.setdefault(name, Cell("log Z of two samples", words, size, name))
            warned = found.refused is not None or bool(result.warnings)
            cell.count(found.log_z, found.se, (found.lower, found.upper), 0.5 * math.log(2 * math.pi), warned)
    return list(cells.values())


def _states(size: int, words: str, sets: int) -> list[Cell]:
    """Normal densities of the widths 1, 1.5 and 2: log Z = log width."""
    widths = np.array([1.0, 1.5, 2.0])
    cells = [Cell("states", words, size, f"state {k}") for k in (1, 2)]
    for k in range(sets):
        rng = np.random.default_rng([6, size, k])
        x = np.concatenate([width * _draws(rng, words, size) for width in widths])
        log_f = -0.5 * (x / widths[:, None]) ** 2
        result = _quietly(nw.log_z_states, log_f, [size] * 3, independent=words == "independent", progress=False)
        for cell, z, se, truth in zip(cells, result.log_z[1:], result.se[1:], np.log(widths[1:])):
            cell.count(z, se, (z - 1.96 * se, z + 1.96 * se), truth, bool(result.warnings))
    return cells


def _evidence(size: int, words: str, sets: int) -> list[Cell]:
    """A normal density of three variables, of which the second has the scale 3."""
    scales = np.array([1.0, 3.0, 1.0])
    truth = 1.5 * math.log(2 * math.pi) + math.log(3.0)
    cell = Cell("evidence", words, size, "log evidence")
    for k in range(sets):
        rng = np.random.default_rng([7, size, k])
        x = np.stack([scale * _draws(rng, words, size) for scale in scales], axis=1)
        result = _quietly(
            nw.evidence, lambda x: -0.5 * ((x / scales) ** 2).sum(axis=1), x,
            independent=words == "independent", seed=k, progress=False,
        )
        warned = result.refused is not None or bool(result.warnings)
        cell.count(result.log_evidence, result.se, (result.lower, result.upper), truth, warned)
    return [cell]


def _path(sets: int) -> list[Cell]:
    """A normal density eight deviations away from the noise."""
    model = nw.Model.from_formula("-(x - m)^2/2", variables="x", parameters={"m": 8.0})
    cell = Cell("path", "8 deviations", 400, "log Z")
    for k in range(sets):
        result = _quietly(nw.log_z_path, model, noise="normal(0, 1)", draws=400, seed=k, progress=False)
        if result is None:
            cell.refused += 1
            continue
        warned = result.refused is not None or bool(result.warnings)
        cell.count(result.log_z, result.se, (result.lower, result.upper), 0.5 * math.log(2 * math.pi), warned)
    return [cell]


def page(groups: Iterator[list[Cell]], title: str) -> list[Cell]:
    """Prints the cells as a table, one row per number with all sizes, as they are measured."""
    print(f"\n## {title}\n\n| system | setting | number | rows: coverage, mean and sd of z, warned, refused |\n|---|---|---|---|")
    measured: list[Cell] = []
    for (system, setting), cells in groupby((cell for group in groups for cell in group), lambda cell: (cell.system, cell.setting)):
        rows: dict[str, list[str]] = {}
        for cell in cells:
            measured.append(cell)
            rows.setdefault(cell.number, []).append(_words(cell))
        for number, seen in rows.items():
            print(f"| {system} | {setting} | {number} | {'; '.join(seen)} |", flush=True)
    return measured


def _words(cell: Cell) -> str:
    if cell.answered == 0:
        return f"{cell.size}: always refused"
    text = f"{cell.size}: {100 * cell.coverage:.0f} %"
    if cell.z:
        text += f", {np.mean(cell.z):+.1f} and {np.std(cell.z):.1f}"
    if cell.warned:
        text += f", {100 * cell.warned / cell.answered:.0f} % warned"
    if cell.refused:
        text += f", {cell.refused} refused"
    return f"**{text}**" if cell.outside else text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 30, 100, 1000])
    parser.add_argument("--units", type=float, nargs="+", default=[1.0, 1e-6])
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    parser.add_argument("--parts", nargs="+", default=["fits", "losses", "dependent", "constants"])
    given = parser.parse_args()
    began = time.process_time()
    print(f"# Calibration matrix\n\nGenerated by `bench/nets/calibration.py {' '.join(sys.argv[1:])}`: {given.sets} samples a cell.")
    parts: dict[str, tuple[Iterator[list[Cell]], str]] = {
        "fits": (fits(given.sizes, given.units, given.sets, given.settings), "Fits of every family and kind of model"),
        "losses": (losses_and_noises(given.sets), "Losses and noises"),
        "dependent": (dependent(given.sets), "Clusters, chains and weights"),
        "constants": (constants(given.sets), "Normalizing constants"),
    }
    cells = [cell for part in given.parts for cell in page(*parts[part])]
    silent, outside = sum(cell.answered == 0 for cell in cells), [cell for cell in cells if cell.outside]
    print(f"\n{len(cells)} cells, {silent} of them always refused, {len(outside)} outside 92 to 98 % by more than chance", end=" ")
    print(f"({time.process_time() - began:.0f} s of processor time).\n")
    for cell in outside:
        print(f"- {cell.system}, {cell.setting}, {cell.number}: {_words(cell)}, {cell.missed_unwarned} misses unwarned")


if __name__ == "__main__":
    main()

"""Calibration matrix: how often the default intervals cover the truth, for every number that has an error.

    python bench/nets/calibration.py [--sets 200] [--only REGEX] [--seconds S]
    python bench/nets/calibration.py --page > bench/nets/CALIBRATION.md

The first measures what is not yet in the store (or less often than asked), part by part, and the second prints the page.
Every cell draws `sets` samples of a known member of a family or kind of model, estimates, and counts how often the 95 %
interval holds the truth. Families, losses and noises are those that the library lists. Refusals and answers with a warning
are counted beside it: an answer that is not given, or that says it is weak, is no wrong answer.

A cell is outside its bounds when the misses that nothing warned of are more than 8 % of the answers, or the misses of all
fewer than 2 %, with a probability below 1 in 1,000 if the coverage were 92 % or 98 % (binomial): of 1,000 cells at the very
bound one is outside by chance. Cells beyond a bound with a probability below 1 in 40 are counted beside them.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
from scipy import stats

import noisewright as nw

import lists
from store import Chosen, Store
from systems import System, systems

LOWEST, HIGHEST, CHANCE = 0.92, 0.98, 1e-3


@dataclass
class Cell:
    """What was seen of one number in one setting; two of different samples add up."""

    number: str
    covered: int = 0
    missed_unwarned: int = 0
    answered: int = 0
    warned: int = 0
    refused: int = 0
    #: Of (estimate − truth) / error: how many, their sum and the sum of their squares.
    z: tuple[int, float, float] = (0, 0.0, 0.0)

    @property
    def coverage(self) -> float:
        return self.covered / self.answered if self.answered else math.nan

    @property
    def z_mean(self) -> float:
        return self.z[1] / self.z[0] if self.z[0] else math.nan

    @property
    def z_sd(self) -> float:
        return math.sqrt(max(self.z[2] / self.z[0] - self.z_mean**2, 0.0)) if self.z[0] else math.nan

    def outside(self, chance: float = CHANCE) -> bool:
        """Beyond the bounds by more than chance, with misses that nothing warned of."""
        if self.answered == 0:
            return False
        low = stats.binom.sf(self.missed_unwarned - 1, self.answered, 1 - LOWEST) < chance
        high = stats.binom.sf(self.covered - 1, self.answered, HIGHEST) < chance
        return bool(low or high)

    def count(self, estimate: float, se: float, interval: tuple[float, float], truth: float, warned: bool) -> None:
        if not math.isfinite(se):
            self.refused += 1
            return
        # Of NumPy's numbers, which no JSON holds.
        covered = bool(interval[0] <= truth <= interval[1])
        self.answered += 1
        self.covered += covered
        self.warned += warned
        self.missed_unwarned += not covered and not warned
        if se > 0:
            z = float((estimate - truth) / se)
            self.z = (self.z[0] + 1, self.z[1] + z, self.z[2] + z * z)

    def __add__(self, other: Cell) -> Cell:
        counts = {name: getattr(self, name) + getattr(other, name) for name in ("covered", "missed_unwarned", "answered", "warned", "refused")}
        return Cell(self.number, **counts, z=tuple(a + b for a, b in zip(self.z, other.z)))


@dataclass(frozen=True)
class Job:
    """Samples of one system and size in one setting, by their numbers."""

    part: str
    system: str
    setting: str
    size: int
    cells: Callable[[range], list[Cell]]
    #: One of so many samples is drawn, where each takes long.
    one_of: int = 1

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.part, self.system, self.setting, self.size

    def run(self, store: Store, sets: int, again: bool) -> None:
        """Measures the samples that are not in the store yet."""
        sets = max(sets // self.one_of, 1)
        known = None if again else store.get(self.key)
        first, before = (known["sets"], [Cell(**cell) for cell in known["cells"]]) if known else (0, [])
        if first >= sets:
            return
        found = {cell.number: cell for cell in before}
        for cell in self.cells(range(first, sets)):
            found[cell.number] = found[cell.number] + cell if cell.number in found else cell
        store.put(self.key, {"sets": sets, "cells": [asdict(cell) for cell in found.values()]})


def measure(system: System, size: int, given: dict[str, Any], sets: range) -> list[Cell]:
    """The cells of one system and size in one setting of a fit."""
    cells = {name: Cell(name) for name in system.truth}
    for k in sets:
        data = system.draw(np.random.default_rng([1, size, k]), size)
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


def fits(sizes: list[int], units: list[float]) -> Iterator[Job]:
    """Every system at every size and unit with each of the settings."""
    for unit in units:
        for system in systems(unit):
            name = system.name if unit == 1.0 else f"{system.name}, × {unit:g}"
            for setting, given in SETTINGS.items():
                for size in sizes:
                    yield Job("fits", name, setting, size, partial(measure, system, size, given))


def losses_and_noises(size: int = 300) -> Iterator[Job]:
    """Every loss and every noise that is fitted by its name alone, at the systems whose domain it stands on."""
    by_name = {system.name: system for system in systems()}

    def job(name: str, setting: str, given: dict[str, Any]) -> Job:
        return Job("losses", name, setting, size, partial(measure, by_name[name], size, {"nu": 5.0, **given}))

    for name in ("features", "formula", "gamma", "von-mises", "com-poisson"):
        for loss in lists.losses():
            yield job(name, f"loss {loss}", {"loss": loss})
    for noise in [*lists.noises(), "0.5*auto + 0.5*kde"]:
        for name in ("features", "gamma", "beta", "von-mises", "von-mises-fisher", "ising", "com-poisson"):
            yield job(name, f"noise {noise}", {"noise": noise})
    for refit in ("normal", "student"):
        yield job("features", f"noise {refit}, refitted", {"noise": refit, "refit_noise": True})


#: How rows are clustered: so many of equal size, or of sizes that differ by a factor of up to 8.
CLUSTERS = {"equal": lambda count: [20] * count, "unequal": lambda count: [8 * (1 + 7 * (k % 3 == 0)) for k in range(count)]}


def dependent() -> Iterator[Job]:
    """Clusters, chains and weights."""
    model = nw.Model.from_family("gaussian", variables="x", parametrization="moments")
    for words, noise in {"exact": {"noise": "exact"}, "auto": {"nu": 5.0}, "default": {}}.items():
        for sizes in CLUSTERS:
            for count in (3, 5, 10, 30):
                setting = f"{count} clusters, {sizes}, {words}"
                rows = CLUSTERS[sizes](count)
                yield Job("dependent", "gaussian, moments", setting, sum(rows), partial(_clusters, model, rows, noise))
        for size in (300, 1000, 3000):
            yield Job("dependent", "gaussian, moments", f"4 chains, {words}", size, partial(_chains, model, size, noise))
    for system in systems():
        if system.name in ("ising", "com-poisson"):
            for size in (100, 1000):
                yield Job("dependent", system.name, "weights", size, partial(_weights, system, size))


def _clusters(model: nw.Model, rows: list[int], noise: dict[str, Any], sets: range) -> list[Cell]:
    """Mean and variance of rows with as much variance between clusters (normal) as half of that within them."""
    cells = {name: Cell(name) for name in ("m0", "C00")}
    labels = np.repeat(np.arange(len(rows)), rows)
    for k in sets:
        rng = np.random.default_rng([2, len(rows), k])
        data = math.sqrt(0.5) * rng.normal(size=len(rows))[labels] + rng.normal(size=len(labels))
        _count_or_refuse(cells, _quietly(nw.fit, model, data, clusters=labels, seed=k, progress=False, **noise), {"m0": 0.0, "C00": 1.5})
    return list(cells.values())


def _chains(model: nw.Model, size: int, noise: dict[str, Any], sets: range) -> list[Cell]:
    cells = {"m0": Cell("m0")}
    for k in sets:
        data = autoregressive(np.random.default_rng([3, size, k]), 4, size // 4).ravel()
        _count_or_refuse(cells, _quietly(nw.fit, model, data, chains=4, seed=k, progress=False, **noise), {"m0": 0.0})
    return list(cells.values())


def _weights(system: System, size: int, sets: range) -> list[Cell]:
    cells = {name: Cell(name) for name in system.truth}
    for k in sets:
        rows = system.draw(np.random.default_rng([4, size, k]), size)
        states, counts = np.unique(rows, axis=0, return_counts=True)
        _count_or_refuse(cells, _quietly(nw.fit, system.model, states, weights=counts, seed=k, progress=False), system.truth)
    return list(cells.values())


def autoregressive(rng: np.random.Generator, chains: int, steps: int, rho: float = 0.6) -> np.ndarray:
    """Stationary chains of standard normal values with this autocorrelation, one row each."""
    x = np.empty((chains, steps))
    x[:, 0] = rng.normal(size=chains)
    for t in range(1, steps):
        x[:, t] = rho * x[:, t - 1] + math.sqrt(1 - rho**2) * rng.normal(size=chains)
    return x


def _count_or_refuse(cells: dict[str, Cell], fit: nw.FitResult | None, truth: dict[str, float]) -> None:
    if fit is None or fit.no_answer is not None:
        for cell in cells.values():
            cell.refused += 1
    else:
        _count_fit(cells, fit, truth)


def constants() -> Iterator[Job]:
    """log Z by every estimator and by the recommended one, of many states, along a path, and the evidence."""
    for words in ("independent", "chains"):
        for name, measured in {"log Z of two samples": _log_z, "states": _states, "evidence": _evidence}.items():
            for size in (100, 1000):
                yield Job("constants", name, words, size, partial(measured, size, words))
    yield Job("constants", "path", "8 deviations", 400, _path, one_of=5)


def _draws(rng: np.random.Generator, words: str, size: int) -> np.ndarray:
    return rng.normal(size=size) if words == "independent" else autoregressive(rng, 1, size)[0]


def _log_z(size: int, words: str, sets: range) -> list[Cell]:
    """A normal density and a wider noise: log Z = ½ log 2π."""
    cells: dict[str, Cell] = {}
    for k in sets:
        rng = np.random.default_rng([5, size, k])
        x, y = _draws(rng, words, size), 0.5 + 1.5 * rng.normal(size=size)
        log_noise = lambda t: stats.norm.logpdf(t, 0.5, 1.5)
        result = _quietly(
            nw.log_z, -(x**2) / 2, log_noise(x), -(y**2) / 2, log_noise(y),
            independent=words == "independent", chains_noise=None if words == "independent" else [1] * size, progress=False,
        )
        for name, found in {**result.estimates, "recommended": result}.items():
            cell = cells.setdefault(name, Cell(name))
            warned = found.refused is not None or bool(result.warnings)
            cell.count(found.log_z, found.se, (found.lower, found.upper), 0.5 * math.log(2 * math.pi), warned)
    return list(cells.values())


def _states(size: int, words: str, sets: range) -> list[Cell]:
    """Normal densities of the widths 1, 1.5 and 2: log Z = log width."""
    widths = np.array([1.0, 1.5, 2.0])
    cells = [Cell(f"state {k}") for k in (1, 2)]
    for k in sets:
        rng = np.random.default_rng([6, size, k])
        x = np.concatenate([width * _draws(rng, words, size) for width in widths])
        log_f = -0.5 * (x / widths[:, None]) ** 2
        result = _quietly(nw.log_z_states, log_f, [size] * 3, independent=words == "independent", progress=False)
        for cell, z, se, truth in zip(cells, result.log_z[1:], result.se[1:], np.log(widths[1:])):
            cell.count(z, se, (z - 1.96 * se, z + 1.96 * se), truth, bool(result.warnings))
    return cells


def _evidence(size: int, words: str, sets: range) -> list[Cell]:
    """A normal density of three variables, of which the second has the scale 3."""
    scales = np.array([1.0, 3.0, 1.0])
    truth = 1.5 * math.log(2 * math.pi) + math.log(3.0)
    cell = Cell("log evidence")
    for k in sets:
        rng = np.random.default_rng([7, size, k])
        x = np.stack([scale * _draws(rng, words, size) for scale in scales], axis=1)
        result = _quietly(
            nw.evidence, lambda x: -0.5 * ((x / scales) ** 2).sum(axis=1), x,
            independent=words == "independent", seed=k, progress=False,
        )
        warned = result.refused is not None or bool(result.warnings)
        cell.count(result.log_evidence, result.se, (result.lower, result.upper), truth, warned)
    return [cell]


def _path(sets: range) -> list[Cell]:
    """A normal density eight deviations away from the noise."""
    model = nw.Model.from_formula("-(x - m)^2/2", variables="x", parameters={"m": 8.0})
    cell = Cell("log Z")
    for k in sets:
        result = _quietly(nw.log_z_path, model, noise="normal(0, 1)", draws=400, seed=k, progress=False)
        if result is None:
            cell.refused += 1
            continue
        warned = result.refused is not None or bool(result.warnings)
        cell.count(result.log_z, result.se, (result.lower, result.upper), 0.5 * math.log(2 * math.pi), warned)
    return [cell]


PARTS = {
    "fits": "Fits of every family and kind of model",
    "losses": "Losses and noises",
    "dependent": "Clusters, chains and weights",
    "constants": "Normalizing constants",
}


def jobs(sizes: list[int], units: list[float]) -> Iterator[Job]:
    """All parts of the page in its order."""
    yield from fits(sizes, units)
    yield from losses_and_noises()
    yield from dependent()
    yield from constants()


@dataclass(frozen=True)
class Reason:
    """Why the intervals of some cells hold too seldom or too often."""

    words: str
    holds: Callable[[Seen, bool], bool]


@dataclass(frozen=True)
class Seen:
    """A cell with the job and the number of samples that it is of."""

    job: Job
    cell: Cell
    sets: int
    unknowns: int

    @property
    def words(self) -> str:
        return f"{self.job.system}, {self.job.setting}, {self.cell.number}: {_words(self.job, self.cell, self.sets)}"


#: Reasons of cells outside, of those that hold too seldom (`low`) and too often. A cell without one is an open question.
REASONS = [
    Reason(
        "fewer than ten rows for each unknown, which the result says beside errors and intervals that are then approximate; residuals are divided by what the "
        "leverage of all unknowns together leaves of them (HC3), which makes the errors of each larger than it alone needs, and influences of so few rows are skewed",
        lambda seen, low: seen.job.part == "fits" and seen.job.size < 10 * seen.unknowns,
    ),
    Reason(
        "a variance whose clusters have normal effects: its influences are squares, and so skewed that the corrections for few clusters do not reach them. Below 30 "
        "clusters, counted by their shares, fits say so (`few-clusters`, 83 to 93 %); with more they come to 95 % slowly",
        lambda seen, low: low and "clusters" in seen.job.setting and seen.cell.number == "C00",
    ),
    Reason(
        "the variance of a chain's weights is raised by what the other side's draws say of it, and never lowered",
        lambda seen, low: not low and seen.job.part == "constants" and seen.job.setting == "chains" and seen.cell.number in ("is", "is-revis"),
    ),
    Reason(
        "the variance of `revis` is infinite for noises wider than √2 deviations, and this one has 1.5: it is refused",
        lambda seen, low: seen.cell.number == "revis" and seen.cell.answered == 0,
    ),
]


def page(store: Store, wanted: list[Job], note: str) -> None:
    """Prints the page of what is in the store, one row per number with all sizes."""
    measured = [job for job in wanted if store.get(job.key)]
    print("# Calibration matrix\n\nGenerated by `bench/nets/calibration.py --page` from `measured/calibration.jsonl`, which parts of", end=" ")
    print(f"the matrix were measured into: {len(measured)} of its {len(wanted)} parts.\nIntervals of 95 %; the bounds are 92 to 98 %.", end=" ")
    print(f"A cell says the rows, the samples and how often the interval holds the truth, mean and sd of z = (estimate − truth)/error,\nand the answers with a warning and the samples that were refused, where there are any. {note}")
    seen: list[Seen] = []
    for part, title in PARTS.items():
        of_part = [job for job in measured if job.part == part]
        print(f"\n## {title}\n\n{_resolution(store, of_part)}| system | setting | number | rows × samples: coverage, mean and sd of z, warned, refused |\n|---|---|---|---|")
        for (system, setting), group in groupby(of_part, lambda job: (job.system, job.setting)):
            rows: dict[str, list[str]] = {}
            for job in group:
                part_seen = store.get(job.key)
                cells = [Cell(**cell) for cell in part_seen["cells"]]
                unknowns = sum(cell.number != "log_normalizer" for cell in cells)
                for cell in cells:
                    seen.append(Seen(job, cell, part_seen["sets"], unknowns))
                    rows.setdefault(cell.number, []).append(_words(job, cell, part_seen["sets"]))
            for number, words in rows.items():
                print(f"| {system} | {setting} | {number} | {'; '.join(words)} |")
    _conclude(seen, wanted, measured)


def _resolution(store: Store, jobs: list[Job]) -> str:
    """How well so many samples tell a coverage."""
    if not jobs:
        return ""
    fewest, most = (pick(store.get(job.key)["sets"] for job in jobs) for pick in (min, max))
    error = lambda sets: f"{100 * math.sqrt(0.95 * 0.05 / sets):.1f} %"
    if fewest == most:
        return f"{most} samples a cell tell a coverage of 95 % with a standard error of {error(most)}.\n\n"
    return f"From {fewest} to {most} samples a cell, which tell a coverage of 95 % with a standard error of {error(fewest)} and {error(most)}.\n\n"


def _conclude(seen: list[Seen], wanted: list[Job], measured: list[Job]) -> None:
    """The cells outside, with their reasons, and those without one."""
    refused = [entry for entry in seen if entry.cell.answered == 0]
    answered = [entry for entry in seen if entry.cell.answered]
    beyond = [entry for entry in answered if entry.cell.outside()]
    near = [entry for entry in answered if entry.cell.outside(0.025) and not entry.cell.outside()]
    warned = [entry for entry in answered if _seldom(entry.cell) and not entry.cell.outside(0.025)]
    open_questions = [entry for entry in [*refused, *beyond, *near] if _reason(entry) is None]
    print(f"\n## Outside\n\n{len(seen)} cells, {len(refused)} of them always refused, {len(beyond)} outside 92 to 98 % by more than", end=" ")
    print(f"chance (1 in 1,000), {len(near)} more by more than 1 in 40; {len(open_questions)} of these without a reason.", end=" ")
    print(f"Of {len(answered)} cells with a coverage\nof 92 or 98 % chance would put {len(answered) / 1000:.1f} and {len(answered) / 40:.0f} there.", end=" ")
    print(f"Another {len(warned)} hold less than 92 % of the time beside a warning.\n\n### Explained\n")
    for reason in REASONS:
        told = [entry for entry in [*refused, *beyond, *near, *warned] if _reason(entry) is reason]
        low = [entry for entry in told if entry.cell.answered and _seldom(entry.cell, 0.025)]
        high = [entry for entry in told if entry.cell.answered and not _seldom(entry.cell, 0.025)]
        ranges = [f"{len(some)} {words}, {_range(some)}" for some, words in ((low, "too seldom"), (high, "too often")) if some]
        if told:
            print(f"- {reason.words}: {len(told)} {'cell' if len(told) == 1 else 'cells'}{''.join('; ' + text for text in ranges)}")
    said = [entry for entry in warned if _reason(entry) is None]
    if said:
        print("\n### Said by a warning alone\n")
        print("\n".join(f"- {entry.words}" for entry in said))
    print("\n### Without a reason\n")
    print("\n".join(f"- {entry.words}, {entry.cell.missed_unwarned} misses unwarned" for entry in open_questions) or "None.")
    known = {job.key for job in measured}
    missing = Counter(f"{job.part}, {job.setting}" if job.part == "fits" else job.part for job in wanted if job.key not in known)
    if missing:
        print("\nParts not measured: " + "; ".join(f"{words} ({count})" for words, count in missing.items()) + ".")


def _seldom(cell: Cell, chance: float = CHANCE) -> bool:
    """Whether the interval holds the truth too seldom, whatever is said beside it."""
    return bool(stats.binom.sf(cell.answered - cell.covered - 1, cell.answered, 1 - LOWEST) < chance)


def _reason(seen: Seen) -> Reason | None:
    low = _seldom(seen.cell, 0.025) if seen.cell.answered else False
    return next((reason for reason in REASONS if reason.holds(seen, low)), None)


def _range(seen: list[Seen]) -> str:
    coverages = [100 * entry.cell.coverage for entry in seen]
    return f"{min(coverages):.1f} to {max(coverages):.1f} %"


def _words(job: Job, cell: Cell, sets: int) -> str:
    where = f"{job.size} × {sets}"
    if cell.answered == 0:
        return f"{where}: always refused"
    text = f"{where}: {100 * cell.coverage:.1f} %"
    if cell.z[0]:
        text += f", {cell.z_mean:+.2f} and {cell.z_sd:.2f}"
    if cell.warned:
        text += f", {100 * cell.warned / cell.answered:.0f} % warned"
    if cell.refused:
        text += f", {cell.refused} refused"
    return f"**{text}**" if cell.outside() else text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 30, 100, 1000])
    parser.add_argument("--units", type=float, nargs="+", default=[1.0, 1e-6])
    Chosen.arguments(parser, "calibration")
    given = parser.parse_args()
    store, chosen = Store(given.store), Chosen(given)
    wanted = list(jobs(given.sizes, given.units))
    if given.page:
        page(store, wanted, given.note)
        return
    for job in wanted:
        words = f"{job.part}: {job.system}, {job.setting}, {job.size}"
        if chosen.asks_for(words) and not chosen.ended:
            began = chosen.spent
            job.run(store, given.sets, given.again)
            print(f"{words}: {chosen.spent - began:.1f} s", file=sys.stderr, flush=True)
    store.tidy()


if __name__ == "__main__":
    main()

"""Calibration matrix: how often the default intervals cover the truth, family by family, at several sizes and units.

    python bench/nets/calibration.py [--sets 200] [--sizes 10 30 100 1000] > bench/nets/CALIBRATION.md

Every cell draws `sets` samples of a known member of a family, fits each, and counts how often the 95 % interval of each
parameter and of log Z holds the truth. Fits that are refused, and those that carry a warning, are counted beside it: an
answer that is not given, or that says it is weak, is no wrong answer. A cell is outside its bounds when its coverage is
below 92 % or above 98 % by more than three standard errors of a proportion and not every miss was warned of.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

import noisewright as nw

LOWEST, HIGHEST = 0.92, 0.98


@dataclass(frozen=True)
class System:
    """A family at a known place: its model, its truth, and how to draw from it."""

    name: str
    model: nw.Model
    truth: dict[str, float]
    draw: Callable[[np.random.Generator, int], np.ndarray]


def systems(unit: float = 1.0) -> Iterator[System]:
    """One member of every family with a sampler of its own, independent of ours."""
    from_family = nw.Model.from_family
    mean, sd = unit, 2 * unit
    yield System(
        "gaussian, moments",
        from_family("gaussian", variables="x", parametrization="moments"),
        {"m0": mean, "C00": sd**2, "log_normalizer": 0.5 * np.log(2 * np.pi * sd**2)},
        lambda rng, n: rng.normal(mean, sd, n),
    )
    precision = 1 / sd**2
    yield System(
        "gaussian, natural",
        from_family("gaussian", variables="x"),
        {"h0": mean * precision, "P00": precision},
        lambda rng, n: rng.normal(mean, sd, n),
    )
    yield System(
        "student",
        from_family("student", variables="x"),
        {"location": mean, "scale": sd},
        lambda rng, n: mean + sd * rng.standard_t(5, n),
    )
    yield System(
        "gamma",
        from_family("gamma", variables="x"),
        {"shape": 2.0, "rate": 1.5 / unit},
        lambda rng, n: rng.gamma(2.0, unit / 1.5, n),
    )
    yield System(
        "features",
        nw.Model.from_features(["x", "x^2"], variables="x"),
        {
            "x": mean * precision,
            "x^2": -precision / 2,
            "log_normalizer": 0.5 * mean**2 * precision + 0.5 * math.log(2 * math.pi / precision),
        },
        lambda rng, n: rng.normal(mean, sd, n),
    )
    if unit == 1.0:
        yield from _without_units()


def _without_units() -> Iterator[System]:
    from_family = nw.Model.from_family
    yield System(
        "beta", from_family("beta", variables="x"), {"a": 2.0, "b": 3.0}, lambda rng, n: rng.beta(2.0, 3.0, n)
    )
    yield System(
        "von-mises",
        from_family("von-mises", variables="x"),
        {"a": 2 * math.cos(1.0), "b": 2 * math.sin(1.0)},
        lambda rng, n: rng.vonmises(1.0, 2.0, n),
    )
    yield System(
        "com-poisson",
        from_family("com-poisson", variables="x"),
        {"log_rate": math.log(3.0), "dispersion": 1.0},
        lambda rng, n: rng.poisson(3.0, n).astype(float),
    )
    fields, coupling = np.array([0.3, -0.2]), 0.4
    states = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    log_weights = states @ fields + coupling * states[:, 0] * states[:, 1]
    shares = np.exp(log_weights) / np.exp(log_weights).sum()
    yield System(
        "ising",
        from_family("ising", variables=["x", "y"], states=[-1, 1]),
        {"h0": 0.3, "h1": -0.2, "J01": 0.4, "log_normalizer": float(np.log(np.exp(log_weights).sum()))},
        lambda rng, n: states[rng.choice(4, n, p=shares)],
    )


@dataclass
class Cell:
    """What was seen of one parameter in one setting."""

    system: str
    size: int
    setting: str
    parameter: str
    covered: int = 0
    missed_unwarned: int = 0
    answered: int = 0
    warned: int = 0
    z: list[float] = field(default_factory=list)

    @property
    def coverage(self) -> float:
        return self.covered / self.answered if self.answered else math.nan

    @property
    def outside(self) -> bool:
        """Beyond the bounds by more than chance, with misses that nothing warned of."""
        if self.answered == 0:
            return False
        error = 3 * math.sqrt(0.05 * 0.95 / self.answered)
        low, high = self.coverage < LOWEST - error, self.coverage > HIGHEST + error
        return (low and self.missed_unwarned > 0.08 * self.answered) or high


SETTINGS: dict[str, dict[str, object]] = {
    "exact, robust": {"noise": "exact"},
    "exact, model": {"noise": "exact", "errors": "model"},
    "auto, robust": {"nu": 5.0},
    "auto, model": {"nu": 5.0, "errors": "model"},
}


def measure(system: System, size: int, setting: str, sets: int, seed: int = 1) -> tuple[list[Cell], int]:
    """The cells of one system, size and setting, and how many fits were refused."""
    cells = {name: Cell(system.name, size, setting, name) for name in system.truth}
    refused = 0
    for k in range(sets):
        data = system.draw(np.random.default_rng([seed, size, k]), size)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit = nw.fit(system.model, data, seed=k, progress=False, **SETTINGS[setting])
        except nw.NoisewrightError:
            refused += 1
            continue
        if fit.no_answer is not None or not fit.converged:
            refused += 1
            continue
        for name, cell in cells.items():
            if name in fit.estimates:
                _count(cell, fit.estimates[name], system.truth[name], bool(fit.warnings))
    return [cell for cell in cells.values() if cell.answered], refused


def _count(cell: Cell, estimate: nw.Estimate, truth: float, warned: bool) -> None:
    if not math.isfinite(estimate.se):
        return
    covered = estimate.lower <= truth <= estimate.upper
    cell.answered += 1
    cell.covered += covered
    cell.warned += warned
    cell.missed_unwarned += not covered and not warned
    cell.z.append((estimate.estimate - truth) / estimate.se)


def clusters(count: int, sets: int, seed: int = 2) -> Cell:
    """The mean of a normal sample in `count` clusters of 20 rows with an effect of their own each."""
    model = nw.Model.from_family("gaussian", variables="x", parametrization="moments")
    cell = Cell("gaussian, clusters", 20 * count, f"{count} clusters", "m0")
    for k in range(sets):
        rng = np.random.default_rng([seed, count, k])
        labels = np.repeat(np.arange(count), 20)
        data = rng.normal(0, 1, count)[labels] + rng.normal(0, 1, 20 * count)
        fit = nw.fit(model, data, noise="exact", clusters=labels, progress=False)
        _count(cell, fit["m0"], 0.0, bool(fit.warnings))
    return cell


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 30, 100, 1000])
    parser.add_argument("--units", type=float, nargs="+", default=[1.0, 1e-6])
    given = parser.parse_args()
    print("# Calibration matrix\n")
    print(f"Generated by `bench/nets/calibration.py` with {given.sets} samples a cell.\n")
    print("| system | unit | rows | setting | parameter | coverage | mean z | sd z | warned | refused | |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    total = outside = 0
    for unit in given.units:
        for system in systems(unit):
            for size in given.sizes:
                for setting in SETTINGS:
                    cells, refused = measure(system, size, setting, given.sets)
                    for cell in cells:
                        total, outside = total + 1, outside + cell.outside
                        print(_row(cell, unit, refused), flush=True)
    for count in (3, 5, 10, 30):
        cell = clusters(count, given.sets)
        total, outside = total + 1, outside + cell.outside
        print(_row(cell, 1.0, 0), flush=True)
    print(f"\n{total} cells, {outside} outside 92 to 98 % by more than three standard errors and unwarned.")


def _row(cell: Cell, unit: float, refused: int) -> str:
    mark = "**outside**" if cell.outside else ""
    return (
        f"| {cell.system} | {unit:g} | {cell.size} | {cell.setting} | {cell.parameter} | {100 * cell.coverage:.1f} % "
        f"| {np.mean(cell.z):+.2f} | {np.std(cell.z):.2f} | {100 * cell.warned / cell.answered:.0f} % | {refused} | {mark} |"
    )


if __name__ == "__main__":
    main()

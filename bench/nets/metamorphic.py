"""Metamorphic checks: answers move exactly as they must when the same question is put otherwise.

    python bench/nets/metamorphic.py > bench/nets/METAMORPHIC.md

Every family and kind of model is asked in other units, at another place, with rows, columns and parameters in another order,
with duplicates and with weights, with a row that counts for nothing, in another spelling, as a family and by its features, and
with angles from 0 and from −π. Without noise two answers agree to the tolerance of the search (10⁻⁶ standard errors, and the
square of it where a Newton step ends it); 10⁻⁴ standard errors leave room for curvature. Against noise, the same seed gives the
same draws in other units and another order; elsewhere the draws are others, and the answers agree to five of the noise's own
standard errors (a probability of 6·10⁻⁷ for each number).
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import noisewright as nw

from systems import System, systems

#: Largest difference of two equal answers, in standard errors.
SAME = 1e-4

#: Largest relative difference of two equal standard errors.
SAME_SE = 1e-3

#: Difference of two answers from other noise, in the standard errors that the noise causes.
OTHER_NOISE = 5.0

Move = tuple[str, str, float, float]


@dataclass(frozen=True)
class Case:
    """Two questions: each number of the first answer, times a factor and plus a shift, is a number of the second."""

    transformation: str
    system: str
    first: tuple[nw.Model, Any, dict[str, Any]]
    second: tuple[nw.Model, Any, dict[str, Any]]
    #: Name in the first answer, name in the second, factor, shift.
    moves: list[Move]
    #: Whether the same seed gives the same noise in both.
    same_noise: bool = False
    #: Names whose values are angles.
    angles: tuple[str, ...] = field(default=())


#: The features of the families that have some: variables, domain, and for each parameter its feature and how much larger it is.
AS_FEATURES: dict[str, tuple[Any, Any, dict[str, tuple[str, float]]]] = {
    "gaussian, natural": ("x", None, {"h0": ("x", 0), "P00": ("-x^2/2", 0)}),
    "truncated-gaussian": ("x", "positive", {"h0": ("x", 0), "P00": ("-x^2/2", 0)}),
    "gamma": ("x", "positive", {"shape": ("log(x)", 1), "rate": ("-x", 0)}),
    "beta": ("x", (0, 1), {"a": ("log(x)", 1), "b": ("log(1 - x)", 1)}),
    "exponential-polynomial": ("x", None, {f"t{k}": (f"x^{k}", 0) for k in (1, 2, 3, 4)}),
    "von-mises": ("x", "circle", {"a": ("cos(x)", 0), "b": ("sin(x)", 0)}),
    "von-mises-fisher": (["x", "y", "z"], "sphere", {"t0": ("x", 0), "t1": ("y", 0), "t2": ("z", 0)}),
    "com-poisson": ("x", "counts", {"log_rate": ("x", 0), "dispersion": ("-lgamma(x + 1)", 0)}),
    "ising": (["x", "y"], {"states": [-1, 1]}, {"h0": ("x", 0), "h1": ("y", 0), "J01": ("x*y", 0)}),
}

#: The parameter of place.
PLACES = {"gaussian, moments": "m0", "gaussian, normalized": "m0", "student": "location", "formula": "m", "formula, normalized": "m"}

#: Spellings of one log-density, with what is added to it.
QUARTIC = {
    "t1*x + t2*x^2 + t4*x^4": 0.0,
    "t4*x^4 + t2*x^2 + t1*x": 0.0,
    "x*(t1 + x*(t2 + t4*x*x))": 0.0,
    "t1*x - (-t2)*x*x + exp(0)*t4*(x^2)^2": 0.0,
    "t1*x + t2*x^2 + t4*x^4 + 3": 3.0,
    "log(exp(t1*x + t2*x^2)) + t4*x^4": 0.0,
}


def drawn(system: System, rows: int, seed: int = 8) -> np.ndarray:
    return system.draw(np.random.default_rng(seed), rows)


def _plain(system: System) -> list[Move]:
    """All parameters as they are."""
    return [(name, name, 1.0, 0.0) for name in system.model.parameters]


def cases(rows: int = 300, units: tuple[float, ...] = (1e-6, 1e6), seed: int = 8) -> Iterator[Case]:
    """Every transformation of every system that it can be made of."""
    known = {system.name: system for system in systems() if system.kind != "function"}
    for system in known.values():
        data = drawn(system, rows, seed)
        yield from _reordered(system, data)
        yield from _weighted(system, data)
        for unit in units if system.powers else ():
            moves = [(name, name, unit**power, 0.0) for name, power in (system.powers or {}).items()]
            yield Case("units", f"{system.name}, × {unit:g}", (system.model, data, {}), (system.model, unit * data, {}), moves, True)
        if system.name in PLACES:
            moves = [(name, name, 1.0, 50.0 * (name == PLACES[system.name])) for name in system.model.parameters]
            yield Case("shifts", system.name, (system.model, data, {}), (system.model, data + 50.0, {}), moves)
        if system.name in AS_FEATURES:
            variables, domain, features = AS_FEATURES[system.name]
            other = nw.Model.from_features([feature for feature, _ in features.values()], variables=variables, domain=domain)
            moves = [(name, feature, 1.0, -more) for name, (feature, more) in features.items()]
            yield Case("family and features", system.name, (system.model, data, {}), (other, data, {}), moves)
        if system.kind == "von-mises":
            angles = ("mean",) if "polar" in system.name else ()
            both = (system.model, data, {}), (system.model, data % (2 * np.pi), {})
            yield Case("angles from 0 and from −π", system.name, *both, _plain(system), angles=angles)
    yield from _columns(known["gaussian, plane"], rows, seed)
    yield from _spellings(rows, seed)


def _reordered(system: System, data: np.ndarray) -> Iterator[Case]:
    mixed = np.random.default_rng(1).permutation(data)
    yield Case("order of rows", system.name, (system.model, data, {}), (system.model, mixed, {}), _plain(system), True)


def _weighted(system: System, data: np.ndarray) -> Iterator[Case]:
    counts = np.random.default_rng(3).integers(1, 4, len(data))
    repeated = np.repeat(data, counts, axis=0)
    yield Case("duplicates and weights", system.name, (system.model, repeated, {}), (system.model, data, {"weights": counts}), _plain(system))
    more = np.concatenate([data, data[:1]])
    weights = np.r_[np.ones(len(data)), 0.0]
    yield Case("a row of weight zero", system.name, (system.model, data, {}), (system.model, more, {"weights": weights}), _plain(system))


def _columns(plane: System, rows: int, seed: int) -> Iterator[Case]:
    values = drawn(plane, rows, seed)
    frame = {"x": values[:, 0], "y": values[:, 1]}
    features = ["x", "y", "x^2", "y^2", "x*y"]
    models = [nw.Model.from_features(names, variables=order) for names, order in ((features, ["x", "y"]), (features, ["y", "x"]))]
    moves = [(name, name, 1.0, 0.0) for name in features]
    yield Case("order of columns", "features, plane", (models[0], frame, {}), (models[1], frame, {}), moves)
    turned = nw.Model.from_features(features[::-1], variables=["x", "y"])
    yield Case("order of parameters", "features, plane", (models[0], frame, {}), (turned, frame, {}), moves)


def _spellings(rows: int, seed: int) -> Iterator[Case]:
    rng = np.random.default_rng(seed)
    data = np.where(rng.random(rows) < 0.4, -1.2, 1.1) + 0.6 * rng.normal(size=rows)
    start = {"t1": 0.0, "t2": 0.0, "t4": -0.1}
    models = {text: nw.Model.from_formula(text, variables="x", parameters=start) for text in QUARTIC}
    first = next(iter(models.values()))
    for text, model in list(models.items())[1:]:
        moves = [*((name, name, 1.0, 0.0) for name in start), ("log_normalizer", "log_normalizer", 1.0, QUARTIC[text])]
        yield Case("two spellings", f"`{text}`", (first, data, {}), (model, data, {}), moves, True)


def _answer(question: tuple[nw.Model, Any, dict[str, Any]], given: dict[str, Any]) -> nw.FitResult:
    model, data, own = question
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return nw.fit(model, data, progress=False, **own, **given)


@dataclass(frozen=True)
class Difference:
    """How far a number is from where it must be, as a share of what is allowed; the same of its standard error."""

    name: str
    estimate: float
    se: float

    @property
    def worst(self) -> float:
        return max(self.estimate, self.se)


def differences(case: Case, given: dict[str, Any]) -> list[Difference]:
    """The differences of all numbers; above 1 they are more than is allowed."""
    first, second = _answer(case.first, given), _answer(case.second, given)
    same_noise = given.get("noise") == "exact" or case.same_noise
    found = []
    for name, other, factor, shift in case.moves:
        a, b = first[name], second[other]
        apart = b.estimate - (factor * a.estimate + shift)
        if name in case.angles:
            apart = math.remainder(apart, 2 * math.pi)
        # States that can be enumerated are fitted without noise by default.
        if same_noise or a.se_noise == b.se_noise == 0.0:
            allowed = SAME * abs(factor) * a.se
            se = abs(b.se / (abs(factor) * a.se) - 1) / SAME_SE
        else:
            allowed = OTHER_NOISE * math.hypot(abs(factor) * a.se_noise, b.se_noise)
            se = 0.0
        found.append(Difference(name, abs(apart) / allowed if allowed > 0 else math.inf, se))
    return found


SETTINGS: dict[str, dict[str, Any]] = {"exact": {"noise": "exact"}, "default": {}, "auto, ν = 5": {"nu": 5.0}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[30, 300])
    parser.add_argument("--units", type=float, nargs="+", default=[1e-6, 1e-3, 1e3, 1e6])
    given = parser.parse_args()
    lines: list[str] = []
    failed: list[str] = []
    total = 0
    for setting, how in SETTINGS.items():
        seen: dict[str, list[tuple[float, str]]] = defaultdict(list)
        for rows in given.rows:
            for case in cases(rows, tuple(given.units)):
                total += 1
                words = f"{case.transformation}, {case.system}, {setting}, {rows} rows"
                try:
                    worst = max(differences(case, how), key=lambda found: found.worst)
                except nw.NoisewrightError as error:
                    failed.append(f"- {words}: refused: {error}")
                    continue
                seen[case.transformation].append((worst.worst, f"{case.system}, {worst.name}, {rows} rows"))
                if not worst.worst <= 1:
                    failed.append(f"- {words}: {worst.name} {worst.worst:.3g}")
        for transformation, found in seen.items():
            largest, which = max(found)
            above = sum(not value <= 1 for value, _ in found)
            lines.append(f"| {transformation} | {setting} | {len(found)} | {largest:.2g} | {which} | {above} |")
    print("# Metamorphic checks\n")
    print(f"Generated by `bench/nets/metamorphic.py` at {', '.join(map(str, given.rows))} rows: {total} pairs of questions,", end=" ")
    print(f"{len(failed)} of which differ by more than\nis allowed or are refused.\n")
    if failed:
        print("\n".join(failed) + "\n")
    print("A difference is a share of what is allowed: 10⁻⁴ standard errors, and 10⁻³ of a standard error, where both answers are")
    print("without noise or have the same noise; five of the noise's own errors where the draws are others.\n")
    print("| the same question in | setting | pairs | largest difference | of which | more than allowed |\n|---|---|---|---|---|---|")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

"""False alarms and power: how often each warning and refusal is given on right inputs, and how often on wrong ones.

    python bench/nets/alarms.py [--sets 1000] > bench/nets/ALARMS.md

Right inputs are the systems of the calibration matrix, fitted to rows of their own, and constants of densities that overlap
well; every code on them is a false alarm. Wrong inputs are made so that one code ought to be given; its power is how often
it is. The codes are those of the library: one for which no wrong input is made here is listed as such.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

import noisewright as nw

import lists
from calibration import autoregressive
from systems import systems

#: The level of the tests among the warnings, and by which factor chance may carry a rate above it.
LEVEL, ROOM = 0.01, 1.5

#: Codes that say something true of a right input, and how they come about.
REMARKS = {
    "noise-error": "the noise asked for (ν = 5) does leave an error of its own",
    "at-bound": "the estimate is at a bound of the family, and is said to be",
    "few-rows-in-overlap": "few rows are where the two meet, and the errors are large",
}

Codes = set[str]


def codes_of_fit(model: nw.Model, data: Any, **given: Any) -> Codes:
    """The codes of the warnings of a fit; a refusal is its own code."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = nw.fit(model, data, progress=False, **given)
    except nw.NoisewrightError as error:
        return {str(getattr(error, "code", "refused"))}
    return {str(warning["code"]) for warning in fit.diagnostics["warnings"]}


def codes_of_constant(call: Callable[[], Any]) -> Codes:
    """The codes of a result about constants: its warnings, and why there is no answer."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call()
    except nw.NoisewrightError as error:
        return {str(getattr(error, "code", "refused"))}
    refused = getattr(result, "refused_code", None)
    return {*result.warning_codes, *([] if refused is None else [refused])}


def false_alarms(sets: int, size: int, noise: str) -> tuple[Counter[str], int]:
    """How many fits of right models gave each code, and how many fits there were."""
    given: dict[str, Any] = {"noise": noise} if noise == "exact" else {"noise": noise, "nu": 5.0}
    counted: Counter[str] = Counter()
    members = [s for s in systems() if s.kind != "function" and (noise != "kde" or s.name in ("gaussian, moments", "features", "student"))]
    each = max(sets // len(members), 1)
    for system in members:
        for k in range(each):
            data = system.draw(np.random.default_rng([5, size, k]), size)
            counted.update(codes_of_fit(system.model, data, seed=k, **given))
    return counted, each * len(members)


@dataclass(frozen=True)
class Wrong:
    """An input that is wrong in one way, and the code it should draw."""

    kind: str
    name: str
    code: str
    codes: Callable[[np.random.Generator, int], Codes]


def wrong_inputs() -> Iterator[Wrong]:
    """At least one input for as many codes as one can be made for."""
    normal = nw.Model.from_features(["x", "x^2"], variables="x")
    bounded = nw.Model.from_formula("-a*x^2 + b*x", variables="x", parameters={"a": (1.0, 0.9, 5.0), "b": 0.0})
    wells = nw.Model.from_formula("log(exp(-(x - m)^2/2) + exp(-(x + 3*m)^2/2))", variables="x", parameters={"m": 0.3})
    fit = lambda name, code, model, draw, **given: Wrong(
        "fit", name, code, lambda rng, k: codes_of_fit(model, draw(rng), seed=k, **given)
    )
    yield fit("t₃ data in a normal model, 3,000 rows", "misspecified", normal, lambda rng: rng.standard_t(3, 3000))
    yield fit("t₃ data in a normal model, 3,000 rows, exact", "misspecified", normal, lambda rng: rng.standard_t(3, 3000), noise="exact")
    yield fit("two wells in a normal model, 1,000 rows", "misspecified", normal, _wells)
    yield fit("noise far from the data", "no-overlap", normal, lambda rng: rng.normal(size=300), noise="normal(60, 1)", nu=5.0)
    yield fit("noise of another place", "little-overlap", normal, lambda rng: rng.normal(size=1000), noise="normal(5, 1)", nu=5.0)
    yield fit("noise with lighter tails than the data", "tail-shape", normal, lambda rng: rng.normal(size=1000), noise="normal(0, 0.2)", nu=5.0)
    yield fit("data beyond the noise", "separation", normal, lambda rng: rng.uniform(1, 2, 50), noise="normal(-1, 0.01)", nu=5.0)
    yield fit("a cubic on the whole line", "not-normalizable", nw.Model.from_features(["x", "x^2", "x^3"], variables="x"), lambda rng: rng.gamma(2.0, 1.0, 300), nu=5.0)
    yield fit("a parameter that wants to be beyond its bound", "at-bound", bounded, lambda rng: 3 * rng.normal(size=300), nu=5.0)
    yield fit("counts that vary more than any of the family", "beyond-family", nw.Model.from_family("com-poisson", variables="x"), lambda rng: rng.negative_binomial(0.3, 0.02, 300).astype(float))
    yield fit("a loss with heavy weights", "weight-shape", normal, lambda rng: rng.normal(size=1000), noise="normal(0, 0.3)", nu=5.0, loss="kl")
    yield fit("few noise points", "noise-error", normal, lambda rng: rng.normal(size=1000), nu=0.05)
    yield fit("one cluster", "one-cluster", normal, lambda rng: rng.normal(size=100), clusters=np.zeros(100), nu=5.0)
    yield fit("a chain that hardly moves", "few-effective-rows", normal, lambda rng: autoregressive(rng, 1, 200, 0.999)[0], chains=1, nu=5.0)
    yield fit("weights of almost nothing", "little-weight", normal, lambda rng: rng.normal(size=50), weights=np.full(50, 0.01), nu=5.0)
    yield fit("a noise that cannot be refitted", "not-refitted", normal, lambda rng: rng.normal(size=300), noise="kde", nu=5.0, refit_noise=True)
    yield fit("a model with several minima", "several-optima", wells, lambda rng: np.where(rng.random(400) < 0.5, 1.0, -3.0) + rng.normal(size=400), nu=5.0)
    yield fit("a search of one step", "not-converged", wells, lambda rng: rng.normal(2, 1, 300), nu=5.0, max_iterations=1, starts=1)
    yield fit("a wrong model at two amounts of noise", "ratio-matters", normal, _wells, noise="normal(0, 3)", nu=1.0, check_ratio=True)
    yield from _wrong_constants()


def _wells(rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(1000) < 0.5, -2.0, 2.0) + 0.7 * rng.normal(size=1000)


def _two_samples(x: np.ndarray, y: np.ndarray, mean: float, sd: float, **given: Any) -> Codes:
    """A standard normal density at draws `x` of it and `y` of a normal noise."""
    log_noise = lambda t: stats.norm.logpdf(t, mean, sd)
    call = lambda: nw.log_z(-(x**2) / 2, log_noise(x), -(y**2) / 2, log_noise(y), progress=False, **given)
    return codes_of_constant(call)


def _wrong_constants() -> Iterator[Wrong]:
    pair = lambda name, code, codes: Wrong("logz", name, code, codes)
    yield pair("draws of another density", "contradiction", lambda rng, k: _two_samples(rng.normal(1, 1, 1000), rng.normal(0, 1.5, 1000), 0, 1.5, independent=True))
    yield pair("noise far from the density", "too-far-apart", lambda rng, k: _two_samples(rng.normal(size=300), rng.normal(60, 1, 300), 60, 1, independent=True))
    yield pair("noise that hardly meets the density", "few-crossings", lambda rng, k: _two_samples(rng.normal(size=100), rng.normal(6, 1, 100), 6, 1, independent=True))
    yield pair("few draws", "few-draws", lambda rng, k: _two_samples(rng.normal(size=3), rng.normal(0, 1.5, 3), 0, 1.5, independent=True))
    yield pair("one draw", "single-draw", lambda rng, k: _two_samples(rng.normal(size=1), rng.normal(0, 1.5, 1), 0, 1.5, independent=True))
    yield pair("a chain that hardly moves", "short-chain", lambda rng, k: _two_samples(autoregressive(rng, 1, 100, 0.999)[0], rng.normal(0, 1.5, 100), 0, 1.5))
    yield pair("a chain that stands still", "stands-still", lambda rng, k: _two_samples(np.full(100, 0.3), rng.normal(0, 1.5, 100), 0, 1.5))
    yield pair("noise of another place", "little-overlap", lambda rng, k: _two_samples(rng.normal(size=1000), rng.normal(4, 1, 1000), 4, 1, independent=True))
    states = lambda name, code, codes: Wrong("states", name, code, codes)
    yield states("two states that never meet", "disconnected", lambda rng, k: _states(rng, 60.0))
    yield states("a state without draws far away", "heavy-tail", lambda rng, k: _states(rng, 5.0, empty=True))
    path = lambda name, code, codes: Wrong("path", name, code, codes)
    yield path("two wells far apart", "elsewhere", lambda rng, k: _path("log(exp(-(x - 12)^2/2) + exp(-(x + 12)^2/2))", k))
    yield path("one step of each chain", "too-few-steps", lambda rng, k: _path("-(x - 8)^2/2", k, draws=8, warm_up=0))


def _states(rng: np.random.Generator, distance: float, empty: bool = False) -> Codes:
    x = rng.normal(size=300) if empty else np.concatenate([rng.normal(size=300), rng.normal(distance, 1, 300)])
    log_f = np.stack([-(x**2) / 2, -((x - distance) ** 2) / 2])
    return codes_of_constant(lambda: nw.log_z_states(log_f, [300, 0 if empty else 300], independent=True, progress=False))


def _path(formula: str, seed: int, **given: Any) -> Codes:
    model = nw.Model.from_formula(f"{formula} + 0*a", variables="x", parameters={"a": 0.0})
    how = {"draws": 200, **given}
    return codes_of_constant(lambda: nw.log_z_path(model, noise="normal(0, 1)", seed=seed, progress=False, **how))


def right_constants(sets: int) -> Iterator[tuple[str, str, Counter[str], int]]:
    """Codes on constants of densities that overlap well: kind, words, counts, and how many there were."""
    jobs: dict[tuple[str, str], Callable[[np.random.Generator, int], Codes]] = {
        ("logz", "independent, 1,000"): lambda rng, k: _two_samples(rng.normal(size=1000), rng.normal(0.5, 1.5, 1000), 0.5, 1.5, independent=True),
        ("logz", "chains, 1,000"): lambda rng, k: _two_samples(autoregressive(rng, 1, 1000)[0], rng.normal(0.5, 1.5, 1000), 0.5, 1.5),
        ("states", "independent, 300"): lambda rng, k: _states(rng, 1.0),
        ("logz", "evidence, chains, 1,000"): _evidence,
        ("path", "8 deviations"): lambda rng, k: _path("-(x - 8)^2/2", k, draws=400),
    }
    for (kind, words), job in jobs.items():
        count = sets if kind != "path" else max(sets // 20, 5)
        counted: Counter[str] = Counter()
        for k in range(count):
            counted.update(job(np.random.default_rng([8, k]), k))
        yield kind, words, counted, count


def _evidence(rng: np.random.Generator, k: int) -> Codes:
    x = np.stack([autoregressive(rng, 1, 1000)[0] for _ in range(2)], axis=1)
    return codes_of_constant(lambda: nw.evidence(lambda t: -0.5 * (t**2).sum(axis=1), x, seed=k, progress=False))


def _alarm_row(kind: str, words: str, counted: Counter[str], total: int) -> tuple[str, int]:
    """A line for one kind of right input, and how many of its codes are above their level and are no remarks."""
    cells, above = [], 0
    for code, count in sorted(counted.items()):
        # More than so many have a probability below 1 in 1,000 at 1.5 times the level.
        limit = stats.binom.isf(1e-3, total, ROOM * LEVEL)
        mark = count > limit and code not in REMARKS
        above += mark
        text = f"{code} {100 * count / total:.2f} %"
        cells.append(f"**{text}**" if mark else text)
    return f"| {kind} | {words} | {total} | {', '.join(cells) or 'none'} |", above


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000])
    given = parser.parse_args()
    print("# False alarms and power\n")
    print(f"Generated by `bench/nets/alarms.py` with {given.sets} right inputs a row, and {max(given.sets // 10, 5)} wrong ones.\n")
    print("## On right inputs\n\n| result | input | how many | codes |\n|---|---|---|---|")
    above = 0
    for size in given.sizes:
        for noise in ("exact", "auto", "kde"):
            line, more = _alarm_row("fit", f"{size} rows, noise {noise}", *false_alarms(given.sets, size, noise))
            print(line, flush=True)
            above += more
    for kind, words, counted, total in right_constants(given.sets):
        line, more = _alarm_row(kind, words, counted, total)
        print(line, flush=True)
        above += more
    print(f"\n{above} codes are above {ROOM:g} times the level of {100 * LEVEL:g} % by more than chance. Not counted are remarks:\n")
    for code, why in REMARKS.items():
        print(f"- {code}: {why}")
    print("\n## On wrong ones\n\n| result | input | code | given | others |\n|---|---|---|---|---|")
    caught: dict[tuple[str, str], float] = {}
    sets = max(given.sets // 10, 5)
    for wrong in wrong_inputs():
        count = sets if wrong.kind != "path" else 5
        seen: Counter[str] = Counter()
        for k in range(count):
            seen.update(wrong.codes(np.random.default_rng([6, k]), k))
        rate = seen[wrong.code] / count
        caught[wrong.kind, wrong.code] = max(rate, caught.get((wrong.kind, wrong.code), 0.0))
        others = ", ".join(f"{code} {100 * n / count:.0f} %" for code, n in sorted(seen.items()) if code != wrong.code)
        print(f"| {wrong.kind} | {wrong.name} | {wrong.code} | {100 * rate:.0f} % | {others} |", flush=True)
    print("\n## Codes of the library\n")
    for kind in lists.CODES:
        known = lists.codes(kind)
        missing = [code for code in known if (kind, code) not in caught]
        print(f"- {kind}: {len(known)} codes, {len(known) - len(missing)} with a wrong input here; without one: {', '.join(missing) or 'none'}")


if __name__ == "__main__":
    main()

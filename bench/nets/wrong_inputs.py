"""Inputs that are wrong in one way each, and the code of the warning or refusal that each of them ought to draw."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

import noisewright as nw

from calibration import autoregressive

Codes = set[str]
Rng = np.random.Generator


@dataclass(frozen=True)
class Wrong:
    """An input that is wrong in one way, and the code it should draw."""

    kind: str
    name: str
    code: str
    codes: Callable[[Rng, int], Codes]
    #: Codes that are said in its place where they hold too.
    instead: tuple[str, ...] = ()
    #: Why it is not always given.
    limit: str = ""


def codes_of_fit(model: nw.Model, data: Any, **given: Any) -> Codes:
    """The codes of the warnings of a fit; a refusal is its own code."""
    return _codes(lambda: nw.fit(model, data, progress=False, **given))


def codes_of_constant(call: Callable[[], Any], estimators: tuple[str, ...] = ()) -> Codes:
    """The codes of a result about constants: its warnings, why there is no answer, and why some estimators have none."""
    return _codes(call, estimators)


def _codes(call: Callable[[], Any], estimators: tuple[str, ...] = ()) -> Codes:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call()
    except nw.NoisewrightError as error:
        return {str(getattr(error, "code", "refused"))}
    if hasattr(result, "diagnostics"):
        return {str(warning["code"]) for warning in result.diagnostics["warnings"]}
    refused = [getattr(result, "refused_code", None), *(result.estimates[name].refused_code for name in estimators)]
    return {*result.warning_codes, *(code for code in refused if code is not None)}


def wrong_inputs() -> Iterator[Wrong]:
    """At least one input for every code that an input can draw."""
    yield from _wrong_models()
    yield from _wrong_noises()
    yield from _wrong_searches()
    yield from _wrong_rows()
    yield from _wrong_settings()
    yield from _wrong_ratios()
    yield from _wrong_pairs()
    yield from _wrong_chains()
    yield from _wrong_states()
    yield from _wrong_paths()


def diagonal(dimension: int) -> nw.Model:
    """Normal variables without correlations."""
    names = [f"x{k}" for k in range(dimension)]
    return nw.Model.from_features([*names, *(f"{name}^2" for name in names)], variables=names)


NORMAL = nw.Model.from_features(["x", "x^2"], variables="x")
QUARTIC = nw.Model.from_features(["x", "x^2", "x^3", "x^4"], variables="x")
WELLS = nw.Model.from_formula("log(exp(-(x - m)^2/2) + exp(-(x + 3*m)^2/2))", variables="x", parameters={"m": 0.3})
STUDENT = nw.Model.from_family("student", variables="x", dof="free")
LINE = nw.Model.from_formula("-(x - a*z)^2/2", variables="x", covariates="z", parameters={"a": 0.0})
WIDE = diagonal(10)

#: Codes that no input here draws, and why.
UNREACHED = {
    ("fit", "no-maximum"): "exact fits that end early are settled at a minimum, or at an edge (rising-likelihood)",
    ("fit", "not-designed"): "a design that fails at a pilot with an answer is not known",
    ("logz", "too-far-apart"): "fewer than five crossings are said first (few-crossings)",
    ("logz", "open-interval"): "fewer than five crossings are said first (few-crossings)",
    ("path", "paths-disagree"): "not met: chains that disagree are said first",
    ("path", "elsewhere"): "seldom met (on the way to many narrow spikes): modes that the swarm finds, the path comes to",
    ("path", "too-few-steps"): "fewer than 20 draws for each chain are refused before",
    ("states", "not-converged"): "Newton's method on a convex function; the code stands for a failure of rounding",
}


def _fit(name: str, code: str, model: nw.Model, draw: Callable[[Rng], Any], instead: tuple[str, ...] = (), **given: Any) -> Wrong:
    return Wrong("fit", name, code, lambda rng, k: codes_of_fit(model, draw(rng), seed=k, **given), instead)


def _plain(rows: int) -> Callable[[Rng], np.ndarray]:
    return lambda rng: rng.normal(size=rows)


def _on_a_line(rng: Rng) -> dict[str, np.ndarray]:
    z = rng.normal(size=300)
    return {"x": 1.5 * z + rng.normal(size=300), "z": z}


def _two_wells(rng: Rng) -> np.ndarray:
    return np.where(rng.random(1000) < 0.5, -2.0, 2.0) + 0.7 * rng.normal(size=1000)


def _wrong_models() -> Iterator[Wrong]:
    t3 = lambda rng: rng.standard_t(3, 3000)
    yield _fit("t₃ data in a normal model, 3,000 rows", "misspecified", NORMAL, t3)
    yield _fit("t₃ data in a normal model, 3,000 rows, exact", "misspecified", NORMAL, t3, noise="exact")
    yield _fit("t₃ data in a normal model, 3,000 rows, kde", "misspecified", NORMAL, t3, noise="kde", nu=5.0)
    yield _fit("two wells in a normal model, 1,000 rows", "misspecified", NORMAL, _two_wells)
    interval = nw.Model.from_family("beta", variables="x")
    halves = lambda rng: np.where(rng.random(3000) < 0.5, rng.beta(2, 12, 3000), rng.beta(12, 2, 3000))
    yield _fit("two beta densities in one, 3,000 rows", "misspecified", interval, halves)
    twenty = diagonal(20)
    yield _fit("t₃ data in a normal model in 20 dimensions, 3,000 rows", "misspecified", twenty, lambda rng: stats.multivariate_t(shape=np.eye(20), df=3).rvs(3000, random_state=rng), noise="normal", nu=5.0)
    yield _fit("a cubic on the whole line", "not-normalizable", nw.Model.from_features(["x", "x^2", "x^3"], variables="x"), lambda rng: rng.gamma(2.0, 1.0, 300), nu=5.0)
    counts = nw.Model.from_family("com-poisson", variables="x")
    yield _fit("counts that vary more than any of the family", "beyond-family", counts, lambda rng: rng.negative_binomial(0.3, 0.02, 300).astype(float))
    bounded = nw.Model.from_formula("-a*x^2 + b*x", variables="x", parameters={"a": (1.0, 0.9, 5.0), "b": 0.0})
    yield _fit("a parameter that wants to be beyond its bound", "at-bound", bounded, lambda rng: 3 * rng.normal(size=300), nu=5.0)
    yield _fit("tails lighter than any of Student's", "runaway", STUDENT, lambda rng: rng.uniform(1, 2, 200), noise="exact")
    yield _fit("heavy tails in a quartic, exact", "rising-likelihood", QUARTIC, lambda rng: _symmetric(rng.standard_t(1, 100)), noise="exact")
    yield _fit("a mode where there are neither data nor noise", "unseen-mass", WELLS, lambda rng: rng.normal(2, 1, 300), noise="normal(2, 2)", nu=5.0)


def _symmetric(x: np.ndarray) -> np.ndarray:
    return np.r_[x, -x]


def _wrong_noises() -> Iterator[Wrong]:
    yield _fit("noise far from the data", "no-overlap", NORMAL, _plain(300), noise="normal(60, 1)", nu=5.0)
    yield _fit("noise of another place", "little-overlap", NORMAL, _plain(1000), noise="normal(5, 1)", nu=5.0)
    yield _fit("noise of another place in ten dimensions", "few-rows-in-overlap", WIDE, lambda rng: rng.normal(size=(300, 10)), ("no-overlap",), noise="normal(1.5, 1)", nu=5.0)
    yield _fit("noise with lighter tails than the data", "tail-shape", NORMAL, _plain(1000), ("out-of-reach",), noise="normal(0, 0.2)", nu=5.0)
    yield _fit("noise with somewhat lighter tails than the data", "out-of-reach", NORMAL, _plain(500), ("tail-shape",), noise="normal(0, 0.3)", nu=5.0)
    yield _fit("data beyond the noise", "separation", NORMAL, lambda rng: rng.uniform(1, 2, 50), noise="normal(-1, 0.01)", nu=5.0)
    yield _fit("a loss with heavy weights", "weight-shape", NORMAL, _plain(1000), noise="normal(0, 4)", nu=5.0, loss="reverse-kl")
    yield _fit("a loss whose weights leave few rows", "few-weighted-rows", WIDE, lambda rng: rng.normal(size=(300, 10)), ("weight-shape",), noise="normal(0, 1.5)", nu=5.0, loss="reverse-kl")
    yield _fit("a loss without a variance", "infinite-variance", NORMAL, _plain(1000), noise="normal(0, 0.3)", nu=5.0, loss="kl")
    yield _fit("few noise points", "noise-error", NORMAL, _plain(1000), nu=0.03)
    yield _fit("a wrong model at two amounts of noise", "ratio-matters", NORMAL, _two_wells, noise="normal(0, 3)", nu=1.0, check_ratio=True)
    yield _fit("a noise that cannot be refitted", "not-refitted", NORMAL, _plain(300), noise="kde", nu=5.0, refit_noise=True)


def _wrong_searches() -> Iterator[Wrong]:
    apart = lambda rng: np.where(rng.random(400) < 0.5, 1.0, -3.0) + rng.normal(size=400)
    yield _fit("a model with several minima", "several-optima", WELLS, apart, nu=5.0)
    yield _fit("a search of one step", "not-converged", STUDENT, lambda rng: rng.standard_t(3, 300), ("collinear",), nu=5.0, max_iterations=1, starts=1)
    yield _fit("a pilot without an answer", "no-pilot", nw.Model.from_features(["x", "x^2", "x^3"], variables="x"), lambda rng: rng.gamma(2.0, 1.0, 300), noise="optimal", nu=5.0)


def _wrong_rows() -> Iterator[Wrong]:
    yield _fit("one cluster", "one-cluster", NORMAL, _plain(100), clusters=np.zeros(100), nu=5.0)
    yield _fit("ten clusters", "few-clusters", NORMAL, _plain(100), clusters=np.arange(100) % 10, nu=5.0)
    slow = _fit("a chain that hardly moves", "few-effective-rows", NORMAL, lambda rng: autoregressive(rng, 1, 200, 0.999)[0], chains=1, nu=5.0)
    yield replace(slow, limit="200 steps of a chain that forgets in 1,000 may look like independent rows about the place where it is: no look at one chain tells")
    yield _fit("weights of almost nothing", "total-weight", NORMAL, _plain(50), weights=np.full(50, 0.01), nu=5.0)


def _wrong_settings() -> Iterator[Wrong]:
    """What is no mistake and is said all the same: settings that leave something out of the errors."""
    yield _fit("a number of points that no scramble has", "rounded-noise", NORMAL, _plain(300), draws="quiet", noise_points=1000)
    yield _fit("a number of choices that no net has", "rounded-choices", LINE, _on_a_line, draws="quiet", choices=20)
    yield _fit("a lasso", "selected-by-lasso", QUARTIC, _plain(300), penalty="lasso:0.05", nu=5.0)
    yield _fit("a ridge", "bias-left-out", QUARTIC, _plain(300), penalty="ridge:0.05", nu=5.0)
    yield _fit("a refit of what was selected", "after-selection", QUARTIC, _plain(300), penalty="lasso:0.05", refit_selected=True, nu=5.0)


def _wrong_ratios() -> Iterator[Wrong]:
    """Two samples that hardly meet; their codes are those of fits."""
    ratio = lambda name, code, distance: Wrong(
        "fit", name, code, lambda rng, k: _codes(lambda: nw.ratio(NORMAL, rng.normal(size=300), rng.normal(distance, 1, 300), progress=False))
    )
    yield ratio("ratio of samples 5 deviations apart", "no-overlap", 5.0)
    yield ratio("ratio of samples 12 deviations apart", "separation", 12.0)


EVERY = ("is", "revis", "is-revis", "nce")


def two_samples(x: np.ndarray, y: np.ndarray, mean: float, sd: float, estimators: tuple[str, ...] = (), **given: Any) -> Codes:
    """A standard normal density at draws `x` of it and `y` of a normal noise."""
    log_noise = lambda t: stats.norm.logpdf(t, mean, sd)
    call = lambda: nw.log_z(-(x**2) / 2, log_noise(x), -(y**2) / 2, log_noise(y), progress=False, **given)
    return codes_of_constant(call, estimators)


def _wrong_pairs() -> Iterator[Wrong]:
    def pair(name: str, code: str, rows: int, mean: float, sd: float, shift: float = 0.0, instead: tuple[str, ...] = ()) -> Wrong:
        draw = lambda rng, k: two_samples(rng.normal(shift, 1, rows), rng.normal(mean, sd, rows), mean, sd, EVERY, independent=True)
        return Wrong("logz", name, code, draw, instead)

    yield pair("draws of another density", "contradiction", 1000, 0, 1.5, shift=1.0)
    yield pair("noise that hardly meets the density", "few-crossings", 100, 6, 1)
    yield pair("two draws of each", "few-draws", 2, 0, 1.5, instead=("few-crossings",))
    yield pair("one draw", "single-draw", 1, 0, 1.5)
    yield pair("noise of another place", "little-overlap", 100, 6, 1)
    yield pair("noise with light tails", "heavy-tail", 1000, 2.5, 0.1)
    yield pair("noise with somewhat light tails", "infinite-variance", 3000, 0, 0.65, instead=("heavy-tail", "infinite-by-other-side"))
    yield pair("a few draws of each", "few-effective", 20, 0, 0.6)
    shelf = lambda rng, k: _shelf(rng)
    yield Wrong("logz", "a small place with most of the mass, which no noise met", "few-by-other-side", shelf, ("few-effective",))
    yield pair("draws of another density, by averages", "differs-from-bridge", 1000, 0, 1.5, shift=1.0)
    yield Wrong("logz", "a mode far from the noise", "infinite-by-other-side", lambda rng, k: _second_mode(rng))
    nothing = lambda rng, k: codes_of_constant(
        lambda: nw.log_z(np.zeros(50), np.full(50, -np.inf), np.full(50, -np.inf), np.zeros(50), independent=True, progress=False), EVERY
    )
    yield Wrong("logz", "densities that have no point in common", "no-support", nothing)
    yield Wrong("logz", "densities that have no point in common, by the bridge", "not-converged", nothing)


def _shelf(rng: Rng) -> Codes:
    """A density that is 10⁴ times the noise where one of 2,000 noise draws falls, and the noise elsewhere: it has 5/6 of its mass there."""
    share, height = 0.0005, 1e4
    mass = height * share / (height * share + 1 - share)
    log_f = lambda inside: np.where(rng.random(100) < inside, np.log(height), 0.0)
    zero = np.zeros(100)
    call = lambda: nw.log_z(log_f(mass), zero, log_f(share), zero, independent=True, progress=False)
    return codes_of_constant(call, EVERY)


def _second_mode(rng: Rng) -> Codes:
    """Half of a density is where no noise was drawn: the weights of the noise are as good as constant, and their mean is unknown."""
    noise, far = stats.norm(), stats.norm(12, 0.5)
    x, y = np.where(rng.random(1000) < 0.5, far.rvs(1000, random_state=rng), rng.normal(size=1000)), rng.normal(size=1000)
    log_f = lambda t: np.logaddexp(noise.logpdf(t), far.logpdf(t))
    return codes_of_constant(lambda: nw.log_z(log_f(x), noise.logpdf(x), log_f(y), noise.logpdf(y), independent=True, progress=False), EVERY)


def _wrong_chains() -> Iterator[Wrong]:
    chain = lambda name, code, draw: Wrong("logz", name, code, lambda rng, k: two_samples(draw(rng), rng.normal(0, 1.5, 100), 0, 1.5))
    yield chain("a chain that hardly moves", "short-chain", lambda rng: autoregressive(rng, 1, 100, 0.999)[0])
    said = lambda name, code, draw: Wrong("logz", name, code, lambda rng, k: two_samples(draw(rng), rng.normal(0, 1.5, 500), 0, 1.5, independent=True))
    yield said("a chain that is said to be independent", "not-independent", lambda rng: autoregressive(rng, 1, 500, 0.9)[0])
    yield said("draws that are there twice", "repeated-draws", lambda rng: np.tile(rng.normal(size=250), 2))
    yield chain("a chain that stands still", "stands-still", lambda rng: np.full(100, 0.3))
    settling = lambda change: lambda rng, k: evidence(np.r_[rng.normal(size=2000), change(rng.normal(size=2000))][:, None], k)
    yield Wrong("logz", "evidence of chains that have not settled", "halves-disagree", settling(lambda x: 0.6 * x + 0.5))
    narrower = settling(lambda x: 0.8 * x)
    yield Wrong("logz", "evidence of chains that are narrower later", "halves-contradict", narrower, ("contradiction",))


def evidence(x: np.ndarray, seed: int, **given: Any) -> Codes:
    """The evidence of a standard normal posterior from these draws."""
    return codes_of_constant(lambda: nw.evidence(lambda t: -0.5 * (t**2).sum(axis=1), x, seed=seed, progress=False, **given))


def _wrong_states() -> Iterator[Wrong]:
    states = lambda name, code, codes: Wrong("states", name, code, codes)
    yield states("two states that never meet", "disconnected", lambda rng, k: states_of(rng, [(0, 1), (60, 1)], [300, 300]))
    yield states("a state without draws far away", "heavy-tail", lambda rng, k: states_of(rng, [(0, 1), (5, 1)], [300, 0]))
    yield states("a narrow state without draws, few of which are near", "largest-weight", lambda rng, k: states_of(rng, [(0, 1), (2.5, 0.02)], [300, 0]))
    yield states("a state with few draws beside it", "few-effective-draws", lambda rng, k: states_of(rng, [(0, 1), (2.5, 1)], [60, 3]))
    yield states("a state that is zero at all draws", "zero-density", lambda rng, k: states_of(rng, [(0, 1), (0, 1)], [300, 0], zero=1))
    yield states("chains that hardly move", "short-chains", lambda rng, k: states_of(rng, [(0, 1), (1, 1)], [100, 100], rho=0.999))
    still = lambda rng, k: states_of(rng, [(0, 1), (0.3, 0)], [300, 100], rho=0.6, widths=[1, 1])
    yield states("a chain that stands still", "stands-still", still)
    yield states("draws with the labels of other states", "contradiction", lambda rng, k: states_of(rng, [(0, 1), (1, 1)], [500, 500], moved=500))
    yield states("chains that are said to be independent", "not-independent", lambda rng, k: states_of(rng, [(0, 1), (1, 1)], [500, 500], rho=0.9, independent=True))
    yield states("draws that are there twice", "repeated-draws", lambda rng, k: states_of(rng, [(0, 1), (1, 1)], [250, 250], copies=2))
    cells = lambda rng, k: codes_of_constant(lambda: _surface(rng))
    yield Wrong("surface", "more cells than draws", "few-draws-in-cells", cells)


def states_of(
    rng: Rng,
    places: list[tuple[float, float]],
    counts: list[int],
    rho: float | None = None,
    zero: int | None = None,
    widths: list[float] | None = None,
    moved: int = 0,
    copies: int = 1,
    independent: bool | None = None,
) -> Codes:
    """Normal densities at these places, with so many draws each: independent, or chains of this autocorrelation. The draws are of these
    widths, and so are the densities, unless theirs are given."""
    unit = lambda n: rng.normal(size=n) if rho is None else autoregressive(rng, 1, n, rho)[0]
    x = np.concatenate([np.tile(mean + sd * unit(n), copies) for (mean, sd), n in zip(places, counts) if n])
    x, counts = np.roll(x, moved), [copies * n for n in counts]
    log_f = np.stack([-0.5 * ((x - mean) / sd) ** 2 for (mean, _), sd in zip(places, widths or [sd for _, sd in places])])
    if zero is not None:
        log_f[zero] = -np.inf
    how = rho is None if independent is None else independent
    return codes_of_constant(lambda: nw.log_z_states(log_f, counts, independent=how, progress=False))


def _surface(rng: Rng) -> Any:
    x = rng.normal(size=300)
    return nw.surface(np.stack([-(x**2) / 2]), x, [300], bins=200, independent=True, progress=False)


def _wrong_paths() -> Iterator[Wrong]:
    path = lambda name, code, formula, *instead, **given: Wrong("path", name, code, lambda rng, k: path_to(formula, k, **given), instead)
    apart = "log(exp(-(x - 12)^2/2) + exp(-(x + 12)^2/2))"
    yield path("two wells far apart", "slow-direction", apart)
    yield path("two wells that the chains seldom leave", "chains-disagree", "log(exp(-(x - 4)^2/0.02) + exp(-(x + 4)^2/0.02))", "slow-direction")
    yield path("a density of many narrow spikes", "hardly-moves", "-(x - 2)^2/2 - 1e8*(x - 2 - sin(1e3*x))^2", "chains-disagree", draws=100)


def path_to(formula: str, seed: int, **given: Any) -> Codes:
    """A path from a standard normal noise to this density."""
    model = nw.Model.from_formula(f"{formula} + 0*a", variables="x", parameters={"a": 0.0})
    how = {"draws": 200, **given}
    return codes_of_constant(lambda: nw.log_z_path(model, noise="normal(0, 1)", seed=seed, progress=False, **how))

"""Members of every family and of every kind of model with their truth, and samplers that are not the library's."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import integrate, special, stats

import noisewright as nw

import lists

Draw = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True)
class System:
    """A model at a known place: its truth, and how to draw from it."""

    name: str
    model: nw.Model
    truth: dict[str, float]
    draw: Draw
    #: The family or kind of model that it belongs to.
    kind: str
    #: How each parameter moves with a unit u of the variable: by u to this power; the constant by powers of u.
    powers: dict[str, float] | None = None


def systems(unit: float = 1.0) -> Iterator[System]:
    """A member of every family and kind of model, the variable measured in `unit`."""
    for family in lists.families():
        yield from FAMILIES.get(family, lambda unit, name=family: _unknown(name, unit))(unit)
    yield from _features(unit)
    yield from _formulas(unit)


def _unknown(family: str, unit: float) -> Iterator[System]:
    """A family that is not known here: at its start values, drawn by the library itself."""
    if unit != 1.0:
        return
    model = nw.Model.from_family(family, variables="x")
    drawn = nw.error(model, noise="data").noise
    truth = {name: parameter.start for name, parameter in model.parameters.items()}
    yield System(family, model, truth, lambda rng, n: drawn.sample(n, seed=int(rng.integers(1 << 40))), family)


def _gaussian(unit: float) -> Iterator[System]:
    mean, sd = unit, 2 * unit
    draw: Draw = lambda rng, n: rng.normal(mean, sd, n)
    constant = 0.5 * math.log(2 * math.pi * sd**2)
    made = lambda **given: nw.Model.from_family("gaussian", variables="x", **given)
    moments = {"m0": mean, "C00": sd**2}
    powers = {"m0": 1.0, "C00": 2.0}
    # By moments the quadratic is centred, naturally it is not: the constants differ by m²/2s².
    yield System("gaussian, moments", made(parametrization="moments"), {**moments, "log_normalizer": constant}, draw, "gaussian", powers)
    natural = {"h0": mean / sd**2, "P00": 1 / sd**2, "log_normalizer": constant + 0.5 * (mean / sd) ** 2}
    yield System("gaussian, natural", made(), natural, draw, "gaussian", {"h0": -1.0, "P00": -2.0})
    yield System("gaussian, normalized", made(parametrization="moments", normalized=True), moments, draw, "gaussian", powers)
    if unit == 1.0:
        covariance = np.array([[1.0, 0.6], [0.6, 2.0]])
        plane = {"m0": 0.5, "m1": -1.0, "C00": 1.0, "C01": 0.6, "C11": 2.0}
        model = nw.Model.from_family("gaussian", variables=["x", "y"], parametrization="moments")
        yield System("gaussian, plane", model, plane, lambda rng, n: rng.multivariate_normal([0.5, -1.0], covariance, n), "gaussian")


def _truncated(unit: float) -> Iterator[System]:
    mean, sd = 0.5 * unit, unit
    law = stats.truncnorm(-mean / sd, np.inf, loc=mean, scale=sd)
    model = nw.Model.from_family("truncated-gaussian", variables="x", domain="positive")
    truth = {"h0": mean / sd**2, "P00": 1 / sd**2}
    draw: Draw = lambda rng, n: law.rvs(n, random_state=rng)
    yield System("truncated-gaussian", model, truth, draw, "truncated-gaussian", {"h0": -1.0, "P00": -2.0})


def _student(unit: float) -> Iterator[System]:
    model = nw.Model.from_family("student", variables="x")
    draw: Draw = lambda rng, n: unit + 2 * unit * rng.standard_t(5, n)
    yield System("student", model, {"location": unit, "scale": 2 * unit}, draw, "student", {"location": 1.0, "scale": 1.0})


def _gamma(unit: float) -> Iterator[System]:
    model = nw.Model.from_family("gamma", variables="x")
    truth = {"shape": 2.0, "rate": 1.5 / unit}
    yield System("gamma", model, truth, lambda rng, n: rng.gamma(2.0, unit / 1.5, n), "gamma", {"shape": 0.0, "rate": -1.0})


def _beta(unit: float) -> Iterator[System]:
    if unit == 1.0:
        model = nw.Model.from_family("beta", variables="x")
        truth = {"a": 2.0, "b": 3.0, "log_normalizer": float(special.betaln(2.0, 3.0))}
        yield System("beta", model, truth, lambda rng, n: rng.beta(2.0, 3.0, n), "beta")


def _polynomial(unit: float) -> Iterator[System]:
    """exp(x²/2 − x⁴/4): two wells, drawn by the inverse of a distribution function that is integrated here."""
    at = np.linspace(-4.5, 4.5, 9001)
    density = np.exp(at**2 / 2 - at**4 / 4)
    mass = integrate.cumulative_trapezoid(density, at, initial=0.0)
    truth = {f"t{k}": value / unit**k for k, value in ((1, 0.0), (2, 0.5), (3, 0.0), (4, -0.25))}
    draw: Draw = lambda rng, n: unit * np.interp(rng.random(n) * mass[-1], mass, at)
    model = nw.Model.from_family("exponential-polynomial", variables="x", degree=4)
    powers = {f"t{k}": -float(k) for k in (1, 2, 3, 4)}
    yield System("exponential-polynomial", model, truth, draw, "exponential-polynomial", powers)


def _von_mises(unit: float) -> Iterator[System]:
    if unit != 1.0:
        return
    draw: Draw = lambda rng, n: rng.vonmises(1.0, 2.0, n)
    constant = math.log(2 * math.pi * special.i0(2.0))
    natural = {"a": 2 * math.cos(1.0), "b": 2 * math.sin(1.0), "log_normalizer": constant}
    yield System("von-mises", nw.Model.from_family("von-mises", variables="x"), natural, draw, "von-mises")
    polar = nw.Model.from_family("von-mises", variables="x", parametrization="polar")
    yield System("von-mises, polar", polar, {"mean": 1.0, "concentration": 2.0}, draw, "von-mises")


def _fisher(unit: float) -> Iterator[System]:
    if unit == 1.0:
        law = stats.vonmises_fisher([0.0, 0.6, 0.8], 3.0)
        model = nw.Model.from_family("von-mises-fisher", variables=["x", "y", "z"])
        truth = {"t0": 0.0, "t1": 1.8, "t2": 2.4}
        yield System("von-mises-fisher", model, truth, lambda rng, n: law.rvs(n, random_state=rng), "von-mises-fisher")


def _ising(unit: float) -> Iterator[System]:
    if unit != 1.0:
        return
    states = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    log_weights = states @ np.array([0.3, -0.2]) + 0.4 * states[:, 0] * states[:, 1]
    shares = np.exp(log_weights) / np.exp(log_weights).sum()
    truth = {"h0": 0.3, "h1": -0.2, "J01": 0.4, "log_normalizer": float(special.logsumexp(log_weights))}
    model = nw.Model.from_family("ising", variables=["x", "y"], states=[-1, 1])
    yield System("ising", model, truth, lambda rng, n: states[rng.choice(4, n, p=shares)], "ising")


def _com_poisson(unit: float) -> Iterator[System]:
    if unit == 1.0:
        model = nw.Model.from_family("com-poisson", variables="x")
        truth = {"log_rate": math.log(3.0), "dispersion": 1.0, "log_normalizer": 3.0}
        yield System("com-poisson", model, truth, lambda rng, n: rng.poisson(3.0, n).astype(float), "com-poisson")


#: How each family is drawn from; one that is not here is drawn by the library.
FAMILIES: dict[str, Callable[[float], Iterator[System]]] = {
    "gaussian": _gaussian,
    "truncated-gaussian": _truncated,
    "student": _student,
    "gamma": _gamma,
    "beta": _beta,
    "exponential-polynomial": _polynomial,
    "von-mises": _von_mises,
    "von-mises-fisher": _fisher,
    "ising": _ising,
    "com-poisson": _com_poisson,
}


def _features(unit: float) -> Iterator[System]:
    base = next(system for system in _gaussian(unit) if system.name == "gaussian, natural")
    truth = {"x": base.truth["h0"], "x^2": -base.truth["P00"] / 2, "log_normalizer": base.truth["log_normalizer"]}
    model = nw.Model.from_features(["x", "x^2"], variables="x")
    yield replace(base, name="features", model=model, truth=truth, kind="features", powers={"x": -1.0, "x^2": -2.0})


def _formulas(unit: float) -> Iterator[System]:
    """Models that are not linear in their parameters, with a free and with a known constant, and a function."""
    base = next(system for system in _gaussian(unit) if system.name == "gaussian, moments")
    mean, sd = unit, 2 * unit
    log_sd = math.log(sd)
    start = {"m": 0.5 * unit, "s": math.log(unit)}
    truth = {"m": mean, "s": log_sd, "log_normalizer": base.truth["log_normalizer"]}
    free = nw.Model.from_formula("-(x - m)^2*exp(-2*s)/2", variables="x", parameters=start)
    yield replace(base, name="formula", model=free, truth=truth, kind="formula", powers=None)
    known = nw.Model.from_formula(
        "-(x - m)^2*exp(-2*s)/2 - s - log(2*pi)/2", variables="x", parameters=start, normalized=True
    )
    yield replace(base, name="formula, normalized", model=known, truth={"m": mean, "s": log_sd}, kind="formula", powers=None)
    if unit == 1.0:
        function = nw.Model.from_functions(
            lambda x, theta: theta[0] * x[:, 0] - theta[1] * x[:, 0] ** 2,
            start=[0.0, 0.3],
            variables="x",
            score=lambda x, theta: np.stack([x[:, 0], -(x[:, 0] ** 2)], axis=1),
        )
        names = list(function.parameters)
        natural = {names[0]: mean / sd**2, names[1]: 0.5 / sd**2}
        yield replace(base, name="function", model=function, truth=natural, kind="function", powers=None)

"""Names and shapes that users' scripts rely on: functions, their arguments, and what results have."""

import inspect
import math
from dataclasses import fields

import numpy as np
import pytest

import noisewright as nw

ESTIMATE = {"estimate", "se", "lower", "upper"}

#: Functions, and the arguments that they must take.
ARGUMENTS = {
    nw.fit: "model data noise nu loss seed draws loss_ratio weights clusters chains fixed constraints strata chosen log_probability"
    " choices penalty penalty_factors method bootstrap interval cross_validate executor",
    nw.design: "model noise nu target",
    nw.error: "model noise nu loss loss_ratio target",
    nw.log_z: "log_f_data log_noise_data log_f_noise log_noise_noise",
    nw.evidence: "log_density draws noise evaluations",
    nw.ratio: "model first second basis bridges",
    nw.mutual_information: "x y bridges",
    nw.Model.from_features: "features variables domain covariates offset",
    nw.Model.from_formula: "log_density variables parameters normalized domain",
    nw.Model.from_functions: "log_density score",
    nw.FitResult.simulate: "seed",
    nw.StatesResult.expectation: "values at",
    nw.StatesResult.surface: "at",
}


@pytest.mark.parametrize("function", ARGUMENTS, ids=lambda function: function.__qualname__)
def test_functions_take_what_scripts_give_them(function):
    missing = set(ARGUMENTS[function].split()) - set(inspect.signature(function).parameters)
    assert not missing


def has(estimate):
    return set(dir(estimate)) >= ESTIMATE and estimate.lower <= estimate.estimate <= estimate.upper


@pytest.fixture
def normal():
    return nw.Model.from_features(["x", "x^2"], variables="x")


def test_a_fit_and_what_follows(normal, rng, tmp_path):
    x = rng.normal(size=400)
    fit = nw.fit(normal, x, noise="normal(0, 2)", nu=4, loss="js", seed=0)
    names = {"parameters", "log_normalizer", "covariance", "loss", "iterations", "converged", "nu", "noise", "diagnostics"}
    quiet = {"draws", "loss_ratio", "replicates", "noise_gain", "noise_points"}
    assert (names | quiet | {"choices", "penalty", "method", "clean_share"}) <= set(dir(fit)) & set(fit.to_dict())
    assert has(fit["x"]) and has(fit.log_normalizer) and has(fit.derive("`x` - `x^2`"))
    fit.save(tmp_path / "fit.json")
    again = nw.load(tmp_path / "fit.json")
    density = again.log_density(x[:5])
    assert len(density.log_density) == len(density.se) == 5
    assert np.shape(again.simulate(7, seed=0)) == np.shape(fit.simulate(7, seed=0)) == (7,)
    smaller = nw.fit(nw.Model.from_features(["x^2"], variables="x"), x, noise="exact")
    compared = nw.compare(nw.fit(normal, x, noise="exact"), smaller)
    assert {"log_likelihood", "parameters", "aic", "bic", "tic"} <= set(compared.models[0])
    assert {"statistic", "degrees", "p_value"} <= set(compared.tests[0])
    held = nw.fit(normal, x, fixed={"x": 0.0})
    assert held.to_dict()["parameters"]["x"]["fixed"] is True
    brier = nw.fit(normal, x, loss="brier")
    assert has(brier.clean_share)
    assert isinstance(fit.summary(), str) and fit._repr_html_().lstrip().startswith("<")


def test_penalties_and_methods(normal, rng):
    x = rng.normal(size=300)
    assert {"kind", "strength", "selected"} <= set(nw.fit(normal, x, penalty="lasso:0.1").penalty)
    for method in ("nce", "exact", "score-matching", "mc-mle"):
        assert nw.fit(normal, x, method=method).method == method


def test_covariates(rng):
    z = rng.normal(size=200)
    model = nw.Model.from_formula("-(y - b*z)^2/2", variables=["y"], parameters={"b": 0.0}, covariates=["z"])
    fit = nw.fit(model, {"y": z + rng.normal(size=200), "z": z}, choices=8)
    assert fit.choices == 8 and fit.log_normalizer is None
    assert has(fit.log_normalizer_at({"z": [0.5]})[0])


def test_ratios_information_designs_and_states(normal, rng):
    ratio = nw.ratio(rng.normal(0.5, 1, 300), rng.normal(size=300))
    assert all(has(getattr(ratio.divergences, name)) for name in ("kl", "reverse_kl", "js", "pearson"))
    assert all("overlap" in bridge for bridge in ratio.to_dict()["bridges"])
    x = rng.normal(size=300)
    assert has(nw.mutual_information(x, x + rng.normal(size=300), bridges="auto").information)
    chosen = nw.design(normal, at={"x": 0.0, "x^2": -0.5}, noise=nw.Dictionary([nw.Normal(-1, 1), nw.Normal(1, 1)]), nu=1)
    assert len(chosen.weights) == 2 and chosen.gap is not None
    draws = np.concatenate([rng.normal(size=300), rng.normal(size=300) * 2])
    states = nw.log_z_states([-(draws**2) / 2, -(draws**2) / 8], [300, 300])
    assert has(states.expectation(draws, at=1))
    surface = states.surface(draws, bins=5, at=0)
    assert len(surface.edges) >= 1 and np.shape(surface.free_energy) == np.shape(surface.se)


def test_evidence(rng):
    draws = rng.normal(size=(2, 500, 1))
    result = nw.evidence(lambda x: -(x[:, 0] ** 2) / 2, draws)
    assert {"noise", "chain_ess", "log_evidence", "se", "estimates", "recommended"} <= set(result.to_dict())
    assert {"log_z", "se", "ess", "pareto_k"} <= {field.name for field in fields(result.estimates["nce"])}
    assert abs(result.log_evidence - 0.5 * math.log(2 * math.pi)) < 5 * result.se


def test_modules_beside_the_package():
    sklearn = pytest.importorskip("sklearn") and __import__("noisewright.sklearn", fromlist=["sklearn"])
    assert {"DensityEstimator", "DensityRatio", "ConditionalLogit"} <= set(dir(sklearn))


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_networks(name):
    pytest.importorskip(name)
    module = __import__(f"noisewright.{name}", fromlist=[name])
    assert {"NCE", "Ratio", "train", "learn_noise", "evaluate"} <= set(module.__all__)

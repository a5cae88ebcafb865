"""Conditional models: published and independent estimates, and what follows a fit at new covariates."""

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

import noisewright as nw

ESTIMATES = {"b0": 13.8247, "b1": 1.4838, "dispersion": 5.7818}


@pytest.fixture(scope="module")
def freight():
    model, data = nw.load_example("freight")
    return model, data, nw.fit(model, data, noise="exact")


def test_freight_is_the_published_fit_and_ranking_is_near_it(freight):
    model, data, exact = freight
    for name, value in ESTIMATES.items():
        assert exact[name].estimate == pytest.approx(value, abs=1e-4)
    assert exact.log_likelihood == pytest.approx(-18.64489, abs=1e-5)
    assert exact.choices is None and exact.log_normalizer is None
    ranked = nw.fit(model, data)
    assert ranked.choices == ranked.nu and ranked.noise_share <= 0.1
    for name in ESTIMATES:
        assert abs(ranked[name].estimate - exact[name].estimate) < 4 * ranked[name].se_noise


def test_constants_densities_and_draws_at_new_covariates(freight):
    model, _, fit = freight
    y = np.arange(300)
    b0, b1, nu = (fit[name].estimate for name in ESTIMATES)
    expected = [logsumexp((b0 + b1 * z) * y - nu * gammaln(y + 1)) for z in (0, 4)]
    for found in (fit.log_normalizer_at({"transfers": [0, 4]}), fit.log_normalizer_at([0.0, 4.0])):
        assert [e.estimate for e in found] == pytest.approx(expected, rel=1e-8)
    assert fit.log_normalizer_at(4.0)[0].estimate == pytest.approx(expected[1], rel=1e-8)
    value, se = fit.log_density({"transfers": [4.0], "broken": [25.0]})
    assert value[0] == pytest.approx((b0 + 4 * b1) * 25 - nu * gammaln(26) - expected[1], rel=1e-6)
    assert se[0] > 0
    draws = fit.simulate(2000, given={"transfers": [0, 3]}, seed=1)
    assert draws.shape == (4000, 2) and set(draws[:, 1]) == {0.0, 3.0}
    weights = np.exp((b0 + 3 * b1) * y - nu * gammaln(y + 1) - logsumexp((b0 + 3 * b1) * y - nu * gammaln(y + 1)))
    mean, sd = (weights * y).sum(), np.sqrt((weights * y**2).sum() - (weights * y).sum() ** 2)
    assert abs(draws[2000:, 0].mean() - mean) < 4 * sd / np.sqrt(2000)


def test_saved_fits_come_back(freight, tmp_path):
    _, _, fit = freight
    fit.save(tmp_path / "fit.json")
    again = nw.load(tmp_path / "fit.json")
    assert again.model.covariates == ["transfers"]
    assert again.log_normalizer_at(2)[0].estimate == fit.log_normalizer_at(2)[0].estimate
    assert nw.compare(fit, again).models[0]["log_likelihood"].estimate == pytest.approx(-18.64489, abs=1e-5)


def test_formulas_features_and_functions_agree():
    rng = np.random.default_rng(1)
    z = rng.normal(size=300).round(1)
    data = {"z": z, "y": 1 + 2 * z + rng.normal(size=300)}
    given = {"variables": "y", "covariates": "z"}
    parameters = {"a": 0.0, "b": 0.0}
    formula = nw.Model.from_formula("a*y + b*y*z - y^2/2", parameters=parameters, **given)
    assert formula.coordinates == ["a", "b"] and formula.covariates == ["z"] and "given z" in repr(formula)
    function = nw.Model.from_functions(
        lambda x, t: (t[0] + t[1] * x[:, 1]) * x[:, 0] - x[:, 0] ** 2 / 2,
        score=lambda x, t: np.column_stack([x[:, 0], x[:, 0] * x[:, 1]]),
        parameters=["a", "b"],
        linear=True,
        variables=["y"],
        covariates=["z"],
    )
    slope, constant = np.polyfit(z, data["y"], 1)
    one, other = (nw.fit(m, data, choices=20, noise="normal(1 + 2*z, 2)") for m in (formula, function))
    assert one["b"].estimate == pytest.approx(other["b"].estimate, rel=1e-8)
    exact = nw.fit(formula, data, noise="exact")
    assert exact["b"].estimate == pytest.approx(slope, rel=1e-6) and exact["a"].estimate == pytest.approx(constant, rel=1e-6)
    assert abs(one["b"].estimate - slope) < 4 * one["b"].se_noise
    features = nw.Model.from_features(["y", "y*z", "y^2"], **given)
    assert nw.fit(features, data, noise="exact")["y^2"].estimate < 0


def test_features_with_an_offset_are_the_formula():
    rng = np.random.default_rng(6)
    z, t = rng.integers(0, 4, 120) / 3, rng.integers(1, 9, 120).astype(float)
    data = {"z": z, "t": t, "y": rng.poisson(t * np.exp(-0.5 + 0.8 * z)).astype(float)}
    given = {"variables": "y", "covariates": ["z", "t"], "domain": "counts", "parameters": {"a": 0.0, "b": 0.0}}
    offset = "y*log(t) - lgamma(y + 1)"
    features = nw.Model.from_features(["y", "y*z"], offset=offset, **given)
    formula = nw.Model.from_formula(f"{offset} + a*y + b*(y*z)", **given)
    again = nw.Model.from_features(["y", "y*z"], offset=f" {offset} ", **given)
    for settings in ({"noise": "exact"}, {"choices": 10, "seed": 3}):
        one, other, third = (nw.fit(model, data, progress=False, **settings) for model in (features, formula, again))
        for name in "ab":
            assert one[name].estimate == pytest.approx(other[name].estimate, rel=1e-10)
            assert one[name].se == pytest.approx(other[name].se, rel=1e-10)
            assert third[name].estimate == one[name].estimate
        assert one.loss == pytest.approx(other.loss, rel=1e-12)
    # The equations of Poisson regression with exposures, relative to the number of counts.
    exact = nw.fit(features, data, noise="exact")
    off = data["y"] - t * np.exp(exact["a"].estimate + exact["b"].estimate * z)
    assert max(abs(off.sum()), abs(off @ z)) < 1e-6 * data["y"].sum()
    with pytest.raises(nw.ModelError, match="offset"):
        nw.Model.from_features(["y"], variables="y", offset="2")
    with pytest.raises(nw.ModelError, match="`offset`"):
        nw.Model.from_features(["y"], variables="y", offset=2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, d, f: nw.fit(m, {"broken": [1.0, 2.0]}), "transfers"),
        (lambda m, d, f: nw.fit(m, d, nu=5), "nu"),
        (lambda m, d, f: nw.fit(m, d, choices=0), "choices"),
        (lambda m, d, f: nw.fit(m, d, noise="optimal"), "covariates"),
        (lambda m, d, f: f.simulate(3), "given"),
        (lambda m, d, f: f.simulate(3, given={"transfer": [1.0]}), "transfers"),
        (lambda m, d, f: f.log_density({"broken": [1.0]}), "transfers"),
        (lambda m, d, f: f.log_normalizer_at({"transfer": 1.0}), "transfers"),
        (lambda m, d, f: nw.error(m, noise="poisson(3)", nu=1), "covariates"),
    ],
)
def test_what_does_not_go_with_covariates_is_refused(freight, call, words):
    with pytest.raises((nw.NoisewrightError, ValueError), match=words):
        call(*freight)


def test_quiet_draws_are_nets_around_the_rows():
    rng = np.random.default_rng(4)
    z = rng.uniform(-1, 1, 800)
    data = {"y": 1 + 2 * z + rng.normal(size=800), "z": z}
    model = nw.Model.from_formula("-(y - a - b*z)^2/2", variables="y", covariates="z", parameters={"a": 0.0, "b": 0.0})
    quiet, random = (nw.fit(model, data, choices=15, draws=draws, progress=False) for draws in ("quiet", "random"))
    assert (quiet.draws, quiet.replicates, random.draws) == ("quiet", 2, "random")
    design = np.column_stack([np.ones(800), z])
    least = np.linalg.lstsq(design, data["y"], rcond=None)[0]
    for name, value in zip("ab", least):
        assert abs(quiet[name].estimate - value) < 5 * quiet[name].se_noise
        assert quiet[name].se_noise < random[name].se_noise / 1.4

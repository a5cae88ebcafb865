"""The bootstrap and profile intervals against the sandwich, closed forms and SciPy."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

import noisewright as nw


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(8).normal(0.5, 1.5, 400)


def agrees(fit, names, share):
    for name in names:
        assert fit.bootstrap["estimates"][name]["se"] == pytest.approx(fit[name].se, rel=share)


def test_bootstrap_and_sandwich_agree_on_three_models(x):
    # The spread of 300 replicates has an error of 1/√600 = 4 %: 12 % is three of them; the bench has the 10 % at 2,000.
    mean = nw.Model.from_formula("m*x - p*x^2/2", variables="x", parameters={"m": 0.0, "p": 1.0})
    exact = nw.fit(mean, x, noise="exact", bootstrap=300)
    agrees(exact, ["m", "p"], 0.12)
    contrast = nw.fit(mean, x, nu=2, bootstrap=300)
    agrees(contrast, ["m", "p", "log_normalizer"], 0.15)
    rates = np.random.default_rng(9).exponential(2.0, 500)
    rate = nw.Model.from_formula("-r*x", variables="x", parameters={"r": 1.0}, domain={"x": "positive"})
    agrees(nw.fit(rate, rates, nu=3, bootstrap=300), ["r"], 0.15)


def test_clusters_are_drawn_whole(x):
    twice, labels = np.repeat(x, 2), np.repeat(np.arange(len(x)), 2)
    model = nw.Model.from_formula("-(x - m)^2/2", variables="x", parameters={"m": 0.0})
    fit = nw.fit(model, twice, noise="exact", clusters=labels, bootstrap=300)
    assert fit.bootstrap["unit"] == "clusters" and fit.bootstrap["failed"] == 0
    assert fit.bootstrap["estimates"]["m"]["se"] == pytest.approx(x.std() / math.sqrt(len(x)), rel=0.12)


def test_intervals_are_quantiles_and_their_mirror_images(x):
    model = nw.Model.from_formula("-(x - m)^2/2", variables="x", parameters={"m": 0.0})
    fit = nw.fit(model, x, noise="exact", bootstrap=400, confidence=0.9)
    m = fit.bootstrap["estimates"]["m"]
    center = fit["m"].estimate
    np.testing.assert_allclose(np.array(m["basic"]), 2 * center - np.array(m["percentile"])[::-1])
    # Means of resamples are next to normal.
    half = stats.norm.ppf(0.95) * x.std() / math.sqrt(len(x))
    assert m["percentile"][1] - m["percentile"][0] == pytest.approx(2 * half, rel=0.15)
    again = nw.fit(model, x, noise="exact", bootstrap=400, confidence=0.9)
    assert again.to_dict()["bootstrap"] == fit.to_dict()["bootstrap"]


def test_profile_intervals_are_those_of_the_likelihood_ratio():
    x = np.random.default_rng(4).exponential(1.0, 12)
    model = nw.Model.from_formula("-r*x", variables="x", parameters={"r": {"start": 1.0, "lower": 0.0}}, domain={"x": "positive"})
    fit = nw.fit(model, x, noise="exact", interval="profile")
    n, mean = len(x), x.mean()
    rise = lambda r: 2 * n * (math.log(1 / mean) - 1 - (math.log(r) - r * mean)) - stats.chi2.ppf(0.95, 1)
    low, high = optimize.brentq(rise, 0.01, 1 / mean), optimize.brentq(rise, 1 / mean, 20)
    assert fit.interval == "profile"
    assert (fit["r"].lower, fit["r"].upper) == pytest.approx((low, high), rel=1e-5)
    # Another parameter in the model: the variance of a normal distribution, the mean profiled out.
    y = np.random.default_rng(5).normal(1.0, 2.0, 15)
    normal = nw.Model.from_formula("-(y - m)^2*p/2", variables="y", parameters={"m": 0.0, "p": {"start": 1.0, "lower": 0.0}})
    fit = nw.fit(normal, y, noise="exact", interval="profile")
    v = y.var()
    rise = lambda p: len(y) * (-math.log(p * v) + p * v - 1) - stats.chi2.ppf(0.95, 1)
    ends = optimize.brentq(rise, 1e-3 / v, 1 / v), optimize.brentq(rise, 1 / v, 30 / v)
    assert (fit["p"].lower, fit["p"].upper) == pytest.approx(ends, rel=1e-5)


def test_profiles_of_the_loss_have_the_width_of_the_sandwich(x):
    model = nw.Model.from_formula("m*x - p*x^2/2", variables="x", parameters={"m": 0.0, "p": 1.0})
    wald, profile = (nw.fit(model, x, nu=5, interval=kind) for kind in ("wald", "profile"))
    for name in ("m", "p"):
        widths = [f[name].upper - f[name].lower for f in (wald, profile)]
        assert widths[1] == pytest.approx(widths[0], rel=0.05)
        assert profile[name].estimate == wald[name].estimate


@pytest.mark.parametrize(
    "options, says",
    [
        ({"bootstrap": 1}, "replicates"),
        ({"bootstrap": 100, "chains": 2}, "chain"),
        ({"bootstrap": 100, "penalty": "lasso:0.1"}, "penalty"),
        ({"interval": "likelihood"}, "wald or profile"),
        ({"interval": "profile", "penalty": "ridge:0.1"}, "penalty"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(x, options, says):
    model = nw.Model.from_features(["x", "x^2"], variables="x")
    with pytest.raises(nw.InputError, match=says):
        nw.fit(model, x, **options)

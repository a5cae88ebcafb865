"""Criteria by which fits are compared, against closed forms."""

import math

import numpy as np
import pytest
from scipy import stats

import noisewright as nw


@pytest.fixture(scope="module")
def normal():
    return nw.Model.from_formula("m*x - p*x^2/2", variables="x", parameters={"m": 0.0, "p": 1.0})


@pytest.fixture(scope="module")
def centred():
    return nw.Model.from_formula("-p*x^2/2", variables="x", parameters={"p": 1.0})


def scores(model, other, x, **options):
    found = nw.compare(nw.fit(model, x, **options), nw.fit(other, x, **options))
    return found.models[0]


def test_aic_and_bic_of_an_exact_fit_are_those_of_the_normal_distribution(normal, centred):
    x = np.random.default_rng(2).normal(1.0, 2.0, 150)
    score = scores(normal, centred, x, noise="exact")
    likelihood = stats.norm.logpdf(x, x.mean(), x.std()).sum()
    assert score["log_likelihood"]["estimate"] == pytest.approx(likelihood, rel=1e-9)
    assert score["aic"] == pytest.approx(-2 * likelihood + 4, rel=1e-9)
    assert score["bic"] == pytest.approx(-2 * likelihood + 2 * math.log(150), rel=1e-9)


def takeuchi(x):
    """tr(J⁻¹K) of the normal distribution with unknown mean and variance: 1 + (kurtosis − 1)/2."""
    return 1 + (stats.kurtosis(x, fisher=False) - 1) / 2


def test_takeuchi_against_noise_is_that_of_the_likelihood_in_the_limit(normal, centred):
    wrong = np.random.default_rng(3).laplace(size=4000)
    score = scores(normal, centred, wrong, nu=100, noise="normal(0, 6)", loss="kl")
    penalty = (score["tic"] + 2 * score["log_likelihood"]["estimate"]) / 2
    assert penalty == pytest.approx(takeuchi(wrong), rel=0.05)
    assert takeuchi(wrong) > 3


def test_takeuchi_of_a_right_model_counts_its_parameters_for_any_loss(normal, centred):
    right = np.random.default_rng(4).normal(0.3, 1.2, 20_000)
    for options in ({"nu": 1}, {"nu": 3, "loss": "kl"}, {"nu": 2, "loss": "hellinger"}):
        score = scores(normal, centred, right, noise="normal(0, 4)", **options)
        penalty = (score["tic"] + 2 * score["log_likelihood"]["estimate"]) / 2
        # The kurtosis of 20,000 normal numbers has a standard deviation of √(24/20000) = 0.035.
        assert penalty == pytest.approx(2, abs=0.12)


def test_leave_one_out_is_the_closed_form_of_the_normal_distribution(normal, centred):
    x = np.random.default_rng(5).normal(1.0, 2.0, 40)
    fits = [nw.fit(model, x, noise="exact", cross_validate=40) for model in (normal, centred)]
    rest = np.array([np.delete(x, i) for i in range(40)])
    each = stats.norm.logpdf(x, rest.mean(axis=1), rest.std(axis=1))
    held_out = fits[0].held_out
    assert held_out["log_likelihood"] == pytest.approx(each.sum(), rel=1e-7)
    assert held_out["se"] == pytest.approx(math.sqrt(40) * each.std(), rel=1e-6)
    assert nw.compare(*fits).models[0]["held_out"]["folds"] == 40


def test_folds_are_those_of_the_seed(normal, centred):
    x = np.random.default_rng(6).normal(size=300)
    fit = nw.fit(normal, x, nu=3, cross_validate=5)
    assert len(fit.held_out["by_fold"]) == 5
    assert sum(fit.held_out["by_fold"]) == pytest.approx(fit.held_out["log_likelihood"])
    true = stats.norm.logpdf(x, x.mean(), x.std()).sum()
    assert abs(fit.held_out["log_likelihood"] - true) < 3 * math.sqrt(2 * 300 / 2) ** 0.5 + 10
    with pytest.raises(nw.InputError, match="folds"):
        nw.fit(normal, x[:20], nu=3, cross_validate=150)


def test_likelihood_ratio_p_values_are_uniform_where_the_hypothesis_holds(normal, centred):
    # bench/nets/likelihood_ratio.py has 1,000 data sets.
    rng = np.random.default_rng(7)
    values = []
    for _ in range(120):
        x = rng.normal(size=200)
        found = nw.compare(nw.fit(centred, x, noise="exact"), nw.fit(normal, x, noise="exact"))
        values.append(found.tests[0]["p_value"])
    assert stats.kstest(values, "uniform").pvalue > 0.01

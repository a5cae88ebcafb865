"""Numbers against software that we did not write: pymbar, statsmodels, scipy."""

import logging

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
import statsmodels.api as sm

import noisewright as nw

logging.getLogger("pymbar").setLevel(logging.ERROR)
pymbar = pytest.importorskip("pymbar")


def two_samples(rng, shift, data=2000, noise=3000):
    """Log-densities of N(0, 1) without its constant and of N(shift, 1.5²) at draws of each."""
    x, y = rng.normal(size=data), rng.normal(shift, 1.5, size=noise)
    log_f, log_noise = lambda x: -(x**2) / 2, scipy.stats.norm(shift, 1.5).logpdf
    return log_f(x), log_noise(x), log_f(y), log_noise(y)


@pytest.mark.parametrize("shift", [0.0, 0.7, 2.5])
def test_two_samples_are_bennetts_acceptance_ratio(rng, shift):
    f_data, n_data, f_noise, n_noise = two_samples(rng, shift)
    theirs = pymbar.bar(
        n_noise - f_noise, f_data - n_data, relative_tolerance=1e-14, uncertainty_method="MBAR"
    )
    ours = nw.log_z(f_data, n_data, f_noise, n_noise, independent=True)["nce"]
    assert ours.log_z == pytest.approx(-theirs["Delta_f"], abs=1e-8)
    # The sandwich uses each sample's own variance, pymbar the two together: they agree in the limit of many draws.
    assert ours.se == pytest.approx(theirs["dDelta_f"], rel=0.02)
    states = nw.log_z_states([np.r_[n_noise, n_data], np.r_[f_noise, f_data]], [3000, 2000], independent=True)
    assert states.log_z[1] == pytest.approx(-theirs["Delta_f"], abs=1e-8)
    assert states.se[1] == pytest.approx(theirs["dDelta_f"], abs=1e-6)


def test_log_densities_come_in_every_type_and_layout(rng):
    arrays = [array.astype(np.float32).astype(float) for array in two_samples(rng, 0.7)]
    expected = nw.log_z(*arrays)["nce"].log_z
    wide = [np.repeat(array, 3).reshape(-1, 3) for array in arrays]
    frozen = [array.copy() for array in arrays]
    for array in frozen:
        array.flags.writeable = False
    for same in (
        [array.astype(np.float32) for array in arrays],
        [array[:, 1] for array in wide],
        [array[::-1][::-1] for array in arrays],
        [array.reshape(-1, 1) for array in arrays],
        [list(array) for array in arrays],
        [array.astype(np.longdouble) for array in arrays],
        frozen,
    ):
        assert nw.log_z(*same)["nce"].log_z == expected


def test_many_states_are_mbar(rng):
    counts = [500, 800, 300, 0]
    centers, widths = np.array([0.0, 1.0, 2.5, 1.7]), np.array([1.0, 0.7, 1.3, 1.0])
    x = np.concatenate([rng.normal(c, w, size=n) for c, w, n in zip(centers, widths, counts)])
    energy = ((x - centers[:, None]) / widths[:, None]) ** 2 / 2
    theirs = pymbar.MBAR(energy, counts, relative_tolerance=1e-14).compute_free_energy_differences()
    ours = nw.mbar(-energy, counts, independent=True)
    np.testing.assert_allclose(ours.log_z, -theirs["Delta_f"][0], atol=1e-8)
    np.testing.assert_allclose(ours.difference_se, theirs["dDelta_f"], atol=1e-6)
    truth = np.log(widths / widths[0])
    assert (np.abs(ours.log_z - truth)[1:] < 4 * ours.se[1:]).all()


def test_states_may_come_in_any_order_and_by_name(rng):
    x = np.r_[rng.normal(size=400), 2 * rng.normal(size=400)]
    origin = np.repeat([0, 1], 400)
    shuffled = rng.permutation(800)
    log_f = np.stack([-(x**2) / 2, -(x**2) / 8])
    first = nw.log_z_states(log_f, [400, 400], names=["narrow", "wide"], independent=True)
    second = nw.log_z_states(log_f[:, shuffled], origin=origin[shuffled], independent=True)
    np.testing.assert_allclose(first.log_z, second.log_z, rtol=1e-12)
    assert first.difference("narrow", "wide") == pytest.approx((second.log_z[1], second.se[1]))


def test_a_linear_model_is_a_logistic_regression_with_an_offset(rng):
    """JS with given draws is a GLM of binomial family with the offset −log(ν p_n) and no intercept."""
    data, noise = rng.gamma(3.0, 0.5, size=(1500, 2)), rng.exponential(2.0, size=(4000, 2))
    log_noise = lambda x: -x.sum(axis=1) / 2 - 2 * np.log(2)
    model = nw.Model.from_features(["log(x)", "x", "log(y)", "y", "x*y"], variables=["x", "y"], domain="positive")
    fit = nw.fit(model, data, noise=nw.NoiseDraws(noise, log_noise(noise), log_noise(data)))
    x, y = np.concatenate([data, noise]).T
    features = np.column_stack([np.log(x), x, np.log(y), y, x * y, -np.ones_like(x)])
    label = np.repeat([1.0, 0.0], [len(data), len(noise)])
    offset = -np.log(len(noise) / len(data)) - log_noise(np.column_stack([x, y]))
    glm = sm.GLM(label, features, sm.families.Binomial(), offset=offset).fit(tol=1e-14, maxiter=100)
    ours = np.array([estimate.estimate for estimate in fit.estimates.values()])
    np.testing.assert_allclose(ours, glm.params, rtol=1e-8, atol=1e-8)
    # Ordinary standard errors are right for θ; the robust ones differ from them by sampling error only.
    ordinary = nw.fit(
        model, data, noise=nw.NoiseDraws(noise, log_noise(noise), log_noise(data)), errors="model"
    )
    np.testing.assert_allclose(np.sqrt(np.diag(ordinary.covariance))[:5], glm.bse[:5], rtol=0.15)


def test_an_exact_fit_is_maximum_likelihood(rng):
    x = rng.normal(1.0, 2.0, size=500)
    model = nw.Model.from_family("gaussian", variables="x")
    fit = nw.fit(model, x, noise="exact")
    precision, mean = 1 / x.var(), x.mean()
    assert fit["P00"].estimate == pytest.approx(precision, rel=1e-8)
    assert fit["h0"].estimate == pytest.approx(mean * precision, rel=1e-8)


def test_the_constant_is_the_integral(quartic, rng):
    """log Z of the fitted model by scipy's quadrature, at the fitted parameters."""
    x = nw.Noise("normal(0, 4)").sample(20_000, seed=3)
    keep = np.log(rng.uniform(size=len(x))) < x**2 / 2 - 0.1 * x**4 + x**2 / 8 - 2.0
    fit = nw.fit(quartic, x[keep], nu=20)
    a, b = (estimate.estimate for estimate in fit.parameters.values())
    integral, _ = scipy.integrate.quad(lambda x: np.exp(a * x**2 / 2 - b * x**4), -np.inf, np.inf)
    constant = fit.log_normalizer
    assert abs(constant.estimate - np.log(integral)) < 5 * constant.se_noise + 1e-9


@pytest.mark.parametrize(
    ("ours", "theirs", "x"),
    [
        (nw.Normal(1.0, 4.0), scipy.stats.norm(1, 2), [-3.0, 0.0, 5.5]),
        (nw.Student(5, 1.0, 2.0), scipy.stats.t(5, 1, 2), [-3.0, 0.0, 55.0]),
        (nw.Laplace(1.0, 2.0), scipy.stats.laplace(1, 2), [-3.0, 0.0, 5.5]),
        (nw.Logistic(1.0, 2.0), scipy.stats.logistic(1, 2), [-3.0, 0.0, 5.5]),
        (nw.Gamma(3.0, 2.0), scipy.stats.gamma(3, scale=0.5), [0.1, 1.0, 5.5]),
        (nw.LogNormal(0.5, 0.7), scipy.stats.lognorm(0.7, scale=np.exp(0.5)), [0.1, 1.0, 5.5]),
        (nw.Beta(2.0, 3.0), scipy.stats.beta(2, 3), [0.1, 0.5, 0.9]),
        (nw.Uniform(-1.0, 3.0), scipy.stats.uniform(-1, 4), [-0.5, 0.5, 2.9]),
        (nw.VonMises(0.5, 2.0), scipy.stats.vonmises(2, 0.5), [-3.0, 0.0, 3.0]),
        (nw.Truncated(nw.Normal(0, 1), 0, 2), scipy.stats.truncnorm(0, 2), [0.1, 1.0, 1.9]),
    ],
    ids=lambda value: value.words if isinstance(value, nw.Noise) else "",
)
def test_densities_are_scipys(ours, theirs, x):
    np.testing.assert_allclose(ours.log_density(x), theirs.logpdf(x), rtol=1e-12)
    draws = ours.sample(4000, seed=5)
    # Kolmogorov: the bound is crossed once in 10⁵.
    assert scipy.stats.kstest(draws, theirs.cdf).pvalue > 1e-5


def test_counts_and_states_are_scipys():
    np.testing.assert_allclose(nw.Poisson(3.0).log_density([0, 2, 7]), scipy.stats.poisson(3).logpmf([0, 2, 7]), rtol=1e-12)
    ours = nw.NegativeBinomial(3.0, 2.0).log_density([0, 2, 7])
    np.testing.assert_allclose(ours, scipy.stats.nbinom(2, 2 / 5).logpmf([0, 2, 7]), rtol=1e-12)
    np.testing.assert_allclose(nw.Bernoulli(0.3).log_density([0, 1]), np.log([0.7, 0.3]), rtol=1e-12)


def test_a_covariance_matrix_is_scipys():
    covariance = [[2.0, 0.6], [0.6, 1.0]]
    ours = nw.Normal([1.0, -1.0], covariance).log_density([[0.0, 0.0], [3.0, 1.0]])
    theirs = scipy.stats.multivariate_normal([1, -1], covariance).logpdf([[0, 0], [3, 1]])
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)

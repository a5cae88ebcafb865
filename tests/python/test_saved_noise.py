"""A result holds the density of its noise: pickled or copied it has the same log-density and the same draws."""

import copy
import pickle

import numpy as np
import pytest

import noisewright as nw

INTERVAL = nw.Model.from_features(["log(x)", "log1p(-x)"], variables="x", domain=(0, 1))
PLANE = nw.Model.from_features(["x", "y", "x^2", "y^2", "x*y"], variables=["x", "y"])


def assert_same(noise, again, x):
    assert again.words == noise.words
    np.testing.assert_allclose(again.log_density(x), noise.log_density(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(again.sample(50, seed=3), noise.sample(50, seed=3), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("noise", ["auto", "kde", "optimal", "0.5*uniform + 0.5*kde", "beta(2, 3)"])
def test_noises_on_an_interval_survive(noise):
    # The noise `auto` called itself histogram(15, 0, 1), which is the word for a designed one: read again, its density at
    # 0.1 was lower by a factor of 3.9.
    data = np.random.default_rng(0).beta(2, 3, 400)
    fit = nw.fit(INTERVAL, data, noise=noise, nu=5)
    x = np.linspace(0.05, 0.95, 9)
    assert_same(fit.noise, pickle.loads(pickle.dumps(fit)).noise, x)
    assert_same(fit.noise, copy.deepcopy(fit).noise, x)


@pytest.mark.parametrize("noise", ["auto", "kde", "optimal", "product", "student"])
def test_noises_of_two_variables_survive(noise):
    data = np.random.default_rng(1).normal(size=(300, 2))
    fit = nw.fit(PLANE, data, noise=noise, nu=5)
    assert_same(fit.noise, pickle.loads(pickle.dumps(fit)).noise, data[:9])


def test_a_pickled_noise_is_used_again_as_it_was():
    data = np.random.default_rng(0).beta(2, 3, 400)
    fit = nw.fit(INTERVAL, data, nu=5)
    again = nw.fit(INTERVAL, data, nu=5, noise=pickle.loads(pickle.dumps(fit)).noise)
    for name, estimate in fit.parameters.items():
        assert again[name].estimate == pytest.approx(estimate.estimate, rel=1e-9)


def test_the_words_of_a_fitted_noise_say_which():
    data = np.random.default_rng(0).beta(2, 3, 400)
    fit = nw.fit(INTERVAL, data, nu=5)
    x = np.linspace(0.05, 0.95, 9)
    again = nw.Noise(fit.noise.words).log_density(x, domain=(0, 1))
    np.testing.assert_allclose(again, fit.noise.log_density(x), rtol=1e-12)


@pytest.mark.filterwarnings("ignore::noisewright.errors.FiniteDifferenceWarning")
def test_a_noise_of_a_model_of_functions_is_lost_and_says_so():
    model = nw.Model.from_functions(lambda x, theta: -theta[0] * x[:, 0] ** 2, start=[1.0], variables="x")
    fit = nw.fit(model, np.random.default_rng(0).normal(size=200), noise="optimal", nu=5)
    assert_same(fit.noise, copy.deepcopy(fit).noise, [0.0, 1.0])
    lost = pickle.loads(pickle.dumps(fit.noise))
    assert lost.words == fit.noise.words
    for use in (lambda: lost.sample(3), lambda: lost.log_density([0.0]), lambda: nw.error(INTERVAL, noise=lost)):
        with pytest.raises(nw.InputError, match="a pickle does not keep"):
            use()


def test_designs_are_saved_whole_or_not_at_all(tmp_path):
    model = nw.Model.from_formula("-a*x^2/2", variables="x", parameters={"a": 1.0})
    noise = nw.design(model, noise="optimal", nu=1).noise
    path, link = tmp_path / "design.json", tmp_path / "link.json"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    noise.save(link)
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640
    # Draws of a loaded design come from other places of the same density.
    again, x = nw.DesignedNoise.load(path), np.linspace(0.05, 0.95, 9)
    assert again.words == noise.words
    np.testing.assert_allclose(again.log_density(x), noise.log_density(x), rtol=1e-9)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["design.json", "link.json"]

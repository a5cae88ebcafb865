"""Evidence of Stan models.

BridgeStan and CmdStanPy need a C++ compiler and sources that are fetched when a model is compiled: objects with their methods stand for
them here, and where the packages are installed their signatures are compared with these. PyStan is run where it is installed and asked for.
"""

import inspect
import os
import sys
import types

import numpy as np
import pytest
from scipy import integrate, stats

import noisewright as nw

Y = np.array([0.3, -0.8, 1.9, 0.4, 1.2, -0.1, 0.7, 2.2])


def log_joint(mu, sigma):
    """y ~ normal(mu, sigma), mu ~ normal(0, 2), sigma ~ exponential(1), with all constants."""
    likelihood = stats.norm.logpdf(Y[:, np.newaxis], np.ravel(mu), np.ravel(sigma)).sum(axis=0)
    return likelihood + stats.norm.logpdf(np.ravel(mu), 0, 2) + stats.expon.logpdf(np.ravel(sigma))


def truth():
    """mu in closed form, sigma by quadrature."""

    def given(sigma):
        covariance = sigma**2 * np.eye(len(Y)) + 4.0
        return np.exp(stats.multivariate_normal(np.zeros(len(Y)), covariance).logpdf(Y) - sigma + 20)

    return np.log(integrate.quad(given, 0.05, 30, points=[0.5, 1, 2], epsabs=0, epsrel=1e-10)[0]) - 20


def sampled(chains=4, count=500, seed=1):
    """Draws of the posterior by a fine grid of sigma, mu given sigma being normal: chain × draw of each."""
    rng = np.random.default_rng(seed)
    grid = np.linspace(0.2, 8, 20001)
    precision = len(Y) / grid**2 + 0.25
    mean = Y.sum() / grid**2 / precision
    marginal = log_joint(mean, grid) - stats.norm.logpdf(0, 0, 1 / np.sqrt(precision))
    weights = np.exp(marginal - marginal.max())
    at = rng.choice(len(grid), size=(chains, count), p=weights / weights.sum())
    sigma = grid[at] + rng.uniform(-0.5, 0.5, at.shape) * (grid[1] - grid[0])
    precision = len(Y) / sigma**2 + 0.25
    return rng.normal(Y.sum() / sigma**2 / precision, 1 / np.sqrt(precision)), sigma


class StanModel:
    """What is used of BridgeStan's class of that name; parameters are `theta.1` (mu) and `sigma`."""

    def __init__(self, model_lib="model.so", data=None):
        self.given = (model_lib, data)

    def param_names(self, *, include_tp=False, include_gq=False):
        return ["theta.1", "sigma"]

    def param_unc_names(self):
        return ["theta.1", "sigma"]

    def param_unconstrain(self, theta, *, out=None):
        return np.array([theta[0], np.log(theta[1])])

    def log_density(self, theta_unc, *, propto=True, jacobian=True):
        if theta_unc[1] > 8:
            raise RuntimeError("normal_lpdf: Scale parameter is inf")
        mu, sigma = theta_unc[0], np.exp(theta_unc[1])
        # What `propto` drops.
        constants = 0.0 if propto else -(len(Y) + 1) * np.log(2 * np.pi) / 2 - np.log(2)
        squares = ((Y - mu) ** 2).sum() / sigma**2 + mu**2 / 4
        return -len(Y) * theta_unc[1] - squares / 2 - sigma + constants + (theta_unc[1] if jacobian else 0.0)


class CmdStanMCMC:
    """What is used of CmdStanPy's class of that name."""

    def __init__(self, mu, sigma):
        self.columns = {"lp__": np.zeros_like(mu), "theta[1]": mu, "sigma": sigma, "generated[1,2]": mu + 1}

    @property
    def column_names(self):
        return tuple(self.columns)

    def draws(self, *, inc_warmup=False, concat_chains=False):
        return np.stack([values.T for values in self.columns.values()], axis=2)


class CmdStanModel:
    """What is used of CmdStanPy's class of that name."""

    def __init__(self, stan_file):
        self._stan_file = stan_file

    @property
    def stan_file(self):
        return self._stan_file


StanModel.__module__ = "bridgestan.model"
CmdStanMCMC.__module__ = "cmdstanpy.stanfit.mcmc"
CmdStanModel.__module__ = "cmdstanpy.model"


def near(result):
    assert result.refused is None, result.refused
    assert abs(result.log_evidence - truth()) < 3 * result.se + 1e-3 and result.se < 0.02, (result, truth())


def test_a_bridgestan_model_takes_draws_of_any_kind():
    mu, sigma = sampled()
    found = nw.evidence(StanModel(), CmdStanMCMC(mu, sigma), seed=1)
    near(found)
    assert found.chains == [500] * 4
    by_name = nw.evidence(StanModel(), {"theta": mu[..., np.newaxis], "sigma": sigma}, seed=1)
    assert by_name.log_evidence == found.log_evidence
    az = pytest.importorskip("arviz")
    posterior = az.from_dict(posterior={"theta": mu[..., np.newaxis], "sigma": sigma})
    assert nw.evidence(StanModel(), posterior, seed=1).log_evidence == found.log_evidence


def test_a_cmdstanpy_model_is_compiled_by_bridgestan(monkeypatch):
    monkeypatch.setitem(sys.modules, "bridgestan", types.SimpleNamespace(StanModel=StanModel))
    near(nw.evidence(CmdStanModel("normal.stan"), CmdStanMCMC(*sampled()), {"y": Y.tolist()}, seed=2))
    monkeypatch.setitem(sys.modules, "bridgestan", None)
    with pytest.raises(nw.MissingLibraryError, match="pip install bridgestan"):
        nw.evidence(CmdStanModel("normal.stan"), CmdStanMCMC(*sampled()))


@pytest.mark.parametrize(
    ("model", "draws", "args", "says"),
    [
        (StanModel(), {"theta": np.zeros((2, 5, 1))}, (), "no variable `sigma`"),
        (StanModel(), np.zeros((5, 2)), (), "arrays by name"),
        (StanModel(), {"theta": np.zeros((2, 5, 1)), "sigma": np.ones(5)}, (), "must begin with"),
        (StanModel(), {"theta": np.zeros((2, 5, 1)), "sigma": np.ones((2, 5))}, ({},), "holds its data"),
        (CmdStanModel(None), {}, (), "no Stan file"),
    ],
)
def test_what_cannot_be_is_refused(model, draws, args, says):
    with pytest.raises(nw.InputError, match=says):
        nw.evidence(model, draws, *args)


@pytest.mark.parametrize(
    ("ours", "package", "where"),
    [(StanModel, "bridgestan", "StanModel"), (CmdStanMCMC, "cmdstanpy", "CmdStanMCMC"), (CmdStanModel, "cmdstanpy", "CmdStanModel")],
)
def test_what_stands_for_a_package_has_its_signatures(ours, package, where):
    theirs = getattr(pytest.importorskip(package), where)
    for name, method in vars(ours).items():
        if name.startswith("_"):
            continue
        if isinstance(method, property):
            assert isinstance(inspect.getattr_static(theirs, name), property), name
            continue
        own, known = (list(inspect.signature(f).parameters.values()) for f in (method, getattr(theirs, name)))
        assert [(p.name, p.kind) for p in own] == [(p.name, p.kind) for p in known], name


PROGRAM = """
data { int<lower=1> n; vector[n] y; }
parameters { vector[1] theta; real<lower=0> sigma; }
transformed parameters { matrix[2, 1] more = rep_matrix(theta[1], 2, 1); }
model {
  target += normal_lpdf(theta | 0, 2) + exponential_lpdf(sigma | 1);
  target += normal_lpdf(y | theta[1], sigma);
}
"""


@pytest.mark.skipif("NOISEWRIGHT_PYSTAN" not in os.environ, reason="PyStan compiles for minutes: set NOISEWRIGHT_PYSTAN=1")
def test_a_pystan_model():
    stan = pytest.importorskip("stan")
    posterior = stan.build(PROGRAM, data={"n": len(Y), "y": Y.tolist()}, random_seed=1)
    fit = posterior.sample(num_chains=4, num_samples=1500)
    found = nw.evidence(posterior, fit, seed=1)
    near(found)
    assert found.chains == [1500] * 4


def test_programs_that_drop_constants_are_known():
    from noisewright.stan_models import _drops_constants

    assert not _drops_constants(PROGRAM) and not _drops_constants("// y ~ normal\nmodel { /* ~ */ target += normal_lpdf(y | 0, 1); }")
    assert _drops_constants("model { y ~ normal(0, 1); }") and _drops_constants("model { target += normal_lupdf(y | 0, 1); }")

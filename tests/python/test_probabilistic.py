"""Evidence of models of PyMC and NumPyro against quadrature and closed forms."""

import numpy as np
import pytest
from scipy import integrate, stats

import noisewright as nw

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

_rng = np.random.default_rng(11)
X = np.column_stack([np.ones(40), _rng.normal(size=(40, 2))])
Y = X @ np.array([0.5, 1.0, 0.0]) + 0.7 * _rng.normal(size=40)


def eight_schools_by_quadrature():
    """The schools and μ ~ N(0, 5) are integrated in closed form, τ ~ half-Cauchy(5) by quadrature."""

    def given(tau):
        covariance = np.diag(ERRORS**2 + tau**2) + 25.0
        return np.exp(stats.multivariate_normal(np.zeros(8), covariance).logpdf(EFFECTS) + 30)

    value, _ = integrate.quad(lambda tau: given(tau) * stats.halfcauchy(scale=5).pdf(tau), 0, np.inf, epsabs=0, epsrel=1e-9)
    return np.log(value) - 30


def regression_by_quadrature(columns):
    """Coefficients N(0, 4) in closed form, σ ~ half-normal(1) by quadrature."""
    x = X[:, columns]

    def given(sigma):
        covariance = sigma**2 * np.eye(len(Y)) + 4.0 * x @ x.T
        return np.exp(stats.multivariate_normal(np.zeros(len(Y)), covariance).logpdf(Y) + 50)

    value, _ = integrate.quad(lambda s: given(s) * stats.halfnorm(scale=1).pdf(s), 1e-3, 5, points=[0.6, 1.0], epsabs=0, epsrel=1e-9)
    return np.log(value) - 50


REGRESSIONS = {"constant": [0], "one slope": [0, 1], "two slopes": [0, 1, 2]}


def near(result, truth):
    assert result.refused is None, result.refused
    assert abs(result.log_evidence - truth) < 3 * result.se + 1e-3, (result, truth)
    # An error so large would let anything pass.
    assert result.se < 0.1, result


class TestPyMC:
    pm = None

    @pytest.fixture(autouse=True)
    def _pymc(self):
        type(self).pm = pytest.importorskip("pymc")

    def sample(self, model, **options):
        with model:
            return self.pm.sample(
                1000, tune=1000, chains=4, cores=1, random_seed=3, progressbar=False, compute_convergence_checks=False, **options
            )

    def regression(self, columns):
        pm = self.pm
        with pm.Model() as model:
            b = pm.Normal("b", 0, 2, shape=len(columns))
            sigma = pm.HalfNormal("sigma", 1)
            pm.Normal("y", X[:, columns] @ b, sigma, observed=Y)
        return model

    def test_regressions_and_their_comparison(self):
        found, truth = {}, {}
        for name, columns in REGRESSIONS.items():
            model = self.regression(columns)
            found[name] = nw.evidence(model, self.sample(model), seed=1)
            truth[name] = regression_by_quadrature(columns)
            near(found[name], truth[name])
        compared = nw.compare_evidence(found)
        weights = np.exp([truth[name] - max(truth.values()) for name in compared.names])
        exact = weights / weights.sum()
        assert np.all(np.abs(compared.probability - exact) < 4 * compared.probability_se + 1e-3)
        assert np.all((compared.lower <= compared.probability) & (compared.probability <= compared.upper))

    def test_eight_schools_not_centred_and_centred(self):
        """NUTS hardly comes to small τ in the centred model: its draws are those of the other one, the same posterior in other variables."""
        pm = self.pm
        with pm.Model() as model:
            mu = pm.Normal("mu", 0, 5)
            tau = pm.HalfCauchy("tau", 5)
            z = pm.Normal("z", 0, 1, shape=8)
            pm.Deterministic("theta", mu + tau * z)
            pm.Normal("y", mu + tau * z, ERRORS, observed=EFFECTS)
        with pm.Model() as centred:
            mu = pm.Normal("mu", 0, 5)
            tau = pm.HalfCauchy("tau", 5)
            theta = pm.Normal("theta", mu, tau, shape=8)
            pm.Normal("y", theta, ERRORS, observed=EFFECTS)
        idata = self.sample(model, target_accept=0.95)
        near(nw.evidence(model, idata, seed=1), eight_schools_by_quadrature())
        near(nw.evidence(centred, idata, seed=1), eight_schools_by_quadrature())

    def test_bounds_that_depend_on_other_variables(self):
        """y ~ N(b, 1) with b ~ U(0, a) and a ~ U(1, 3): a double integral."""
        pm = self.pm
        with pm.Model() as model:
            a = pm.Uniform("a", 1, 3)
            b = pm.Uniform("b", 0, a)
            pm.Normal("y", b, 1, observed=0.3)
        inner = lambda a: (stats.norm.cdf(a - 0.3) - stats.norm.cdf(-0.3)) / a
        truth = np.log(integrate.quad(inner, 1, 3)[0] / 2)
        near(nw.evidence(model, self.sample(model), seed=1), truth)

    def test_discrete_variables_are_refused(self):
        pm = self.pm
        with pm.Model() as model:
            k = pm.Poisson("k", 3)
            pm.Normal("y", k, 1, observed=2.0)
        idata = nw_idata({"k": np.ones((2, 50))})
        with pytest.raises(nw.InputError, match="discrete"):
            nw.evidence(model, idata)


def nw_idata(posterior):
    arviz = pytest.importorskip("arviz")
    return arviz.from_dict(posterior=posterior)


class TestNumPyro:
    @pytest.fixture(autouse=True)
    def _numpyro(self):
        pytest.importorskip("numpyro")

    def sample(self, model, *args, **options):
        import jax
        from numpyro.infer import MCMC, NUTS

        mcmc = MCMC(NUTS(model, **options), num_warmup=1000, num_samples=1000, num_chains=4, chain_method="sequential", progress_bar=False)
        mcmc.run(jax.random.PRNGKey(3), *args)
        return mcmc

    def test_regressions(self):
        import numpyro
        import numpyro.distributions as dist

        def model(x, y):
            b = numpyro.sample("b", dist.Normal(0, 2).expand([x.shape[1]]).to_event(1))
            sigma = numpyro.sample("sigma", dist.HalfNormal(1))
            numpyro.sample("y", dist.Normal(x @ b, sigma), obs=y)

        for columns in REGRESSIONS.values():
            mcmc = self.sample(model, X[:, columns], Y)
            near(nw.evidence(model, mcmc, X[:, columns], Y, seed=1), regression_by_quadrature(columns))
        # Without arguments those of the run.
        again = nw.evidence(model, mcmc, seed=1)
        assert again.log_evidence == nw.evidence(model, mcmc, X, Y, seed=1).log_evidence

    def test_eight_schools_not_centred_and_centred(self):
        """In single precision a τ of the centred model may round to zero, where its log-density is not a number."""
        import numpyro
        import numpyro.distributions as dist

        def model(errors, effects):
            mu = numpyro.sample("mu", dist.Normal(0, 5))
            tau = numpyro.sample("tau", dist.HalfCauchy(5))
            with numpyro.plate("school", 8):
                z = numpyro.sample("z", dist.Normal(0, 1))
                theta = numpyro.deterministic("theta", mu + tau * z)
                numpyro.sample("y", dist.Normal(theta, errors), obs=effects)

        def centred(errors, effects):
            mu = numpyro.sample("mu", dist.Normal(0, 5))
            tau = numpyro.sample("tau", dist.HalfCauchy(5))
            with numpyro.plate("school", 8):
                theta = numpyro.sample("theta", dist.Normal(mu, tau))
                numpyro.sample("y", dist.Normal(theta, errors), obs=effects)

        mcmc = self.sample(model, ERRORS, EFFECTS, target_accept_prob=0.95)
        near(nw.evidence(model, mcmc, ERRORS, EFFECTS, seed=1), eight_schools_by_quadrature())
        near(nw.evidence(centred, mcmc, ERRORS, EFFECTS, seed=1), eight_schools_by_quadrature())


def test_probabilities_of_models_with_known_evidence():
    """Three log-evidences with the error 0.1 each: the logit's variance in closed form, and the interval's coverage of it."""
    x = np.random.default_rng(1).normal(size=(4000, 1))
    scales = {"a": 1.0, "b": 2.0, "c": 5.0}
    found = {name: nw.evidence(lambda x, c=c: np.log(c) - x[:, 0] ** 2 / 2, x, seed=1) for name, c in scales.items()}
    compared = nw.compare_evidence(found, prior={"a": 5.0, "b": 2.5, "c": 1.0})
    assert compared.names == ["c", "b", "a"]
    assert compared.probability == pytest.approx([1 / 3, 1 / 3, 1 / 3], abs=1e-6)
    assert compared.log_factor == pytest.approx(np.log([1, 2 / 5, 1 / 5]), abs=1e-6)


@pytest.mark.parametrize(
    ("results", "options", "says"),
    [
        ({}, {}, "dictionary"),
        ({"a": 1.0}, {}, "result of evidence"),
    ],
)
def test_what_cannot_be_compared_is_refused(results, options, says):
    with pytest.raises(nw.InputError, match=says):
        nw.compare_evidence(results, **options)

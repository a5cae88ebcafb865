"""Evidence from Python: containers of draws, transformations, chains, Bayes factors."""

import importlib.util
import pickle
import warnings

import numpy as np
import pytest
import scipy.special
import scipy.stats

import noisewright as nw
from noisewright.transforms import Layout


def chains(rng, coefficient, shape):
    """Autoregressive chains of standard normal margins, chain × draw."""
    out = np.empty(shape)
    out[:, 0] = rng.normal(size=shape[0])
    for t in range(1, shape[1]):
        out[:, t] = coefficient * out[:, t - 1] + np.sqrt(1 - coefficient**2) * rng.normal(size=shape[0])
    return out


def within(result, truth):
    """The truth is within four standard errors, which are not large."""
    assert result.se < 0.2
    assert abs(result.log_evidence - truth) < 4 * result.se, (result.log_evidence, truth, result.se)


def test_a_beta_posterior_by_its_transformation(rng):
    """k = 2 of n = 10 with a uniform prior: the evidence is 1/11."""
    draws = rng.beta(3, 9, size=(4, 1000))
    log_f = lambda p: scipy.stats.binom(10, p[:, 0]).logpmf(2)
    within(nw.evidence(log_f, {"p": draws}, transforms={"p": (0, 1)}, constrained=True), -np.log(11))
    free = lambda z: (
        scipy.stats.binom(10, scipy.special.expit(z[:, 0])).logpmf(2)
        + scipy.special.log_expit(z[:, 0])
        + scipy.special.log_expit(-z[:, 0])
    )
    within(nw.evidence(free, {"p": draws}, transforms={"p": (0, 1)}), -np.log(11))
    one_by_one = nw.evidence(
        lambda row: scipy.stats.binom(10, row[0]).logpmf(2),
        {"p": draws[:, :300]},
        transforms={"p": (0, 1)},
        constrained=True,
        vectorized=False,
    )
    within(one_by_one, -np.log(11))


def test_a_dirichlet_posterior_is_a_simplex(rng):
    alpha = np.array([2.0, 5.0, 3.0])
    draws = rng.dirichlet(alpha, size=(2, 2000))
    log_f = lambda x: ((alpha - 1) * np.log(x)).sum(axis=1)
    truth = scipy.special.gammaln(alpha).sum() - scipy.special.gammaln(alpha.sum())
    within(nw.evidence(log_f, {"p": draws}, transforms={"p": "simplex"}, constrained=True), truth)


@pytest.mark.parametrize("shape", [0.5, 0.9])
def test_integrable_poles_at_the_ends_of_a_domain(rng, shape):
    """Far out on the line the variable rounds to its end, where these densities are infinite."""
    beta = lambda p: (shape - 1) * (np.log(p[:, 0]) + np.log1p(-p[:, 0]))
    draws = rng.beta(shape, shape, size=(4, 2000))
    truth = scipy.special.betaln(shape, shape)
    inside = np.clip(draws, 1e-300, 1 - 2**-53)
    within(nw.evidence(beta, {"p": inside}, transforms={"p": (0, 1)}, constrained=True), truth)
    gamma = lambda x: (shape - 1) * np.log(x[:, 0]) - x[:, 0]
    draws = np.maximum(rng.gamma(shape, size=(4, 2000)), 1e-300)
    truth = scipy.special.gammaln(shape)
    within(nw.evidence(gamma, {"x": draws}, transforms={"x": "positive"}, constrained=True), truth)


def test_a_dirichlet_density_with_poles(rng):
    alpha = np.full(3, 0.9)
    draws = np.maximum(rng.dirichlet(alpha, size=(2, 3000)), 1e-12)
    draws /= draws.sum(axis=-1, keepdims=True)
    log_f = lambda x: ((alpha - 1) * np.log(x)).sum(axis=1)
    truth = scipy.special.gammaln(alpha).sum() - scipy.special.gammaln(alpha.sum())
    within(nw.evidence(log_f, {"p": draws}, transforms={"p": "simplex"}, constrained=True), truth)


def test_slow_chains_are_balanced_by_their_effective_draws(rng):
    """Balanced by numbers of draws, errors of this chain have a standard deviation of 0.045, by effective draws 0.007."""
    errors = []
    for _ in range(12):
        draws = np.moveaxis(chains(rng, 0.98, (2, 4000)), 0, 1)[None]
        result = nw.evidence(lambda x: -(x**2).sum(axis=1) / 2, draws)
        errors.append(result.log_evidence - np.log(2 * np.pi))
    assert np.sqrt(np.mean(np.square(errors))) < 0.02


def test_chains_in_different_modes_are_refused():
    rng = np.random.default_rng(0)
    draws = np.stack([rng.normal(size=(500, 1)) + 6 * k for k in (-1, 1, 1, 1)])
    log_f = lambda x: np.logaddexp(np.log(0.9) - (x[:, 0] + 6) ** 2 / 2, np.log(0.1) - (x[:, 0] - 6) ** 2 / 2)
    with pytest.warns(nw.NoisewrightWarning):
        result = nw.evidence(log_f, draws)
    assert result.refused and result.se == np.inf
    assert (result.lower, result.upper) == (-np.inf, np.inf)


def test_inference_data_with_several_variables(rng):
    az = pytest.importorskip("arviz")
    mu, sigma = rng.normal(1.0, 0.5, size=(4, 800, 2)), rng.gamma(4.0, 0.25, size=(4, 800))
    draws = az.from_dict(posterior={"mu": mu, "sigma": sigma})
    truth = np.log(2 * np.pi * 0.25) + scipy.special.gammaln(4.0) - 4 * np.log(4.0)

    def log_f(x):
        return -2 * ((x[:, :2] - 1) ** 2).sum(axis=1) + 3 * np.log(x[:, 2]) - 4 * x[:, 2]

    result = nw.evidence(log_f, draws, transforms={"sigma": "positive"}, constrained=True)
    within(result, truth)
    assert result.draws == 3200


def test_chains_are_told_apart_from_independent_draws(rng):
    x = chains(rng, 0.95, (4, 4000))
    bell = lambda x: -(x[:, 0] ** 2) / 2
    dependent = nw.evidence(bell, x[:, :, None])
    naive = nw.evidence(bell, x[:, :, None], independent=True)
    assert dependent.chain_ess < 0.2 * naive.chain_ess
    within(dependent, np.log(2 * np.pi) / 2)
    same = nw.evidence(bell, x.reshape(-1), chains=4)
    assert same.log_evidence == dependent.log_evidence


def test_a_model_and_a_jax_function_agree(rng, quartic):
    jnp = pytest.importorskip("jax.numpy")
    draws = nw.design(quartic, nu=1).noise  # any sample near the density will do as a start
    x = draws.sample(4000, seed=2)
    weights = np.exp(quartic.log_density(x) - draws.log_density(x))
    kept = x[rng.uniform(size=len(x)) < weights / np.quantile(weights, 0.999)][:2000]
    ours = nw.evidence(quartic, kept, independent=True)
    theirs = nw.evidence(lambda x: jnp.square(x[:, 0]) / 2 - 0.1 * x[:, 0] ** 4, kept, independent=True)
    assert ours.log_evidence == pytest.approx(theirs.log_evidence, abs=1e-9)


@pytest.mark.parametrize(
    "transform",
    ["real", "positive", (0, 1), (None, 2.0), (-3.0, None), (-1.0, 4.0), "simplex", "ordered"],
    ids=str,
)
def test_transformations_go_there_and_back_with_their_jacobian(rng, transform):
    layout = Layout({"x": (3,)}, {"x": transform})
    z = rng.normal(size=(20, 2 if transform == "simplex" else 3))
    x, log_jacobian = layout.constrained(z)
    np.testing.assert_allclose(layout.free(x), z, rtol=1e-9, atol=1e-9)
    # The Jacobian by central differences; of a simplex, that of all but the last part.
    for row in range(3):
        matrix = []
        for j in range(z.shape[1]):
            up, down = z[row : row + 1].copy(), z[row : row + 1].copy()
            up[0, j] += 1e-6
            down[0, j] -= 1e-6
            matrix.append((layout.constrained(up)[0] - layout.constrained(down)[0])[0] / 2e-6)
        square = np.array(matrix)[:, : z.shape[1]]
        total = np.sum(log_jacobian[row]) if np.ndim(log_jacobian) else 0.0
        assert np.linalg.slogdet(square)[1] == pytest.approx(total, abs=1e-6)


def test_bayes_factors_carry_both_errors(rng):
    x = rng.normal(size=(2000, 1))
    first = nw.evidence(lambda x: np.log(3.0) - x[:, 0] ** 2 / 2, x)
    second = nw.evidence(lambda x: -((x[:, 0] - 1) ** 2) / 2, x + 1)
    factor = nw.bayes_factor(first, second)
    assert factor.se == pytest.approx(np.hypot(first.se, second.se))
    assert factor.lower < np.log(3.0) < factor.upper
    assert factor.probability == pytest.approx(0.75, abs=0.02)
    with pytest.raises(nw.InputError, match="`first`"):
        nw.bayes_factor(1.0, second)


def test_results_have_everything(rng, tmp_path):
    result = nw.evidence(lambda x: -(x[:, 0] ** 2) / 2, rng.normal(size=500))
    assert result.log_z == result.log_evidence == result[result.recommended].log_z
    assert "log evidence" in result.summary() and "<svg" in result._repr_html_()
    assert result.to_dict()["estimates"]["nce"]["log_z"] == result["nce"]["log_z"]
    assert set(result.to_frame().index) == {"is", "revis", "is-revis", "nce"}
    result.plot()[0].figure.savefig(tmp_path / "evidence.png")
    assert pickle.loads(pickle.dumps(result)).log_z == result.log_z


def test_too_little_overlap_is_said_aloud(rng):
    x, y = rng.normal(size=500), rng.normal(40, 0.5, size=500)
    f, n = lambda x: -(x**2) / 2, scipy.stats.norm(40, 0.5).logpdf
    with pytest.warns(nw.NoisewrightWarning):
        result = nw.log_z(f(x), n(x), f(y), n(y))
    assert np.isinf(result.se)


def test_data_that_cannot_be_bought_cost_nothing(rng):
    x, y = rng.normal(size=500), rng.normal(0, 1.5, size=500)
    f, n = lambda x: -(x**2) / 2, lambda x: scipy.stats.norm(0, 1.5).logpdf(x)
    best = nw.log_z(f(x), n(x), f(y), n(y), prices=(0, 1), budget=1000).allocation["nce"]
    assert (best["data_draws"], best["noise_draws"]) == (500, 1000)


def test_prices_buy_draws(rng):
    x, y = rng.normal(size=2000), rng.normal(0.5, 1.4, size=2000)
    f, n = lambda x: -(x**2) / 2, scipy.stats.norm(0.5, 1.4).logpdf
    result = nw.log_z(f(x), n(x), f(y), n(y), prices=(10.0, 1.0), budget=22_000.0)
    best = result.allocations["nce"]
    # Whole draws, rounded up.
    assert 10 * best["data_draws"] + best["noise_draws"] == pytest.approx(22_000, rel=1e-3)
    assert best["nu"] > 1


def test_zero_density_is_exact():
    """Uniform on [0, 1] against uniform on [0, 2]: half of the noise lies outside, and Z = 1 exactly in expectation."""
    inside = np.zeros(400)
    noise = np.where(np.arange(400) % 2 == 0, 0.0, -np.inf)
    result = nw.log_z(inside, np.full(400, -np.log(2)), noise, np.full(400, -np.log(2)), independent=True)
    assert result["is"].log_z == pytest.approx(0.0, abs=1e-12)
    assert result["nce"].log_z == pytest.approx(0.0, abs=1e-9)


class FittedNormal:
    """What a function of the user's may fit: SciPy's normal distribution."""

    def __init__(self, rows):
        self.normal = scipy.stats.multivariate_normal(rows.mean(axis=0), np.cov(rows.T))

    def log_prob(self, rows):
        return self.normal.logpdf(rows)

    def sample(self, count, seed):
        return self.normal.rvs(count, random_state=seed).reshape(count, -1)


def test_a_noise_that_a_function_fits_is_contrasted_as_any_other(rng):
    factor = np.array([[1.0, 0.0, 0.0], [0.4, 0.8, 0.0], [-0.3, 0.2, 1.5]])
    draws = rng.standard_t(8, size=(6000, 3)) @ factor.T

    def log_density(x):
        return scipy.stats.t(8).logpdf(np.linalg.solve(factor, x.T)).sum(axis=0)

    found = nw.evidence(log_density, draws, noise=FittedNormal, independent=True, seed=3)
    assert (found.noise, found.noises) == ("own", ["own", "own"])
    truth = np.log(np.linalg.det(factor))
    assert abs(found.log_evidence - truth) < 4 * found.se < 0.1
    again = nw.evidence(log_density, draws, noise=FittedNormal, independent=True, seed=3)
    assert again.log_evidence == found.log_evidence


@pytest.mark.parametrize(
    ("noise", "says"),
    [
        (lambda rows: object(), "no method `log_prob`"),
        (lambda rows: 1 / 0, "division by zero"),
        ("flows", "normal, student, mixture, warped, product or auto"),
    ],
)
def test_noises_that_cannot_be_are_refused(rng, noise, says):
    with pytest.raises(Exception, match=says):
        nw.evidence(lambda x: -(x[:, 0] ** 2) / 2, rng.normal(size=(400, 1)), noise=noise)


@pytest.mark.parametrize("limit", [2000, pytest.param(6000, marks=pytest.mark.long)])
def test_evaluations_are_limited_and_the_noise_is_fitted_to_all_draws(limit):
    """Gamma posteriors in 30 sets: no more evaluations than asked for (and what looks for the integral's ends), intervals that hold."""
    covered, calls = 0, []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        draws = np.log(rng.gamma(5.0, size=(20_000, 1)))
        asked = []

        def log_density(x):
            asked.append(len(x))
            return 5 * x[:, 0] - np.exp(x[:, 0])

        found = nw.evidence(log_density, draws, evaluations=limit, independent=True, seed=seed)
        covered += found.lower < scipy.special.gammaln(5) < found.upper
        calls.append(sum(asked))
        # A quarter at draws; quiet noise draws are 32 times the nearest power of two, at most √2 times three quarters.
        assert found.draws <= limit / 4 and found.noise_draws <= 0.75 * np.sqrt(2) * limit
    # Kinds that are tried and the probes of the integral come on top.
    assert max(calls) < 1.5 * limit + 1000
    # Of 30 intervals of 95 % fewer than 24 cover once in 2,000 studies. (The mean square of their scores, each with degrees of freedom
    # of its own, has no such bound: of 200 sets 187 cover, and one score alone is 4.9.)
    assert covered >= 24


def test_more_evaluations_than_points_change_nothing(rng):
    draws = rng.normal(size=(1000, 2))
    log_density = lambda x: -(x**2).sum(axis=1) / 2
    assert nw.evidence(log_density, draws, evaluations=10_000).log_evidence == nw.evidence(log_density, draws).log_evidence
    with pytest.raises(nw.InputError, match="evaluations"):
        nw.evidence(log_density, draws, evaluations=300, noise_draws=300)


@pytest.mark.parametrize("library", ["torch", pytest.param("jax", marks=pytest.mark.long)])
def test_a_learned_flow_bends_with_a_banana(library, monkeypatch):
    """y given x is normal about x² with the deviation 0.3, x is standard normal: the constant is that of two normals."""
    pytest.importorskip(library)
    find, hidden = importlib.util.find_spec, {"torch", "jax"} - {library}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name in hidden else find(name, *more))
    rng = np.random.default_rng(5)
    x = rng.normal(size=2000)
    draws = np.column_stack([x, x**2 + 0.3 * rng.normal(size=2000)])
    log_density = lambda p: 2.5 - p[:, 0] ** 2 / 2 - (p[:, 1] - p[:, 0] ** 2) ** 2 / 0.18
    found = nw.evidence(log_density, draws, noise="flow", independent=True, seed=1)
    assert found.noises == ["flow", "flow"] and found.refused is None
    assert abs(found.log_evidence - 2.5 - np.log(2 * np.pi * 0.3)) < 3 * found.se
    # A flow that learned nothing is a normal density, which overlaps by half.
    normal = nw.evidence(log_density, draws, noise="normal", independent=True, seed=1)
    assert found.overlap > 0.9 and normal.overlap < 0.5 and found.se < 0.5 * normal.se


def test_a_flow_without_its_libraries_is_refused(monkeypatch, rng):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name in ("torch", "jax") else find(name, *more))
    with pytest.raises(nw.MissingLibraryError, match="pip install torch"):
        nw.evidence(lambda x: -(x**2).sum(axis=1) / 2, rng.normal(size=(400, 2)), noise="flow")


def test_noise_draws_without_density_contradict_nothing():
    """Half of the noise lies where an exponential density is zero: those draws count, and the sides agree (they seemed five errors apart)."""
    log_noise = lambda x: scipy.stats.norm.logpdf(x, 0, 2)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x, y = rng.exponential(size=100_000), rng.normal(0, 2, size=100_000)
        found = nw.log_z(-x, log_noise(x), np.where(y > 0, -y, -np.inf), log_noise(y), independent=True)
        assert found.warning_codes == []
        assert abs(found.log_z) < 4 * found.se < 0.02


def six_digits(x):
    """As Stan writes its draws by default."""
    return np.array([float(f"{value:.6g}") for value in x])


def of_rounded_draws(sd):
    """The evidence of a normal posterior around 1,234,503, where six digits are steps of 10."""
    draws = six_digits(1_234_503.0 + sd * np.random.default_rng(15).normal(size=4000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return nw.evidence(lambda x: -0.5 * ((x[:, 0] - 1_234_503.0) / sd) ** 2, draws[:, None], progress=False)


@pytest.mark.parametrize("sd", [1.0, 2.0, 4.0])
def test_draws_rounded_to_less_than_their_spread_contradict(sd):
    """Steps of two deviations and more leave a few values; what follows was answered beside a warning, many standard errors off."""
    found = of_rounded_draws(sd)
    assert not np.isfinite(found.se) and found.refused_code == "contradiction"
    assert found.lower == -np.inf and found.upper == np.inf


def test_draws_that_rounding_makes_equal_are_refused():
    with pytest.raises(nw.NoAnswerError, match="var"):
        of_rounded_draws(0.5)


@pytest.mark.parametrize("sd", [20.0, 100.0, 1000.0])
def test_draws_rounded_to_six_digits_are_answered_where_that_is_little(sd):
    """Rounding adds δ = 100/12 sd² to the relative variance: draws of another density, which is δ²/4 away from the one that is asked for
    (Kullback and Leibler), and by no more than that the bridge is off. Beyond five standard errors beside it: 6e-7."""
    found, delta = of_rounded_draws(sd), 100 / 12 / sd**2
    assert abs(found.log_evidence - 0.5 * np.log(2 * np.pi * sd**2)) < 5 * found.se + delta**2 / 4

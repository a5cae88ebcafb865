"""What the skins for PyTorch and JAX share, without either: designs, errors of log ratios, noises, evaluations, against scipy and closed forms."""

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

from noisewright.errors import InputError, NoAnswerError
from noisewright.networks.dictionary import design_weights, target_matrix
from noisewright.networks.evaluation import Chains, Sides, calibration, judge
from noisewright.networks.information import combined, extrapolated, student_quantile, telescoped
from noisewright.networks.linear import linear_fit
from noisewright.networks.losses import Library, best_constant
from noisewright.networks.noises import fit_mixture, fit_student
from noisewright.networks.options import Options
from noisewright.networks.schedule import Cosine, Stopper


def test_weights_of_a_dictionary_are_those_of_a_general_minimiser():
    """The same convex problem by scipy's SLSQP, with V written out again."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000)
    psi = np.stack([x, x**2, -np.ones_like(x)], axis=1)
    density = lambda m, s: stats.norm.logpdf(x, m, s) - stats.norm.logpdf(x)
    log_ratios = np.stack([density(m, s) for m in (-1.0, 0.0, 1.0) for s in (0.7, 1.5)])
    target, nu = np.diag([1.0, 1.0, 0.0]), 0.5
    found = design_weights(psi, log_ratios, target, nu)

    def error(weights):
        r = nu * weights @ np.exp(log_ratios)
        information = (psi.T * (r / (1 + r))) @ psi / len(x)
        return (1 + nu) * np.trace(np.linalg.inv(information) @ target)

    best = optimize.minimize(error, np.full(6, 1 / 6), method="SLSQP", bounds=[(0, 1)] * 6, constraints={"type": "eq", "fun": lambda w: w.sum() - 1}, options={"ftol": 1e-12})
    assert found.error == pytest.approx(best.fun, rel=1e-4) and found.gap < 1e-4
    assert (found.alone >= found.error).all()
    with pytest.raises(InputError, match="`target` must be all, kl or a pair"):
        target_matrix(psi, "mse", None)


def _repeated(times, step, start):
    for _ in range(times):
        start = step(start)
    return start


#: NumPy in the place of PyTorch or JAX.
NUMPY = Library(
    np.exp, np.log, lambda x: np.logaddexp(0, x), special.logsumexp, np.clip, _repeated, np.sum, np.float32, lambda n, _: np.arange(1, n + 1, dtype=np.float32)
)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("draw", ["normal", "standard_cauchy", "standard_exponential"])
def test_the_constant_of_any_batch_is_the_root_of_the_bridge_equation(draw):
    """Against Brent's method: few and many rows, light and heavy tails, near and far sides, ratios from 1/1,000 to 1,000."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        spread, ratio = 10 ** rng.uniform(-2, 1.5), 10 ** rng.uniform(-3, 3)
        data, noise = (spread * (sign * rng.uniform() + getattr(rng, draw)(size=rng.integers(2, 400))) for sign in (1, -1))

        def sides(c):
            up, down = special.log_expit(noise - c - math.log(ratio)), special.log_expit(c + math.log(ratio) - data)
            return math.log(ratio) + special.logsumexp(up) - math.log(len(up)) - special.logsumexp(down) + math.log(len(down))

        both = np.concatenate([data, noise])
        root = optimize.brentq(sides, both.min() - 20, both.max() + 20, xtol=1e-12, rtol=1e-14)
        assert best_constant(data, noise, Options.checked(1, "js", ratio, "profile"), NUMPY) == pytest.approx(root, abs=1e-8, rel=1e-9)


def test_quantiles_of_student():
    for degrees in (1, 2, 3, 4, 7, 30):
        assert student_quantile(0.975, degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-8)


def test_the_error_of_telescoped_ratios():
    """Two bridges of normal densities with exact outputs: z-scores of the sum over 200 samples have standard deviation one."""
    places = np.array([0.0, math.sqrt(0.5), 1.0])
    scores = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        first, second = rng.normal(1.0, 1.0, 500), rng.normal(0.0, 1.0, (3, 500))
        marks = [math.sqrt(1 - a * a) * first + a * y for a, y in zip(places, second)]
        # Waymarks are normal with mean √(1 − α²): the log ratio of neighbours is (m − m') x − (m² − m'²)/2. The outputs miss the constant.
        means = np.sqrt(1 - places**2)
        slopes = means[:-1] - means[1:]
        found = telescoped(*(np.stack([slopes[k] * marks[k + side] for k in (0, 1)]) for side in (0, 1)), slopes[:, None] * first, places)
        scores.append((found.estimate - 0.5) / found.se)
    assert abs(np.mean(scores)) < 4 / math.sqrt(200)
    assert 0.85 < np.std(scores) < 1.15


def test_separated_bridges_are_refused_and_folds_are_combined():
    apart = np.array([[10.0, 11.0, 12.0, 13.0]])
    with pytest.raises(NoAnswerError, match="a bridge is separated"):
        telescoped(apart, -apart, apart, np.array([0.0, 1.0]))
    rng = np.random.default_rng(0)
    near, far = rng.normal(1.0, 1.0, (1, 400)), rng.normal(0.0, 1.0, (1, 400))
    one = telescoped(near, far, near, np.array([0.0, 1.0]))
    assert extrapolated(one, one).estimate == pytest.approx(one.estimate)
    found = combined([one, one], 800)
    assert found.information.estimate == pytest.approx(one.estimate) and found.information.se == pytest.approx(one.se / math.sqrt(2))


def test_fitted_noises_against_scipy():
    rng = np.random.default_rng(1)
    rows = stats.multivariate_t(loc=[1.0, -1.0], shape=[[2.0, 0.6], [0.6, 1.0]], df=5, seed=2).rvs(6000)
    student = fit_student(rows[:5000], rows[5000:])
    assert student.degrees in (3.0, 5.0, 8.0)
    scale = student.factors[0] @ student.factors[0].T
    known = stats.multivariate_t(loc=student.locations[0], shape=scale, df=student.degrees)
    assert student.log_density(rows[:50]) == pytest.approx(known.logpdf(rows[:50]), rel=1e-9)
    assert scale == pytest.approx(np.array([[2.0, 0.6], [0.6, 1.0]]), rel=0.2)
    two = np.where(rng.random((2000, 1)) < 0.3, rng.normal(-3.0, 0.5, (2000, 1)), rng.normal(2.0, 1.0, (2000, 1)))
    mixture = fit_mixture(two[:1600], two[1600:])
    truth = np.logaddexp(np.log(0.3) + stats.norm.logpdf(two[1600:, 0], -3.0, 0.5), np.log(0.7) + stats.norm.logpdf(two[1600:, 0], 2.0, 1.0))
    assert abs(mixture.log_density(two[1600:]).mean() - truth.mean()) < 0.03


def gaussians(seed, draws=4000):
    """log f = −x²/2 told from N(0, 1.5²): log Z is log √(2π)."""
    rng = np.random.default_rng(seed)
    at = lambda x: Sides(-0.5 * x**2, stats.norm.logpdf(x, 0.0, 1.5))
    return at(rng.normal(size=500)), at(1.5 * rng.normal(size=draws)), Chains(at(rng.normal(size=draws)), 20, 0.8, 0.3)


def test_an_evaluation_covers_the_constant():
    scores = []
    for seed in range(60):
        test, noise, chains = gaussians(seed)
        found = judge(test, noise, chains, dimension=1)
        assert found.recommended == "nce" and found.refused is None
        scores.append([(z.log_z - 0.5 * math.log(2 * math.pi)) / z.se for z in (found.importance_sampling, found.bridge)])
    deviation = np.std(scores, axis=0)
    # A standard deviation of 60 z-scores has a relative error of 1/√120.
    assert (np.abs(deviation - 1.0) < 4 / math.sqrt(120)).all()


def test_calibration_of_a_calibrated_classifier():
    test, noise, _ = gaussians(1, 500)
    g = lambda sides: sides.log_ratio - 0.5 * math.log(2 * math.pi)
    found = calibration(g(test), g(noise))
    assert found.worst < 4 and 0.5 < found.accuracy < 0.8
    assert calibration(5.0 + g(test), 5.0 + g(noise)).worst > 6


def test_schedules_and_patience():
    schedule = Cosine(1.0, steps=101, warm_up=1)
    assert schedule.rate(51) == pytest.approx(0.5) and schedule.rate(101) == pytest.approx(0.0, abs=1e-12)
    stopper = Stopper(2)
    assert [stopper.improved(k, loss) for k, loss in enumerate([3.0, 2.0, 2.5])] == [True, True, False]
    assert not stopper.done
    stopper.improved(3, 2.1)
    assert stopper.done and stopper.best_epoch == 1


def test_nearly_dependent_features_become_components():
    rng = np.random.default_rng(2)
    x, y = rng.normal(0.5, 1.0, (800, 1)), rng.normal(0.0, 1.0, (3200, 1))
    features = lambda at: np.concatenate([at, at + 1e-9 * np.sin(7 * at), np.ones_like(at)], axis=1)
    with pytest.warns(UserWarning, match="nearly linear combinations of 1"):
        found = linear_fit(features(x), features(y), np.zeros(800), np.zeros(3200))
    assert list(found.parameters) == ["pc0"] and found.converged
    with pytest.raises(InputError, match="there is nothing to fit"):
        linear_fit(np.ones((5, 1)), np.ones((5, 1)), np.zeros(5), np.zeros(5))

"""Score matching, pseudo-likelihood, Monte-Carlo maximum likelihood and Brier's loss against computations written here, statsmodels and
scipy."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize, special

import noisewright as nw


def values(fit, what="estimate"):
    return np.array([getattr(e, what) for e in fit.parameters.values()])


def sandwich(bread, slopes):
    inverse = np.linalg.inv(bread)
    return np.sqrt(np.diag(inverse @ np.cov(slopes.T, bias=True) @ inverse) / len(slopes))


def test_score_matching_of_old_faithful():
    model, data = nw.load_example("old-faithful")
    fit = nw.fit(model, data, method="score-matching")
    # MATH §13, computed there with numpy alone.
    np.testing.assert_allclose(values(fit), [0.42826, 1.07908, -0.39045, -0.62892], atol=1e-5)
    np.testing.assert_allclose(values(fit, "se"), [0.22549, 0.24763, 0.13741, 0.10436], atol=1e-5)
    # log Z at the estimate by quadrature.
    t = values(fit)
    z = integrate.quad(lambda x: math.exp(t @ [x, x**2, x**3, x**4]), -6, 6, epsabs=1e-13)[0]
    assert fit.log_normalizer.estimate == pytest.approx(math.log(z), abs=1e-8)
    assert fit.method == "score-matching" and fit.nu == math.inf
    x = np.asarray(data["x"] if hasattr(data, "__getitem__") and not isinstance(data, np.ndarray) else data).ravel()
    u = np.column_stack([x, x**2, x**3, x**4]) @ t - math.log(z)
    assert fit.log_likelihood == pytest.approx(u.sum(), abs=1e-6)
    exact = nw.fit(model, data, method="exact")
    found = nw.compare({"score matching": fit, "exact": exact})
    assert [m["method"] for m in found.models] == ["score-matching", "exact"]
    assert found.models[0]["log_likelihood"].estimate < found.models[1]["log_likelihood"].estimate
    shared = {p["name"]: p["fits"] for p in found.estimates}
    assert shared["t1"][0]["estimate"] == fit["t1"].estimate and shared["t1"][1]["se"] == pytest.approx(exact["t1"].se)


def test_score_matching_in_closed_form():
    rng = np.random.default_rng(5)
    # A normal distribution: the moments.
    x = rng.multivariate_normal([1.0, -2.0], [[1.0, 0.6], [0.6, 2.0]], 400)
    features = ["x", "y", "x^2", "x*y", "y^2"]
    model = nw.Model.from_features(features, variables=["x", "y"])
    found = values(nw.fit(model, x, method="score-matching"))
    precision = np.linalg.inv(np.cov(x.T, bias=True))
    linear = precision @ x.mean(axis=0)
    expected = [*linear, -precision[0, 0] / 2, -precision[0, 1], -precision[1, 1] / 2]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    # The family does the same by differences.
    family = nw.Model.from_family("gaussian", variables=["x", "y"])
    by_differences = nw.fit(family, x, method="score-matching")
    np.testing.assert_allclose(values(by_differences)[:2], linear, rtol=1e-7)


@pytest.mark.parametrize("by_formula", [True, False])
def test_score_matching_of_bounded_variables(by_formula):
    """Positive and bounded variables are matched on their charts: written here for gamma and beta."""
    rng = np.random.default_rng(6)
    x = rng.gamma(2.5, 0.7, 500)
    if by_formula:
        model = nw.Model.from_features(["log(x)", "x"], variables="x", domain={"x": "positive"})
    else:
        function = lambda x, t: t[0] * np.log(x[:, 0]) + t[1] * x[:, 0]
        model = nw.Model.from_functions(function, variables=["x"], parameters={"a": 1.0, "b": -1.0}, domain={"x": "positive"})
    # On y = log x the slopes of (log x, x) are (1, x), the bends (0, x), and that of the Jacobian y is 1.
    slopes = np.column_stack([np.ones_like(x), x])
    bends = np.column_stack([np.zeros_like(x), x]) + slopes
    bread = slopes.T @ slopes / len(x)
    expected = -np.linalg.solve(bread, bends.mean(axis=0))
    fit = nw.fit(model, x, method="score-matching")
    tolerance = 1e-9 if by_formula else 1e-5
    np.testing.assert_allclose(values(fit), expected, rtol=tolerance)
    errors = sandwich(bread, bends + slopes * (slopes @ expected)[:, None])
    np.testing.assert_allclose(values(fit, "se"), errors, rtol=10 * tolerance)
    # Between two ends, on the logit of (x − 1)/3.
    y = 1 + 3 * rng.beta(2.0, 3.0, 500)
    model = nw.Model.from_features(["log(y - 1)", "log(4 - y)"], variables="y", domain={"y": [1, 4]})
    s, ds = (y - 1) * (4 - y) / 3, (5 - 2 * y) / 3
    first = np.column_stack([1 / (y - 1), -1 / (4 - y)])
    second = np.column_stack([-1 / (y - 1) ** 2, -1 / (4 - y) ** 2])
    slopes = s[:, None] * first
    bends = s[:, None] ** 2 * second + 2 * (s * ds)[:, None] * first
    expected = -np.linalg.solve(slopes.T @ slopes, bends.sum(axis=0))
    np.testing.assert_allclose(values(nw.fit(model, y, method="score-matching")), expected, rtol=1e-9)


def test_score_matching_of_angles_and_directions():
    model, data = nw.load_example("wind")
    x = np.asarray(data["x"] if not isinstance(data, np.ndarray) else data).ravel()
    # u = a cos x + b sin x: J = (−sin, cos), Δt = (−cos, −sin).
    slopes, bends = np.column_stack([-np.sin(x), np.cos(x)]), -np.column_stack([np.cos(x), np.sin(x)])
    expected = -np.linalg.solve(slopes.T @ slopes, bends.sum(axis=0))
    np.testing.assert_allclose(values(nw.fit(model, data, method="score-matching")), expected, rtol=1e-7)
    # On the sphere: Δt = −(d − 1) t for linear t, and the metric is I − x xᵀ.
    rng = np.random.default_rng(7)
    v = rng.normal(size=(600, 3)) + [0.0, 0.5, 1.0]
    v /= np.linalg.norm(v, axis=1)[:, None]
    model = nw.Model.from_features(["x", "y", "z"], variables=["x", "y", "z"], domain="sphere")
    bread = np.eye(3) - v.T @ v / len(v)
    expected = np.linalg.solve(bread, 2 * v.mean(axis=0))
    np.testing.assert_allclose(values(nw.fit(model, v, method="score-matching")), expected, rtol=1e-7)


def test_score_matching_of_a_model_that_is_not_linear():
    rng = np.random.default_rng(8)
    x = rng.logistic(0.5, 0.8, 800)
    model = nw.Model.from_formula(
        "-2*logcosh((x - m)/(2*s))", variables="x", parameters={"m": 0.0, "s": (1.0, 0.0, math.inf)}
    )
    fit = nw.fit(model, x, method="score-matching")

    def loss(p):
        m, s = p
        t = np.tanh((x - m) / (2 * s))
        return np.mean(-(1 - t**2) / (2 * s * s) + t**2 / (2 * s * s))

    least = optimize.minimize(loss, [0.5, 0.8], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14})
    np.testing.assert_allclose(values(fit), least.x, atol=1e-5)


def test_score_matching_refuses_what_it_cannot_do():
    x = np.random.default_rng(9).laplace(size=50)
    laplace = nw.Model.from_formula("-a*abs(x)", variables="x", parameters={"a": (1.0, 0.0, math.inf)})
    with pytest.raises(nw.NoisewrightError, match="second derivative"):
        nw.fit(laplace, x, method="score-matching")
    with pytest.raises(nw.NoisewrightError, match="sandwich"):
        nw.fit(laplace, x, method="score-matching", errors="model")
    lsat, data = nw.load_example("lsat")
    with pytest.raises(nw.NoisewrightError, match="discrete"):
        nw.fit(lsat, data, method="score-matching")
    # A density that grows has no integral, and score matching does not care.
    growing = nw.Model.from_features(["x^2", "x^4"], variables="x")
    x = np.random.default_rng(1).standard_t(2.5, 300)
    with pytest.warns(nw.NoisewrightWarning):
        fit = nw.fit(growing, x, method="score-matching")
    assert fit.no_answer is not None


def stacked_logit(x, low, high):
    """The regressions of every variable on the others, with shared couplings, in one design: a row for each variable of each row."""
    n, d = x.shape
    pairs = [(i, j) for i in range(d) for j in range(i + 1, d)]
    design, response, groups = [], [], []
    for i in range(d):
        block = np.zeros((n, d + len(pairs)))
        block[:, i] = high - low
        for at, (a, b) in enumerate(pairs):
            if i in (a, b):
                block[:, d + at] = (high - low) * x[:, b if a == i else a]
        design.append(block)
        response.append((x[:, i] == high).astype(float))
        groups.append(np.arange(n))
    return np.vstack(design), np.concatenate(response), np.concatenate(groups)


def check_pseudo_likelihood(fit, x, low, high, tolerance):
    sm = pytest.importorskip("statsmodels.api")
    design, response, groups = stacked_logit(x, low, high)
    reference = sm.Logit(response, design).fit(
        disp=0, method="newton", maxiter=100, tol=1e-14,
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False},
    )
    np.testing.assert_allclose(values(fit), reference.params, atol=tolerance)
    np.testing.assert_allclose(values(fit, "se"), reference.bse, rtol=1e-5)
    assert fit.loss * len(x) == pytest.approx(-reference.llf, rel=1e-9)


def test_pseudo_likelihood_of_lsat_is_logistic_regression():
    model, data = nw.load_example("lsat")
    fit = nw.fit(model, data, method="pseudo-likelihood")
    x = np.column_stack([np.asarray(data[name]) for name in model.variables]) if not isinstance(data, np.ndarray) else data
    check_pseudo_likelihood(fit, np.asarray(x, dtype=float), 0.0, 1.0, 1e-6)
    exact = nw.fit(model, data, method="exact")
    assert np.all(np.abs(values(fit) - values(exact)) < 0.5 * values(exact, "se"))
    # log Z at the estimate by enumeration.
    states = np.array(np.meshgrid(*[[0, 1]] * 5)).reshape(5, -1).T
    pairs = [(i, j) for i in range(5) for j in range(i + 1, 5)]
    t = np.column_stack([states, *[states[:, i] * states[:, j] for i, j in pairs]])
    assert fit.log_normalizer.estimate == pytest.approx(special.logsumexp(t @ values(fit)), abs=1e-9)


def gibbs(rng, field, coupling, rows, sweeps=60):
    d = len(field)
    x = rng.choice([-1.0, 1.0], size=(rows, d))
    for _ in range(sweeps):
        for i in range(d):
            p = special.expit(2 * (field[i] + x @ coupling[i]))
            x[:, i] = np.where(rng.random(rows) < p, 1.0, -1.0)
    return x


def test_pseudo_likelihood_of_twenty_spins_is_logistic_regression():
    rng = np.random.default_rng(10)
    d = 20
    coupling = np.zeros((d, d))
    for i in range(d):
        coupling[i, (i + 1) % d] = coupling[(i + 1) % d, i] = 0.25
    x = gibbs(rng, rng.normal(0, 0.2, d), coupling, 1500)
    model = nw.Model.from_family("ising", variables=[f"x{i}" for i in range(d)])
    fit = nw.fit(model, x, method="pseudo-likelihood")
    check_pseudo_likelihood(fit, x, -1.0, 1.0, 1e-6)


def test_pseudo_likelihood_of_three_states():
    """Against the sum over states written out, for a model that is not linear."""
    rng = np.random.default_rng(11)
    x = rng.choice([0.0, 1.0, 3.0], size=(400, 2), p=[0.5, 0.3, 0.2])
    x[:, 1] = np.where(rng.random(400) < 0.4, x[:, 0], x[:, 1])
    states = [0.0, 1.0, 3.0]
    model = nw.Model.from_formula(
        "a*(x + y) - exp(b)*(x - y)^2", variables=["x", "y"], parameters={"a": 0.0, "b": -1.0},
        domain={"x": {"states": states}, "y": {"states": states}},
    )
    fit = nw.fit(model, x, method="pseudo-likelihood")

    def loss(p):
        u = lambda x, y: p[0] * (x + y) - math.exp(p[1]) * (x - y) ** 2
        own = u(x[:, 0], x[:, 1])
        one = special.logsumexp([u(s, x[:, 1]) for s in states], axis=0) - own
        other = special.logsumexp([u(x[:, 0], s) for s in states], axis=0) - own
        return np.mean(one + other)

    least = optimize.minimize(loss, [0.0, -1.0], method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(values(fit), least.x, atol=1e-5)
    assert fit.loss == pytest.approx(least.fun, rel=1e-10)


def test_mc_mle_is_the_profiled_kl_loss():
    """Geyer: minimise logmeanexp_n(u − log p_n) − mean_d u."""
    rng = np.random.default_rng(12)
    x, noise = rng.normal(0.5, 0.8, 300), rng.normal(0.0, 1.5, 900)
    log_density = lambda x: -0.5 * (x / 1.5) ** 2 - math.log(1.5 * math.sqrt(2 * math.pi))
    model = nw.Model.from_features(["x", "x^2"], variables="x")
    draws = nw.NoiseDraws(noise[:, None], log_density(noise), log_density(x))
    fit = nw.fit(model, x, noise=draws, method="mc-mle")
    features = lambda x: np.column_stack([x, x**2])

    def loss(p):
        log_ratio = features(noise) @ p - log_density(noise)
        return special.logsumexp(log_ratio) - math.log(len(noise)) - np.mean(features(x) @ p)

    least = optimize.minimize(loss, [0.0, -0.5], method="BFGS", options={"gtol": 1e-10})
    np.testing.assert_allclose(values(fit), least.x, atol=1e-6)
    constant = special.logsumexp(features(noise) @ least.x - log_density(noise)) - math.log(len(noise))
    assert fit.log_normalizer.estimate == pytest.approx(constant, abs=1e-6)
    assert fit.method == "mc-mle" and fit.loss_name == "kl"


def test_dictionaries_and_questions_in_python(quartic):
    members = [nw.Normal(-2, 0.25), nw.Normal(0, 0.25), nw.Normal(2, 0.25), "normal(0, 6)"]
    best = nw.design(quartic, at={"a": 1.0, "b": 0.1}, nu=1.0, noise=nw.Dictionary(members))
    words = nw.design(
        quartic, at={"a": 1.0, "b": 0.1}, nu=1.0, noise="dictionary(normal(-2, 0.25), normal(0, 0.25), normal(2, 0.25), normal(0, 6))"
    )
    assert best.error == words.error and best.gap < 1e-8
    np.testing.assert_allclose(np.sum(best.weights), 1.0)
    assert best.weights[0] == pytest.approx(best.weights[2], rel=1e-3)
    # Any other weights have a larger error.
    mixture = " + ".join(f"{w}*normal({m}, 0.25)" for w, m in [(0.3, -2), (0.4, 0), (0.3, 2)])
    assert nw.error(quartic, noise=mixture, nu=1.0, at={"a": 1.0, "b": 0.1}).error > best.error
    # The error of an answer by the delta method.
    plain = nw.error(quartic, noise="normal(0, 4)", nu=1.0, at={"a": 1.0, "b": 0.1})
    asked = nw.error(quartic, noise="normal(0, 4)", nu=1.0, at={"a": 1.0, "b": 0.1}, target="a/b")
    h = np.array([1 / 0.1, -1 / 0.1**2, 0.0])
    assert asked.error == pytest.approx(2 * h @ plain.covariance @ h, rel=1e-9)


def test_brier_leaves_outliers_out():
    rng = np.random.default_rng(13)
    x = np.where(rng.random(2000) < 0.05, rng.normal(8, 0.1, 2000), rng.normal(size=2000))
    model = nw.Model.from_formula("m*x - x^2/2", variables="x", parameters={"m": 0.0})
    fit = nw.fit(model, x, loss="brier", noise="normal(0, 4)", nu=2, seed=1)
    assert abs(fit["m"].estimate) < 4 * fit["m"].se
    assert abs(fit.clean_share.estimate - np.mean(x < 5)) < 4 * fit.clean_share.se
    assert nw.fit(model, x, loss="js", noise="normal(0, 4)", nu=2, seed=1)["m"].estimate > 0.3

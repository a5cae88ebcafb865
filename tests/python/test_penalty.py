"""Penalised fits against a plain proximal gradient method written here, and what they refuse."""

import math

import numpy as np
import pytest

import noisewright as nw

FEATURES = ["x", "x^2", "x^3", "x^4", "sin(3*x)", "cos(3*x)"]


def features(x):
    return np.column_stack([x, x**2, x**3, x**4, np.sin(3 * x), np.cos(3 * x)])


def log_normal(x, scale):
    return -0.5 * (x / scale) ** 2 - math.log(scale * math.sqrt(2 * math.pi))


def samples(rows=600, ratio=2, seed=3):
    rng = np.random.default_rng(seed)
    data, noise = rng.normal(0.4, 0.8, rows), rng.normal(0.0, 1.5, ratio * rows)
    draws = nw.NoiseDraws(noise[:, None], log_normal(noise, 1.5), log_normal(data, 1.5))
    return data, noise, draws


class Loss:
    """The loss js of a model that is linear in its parameters, with their features in units of their deviations."""

    def __init__(self, data, noise):
        f = features(data)
        self.scale, self.center = f.std(axis=0, ddof=1), f.mean(axis=0)
        columns = lambda x: np.column_stack([(features(x) - self.center) / self.scale, -np.ones(len(x))])
        self.data, self.noise, self.nu = columns(data), columns(noise), len(noise) / len(data)
        self.offsets = [-log_normal(x, 1.5) - math.log(self.nu) for x in (data, noise)]

    def gradient(self, b):
        g, h = self.offsets[0] + self.data @ b, self.offsets[1] + self.noise @ b
        value = np.logaddexp(0, -g).mean() + self.nu * np.logaddexp(0, h).mean()
        first, second = -1 / (1 + np.exp(g)), 1 / (1 + np.exp(-h))
        return value, self.data.T @ first / len(g) + self.nu * (self.noise.T @ second) / len(h)

    def ista(self, strength, factors, ridge=False, steps=200_000):
        """Proximal gradient descent with Nesterov's acceleration and restarts, to the last digits."""
        both = np.vstack([self.data / math.sqrt(len(self.data)), self.noise * math.sqrt(self.nu / len(self.noise))])
        step = 1 / (0.25 * np.linalg.eigvalsh(both.T @ both).max() + (strength * max(factors) if ridge else 0))
        weights = strength * np.append(factors, 0.0)
        b = y = np.append(np.zeros(len(factors)), self.offsets[0].mean())
        t = 1.0
        for _ in range(steps):
            slope = self.gradient(y)[1] + (weights * y if ridge else 0)
            moved = y - step * slope
            new = moved if ridge else np.sign(moved) * np.maximum(np.abs(moved) - step * weights, 0)
            if np.abs(new - y).max() < 1e-13:
                return new
            if (y - new) @ (new - b) > 0:
                t, y, b = 1.0, new, new
                continue
            s = (1 + math.sqrt(1 + 4 * t * t)) / 2
            b, y, t = new, new + (t - 1) / s * (new - b), s
        return b


@pytest.fixture(scope="module")
def problem():
    data, noise, draws = samples()
    return nw.Model.from_features(FEATURES, variables="x"), data, draws, Loss(data, noise)


def test_the_lasso_path_is_that_of_a_proximal_gradient_method(problem):
    model, data, draws, loss = problem
    fit = nw.fit(model, data, noise=draws, penalty="lasso:0.002")
    path = fit.penalty["path"]
    assert len(path) > 10 and path[-1]["strength"] == 0.002
    np.testing.assert_allclose(fit.penalty["scales"], loss.scale, rtol=1e-12)
    for point in path[:: len(path) // 5] + path[-1:]:
        expected = loss.ista(point["strength"], np.ones(6))[:-1]
        np.testing.assert_allclose(np.array(point["values"]) * loss.scale, expected, atol=1e-6)
        assert point["selected"] == np.count_nonzero(expected)
    estimates = [fit[name].estimate for name in model.parameters]
    np.testing.assert_allclose(np.array(estimates) * loss.scale, expected, atol=1e-6)


def test_ridge_and_penalty_factors_are_those_of_the_same_method(problem):
    model, data, draws, loss = problem
    ridge = nw.fit(model, data, noise=draws, penalty="ridge:0.05")
    expected = loss.ista(0.05, np.ones(6), ridge=True)[:-1]
    np.testing.assert_allclose([ridge[n].estimate for n in model.parameters] * loss.scale, expected, atol=1e-6)
    assert all(e.se > 0 for e in ridge.parameters.values())
    assert any("bias" in text for text in ridge.warnings)
    factors = [0.0, 1.0, 2.0, 1.0, 0.5, 1.0]
    named = dict(zip(model.parameters, factors))
    lasso = nw.fit(model, data, noise=draws, penalty="lasso:0.01", penalty_factors=named)
    expected = loss.ista(0.01, np.array(factors))[:-1]
    np.testing.assert_allclose([lasso[n].estimate for n in model.parameters] * loss.scale, expected, atol=1e-6)


def test_after_the_lasso_there_are_no_errors_and_a_refit_has_them(problem):
    model, data, draws, _ = problem
    fit = nw.fit(model, data, noise=draws, penalty="lasso:0.02")
    assert all(math.isnan(e.se) for e in fit.estimates.values())
    codes = [w["code"] for w in fit.diagnostics["warnings"]]
    assert "selected-by-lasso" in codes
    with pytest.raises(nw.InputError, match="no standard errors"):
        fit.wald("`x` = 0")
    again = nw.fit(model, data, noise=draws, penalty="lasso:0.02", refit_selected=True)
    selected = again.penalty["selected"]
    assert selected == fit.penalty["selected"] and 0 < len(selected) < 6
    plain = nw.fit(nw.Model.from_features(selected, variables="x"), data, noise=draws)
    for name in selected:
        assert again[name].estimate == pytest.approx(plain[name].estimate, rel=1e-6)
        assert again[name].se == pytest.approx(plain[name].se, rel=1e-6)
    assert all(again[name].fixed for name in model.parameters if name not in selected)
    assert "after-selection" in [w["code"] for w in again.diagnostics["warnings"]]


def test_cross_validation_does_not_depend_on_chance_of_threads_and_selects_what_is_there(problem):
    model, data, *_ = problem
    one, two = (nw.fit(model, data, penalty="auto", seed=1, nu=3) for _ in range(2))
    assert one.to_dict()["penalty"] == two.to_dict()["penalty"]
    assert one.penalty["folds"] == 10 and one.penalty["rule"] == "one-standard-error"
    # A normal density has two features.
    assert set(one.penalty["selected"]) <= {"x", "x^2", "x^4", "cos(3*x)"}
    least = nw.fit(model, data, penalty="lasso:min", seed=1, nu=3)
    assert least.penalty["rule"] == "minimum"
    held_out = [p["held_out"] for p in least.penalty["path"]]
    assert least.penalty["strength"] == least.penalty["path"][int(np.argmin(held_out))]["strength"]


@pytest.mark.parametrize(
    "options, says",
    [
        ({"penalty": "lasso:-1"}, "positive number"),
        ({"penalty": "lasso:0"}, "positive number"),
        ({"penalty": "ridge:nan"}, "positive number"),
        ({"penalty": "elastic:1"}, "lasso:auto"),
        ({"penalty": "lasso:0.1", "penalty_factors": {"y": 1}}, "y"),
        ({"penalty": "lasso:0.1", "penalty_factors": {"x": -1}}, "zero or a positive"),
        ({"penalty": "lasso:0.1", "penalty_factors": dict.fromkeys(FEATURES, 0)}, "no parameter"),
        ({"penalty_factors": {"x": 0}}, "without `penalty`"),
        ({"refit_selected": True}, "without `penalty`"),
        ({"penalty": "ridge:1", "refit_selected": True}, "selects nothing"),
        ({"penalty": "lasso:1000", "refit_selected": True}, "nothing to refit"),
        ({"penalty": "lasso:0.1", "noise": "exact"}, "finitely many states"),
        ({"penalty": "lasso:0.1", "loss": "pearson"}, "convex"),
        ({"penalty": "lasso:0.1", "noise": "optimal"}, "optimal"),
        ({"penalty": "lasso:0.1", "draws": "quiet"}, "quiet"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(problem, options, says):
    model, data, *_ = problem
    with pytest.raises(nw.InputError, match=says):
        nw.fit(model, data, **{"nu": 2, **options} if options.get("noise") != "exact" else options)


def test_a_model_that_is_not_linear_is_refused(problem):
    model = nw.Model.from_formula("-(x - m)^2*exp(s)", variables="x", parameters={"m": 0.0, "s": 0.0})
    with pytest.raises(nw.InputError, match="linear in its parameters"):
        nw.fit(model, problem[1], penalty="ridge:1")


def test_spins_are_summed_where_they_are_few(problem):
    rng = np.random.default_rng(5)
    spins = rng.choice([-1.0, 1.0], (800, 5))
    spins[:, 1] = np.where(rng.random(800) < 0.8, spins[:, 0], -spins[:, 0])
    model = nw.Model.from_family("ising", variables=list("abcde"), states=[-1, 1])
    fit = nw.fit(model, {name: spins[:, i] for i, name in enumerate("abcde")}, penalty="auto", noise="exact")
    assert len(fit.penalty["selected"]) == 1
    (name,) = fit.penalty["selected"]
    # tanh(J) = mean of the product, for the only coupling, and the lasso shrinks it.
    assert 0 < fit[name].estimate < math.atanh((spins[:, 0] * spins[:, 1]).mean())


def ring():
    """Ten normals on a ring with one more edge across it: the edges, and rows."""
    precision = np.eye(10)
    for i, j in [*((i, (i + 1) % 10) for i in range(10)), (0, 5)]:
        precision[i, j] = precision[j, i] = -0.3 if (i, j) == (0, 5) else 0.3
    rows = np.random.default_rng(4).normal(size=(1000, 10)) @ np.linalg.inv(np.linalg.cholesky(precision))
    return {(i, j) for i in range(10) for j in range(i + 1, 10) if precision[i, j]}, rows


def quadratic(x):
    """The features of the family: x_i, and −x_i x_j, half of it on the diagonal, row by row of the upper triangle."""
    pairs = [-x[:, i] * x[:, j] / (2 if i == j else 1) for i in range(10) for j in range(i, 10)]
    return np.column_stack([x, *pairs])


def coordinate_descent(data, noise, offsets, weights, b):
    """The lasso of the loss js: Newton's quadratic model by soft thresholds coordinate by coordinate, halved steps, to the last digits."""
    nu = len(noise) / len(data)

    def ratios(b):
        g, h = offsets[0] + data @ b, offsets[1] + noise @ b
        return g, h, np.logaddexp(0, -g).mean() + nu * np.logaddexp(0, h).mean() + weights @ np.abs(b)

    for _ in range(50):
        g, h, value = ratios(b)
        p, q = np.exp(-np.logaddexp(0, g)), np.exp(-np.logaddexp(0, -h))
        slope = -data.T @ p / len(data) + nu * (noise.T @ q) / len(noise)
        curve = (data.T * (p * (1 - p))) @ data / len(data) + nu * (noise.T * (q * (1 - q))) @ noise / len(noise)
        new = b.copy()
        for _ in range(2000):
            most = 0.0
            for j, weight in enumerate(weights):
                free = new[j] - slope[j] / curve[j, j]
                moved = np.sign(free) * max(abs(free) - weight / curve[j, j], 0.0) - new[j]
                if moved != 0:
                    new[j] += moved
                    slope += curve[j] * moved
                    most = max(most, abs(moved))
            if most < 1e-12:
                break
        if np.abs(new - b).max() < 1e-10:
            return new
        share = 1.0
        while share > 1e-4 and ratios(b + share * (new - b))[2] > value:
            share /= 2
        b = new if share == 1.0 else b + share * (new - b)
    raise AssertionError("no minimum")


def test_the_lasso_of_a_gaussian_is_that_of_coordinate_descent_and_leaves_the_diagonal_alone():
    _, x = ring()
    rng = np.random.default_rng(5)
    y = rng.normal(0, 1.3, (2000, 10))
    draws = nw.NoiseDraws(y, log_normal(y, 1.3).sum(axis=1), log_normal(x, 1.3).sum(axis=1))
    names = [f"x{i}" for i in range(10)]
    model = nw.Model.from_family("gaussian", variables=names)
    fit = nw.fit(model, dict(zip(names, x.T)), noise=draws, penalty="lasso:0.03", progress=False)
    edges = np.array([name[0] == "P" and name[1] != name[2] for name in model.parameters])
    assert list(fit.penalty["factors"]) == list(edges.astype(float)) and edges.sum() == 45
    f = quadratic(x)
    scale, center = f.std(axis=0, ddof=1), f.mean(axis=0)
    np.testing.assert_allclose(fit.penalty["scales"], scale, rtol=1e-12)
    columns = lambda rows: np.column_stack([(quadratic(rows) - center) / scale, -np.ones(len(rows))])
    offsets = [-log_normal(rows, 1.3).sum(axis=1) - math.log(2) for rows in (x, y)]
    # From the noise itself, whose precision is 1/1.3² on the diagonal.
    own = np.array([name[0] == "P" and name[1] == name[2] for name in model.parameters]) / 1.3**2
    b = np.append(own * scale, 10 * math.log(1.3 * math.sqrt(2 * math.pi)) - own @ center)
    path = fit.penalty["path"]
    assert len(path) > 10
    for point in path[:: len(path) // 3] + path[-1:]:
        weights = point["strength"] * np.append(edges, 0.0)
        b = coordinate_descent(columns(x), columns(y), offsets, weights, b)
        np.testing.assert_allclose(np.array(point["values"]) * scale, b[:-1], atol=1e-6)
        assert point["selected"] == np.count_nonzero(b[:-1])


def test_the_graph_of_a_gaussian_is_found_as_the_graphical_lasso_finds_it():
    covariance = pytest.importorskip("sklearn.covariance")
    truth, x = ring()
    names = [f"x{i}" for i in range(10)]
    model = nw.Model.from_family("gaussian", variables=names)
    fit = nw.fit(model, dict(zip(names, x.T)), penalty="auto", seed=1, progress=False)
    pairs = [(i, j) for i in range(10) for j in range(i + 1, 10)]
    assert {(i, j) for i, j in pairs if fit[f"P{i}{j}"].estimate != 0} == truth
    # The likelihood's own lasso takes the same edges, at a strength at which it takes as many.
    correlation = np.corrcoef(x.T)
    precisions = [covariance.graphical_lasso(correlation, alpha)[1] for alpha in np.linspace(0.3, 0.1, 21)]
    graphs = [{(i, j) for i, j in pairs if precision[i, j] != 0} for precision in precisions]
    assert truth in [graph for graph in graphs if len(graph) == len(truth)]
    # Refitted, the precision is that of maximum likelihood with these zeros, to four of its errors, which the noise is part of.
    again = nw.fit(model, dict(zip(names, x.T)), penalty="auto", seed=1, refit_selected=True, progress=False)
    for i, j in truth:
        found = again[f"P{i}{j}"]
        assert abs(found.estimate - (-0.3 if (i, j) == (0, 5) else 0.3)) < 4 * found.se
    assert again["P02"].fixed and again["P02"].estimate == 0

"""Fits as demanding users ask for them in Python: functions with kinks, weights that count, remedies in Python's words."""

import warnings

import numpy as np
import pytest

import noisewright as nw

#: 1,000 rows of a Laplace density of location 1 and scale 2, at equidistant quantiles, and drawn ones.
LEVELS = (np.arange(1000) + 0.5) / 1000
ROWS = {
    "quantiles": 1 + 2 * np.where(LEVELS < 0.5, np.log(2 * LEVELS), -np.log(2 * (1 - LEVELS))),
    "draws": np.random.default_rng(300).laplace(1, 2, 1000),
}


def log_density(x, theta):
    # A search may ask for the scale at its bound, where there is no density.
    with np.errstate(divide="ignore", invalid="ignore"):
        return -np.abs(x[:, 0] - theta[0]) / theta[1]


def score(x, theta):
    away = x[:, 0] - theta[0]
    return np.column_stack([np.sign(away) / theta[1], np.abs(away) / theta[1] ** 2])


@pytest.mark.parametrize("noise", ["auto", "exact"])
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("given", ["a score", "no score"])
def test_a_function_of_numpy_with_a_kink_has_its_errors(given, rows, noise):
    # The information of either parameter is 1/s² a row: 0.0632. Second derivatives by differences of the score, which is
    # constant but at the rows, were those of the nearest row, and the error 0.000208.
    functions = (log_density, score) if given == "a score" else (log_density,)
    parameters = {"m": 0.0, "s": (1.0, 0.0, np.inf)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nw.FiniteDifferenceWarning)
        fit = nw.fit(nw.Model.from_functions(*functions, variables="x", parameters=parameters), ROWS[rows], noise=noise)
    assert fit.converged
    for name in ("m", "s"):
        assert fit[name].se == pytest.approx(2 / np.sqrt(1000), rel=0.05), name
    formula = nw.Model.from_formula("-abs(x - m)/s", variables="x", parameters=parameters)
    same = nw.fit(formula, ROWS[rows], noise=noise)
    # Between the two middle rows the likelihood is flat in the location, and any place there is its median.
    below, above = np.sort(ROWS[rows])[499:501]
    assert abs(fit["m"].estimate - same["m"].estimate) < 1.01 * (above - below) + 0.01 * same["m"].se
    assert abs(fit["s"].estimate - same["s"].estimate) < 0.01 * same["s"].se
    if noise == "exact":
        assert below - 1e-6 < fit["m"].estimate < above + 1e-6


def test_a_named_noise_counts_rows_by_their_weights():
    # Counts on a grid around 2: without the weights the noise was as wide as the grid, normal(−7e-17, 5.467).
    grid = np.linspace(-4, 4, 81)
    counts = np.round(200 * np.exp(-((grid - 2) ** 2) / 0.18) / np.sqrt(0.18 * np.pi))
    model = nw.Model.from_features(["x", "x^2"], variables="x")
    for noise in ("normal", "student", "student(4)", "logistic", "laplace", "product"):
        weighted = nw.fit(model, grid, weights=counts, noise=noise, nu=2)
        repeated = nw.fit(model, np.repeat(grid, counts.astype(int)), noise=noise, nu=2)
        for name in ("x", "x^2"):
            # The same noise has the same draws: what differs is the rounding of sums, and the end of the searches.
            assert abs(weighted[name].estimate - repeated[name].estimate) < 1e-6 * repeated[name].se, (noise, name)
        ours, theirs = ([part["efficiency"] for part in fit.diagnostics["error_budget"]] for fit in (weighted, repeated))
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, err_msg=noise)


def test_a_remedy_names_the_method_that_needs_no_noise():
    names = [f"x{j}" for j in range(5)]
    model = nw.Model.from_features([*names, *(f"{name}^2" for name in names)], variables=names)
    rows = np.random.default_rng(1).normal(size=(400, 5))
    wide = f"normal({[0] * 5}, {(25 * np.eye(5)).tolist()})"
    with pytest.warns(nw.NoisewrightWarning, match='use a method without noise \\(method="score-matching"\\)'):
        refused = nw.fit(model, rows, noise=wide, nu=1)
    gravest = refused.diagnostics["warnings"][0]
    assert gravest["code"] == "no-overlap"
    [advice] = [remedy for remedy in gravest["remedies"] if remedy["code"] == "without-noise"]
    followed = nw.fit(model, rows, method=advice["method"])
    # Of ten estimates none is four standard errors off but once in 1,500 studies.
    for name in names:
        assert abs(followed[name].estimate) < 4 * followed[name].se
        assert abs(followed[f"{name}^2"].estimate + 0.5) < 4 * followed[f"{name}^2"].se

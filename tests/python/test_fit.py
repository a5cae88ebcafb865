"""Fits from Python: arguments, containers, functions of the user's, results."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import noisewright as nw


@pytest.fixture
def plane(rng):
    """A correlated normal sample of two variables, and the exponential family that it belongs to."""
    x = rng.multivariate_normal([0.5, -0.5], [[1.0, 0.3], [0.3, 1.0]], size=800)
    model = nw.Model.from_features(["x", "y", "x^2", "x*y", "y^2"], variables=["x", "y"])
    return model, x


def estimates(fit):
    return np.array([estimate.estimate for estimate in fit.estimates.values()])


def test_every_container_gives_the_same_result_to_the_bit(plane):
    model, x = plane
    expected = estimates(nw.fit(model, x, nu=3))
    frame = pd.DataFrame({"y": x[:, 1], "other": "text", "x": x[:, 0]})
    wide = np.zeros((800, 4))
    wide[:, 1:3] = x
    read_only = x.copy()
    read_only.flags.writeable = False
    records = np.zeros(800, dtype=[("y", float), ("x", float)])
    records["x"], records["y"] = x.T
    for data in [
        frame,
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
        pa.RecordBatch.from_pandas(frame),
        {"x": x[:, 0], "y": list(x[:, 1])},
        x.tolist(),
        np.asfortranarray(x),
        wide[:, 1:3],
        x[::-1][::-1],
        read_only,
        records,
        x.astype(object),
        np.ma.masked_array(x, mask=False),
    ]:
        assert (estimates(nw.fit(model, data, nu=3)) == expected).all(), type(data)


def test_every_container_of_one_variable(rng):
    x = rng.normal(size=300)
    model = nw.Model.from_features(["x", "x^2"], variables="x")
    expected = estimates(nw.fit(model, x, nu=3))
    for data in [
        x[:, None],
        list(x),
        tuple(x),
        pd.Series(x, name="other"),
        pd.Series(x).astype("Float64"),
        pl.Series("other", x),
        pa.array(x),
        pa.chunked_array([x[:100], x[100:]]),
        np.repeat(x, 2)[::2],
        x.astype(">f8"),
    ]:
        assert (estimates(nw.fit(model, data, nu=3)) == expected).all(), type(data)
    assert nw.Normal(0, 1).log_density(pa.array(x)).shape == (300,)


@pytest.mark.parametrize("kind", ["int8", "int64", "uint16", "float16", "float32", "longdouble", "bool"])
def test_numbers_of_every_type_are_taken(kind):
    values = np.array([0, 1, 1, 1, 0, 1, 1, 0], dtype=kind)
    model = nw.Model.from_family("ising", variables=["s"], states=[0, 1])
    fit = nw.fit(model, values)
    # The maximum-likelihood field is the logit of 5/8.
    assert fit["h0"].estimate == pytest.approx(np.log(5 / 3), rel=1e-6)


def test_seeds_repeat_to_the_bit_and_differ_from_each_other(plane):
    model, x = plane
    first, again, other = (nw.fit(model, x, nu=2, seed=seed) for seed in (1, 1, 2))
    assert (estimates(first) == estimates(again)).all()
    assert (estimates(first) != estimates(other)).any()


def test_weights_are_repetitions(plane, rng):
    model, x = plane
    times = rng.integers(0, 4, size=len(x))
    draws = nw.NoiseDraws(
        noise := nw.Normal([0, 0], [[4, 0], [0, 4]]).sample(5000, dimension=2),
        nw.Normal([0, 0], [[4, 0], [0, 4]]).log_density(noise),
        nw.Normal([0, 0], [[4, 0], [0, 4]]).log_density(x),
    )
    weighted = nw.fit(model, x, noise=draws, weights=times)
    repeated = nw.NoiseDraws(noise, draws.log_density, np.repeat(draws.log_density_at_data, times))
    np.testing.assert_allclose(
        estimates(weighted), estimates(nw.fit(model, np.repeat(x, times, axis=0), noise=repeated)), rtol=1e-7
    )


def test_clusters_of_copies_do_not_count_as_more_data(plane):
    model, x = plane
    once = nw.fit(model, x, nu=4)
    labels = [f"row {i}" for i in range(len(x))] * 2
    twice = nw.fit(model, np.vstack([x, x]), nu=4, clusters=labels)
    np.testing.assert_allclose(
        [e.se_data for e in twice.parameters.values()], [e.se_data for e in once.parameters.values()], rtol=0.1
    )


def test_functions_of_numpy_and_jax_fit_like_the_formula(rng):
    jnp = pytest.importorskip("jax.numpy")
    x = rng.normal(0.3, 1.2, size=(3000, 1))
    formula = nw.Model.from_formula(
        "-exp(s)*(x - m)^2/2", variables="x", parameters={"m": 0.1, "s": 0.1}
    )
    expected = nw.fit(formula, x, nu=4)

    def log_density(np):
        return lambda x, theta: -np.exp(theta[1]) * (x[:, 0] - theta[0]) ** 2 / 2

    def score(x, theta):
        gap = x - theta[0]
        return np.exp(theta[1]) * np.hstack([gap, -(gap**2) / 2])

    given = {"start": [0.1, 0.1], "parameters": ["m", "s"]}
    for function, own_score, tolerance in [
        (log_density(np), score, 1e-6),
        (log_density(jnp), None, 1e-6),
        (log_density(jnp), score, 1e-6),
    ]:
        fit = nw.fit(nw.Model.from_functions(function, own_score, **given), x, nu=4)
        np.testing.assert_allclose(estimates(fit), estimates(expected), rtol=tolerance)
        np.testing.assert_allclose(fit.covariance, expected.covariance, rtol=1e-5)
    with pytest.warns(nw.FiniteDifferenceWarning, match="finite differences"):
        fit = nw.fit(nw.Model.from_functions(log_density(np), **given), x, nu=4)
    np.testing.assert_allclose(estimates(fit), estimates(expected), rtol=1e-5)


def test_functions_of_torch_fit_like_the_formula(rng):
    torch = pytest.importorskip("torch")
    x = rng.normal(0.3, 1.2, size=(2000, 1))
    formula = nw.Model.from_formula("-exp(s)*(x - m)^2/2", variables="x", parameters={"m": 0.1, "s": 0.1})
    model = nw.Model.from_functions(
        lambda x, theta: -torch.exp(theta[1]) * (x[:, 0] - theta[0]) ** 2 / 2,
        start=[0.1, 0.1],
        parameters=["m", "s"],
    )
    np.testing.assert_allclose(estimates(nw.fit(model, x, nu=4)), estimates(nw.fit(formula, x, nu=4)), rtol=1e-6)


def test_many_parameters_are_pulled_back(rng):
    """Beyond sixteen parameters derivatives are taken row by row, with the same values."""
    jnp = pytest.importorskip("jax.numpy")
    model = nw.Model.from_functions(
        lambda x, theta: jnp.cos(x @ jnp.reshape(theta, (2, 10))).sum(axis=1) - (x**2).sum(axis=1),
        start=np.linspace(-1, 1, 20),
        variables=["x", "y"],
    )
    x = rng.normal(size=(7, 2))
    score = model.score(x)
    step = 1e-6
    for j in (0, 7, 19):
        name, start = f"t{j}", np.linspace(-1, 1, 20)[j]
        slope = (model.log_density(x, **{name: start + step}) - model.log_density(x, **{name: start - step})) / (2 * step)
        np.testing.assert_allclose(score[:, j], slope, rtol=1e-6, atol=1e-8)


def test_names_of_the_data_are_carried_through(rng):
    frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=["height", "mass"])
    model = nw.Model.from_functions(
        lambda x, theta: -(x**2) @ theta, lambda x, theta: -(x**2), parameters=["a", "b"], start=0.5, linear=True
    )
    fit = nw.fit(model, frame, nu=3)
    assert fit.variables == ["height", "mass"]
    assert list(fit.estimates) == ["a", "b", "log_normalizer"]
    assert "height" in fit.summary()


def test_functions_are_asked_for_many_points_at_once(rng):
    sizes = []

    def log_density(x, theta):
        sizes.append(len(x))
        return -theta[0] * x[:, 0] ** 2

    model = nw.Model.from_functions(log_density, lambda x, theta: -(x**2), start=[0.4])
    nw.fit(model, rng.normal(size=20_000), nu=2)
    # Many rows of the data in one call.
    assert max(sizes) >= 16_384
    # A call costs about 10 µs, as much as NumPy takes for a thousand points.
    assert np.mean(sizes) > 1000


def test_a_result_has_everything(plane, tmp_path):
    model, x = plane
    fit = nw.fit(model, x, nu=3)
    assert fit.parameters["x"]["estimate"] == fit["x"].estimate == float(fit["x"])
    assert fit.covariance.shape == (6, 6)
    np.testing.assert_allclose(fit.covariance, fit.covariance_data + fit.covariance_noise, rtol=1e-10)
    assert fit["x"].se == pytest.approx(np.sqrt(fit.covariance[0, 0]))
    assert "estimate" in fit.summary() and "log_normalizer" in str(fit)
    html = fit._repr_html_()
    assert "<table" in html and "<svg" in html
    assert list(fit.to_frame().columns)[:2] == ["estimate", "se"]
    assert fit.to_dict()["parameters"]["x"]["estimate"] == fit["x"].estimate
    assert isinstance(fit.to_dict()["covariance"][0][0], float)
    fit.plot().figure.savefig(tmp_path / "fit.png")
    again = pickle.loads(pickle.dumps(fit))
    assert (again.covariance == fit.covariance).all()
    np.testing.assert_allclose(again.noise.log_density(x), fit.noise.log_density(x), rtol=1e-12)
    assert again.noise.sample(3).shape == (3, 2)


def test_every_kind_of_noise_can_be_asked_for(quartic):
    x = nw.design(quartic).noise.sample(400, seed=1)
    for noise in ["auto", "normal", "optimal", "exact", nw.Student(4), 0.5 * nw.Normal(0, 4) + 0.5 * nw.Laplace(0, 1)]:
        amount = {} if isinstance(noise, str) and noise == "exact" else {"nu": 5}
        fit = nw.fit(quartic, x, noise=noise, **amount)
        assert fit.converged, noise


def test_a_designed_noise_is_used_and_served_better(quartic):
    """The designed noise makes the predicted error smaller than noise equal to the data does, at the same budget."""
    best = nw.design(quartic)
    again = nw.error(quartic, noise=best.noise, nu=best.nu)
    assert again.error == pytest.approx(best.error, rel=1e-6)
    assert again.error < 0.9 * nw.error(quartic, noise="data", nu=1).error


def test_separated_data_are_a_result_that_says_so():
    model = nw.Model.from_features(["x"], variables="x")
    with pytest.warns(nw.NoisewrightWarning):
        fit = nw.fit(model, np.linspace(10, 11, 50), noise=nw.Normal(0, 1), nu=5)
    assert fit.diagnostics["warnings"][0]["kind"] in ("separation", "no-overlap", "not-normalizable")


def test_a_ratio_of_two_samples(rng):
    first, second = rng.normal(1, 1, size=3000), rng.normal(0, 1, size=4000)
    model = nw.Model.from_features(["x"], variables="x")
    result = nw.ratio(model, first, second)
    assert abs(result["x"].estimate - 1) < 4 * result["x"].se
    value, se = result.log_ratio([0.0, 1.0])
    assert (np.abs(value - [-0.5, 0.5]) < 4 * se).all()
    assert pickle.loads(pickle.dumps(result)).log_ratio([0.0])[0] == value[0]


def soft_wells(module):
    """Six parameters that are not linear, in two variables, in JAX or PyTorch."""

    def log_density(x, theta):
        walls = module.exp(theta[0:2]) * module.sqrt(1 + (x - theta[2:4]) ** 2)
        return (theta[4:6] * module.tanh(x) - walls).sum(1)

    return log_density


@pytest.mark.parametrize("library", ["jax.numpy", "torch"])
def test_sums_of_scores_are_the_scores_summed(library):
    module = pytest.importorskip(library)
    model = nw.Model.from_functions(soft_wells(module), n_params=6, variables=["x", "y"])
    evaluator, rng = model._evaluator, np.random.default_rng(0)
    theta, columns, weights = 0.3 * rng.normal(size=6), rng.normal(size=(2, 5000)), rng.normal(size=5000)
    weights[::7] = 0.0
    _, scores = evaluator.evaluate(theta, columns, True)
    slope = evaluator.slope(theta, columns, weights)
    np.testing.assert_allclose(slope, scores @ weights, rtol=1e-11)
    # Second derivatives are differences of the slope.
    step = 1e-5 * np.eye(6)
    bent = [(evaluator.slope(theta + h, columns, weights) - evaluator.slope(theta - h, columns, weights)) / 2e-5 for h in step]
    np.testing.assert_allclose(evaluator.curvature(theta, columns, weights), bent, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("library", ["jax.numpy", "torch"])
def test_parameters_that_act_linearly_or_not_at_all_have_no_curvature(library):
    pytest.importorskip(library)
    # a x + b x² beside a third parameter that is not used.
    model = nw.Model.from_functions(lambda x, t: t[0] * x[:, 0] + t[1] * x[:, 0] ** 2, n_params=3, backend=library.split(".")[0])
    columns, weights = np.linspace(-1, 2, 50)[None, :], np.linspace(0.1, 1, 50)
    evaluator = model._evaluator
    x = columns[0]
    np.testing.assert_allclose(evaluator.slope(np.ones(3), columns, weights), [weights @ x, weights @ x**2, 0.0], rtol=1e-12)
    assert np.array_equal(evaluator.curvature(np.ones(3), columns, weights), np.zeros((3, 3)))


def test_jax_compiles_a_function_for_two_numbers_of_points_at_most():
    jnp = pytest.importorskip("jax.numpy")
    traced = []
    inner = soft_wells(jnp)

    def log_density(x, theta):
        traced.append(x.shape)
        return inner(x, theta)

    model = nw.Model.from_functions(log_density, start=[0.2, 0.2, 0.1, 0.1, 0.0, 0.0], variables=["x", "y"])
    for rows in (1500, 7001, 40_000):
        data = np.random.default_rng(rows).logistic(size=(rows, 2))
        assert nw.fit(model, data, noise="student(5, [0, 0], [[3, 0], [0, 3]])", nu=1).converged
    # Two looks at a few points tell the library; the score of every point is that of one.
    assert {shape[0] for shape in traced} <= {1, 2, 512, 4096}
    calls = model._evaluator._calls
    for compiled in (calls._value, calls._both, calls._slope, calls._bent):
        assert compiled._cache_size() <= 2


def test_a_row_next_to_a_kink_does_not_decide_the_error():
    # The loss ratio is changed at the end, and the new estimate lies next to a row: the second derivatives there are
    # not those of the loss. The information about a Laplace location is 1/s² a row; s itself is known to 3 %, twice
    # which is allowed, and noise adds at most half a per cent.
    x = np.random.default_rng(300).laplace(1, 2, 1000)
    parameters = {"m": 0.0, "s": {"start": 1.0, "lower": 0.0}}
    model = nw.Model.from_formula("-sqrt((x-m)^2 + 1e-8)/s", parameters=parameters, variables="x")
    fit = nw.fit(model, x, seed=300)
    assert fit.converged
    assert fit["m"].se == pytest.approx(2 / np.sqrt(1000), rel=0.065)


def test_few_rows_for_every_unknown_are_said():
    model = nw.Model.from_family("gaussian", variables="x", parametrization="moments")
    few, many = (nw.fit(model, np.random.default_rng(1).normal(size=rows), noise="exact") for rows in (12, 300))
    # Mean, variance and constant.
    assert (few.rows_per_unknown, many.rows_per_unknown) == (4.0, 100.0)
    assert "4 rows for each unknown" in str(few) and "for each unknown" not in str(many)

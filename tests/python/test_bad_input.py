"""What cannot be used is refused with our exception, in a sentence that names the argument."""

import numpy as np
import pandas as pd
import pytest

import noisewright as nw

X = np.linspace(-1, 1, 30)


@pytest.fixture
def model():
    return nw.Model.from_features(["x", "x^2"], variables="x")


@pytest.fixture
def plane():
    return nw.Model.from_features(["x", "y"], variables=["x", "y"])


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (np.ones((30, 2)), "`data` has the shape (30, 2)"),
        (np.ones((3, 3, 3)), "`data` has the shape (3, 3, 3)"),
        (1.0, "`data`"),
        ([], "`data`"),
        (np.empty((0, 1)), "`data` is empty"),
        (np.r_[X, np.nan], "row 31 of column `x` of `data` is nan"),
        (np.r_[X, -np.inf], "row 31 of column `x` of `data` is -inf"),
        (np.ma.masked_greater(X, 0.5), "row 23 of `data` is masked"),
        (np.array([1.0, None, 2.0], dtype=object), "row 2 of `data` is None"),
        (np.array([1.0, "a"], dtype=object), "row 2 of `data` is 'a'"),
        (X + 1j, "`data` holds complex numbers"),
        (np.array(["1", "2"]), "`data` holds text"),
        (np.array([1, 2**53 + 1]), "row 2 of `data` is the integer 9007199254740993, which is beyond 2^53"),
        (np.array([2**64 - 1], dtype=np.uint64), "beyond 2^53"),
        (pd.DataFrame({"x": [0, -(2**53) - 1]}), "row 2 of column `x` of `data` is the integer -9007199254740993"),
        ([0.5, 10**400], "`data` cannot be read as an array of numbers"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "`data` holds dates"),
        ([[1.0], [2.0, 3.0]], "`data` cannot be read"),
        (None, "`data`"),
        (pd.DataFrame({"z": X}), "`data` has no column `x`; its columns are `z`"),
        (pd.DataFrame({"x": ["a", "b"]}), "column `x` of `data`"),
        (pd.DataFrame({"x": pd.array([1, None, 3], dtype="Int64")}), "row 2 of column `x` of `data` is nan"),
        ({"z": X}, "`data` has no column `x`"),
        ({}, "`data` has no column `x`; its columns are none"),
    ],
)
def test_data(model, data, says):
    with pytest.raises(nw.InputError) as caught:
        nw.fit(model, data)
    assert says in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_columns_of_different_lengths(plane):
    with pytest.raises(nw.InputError, match="30 values of `x` but 29 of `y`"):
        nw.fit(plane, {"x": X, "y": X[1:]})


def test_a_domain_is_kept():
    model = nw.Model.from_features(["x"], variables="x", domain="positive")
    with pytest.raises(nw.NoisewrightError, match="row 1 of column `x`"):
        nw.fit(model, X)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"nu": 0}, "`nu`"),
        ({"nu": "much"}, "`nu`"),
        ({"nu": float("nan")}, "`nu`"),
        ({"loss": "squared"}, "`loss`: unknown loss `squared`"),
        ({"noise": "norml(0, 1)"}, "normal"),
        ({"noise": "normal(0, -1)"}, "-1"),
        ({"noise": 3}, "`noise`"),
        ({"weights": X[1:]}, "`weights` has 29 values"),
        ({"weights": -np.ones(30)}, "`weights`"),
        ({"clusters": ["a"]}, "`clusters`"),
        ({"clusters": ["a", 1] * 15}, "`clusters` holds labels of several kinds, int and str"),
        ({"clusters": [1.0] * 4 + [np.nan] * 26}, "row 5 of `clusters` has no label"),
        ({"clusters": pd.Series(["a"] * 29 + [None])}, "row 30 of `clusters` has no label"),
        ({"nu": 10**400}, "`nu` is too large for a number: 1000"),
        ({"noise_share": 10**400}, "`noise_share` is too large"),
        ({"seed": 10**5000}, "`seed` must be a whole number from 0"),
        ({"chains": [10, 10]}, "`chains` hold 20 rows"),
        ({"chains": 7}, "`chains`: 30 rows"),
        ({"seed": -1}, "`seed`"),
        ({"seed": 1.5}, "`seed`"),
        ({"confidence": 1.5}, "confidence"),
        ({"errors": "none"}, "`errors`"),
        ({"noise_points": 0}, "`noise_points`"),
        ({"noise": nw.NoiseDraws(X, X[1:], X)}, "log-densities"),
    ],
)
def test_options_of_a_fit(model, given, says):
    with pytest.raises(nw.InputError) as caught:
        nw.fit(model, X, **given)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda far: nw.Model.from_formula("-a*x^2", variables="x", parameters={"a": far}), "`parameters`: a"),
        (lambda far: nw.Model.from_formula("-a*x^2", variables="x", parameters={"a": (1, 0, far)}), "`parameters`: a"),
        (lambda far: nw.Model.from_formula("-a*x^2", variables="x", parameters={"a": {"start": far}}), "`parameters`: a"),
        (lambda far: nw.Model.from_family("student", variables="x", dof=far), "`dof`"),
        (lambda far: nw.Model.from_family("exponential-polynomial", variables="x", degree=far), "`degree`"),
        (lambda far: nw.Model.from_family("ising", variables=["a", "b"], states=[0, far]), "`states`"),
        (lambda far: nw.Model.from_family("ising", variables=["a", "b"], edges=[[0, far]]), "`edges`"),
        (lambda far: nw.Model.from_features(["x"], variables="x", domain=(0, far)), "`domain`"),
        (lambda far: nw.Categorical([0, far], [0.5, 0.5]), "`noise`|`states`"),
        (lambda far: nw.error(nw.Model.from_features(["x", "x^2"], variables="x"), at={"x": far, "x^2": -1}), "`at"),
    ],
)
def test_numbers_beyond_all_floats(make, names):
    with pytest.raises(nw.NoisewrightError, match=names) as caught:
        make(10**400)
    assert len(str(caught.value)) < 200


def test_a_model_that_is_none():
    for call in (nw.fit, nw.error, nw.design):
        with pytest.raises(nw.InputError, match="`model` must be a noisewright.Model, not str"):
            call("gaussian", X) if call is nw.fit else call("gaussian")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: nw.Model(), "from_formula"),
        (lambda: nw.Model.from_formula("-a*x^", variables="x", parameters={"a": 1}), "log_density"),
        (lambda: nw.Model.from_formula("-a*x^2 + b", variables="x", parameters={"a": 1}), "`b`"),
        (lambda: nw.Model.from_formula(3, variables="x", parameters={}), "`log_density` must be text"),
        (lambda: nw.Model.from_formula("-a*x", variables=[], parameters={"a": 1}), "`variables`"),
        (lambda: nw.Model.from_formula("-a*x", variables="x", parameters={"a": "one"}), "`parameters.a` must be a number"),
        (lambda: nw.Model.from_formula("-a*x", variables="x", parameters={"a": (1, 2, 3)}), "between 2 and 3"),
        (lambda: nw.Model.from_features("x", variables="x"), "`features` must be a list"),
        (lambda: nw.Model.from_features(["x"], variables="x", domain="positve"), "`domain`"),
        (lambda: nw.Model.from_features(["x"], variables="x", domain={"y": "real"}), "`domain` names `y`"),
        (lambda: nw.Model.from_family("gausian", variables="x"), "gaussian"),
        (lambda: nw.Model.from_file("/nowhere/model.toml"), "`path`"),
        (lambda: nw.Model.from_functions(None, n_params=1), "`log_density` must be a function"),
        (lambda: nw.Model.from_functions(lambda x, t: x), "`n_params` is missing"),
        (lambda: nw.Model.from_functions(lambda x, t: x, n_params=2, start=[1, 2, 3]), "`start` has 3 values"),
        (lambda: nw.Model.from_functions(lambda x, t: x, n_params=1, backend="tf"), "`backend`"),
        (lambda: nw.load_example("old-faithfull"), "did you mean 'old-faithful'?"),
        (lambda: nw.Normal(0, 1) + nw.Normal(0, 2), None),
        (lambda: nw.Noise(3), "`noise`"),
    ],
)
def test_models_and_noises(make, says):
    if says is None:
        with pytest.raises(nw.InputError, match="weight"):
            make().words
        return
    with pytest.raises((nw.NoisewrightError, TypeError)) as caught:
        make()
    assert says in str(caught.value)


def fitted(log_density, score=None, **given):
    model = nw.Model.from_functions(log_density, score, start=[1.0], variables="x", **given)
    return nw.fit(model, X, nu=3)


def raises(x, theta):
    raise ZeroDivisionError("by nothing")


@pytest.mark.parametrize(
    ("functions", "says"),
    [
        ((raises,), "`log_density` raised ZeroDivisionError: by nothing"),
        ((lambda x, t: -t[0] * x[:, 0] ** 2, raises), "`score` raised ZeroDivisionError: by nothing"),
        ((lambda x, t: 1.0, lambda x, t: x), "`log_density` returned the shape ()"),
        ((lambda x, t: x[1:, 0], lambda x, t: x), "`log_density` returned the shape"),
        ((lambda x, t: np.ones((len(x), 3)), lambda x, t: x), "`log_density` returned the shape"),
        ((lambda x, t: None, lambda x, t: x), "`log_density` must return an array of real numbers"),
        ((lambda x, t: ["a"] * len(x), lambda x, t: x), "`log_density` must return an array of real numbers"),
        ((lambda x, t: x[:, 0] + 1j, lambda x, t: x), "`log_density` must return an array of real numbers"),
        ((lambda x, t: x[:, 0] + np.inf, lambda x, t: x), "`log_density` is infinite at x ="),
        ((lambda x, t: -(x**2) * t, lambda x, t: np.ones((len(x), 2))), "`score` returned the shape"),
    ],
)
def test_functions_that_fail(functions, says):
    with pytest.raises(nw.FunctionError) as caught:
        fitted(*functions)
    assert says in str(caught.value)
    if "raised" in says:
        assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_functions_that_are_no_numbers():
    with pytest.raises(nw.NoisewrightError, match="not a number"):
        fitted(lambda x, t: x[:, 0] * np.nan, lambda x, t: x)


def test_a_function_that_fails_late_is_heard(rng):
    """The exception of a call deep inside the fit comes out with its cause."""
    calls = []

    def log_density(x, theta):
        calls.append(1)
        if len(calls) > 6:
            raise KeyError("late")
        return -theta[0] * x[:, 0] ** 2

    with pytest.raises(nw.FunctionError, match="KeyError: 'late'"):
        fitted(log_density, lambda x, theta: -(x**2))


@pytest.mark.parametrize("name", ["log_f_data", "log_noise_data", "log_f_noise", "log_noise_noise"])
def test_log_densities(name):
    good = dict.fromkeys(["log_f_data", "log_noise_data", "log_f_noise", "log_noise_noise"], X)

    def refuses(values, says):
        with pytest.raises(nw.InputError) as caught:
            nw.log_z(**{**good, name: values})
        assert f"`{name}`" in str(caught.value) and says in str(caught.value)

    refuses(X[1:], "29")
    refuses(np.r_[X[1:], np.nan], "row 30")
    refuses(np.r_[np.inf, X[1:]], "row 1")
    refuses(np.ones((3, 4)), "(3, 4)")
    refuses(np.array([None] * 30), "row 1")
    refuses(X + 0j, "complex")
    refuses(np.ma.masked_less(X, 0), "row 1")
    refuses("text", "must")


def test_log_densities_of_nothing():
    for side in ("data", "noise"):
        given = {"log_f_data": X, "log_noise_data": X, "log_f_noise": X, "log_noise_noise": X}
        given |= {f"log_f_{side}": [], f"log_noise_{side}": []}
        with pytest.raises(nw.InputError, match=f"`log_f_{side}` is empty"):
            nw.log_z(**given)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (([X, X],), "`counts` or `origin`"),
        (([X, X[1:]], [10, 20]), "same number of values"),
        (([X, X], [10, 10]), "30"),
        ((X, [30]), "`log_f` has the shape (30,)"),
        (([X, X + np.nan], [10, 20]), "`log_f`"),
        (([], []), "`log_f`"),
    ],
)
def test_states(given, says):
    with pytest.raises(nw.InputError) as caught:
        nw.log_z_states(*given)
    assert says in str(caught.value)


def test_draws_for_evidence():
    bell = lambda x: -(x**2).sum(axis=1) / 2
    for draws, given, says in [
        (np.r_[X, np.nan], {}, "`draws`"),
        ({"a": X, "b": X[1:]}, {}, "`draws` of `b`"),
        ({"a": X}, {"var_names": ["b"]}, "`draws` have no variable `b`"),
        ({"a": X}, {"transforms": {"b": "positive"}}, "`transforms` names `b`"),
        ({"a": X}, {"transforms": {"a": "positive"}}, "draw 1 of `a`"),
        ({"a": X}, {"transforms": {"a": "negative"}}, "`transforms`: a cannot be"),
        ({"a": X}, {"noise": "norml"}, "norml"),
        (X[:4], {}, "draws are too few"),
    ]:
        with pytest.raises(nw.NoisewrightError) as caught:
            nw.evidence(bell, draws, **given)
        assert says in str(caught.value)
    with pytest.raises(nw.InputError, match="`log_density` must be a Model or a function"):
        nw.evidence(None, X)


def test_nothing_to_draw_with(monkeypatch, model):
    import builtins

    real = builtins.__import__

    def without(name, *rest, **named):
        if name.startswith(("matplotlib", "pandas")):
            raise ImportError(name)
        return real(name, *rest, **named)

    fit = nw.fit(model, X, nu=3)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(nw.MissingLibraryError, match="matplotlib"):
        fit.plot()
    with pytest.raises(nw.MissingLibraryError, match="pandas"):
        fit.to_frame()


def test_a_series_of_weights_is_aligned_with_the_data(model):
    data = pd.DataFrame({"x": X})
    weights = pd.Series(np.arange(1.0, 31.0))
    fit = nw.fit(model, data, weights=weights, nu=5)
    for argument in ("weights", "clusters"):
        with pytest.raises(nw.InputError, match=f"`{argument}` has another index than `data`"):
            nw.fit(model, data, **{argument: weights[::-1]}, nu=5)
    moved = nw.fit(model, data, weights=weights[::-1].reindex(data.index), nu=5)
    assert moved["x"] == fit["x"]
    assert nw.fit(model, X, weights=weights[::-1].to_numpy(), nu=5)["x"] != fit["x"]


def test_large_integers_that_are_numbers_are_taken(model):
    data = np.array([0, 2**53, 2**60], dtype=np.int64)
    assert nw.Normal(0, 1e36).log_density(data).shape == (3,)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: nw.Normal(0, np.nan), "not nan"),
        (lambda: nw.Normal(10**400, 1), "an argument must be a number"),
        (lambda: nw.Student(3, [0, "a"], 1), "an argument must be a number"),
    ],
)
def test_arguments_of_noises(make, says):
    with pytest.raises(nw.InputError, match=says):
        make()


def test_the_dimension_of_a_noise_is_told_by_its_arguments():
    matrix = [[1.0, 0.5], [0.5, 1.0]]
    assert nw.Normal([0, 0], matrix).sample(3).shape == (3, 2)
    assert nw.Student(5, [0, 0], matrix).sample(3).shape == (3, 2)
    assert nw.VonMisesFisher([0, 0, 1], 2.0).sample(3).shape == (3, 3)
    assert nw.Product("normal(0, 1)", nw.Gamma(2, 1)).sample(3).shape == (3, 2)
    assert (0.5 * nw.Normal([0, 0], matrix) + 0.5 * nw.Normal([1, 1], matrix)).sample(3).shape == (3, 2)
    assert nw.Categorical([0, 1, 2], [0.2, 0.3, 0.5]).sample(3).shape == (3,)


def test_functions_cannot_change_the_data():
    def greedy(x, theta):
        x *= 2.0
        return -theta[0] * x[:, 0] ** 2

    model = nw.Model.from_functions(greedy, start=[1.0], variables="x")
    with pytest.raises(nw.FunctionError, match="read-only"):
        nw.fit(model, X)

"""Files read in blocks, paths, α of one's own, designs on data: against closed forms and quadrature."""

import numpy as np
import pytest

import noisewright as nw

HALF_LOG_2_PI = 0.5 * np.log(2 * np.pi)


@pytest.fixture
def gaussian():
    return nw.Model.from_features(["x", "x^2"], variables="x")


def written(path, x, weights=None):
    """The rows as CSV or Parquet, to the last digit."""
    columns = {"other": np.zeros(len(x)), "x": x} | ({} if weights is None else {"n": weights})
    if path.suffix == ".parquet":
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=1000)
    else:
        rows = zip(*columns.values())
        path.write_text("\n".join([",".join(columns), *(",".join(map(repr, map(float, row))) for row in rows)]) + "\n")
    return path


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_a_file_is_fitted_as_its_rows_are(tmp_path, rng, gaussian, name):
    x = rng.normal(1.0, 2.0, size=5000)
    path = written(tmp_path / name, x)
    memory = nw.fit(gaussian, x, nu=3, seed=4)
    for file in (path, str(path)):
        streamed = nw.fit(gaussian, file, nu=3, seed=4)
        assert streamed.rows == 5000 and streamed.converged
        for name, estimate in memory.estimates.items():
            assert streamed[name].estimate == estimate.estimate and streamed[name].se == estimate.se
    assert "5000 rows" in streamed.summary() and "<svg" in streamed._repr_html_()


def test_weights_and_missing_values_of_a_file(tmp_path, rng, gaussian):
    x, n = rng.normal(size=800), rng.integers(0, 4, size=800).astype(float)
    path = written(tmp_path / "rows.csv", x, n)
    weighted = nw.fit(gaussian, path, weights="n", nu=3)
    repeated = nw.fit(gaussian, np.repeat(x, n.astype(int)), nu=3)
    assert weighted["x"].estimate == pytest.approx(repeated["x"].estimate, abs=4 * repeated["x"].se_noise)
    assert weighted.total_weight == n.sum()
    with path.open("a") as file:
        file.write("0,nan,1\n")
    with pytest.raises(nw.InputError, match="drop_missing=True"):
        nw.fit(gaussian, path)
    assert nw.fit(gaussian, path, drop_missing=True).rows == 800


def test_weights_by_name_are_those_of_the_column(tmp_path, rng, gaussian):
    import pandas
    import pyarrow

    x, n = rng.normal(size=400), rng.integers(1, 4, size=400).astype(float)
    columns = {"g": np.repeat(np.arange(40.0), 10), "n": n, "x": x}
    array = nw.fit(gaussian, x, weights=n, nu=3)
    clustered = nw.fit(gaussian, x, weights=n, clusters=columns["g"], nu=3)
    assert clustered["x"].se != array["x"].se
    kinds = [columns, pandas.DataFrame(columns), pyarrow.table(columns), np.rec.fromarrays(columns.values(), names=list(columns))]
    for data in kinds:
        assert nw.fit(gaussian, data, weights="n", nu=3).to_dict() == array.to_dict()
        assert nw.fit(gaussian, data, weights="n", clusters="g", nu=3).to_dict() == clustered.to_dict()
    file = nw.fit(gaussian, written(tmp_path / "rows.csv", x, n), weights="n", nu=3)
    assert [file["x"].estimate, file["x"].se] == [array["x"].estimate, array["x"].se]
    second = rng.normal(size=500)
    ratio = nw.ratio(gaussian, columns, {"x": second}, weights="n")
    assert ratio.to_dict() == nw.ratio(gaussian, x, second, weights=n).to_dict()
    # Functions take the columns that are left as their variables.
    model = nw.Model.from_functions(lambda x, t: -t[0] * x[:, 0] ** 2, lambda x, t: -(x**2), start=[1.0])
    by_name = nw.fit(model, {"n": n, "x": x}, weights="n", nu=3)
    assert by_name["t0"].estimate == nw.fit(model, x, weights=n, nu=3)["t0"].estimate


def test_names_of_weights_that_are_no_columns(rng, gaussian):
    x = rng.normal(size=50)
    for data, argument, says in [
        ({"x": x}, "weights", "`weights`: the data have no column 'n'; their columns are `x`"),
        ({"x": x}, "clusters", "`clusters`: the data have no column 'n'; their columns are `x`"),
        (x, "weights", "`weights`: the data have no column 'n'; their columns have no names"),
    ]:
        with pytest.raises(nw.InputError, match=says):
            nw.fit(gaussian, data, **{argument: "n"})
    with pytest.raises(nw.InputError, match="`weights`: column `x` is a variable of the model"):
        nw.fit(gaussian, {"x": abs(x)}, weights="x")


def test_functions_take_a_file_by_its_columns(tmp_path, rng):
    x = rng.normal(size=600)
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "\n".join(map(repr, map(float, x))) + "\n")
    model = nw.Model.from_functions(lambda x, t: -t[0] * x[:, 0] ** 2, lambda x, t: -(x**2), start=[1.0])
    assert nw.fit(model, path, nu=3)["t0"].estimate == pytest.approx(nw.fit(model, x, nu=3)["t0"].estimate, rel=1e-8)


def test_what_a_file_cannot_have(tmp_path, rng, gaussian):
    path = written(tmp_path / "rows.csv", rng.normal(size=50))
    for argument, value in [("clusters", [1]), ("chains", 2)]:
        with pytest.raises(nw.InputError, match=f"`{argument}`"):
            nw.fit(gaussian, path, **{argument: value})
    for arguments, says in [
        ({"weights": np.ones(50)}, "weights"),
        ({"weights": "missing"}, "missing"),
        ({"noise": "exact"}, "noise"),
        ({"format": "tables"}, "format"),
    ]:
        with pytest.raises(nw.InputError, match=says):
            nw.fit(gaussian, path, **arguments)
    with pytest.raises(nw.InputError, match="no such file"):
        nw.fit(gaussian, tmp_path / "missing.csv")
    with pytest.raises(nw.InputError, match="files"):
        nw.fit(gaussian, rng.normal(size=50), drop_missing=True)


def test_a_path_to_a_density_far_away():
    model = nw.Model.from_formula("-(x - m)^2/2", variables="x", parameters={"m": 30.0})
    result = nw.log_z_path(model, noise=nw.Normal(0, 1), draws=1000, seed=3)
    assert abs(result.log_z - HALF_LOG_2_PI) < 4 * result.se < 1
    assert result.converged and result.moves == "hamiltonian" and result.noise == "normal(0, 1)"
    assert result.lower < result.log_z < result.upper
    t, se = result.path["t"], result.path["se"]
    assert t[0] == 0 and t[-1] == 1 and (np.diff(t) > 0).all() and se[-1] == result.se
    assert result.overlap.shape == (len(t), len(t))
    again = nw.log_z_path(model, noise="normal(0, 1)", draws=1000, seed=3)
    assert again.log_z == result.log_z
    assert f"{len(t)} states" in result.summary() and len(result.to_frame()) == len(t)


def test_a_path_needs_no_noise(quartic):
    """By default the noise is fitted to chains of the model: log Z by quadrature."""
    from scipy.integrate import quad

    truth = np.log(quad(lambda x: np.exp(x**2 / 2 - 0.1 * x**4), -12, 12)[0])
    result = nw.log_z_path(quartic, draws=1000, states=3, moves="random-walk")
    assert len(result.path["t"]) == 3 and result.moves == "random-walk"
    assert abs(result.log_z - truth) < 4 * result.se < 1
    there = nw.log_z_path(quartic, at={"a": 0.0, "b": 0.2}, draws=1000)
    assert abs(there.log_z - np.log(quad(lambda x: np.exp(-0.2 * x**4), -12, 12)[0])) < 4 * there.se


def test_paths_that_cannot_be_gone(quartic):
    for arguments, says in [
        ({"moves": "walk"}, "moves"),
        ({"states": 1}, "states"),
        ({"noise": "normall(0, 1)"}, "normall"),
        ({"confidence": 2}, "confidence"),
    ]:
        with pytest.raises(nw.InputError, match=says):
            nw.log_z_path(quartic, **arguments)
    with pytest.raises(nw.InputError, match="`model`"):
        nw.log_z_path("model.toml")


def test_alpha_of_ones_own(rng):
    """α = 1/√(f p_n) is the product of importance sampling and its reverse."""
    x, y = rng.normal(size=3000), rng.normal(0, 2, size=3000)
    log_f = lambda x: -(x**2) / 2
    log_noise = lambda x: -(x**2) / 8 - np.log(2) - HALF_LOG_2_PI
    sides = (log_f(x), log_noise(x), log_f(y), log_noise(y))
    result = nw.log_z(*sides, alpha="-(log_f + log_noise)/2", independent=True)
    assert result["alpha"].log_z == pytest.approx(result["is-revis"].log_z, rel=1e-12)
    assert abs(result["alpha"].log_z - HALF_LOG_2_PI) < 4 * result["alpha"].se
    assert "alpha" not in nw.log_z(*sides).estimates
    with pytest.raises(nw.InputError, match="log_g"):
        nw.log_z(*sides, alpha="log_g")


def test_a_design_on_data_is_made_where_they_are(rng):
    """Data far from the start value: the design is that at the fit."""
    model = nw.Model.from_formula("-(x - m)^2/2", variables="x", parameters={"m": 0.0})
    x = rng.normal(3.0, 1.0, size=4000)
    best = nw.design(model, x, nu=1)
    assert best.parameters["m"] == pytest.approx(x.mean(), abs=0.02)
    assert best.error == pytest.approx(3.50813, rel=0.1)
    there = nw.design(model, x, nu=1, at={"m": best.parameters["m"]})
    assert there.error == pytest.approx(best.error, rel=1e-6)
    with pytest.raises(nw.NoAnswerError, match="`at`"):
        nw.design(model, x[:1])


def test_an_angle_is_named_as_people_name_it(rng):
    """Of the directions that say the same, the one within half a turn of zero."""
    model = nw.Model.from_family("von-mises", variables="x", parametrization="polar")
    x = rng.vonmises(3.0, 4.0, size=2000)
    assert -np.pi < nw.fit(model, x, nu=3, starts=3)["mean"].estimate <= np.pi


def test_a_ratio_keeps_every_warning(rng):
    """What the library has to say of a ratio reaches the caller: samples that can be told apart."""
    model = nw.Model.from_features(["x"], variables="x")
    with pytest.warns(nw.NoisewrightWarning):
        result = nw.ratio(model, rng.uniform(0, 1, 50), rng.uniform(2, 3, 50))
    assert result.no_answer is not None and result.no_answer in result.warnings
    # A log ratio that grows without bound is a ratio all the same.
    wide = nw.ratio(nw.Model.from_features(["x^2"], variables="x"), rng.normal(0, 2, 4000), rng.normal(0, 1, 4000))
    assert wide.no_answer is None and wide["x^2"].estimate == pytest.approx(0.375, abs=4 * wide["x^2"].se)


def test_a_peak_that_a_formula_names_is_found():
    """97.6 % of the mass lies in a peak of width 0.01 at 7713.25, where the noise has none: the weight there is 0.

    The error is (1 + ν)(1/E[w] − (1 + 1/ν)) with E[w] over the rest alone, by scipy's quadrature.
    """
    from scipy.integrate import quad
    from scipy.stats import norm

    model = nw.Model.from_formula("log(exp(-x^2/2) + 4000*exp(-(x-7713.25)^2*5000))", variables="x", parameters={})
    total = np.sqrt(2 * np.pi) * (1 + 4000 / 100)

    def weighted(x):
        data, noise = np.exp(-x * x / 2) / total, norm.pdf(x, 0, 2)
        return data * noise / (data + noise)

    mean = quad(weighted, -40, 40, epsabs=1e-13)[0]
    assert nw.error(model, noise="normal(0, 4)", nu=1).error == pytest.approx(2 * (1 / mean - 2), rel=1e-6)

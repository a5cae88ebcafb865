"""What comes after a fit, against SciPy, statsmodels and closed forms."""

import pickle

import numpy as np
import pytest
from scipy import stats

import noisewright as nw


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(1).normal(0.4, 1.3, 300)


@pytest.fixture(scope="module")
def model():
    return nw.Model.from_formula("m*x - p*x^2/2", variables="x", parameters={"m": 0.0, "p": 1.0})


@pytest.fixture(scope="module")
def fit(model, x):
    return nw.fit(model, x, noise="exact", errors="model")


def test_functions_have_the_errors_of_the_delta_method(fit, x):
    mean = fit.derive("mean = m/p")
    assert mean.estimate == pytest.approx(x.mean(), rel=1e-7)
    assert mean.se == pytest.approx(x.std() / np.sqrt(len(x)), rel=1e-5)
    assert mean["lower"] < mean.estimate < mean["upper"]
    # The same by hand, from the covariance.
    m, p = fit["m"].estimate, fit["p"].estimate
    slope = np.array([1 / p, -m / p**2, 0.0])
    assert mean.se == pytest.approx(np.sqrt(slope @ fit.covariance @ slope), rel=1e-12)


def test_wald_tests_are_those_of_scipy(fit):
    test = fit.wald("m = 0", "p = 1")
    h = np.array([fit["m"].estimate, fit["p"].estimate - 1])
    statistic = h @ np.linalg.solve(fit.covariance[:2, :2], h)
    assert test.statistic == pytest.approx(statistic, rel=1e-9) and test.degrees == 2
    dof = fit["m"].degrees_of_freedom
    assert test.p_value == pytest.approx(stats.f.sf(statistic / 2, 2, dof), rel=1e-7)
    assert fit.wald(["m = 0", "p = 1"]) == test


def test_log_densities_are_those_of_the_normal(fit, x):
    places = np.array([-2.0, 0.4, 3.0])
    there = fit.log_density(places)
    assert there.log_density == pytest.approx(stats.norm.logpdf(places, x.mean(), x.std()), rel=1e-7)
    z2 = ((places - x.mean()) / x.std()) ** 2
    assert there.se == pytest.approx(np.sqrt((z2 + (z2 - 1) ** 2 / 2) / len(x)), rel=1e-4)
    value, se = there
    assert (value == there["log_density"]).all() and (se == there["se"]).all()


def test_draws_are_those_of_the_fitted_model(fit, x):
    draws = fit.simulate(4000, seed=3)
    assert draws.shape == (4000,) and (draws == fit.simulate(4000, seed=3)).all()
    # Kolmogorov's test at one in a thousand: 1.95/√n.
    assert stats.kstest(draws, "norm", args=(x.mean(), x.std())).statistic < 1.95 / np.sqrt(4000)


def test_saved_fits_come_back(fit, model, x, tmp_path):
    path = tmp_path / "fit.json"
    fit.save(path)
    again = nw.load(path)
    assert again.parameters == fit.parameters and again.log_normalizer == fit.log_normalizer
    assert (again.covariance == fit.covariance).all() and again.rows == fit.rows
    assert again.derive("m/p") == fit.derive("m/p")
    assert (again.log_density(x).se == fit.log_density(x).se).all()
    assert again.summary() and again.to_dict()["converged"]
    assert pickle.loads(pickle.dumps(fit)).derive("m/p") == fit.derive("m/p")
    path.write_text(path.read_text().replace("noisewright-fit/1", "noisewright-fit/9"))
    with pytest.raises(nw.InputError, match="noisewright-fit/9"):
        nw.load(path)
    path.write_text("not JSON")
    with pytest.raises(nw.InputError, match="no saved fit"):
        nw.load(path)
    with pytest.raises(nw.InputError, match="cannot be read"):
        nw.load(tmp_path / "nothing.json")


def test_models_of_functions_go_on_too(x, tmp_path):
    model = nw.Model.from_functions(
        lambda x, t: t[0] * x[:, 0] - t[1] * x[:, 0] ** 2 / 2,
        score=lambda x, t: np.column_stack([x[:, 0], -x[:, 0] ** 2 / 2]),
        parameters={"m": 0.0, "p": 1.0},
        linear=True,
    )
    fit = nw.fit(model, {"x": x}, noise="exact")
    assert fit.derive("m/p").estimate == pytest.approx(x.mean(), rel=1e-6)
    assert fit.log_density({"x": x[:3]}).log_density == pytest.approx(stats.norm.logpdf(x[:3], x.mean(), x.std()), rel=1e-6)
    fit.save(tmp_path / "f.json")
    loaded = nw.load(tmp_path / "f.json")
    assert loaded.derive("m/p") == fit.derive("m/p")
    with pytest.raises(nw.InputError, match="functions"):
        loaded.log_density(x)
    assert nw.load(tmp_path / "f.json", model=model).log_density({"x": x[:3]}).se.shape == (3,)


def test_comparisons_are_closed_forms(fit, x, tmp_path):
    small = nw.fit(nw.Model.from_formula("-p*x^2/2", variables="x", parameters={"p": 1.0}), x, noise="exact")
    found = nw.compare({"small": small, "large": fit})
    large = stats.norm.logpdf(x, x.mean(), x.std()).sum()
    lone = stats.norm.logpdf(x, 0, np.sqrt((x**2).mean())).sum()
    assert [m["aic"] for m in found.models] == pytest.approx([2 - 2 * lone, 4 - 2 * large])
    assert found.models[1]["bic"] == pytest.approx(2 * np.log(len(x)) - 2 * large)
    test = found.tests[0]
    assert (test["smaller"], test["larger"]) == ("small", "large")
    assert test["p_value"] == pytest.approx(stats.chi2.sf(2 * (large - lone), 1), rel=1e-6)
    fit.save(tmp_path / "large.json")
    assert nw.compare(small, tmp_path / "large.json").tests[0]["statistic"] == pytest.approx(test["statistic"])
    assert "χ²" in found.summary()
    other = nw.fit(nw.Model.from_features(["x"], variables="x", domain=(-9, 9)), x + 1, noise="exact")
    with pytest.raises(nw.InputError, match="cannot be compared"):
        nw.compare(fit, other)
    with pytest.raises(nw.InputError, match="must be a fit"):
        nw.compare(fit, 3)


def test_parameters_are_held_and_tied(model, x):
    held = nw.fit(model, x, noise="exact", fixed={"p": 1.0})
    assert held["p"].fixed and held["p"].se == 0 and held["p"].estimate == 1
    assert held["m"].estimate == pytest.approx(x.mean(), rel=1e-6)
    tied = nw.fit(model, x, noise="exact", constraints=["m = 2*p"])
    assert tied["m"].estimate == pytest.approx(2 * tied["p"].estimate, rel=1e-12)
    with pytest.raises(nw.NoisewrightError, match="contradict"):
        nw.fit(model, x, constraints=["m = 1", "m = 2"])
    with pytest.raises(nw.NoisewrightError, match="`q`"):
        nw.fit(model, x, fixed={"q": 1.0})


def choices(strata=400, alternatives=4, seed=5):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(strata), alternatives)
    features = rng.normal(size=(strata * alternatives, 2))
    utility = features @ [0.7, -0.4] + rng.gumbel(size=len(groups))
    best = utility.reshape(strata, alternatives).argmax(axis=1)
    chosen = np.arange(alternatives)[None, :] == best[:, None]
    return groups, features, chosen.ravel()


def test_choices_are_those_of_statsmodels():
    from statsmodels.discrete.conditional_models import ConditionalLogit

    groups, features, chosen = choices()
    model = nw.Model.from_formula("a*x + b*z", variables=["x", "z"], parameters={"a": 0.0, "b": 0.0})
    data = {"x": features[:, 0], "z": features[:, 1]}
    offset = np.random.default_rng(6).normal(size=len(groups)) * 0.3
    for log_probability in (None, offset):
        ours = nw.fit(
            model, data, strata=groups, chosen=chosen, log_probability=log_probability, errors="model"
        )
        given = {} if log_probability is None else {"offset": -log_probability}
        theirs = ConditionalLogit(chosen.astype(float), features, groups=groups, **given)
        theirs = theirs.fit(method="newton", tol=1e-12, disp=0)
        assert [e.estimate for e in ours.parameters.values()] == pytest.approx(theirs.params, abs=1e-6)
        assert [e.se for e in ours.parameters.values()] == pytest.approx(theirs.bse, abs=1e-6)
        assert -ours.loss * ours.total_weight == pytest.approx(theirs.llf, abs=1e-6)
        assert ours.log_normalizer is None


def test_choices_take_columns_by_name_and_refuse_what_cannot_be():
    groups, features, chosen = choices(60)
    model = nw.Model.from_features(["x"], variables="x")
    data = {"x": features[:, 0], "s": groups, "c": chosen}
    by_name = nw.fit(model, data, strata="s", chosen="c")
    assert by_name["x"] == nw.fit(model, features[:, 0], strata=groups, chosen=chosen)["x"]
    with pytest.raises(nw.InputError, match="belong together"):
        nw.fit(model, data, strata="s")
    with pytest.raises(nw.InputError, match="no column 'q'"):
        nw.fit(model, data, strata="q", chosen="c")
    with pytest.raises(nw.InputError, match="`nu` has no meaning"):
        nw.fit(model, data, strata="s", chosen="c", nu=5)
    with pytest.raises(nw.NoisewrightError, match="no alternative"):
        nw.fit(model, data, strata="s", chosen=np.zeros(len(groups)))
    with pytest.raises(nw.NoisewrightError, match="no density"):
        by_name.log_density([0.0])

"""The estimators within scikit-learn."""

import numpy as np
import pytest
from scipy import stats

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV, GroupKFold  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks  # noqa: E402

import noisewright as nw  # noqa: E402
from noisewright.sklearn import ConditionalLogit, DensityEstimator, DensityRatio  # noqa: E402


# The ratio's feature does not tell the classes of the checks' rows apart, which columns themselves do: those have no finite ratio.
@parametrize_with_checks([DensityEstimator(), DensityRatio(["sin(9*x0)"])])
def test_it_is_an_estimator_of_scikit_learn(estimator, check):
    check(estimator)


#: Checks whose rows have no ratio of all first and second powers: fewer than two rows for each of its unknowns, or classes that are apart.
TOO_FEW = {
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_dtype_object",
    "check_estimators_dtypes",
    "check_estimators_nan_inf",
    "check_f_contiguous_array_estimator",
    "check_fit2d_predict1d",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in_after_fitting",
    "check_sample_weight_equivalence_on_dense_data",
}
APART = {"check_estimators_pickle", "check_pipeline_consistency"}


def test_the_default_ratio_passes_all_checks_whose_rows_have_one():
    found = check_estimator(DensityRatio(), on_fail=None, on_skip=None)
    failed = [(check["check_name"], check["exception"]) for check in found if check["status"] == "failed"]
    # Other versions of scikit-learn have other checks beside these.
    assert failed and {name for name, _ in failed} <= TOO_FEW | APART
    for name, exception in failed:
        assert isinstance(exception, nw.NoAnswerError)
        assert ("are too few for" if name in TOO_FEW else "no finite estimate") in str(exception)
    assert sum(check["status"] == "passed" for check in found) > 30


def test_densities_are_those_of_the_fit():
    x = np.random.default_rng(1).normal(1.0, 2.0, (400, 1))
    estimator = DensityEstimator(noise="exact").fit(x)
    expected = stats.norm.logpdf(x[:, 0], x.mean(), x.std())
    assert estimator.score_samples(x) == pytest.approx(expected, rel=1e-6)
    assert estimator.score(x) == pytest.approx(expected.mean(), rel=1e-9)
    draws = estimator.sample(2000, random_state=3)
    assert draws.shape == (2000, 1)
    assert stats.kstest(draws[:, 0], "norm", args=(x.mean(), x.std())).statistic < 1.95 / np.sqrt(2000)


def test_pipelines_and_grid_searches_choose_the_better_model():
    x = np.random.default_rng(2).laplace(size=(300, 1))
    models = [
        nw.Model.from_features(["x0^2"], variables=["x0"]),
        nw.Model.from_features(["abs(x0)"], variables=["x0"]),
    ]
    pipeline = make_pipeline(StandardScaler(), DensityEstimator(noise="exact"))
    search = GridSearchCV(pipeline, {"densityestimator__model": models}, cv=3).fit(x)
    assert search.best_params_["densityestimator__model"] is models[1]
    assert clone(pipeline).fit(x).score(x) == pytest.approx(clone(pipeline).fit(x).score(x))


def test_ratios_weight_one_sample_like_the_other():
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(0, 1, (3000, 1)), rng.normal(0.5, 1, (3000, 1))])
    y = np.repeat([0, 1], 3000)
    ratio = DensityRatio("linear").fit(x, y)
    # log N(½, 1)/N(0, 1) = x/2 − ⅛, to four standard errors of some 0.03.
    assert ratio.predict([[0.0], [2.0]]) == pytest.approx([-0.125, 0.875], abs=0.2)
    weights = ratio.sample_weight(x[y == 0])
    assert weights.mean() == pytest.approx(1.0)
    assert np.average(x[y == 0, 0], weights=weights) == pytest.approx(0.5, abs=0.15)
    with pytest.raises(ValueError, match="2 classes"):
        DensityRatio().fit(x, np.zeros(len(x), dtype=int))
    with pytest.raises(ValueError, match="linear, quadratic"):
        DensityRatio("cubic").fit(x, y)


def test_weights_of_ratios_are_copies_and_grid_searches_choose_features():
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.normal(0, 1, (300, 1)), rng.normal(0, 2, (300, 1))])
    y, weights = np.repeat(["a", "b"], 300), rng.integers(0, 4, 600)
    several = np.repeat(np.arange(600), weights)
    once, copies = DensityRatio().fit(x, y, sample_weight=weights), DensityRatio().fit(x[several], y[several])
    assert once.predict(x) == pytest.approx(copies.predict(x), abs=1e-6)
    # Logistic regression without a penalty maximises the same.
    from sklearn.linear_model import LogisticRegression

    features = np.column_stack([x, x**2])
    logistic = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(features, y)
    expected = logistic.predict_log_proba(features)[np.arange(600), (y == "b").astype(int)].mean()
    assert DensityRatio().fit(x, y).score(x, y) == pytest.approx(expected, abs=1e-9)
    with pytest.raises(ValueError, match="whole numbers for the rows of class"):
        DensityRatio().fit(x, y, sample_weight=np.full(600, 0.5))
    pipeline = make_pipeline(StandardScaler(), DensityRatio())
    search = GridSearchCV(pipeline, {"densityratio__features": ["linear", "quadratic"]}, cv=3).fit(x, y)
    assert search.best_params_ == {"densityratio__features": "quadratic"}


def choices():
    """300 choices among three rows of two columns."""
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(300), 3)
    x = rng.normal(size=(900, 2))
    best = (x @ [1.0, -0.5] + rng.gumbel(size=900)).reshape(300, 3).argmax(axis=1)
    return x, (np.arange(3)[None, :] == best[:, None]).ravel().astype(int), groups


def test_choices_have_weights_and_work_in_pipelines_and_grid_searches():
    x, y, groups = choices()
    weights = np.repeat(np.arange(300) % 3, 3)
    several = np.concatenate([np.flatnonzero(weights > k) for k in range(2)])
    copies = np.concatenate([groups[weights > k] + 1000 * k for k in range(2)])
    weighted = ConditionalLogit().fit(x, y, groups=groups, sample_weight=weights)
    assert weighted.coef_ == pytest.approx(ConditionalLogit().fit(x[several], y[several], groups=copies).coef_, rel=1e-6)
    assert weighted.score(x, y, groups, weights) == pytest.approx(-weighted.fit_.loss, rel=1e-9)
    pipeline = make_pipeline(StandardScaler(), ConditionalLogit())
    scaled = pipeline.fit(x, y, conditionallogit__groups=groups)[-1].coef_
    assert scaled / x.std(axis=0) == pytest.approx(ConditionalLogit().fit(x, y, groups=groups).coef_, rel=1e-6)
    with sklearn.config_context(enable_metadata_routing=True):
        logit = ConditionalLogit().set_fit_request(groups=True).set_score_request(groups=True)
        assert clone(logit).get_params() == {"penalty": None}
        # Choices of that strong an effect are predicted worse by coefficients that hardly differ from zero.
        search = GridSearchCV(logit, {"penalty": ["ridge:100", "ridge:0.01"]}, cv=GroupKFold(3)).fit(x, y, groups=groups)
    assert search.best_params_ == {"penalty": "ridge:0.01"}
    with pytest.raises(nw.InputError, match="`chosen` must be"):
        ConditionalLogit().fit(x, y + 1, groups=groups)


def test_choices_are_those_of_the_conditional_logit():
    x, y, groups = choices()
    logit = ConditionalLogit().fit(x, y, groups=groups)
    shares = logit.predict_proba(x, groups=groups)
    assert np.bincount(groups, shares) == pytest.approx(np.ones(300))
    # The estimate is where the chosen rows' features are what the shares expect.
    assert x.T @ (y - shares) == pytest.approx([0.0, 0.0], abs=1e-6)
    assert logit.score(x, y, groups=groups) == pytest.approx(-logit.fit_.loss, rel=1e-9)

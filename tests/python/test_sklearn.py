"""The estimators within scikit-learn."""

import numpy as np
import pytest
from scipy import stats

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

import noisewright as nw  # noqa: E402
from noisewright.sklearn import ConditionalLogit, DensityEstimator, DensityRatio  # noqa: E402


# Ratios and choices need labels of two kinds, which the checks of estimators without a kind do not hand them.
@parametrize_with_checks([DensityEstimator(nu=5)])
def test_it_is_an_estimator_of_scikit_learn(estimator, check):
    check(estimator)


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


def test_choices_are_those_of_the_conditional_logit():
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(300), 3)
    x = rng.normal(size=(900, 2))
    best = (x @ [1.0, -0.5] + rng.gumbel(size=900)).reshape(300, 3).argmax(axis=1)
    y = (np.arange(3)[None, :] == best[:, None]).ravel().astype(int)
    logit = ConditionalLogit().fit(x, y, groups=groups)
    shares = logit.predict_proba(x, groups=groups)
    assert np.bincount(groups, shares) == pytest.approx(np.ones(300))
    # The estimate is where the chosen rows' features are what the shares expect.
    assert x.T @ (y - shares) == pytest.approx([0.0, 0.0], abs=1e-6)
    assert logit.score(x, y, groups=groups) == pytest.approx(-logit.fit_.loss, rel=1e-9)

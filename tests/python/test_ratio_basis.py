"""Ratios without features, bridges and mutual information against scikit-learn, scipy and closed forms."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

import noisewright as nw


def normals(seed, rows=3000):
    rng = np.random.default_rng(seed)
    return rng.normal(1, 1, rows), rng.normal(0, 1.5, rows + 500)


def test_the_quadratic_basis_is_logistic_regression():
    linear_model = pytest.importorskip("sklearn.linear_model")
    first, second = normals(1)
    found = nw.ratio(first, second, basis="quadratic", permutations=0)
    x = np.concatenate([first, second])
    features = np.column_stack([x, x * x])
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    label = np.arange(len(x)) < len(first)
    # A penalty of s/n on the mean loss over the first sample is s/2 Σγ² on the sum over all rows, as large as 1/C.
    peer = linear_model.LogisticRegression(C=1e9, tol=1e-10, max_iter=1000).fit(features, label)
    at = np.linspace(-2, 3, 11)
    places = (np.column_stack([at, at * at]) - np.column_stack([x, x * x]).mean(axis=0)) / np.column_stack([x, x * x]).std(axis=0)
    expected = peer.decision_function(places) - math.log(len(first) / len(second))
    # What is left of the smallest penalty moves the estimate by less than a tenth of a standard error.
    got = found.log_ratio(at)
    assert np.all(np.abs(got.log_ratio - expected) < 0.1 * got.se + 1e-3)


def test_divergences_against_quadrature():
    first, second = normals(2)
    p, q = stats.norm(1, 1), stats.norm(0, 1.5)
    g = lambda x: p.logpdf(x) - q.logpdf(x)
    whole = lambda f: integrate.quad(f, -15, 15)[0]
    expected = {
        "kl": whole(lambda x: p.pdf(x) * g(x)),
        "reverse_kl": whole(lambda x: -q.pdf(x) * g(x)),
        "js": whole(lambda x: 0.5 * p.pdf(x) * np.log(2 / (1 + np.exp(-g(x)))) + 0.5 * q.pdf(x) * np.log(2 / (1 + np.exp(g(x))))),
        "pearson": whole(lambda x: p.pdf(x) * np.exp(g(x))) - 1,
    }
    found = nw.ratio(first, second, permutations=0).divergences
    for name, truth in expected.items():
        estimate = getattr(found, name)
        assert abs(estimate.estimate - truth) < 4 * estimate.se, name


def test_permutations_and_the_asymptotic_test_agree():
    rng = np.random.default_rng(3)
    found = nw.ratio(rng.normal(size=(400, 2)), rng.normal(size=(500, 2)) + [0.15, 0], permutations=999).test
    # 999 permutations leave a standard error of at most 1.6 %.
    assert abs(found["p_value"] - found["p_value_permutation"]) < 0.05


def test_samples_of_one_density_have_no_ratio_to_speak_of():
    rng = np.random.default_rng(4)
    found = nw.ratio(rng.normal(size=(2000, 3)), rng.normal(size=(2000, 3)))
    assert found.test["p_value"] > 0.001 and found.importance["effective_size"] > 1900
    assert abs(found.divergences.kl.estimate) < 4 * found.divergences.kl.se + 0.005


def test_samples_apart_are_refused_and_bridged():
    rng = np.random.default_rng(5)
    near, far = rng.normal(size=2000), rng.normal(8, 1, 2000)
    with pytest.raises(nw.NoAnswerError, match="bridges"):
        nw.ratio(near, far)
    found = nw.ratio(near, far, bridges="auto", permutations=0)
    assert abs(found.divergences.kl.estimate - 32) < 4 * found.divergences.kl.se
    assert len(found.bridges) > 2 and found.bridges[0]["from"] == 0 and found.bridges[-1]["to"] == 1


def test_mutual_information_of_columns_of_frames():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(6)
    x = rng.normal(size=(3000, 2))
    y = 0.8 * x + 0.6 * rng.normal(size=x.shape)
    truth = -math.log(1 - 0.8**2)
    found = nw.mutual_information(pandas.DataFrame(x, columns=["a", "b"]), pandas.DataFrame(y, columns=["c", "d"]))
    assert abs(found.information.estimate - truth) < 4 * found.information.se
    assert found.variables == [["a", "b"], ["c", "d"]]
    model = nw.Model.from_features(["(a+c)^2/2 + (b+d)^2/2", "(a-c)^2/2 + (b-d)^2/2"], variables=["a", "b", "c", "d"])
    known = nw.mutual_information({"a": x[:, 0], "b": x[:, 1]}, {"c": y[:, 0], "d": y[:, 1]}, model=model).information
    assert abs(known.estimate - truth) < 4 * known.se < 4 * found.information.se
    with pytest.raises(nw.InputError, match="`x` and `y` both have a column `a`"):
        nw.mutual_information({"a": x[:, 0]}, {"a": y[:, 0]})


def test_misuse_is_said():
    first, second = normals(7, 200)
    for wrong, words in [({"basis": "wavelets"}, "basis"), ({"bridges": 0}, "bridges"), ({"loss": "kl"}, "loss")]:
        with pytest.raises((nw.InputError, ValueError), match=words):
            nw.ratio(first, second, **wrong)
    with pytest.raises(nw.InputError, match="two samples"):
        nw.ratio(first)


@pytest.mark.parametrize("name, value", [("starts", 3), ("format", "csv"), ("storage_options", {}), ("loss", "kl")])
def test_what_a_ratio_without_a_model_would_ignore_is_refused(rng, name, value):
    with pytest.raises(nw.InputError, match=f"`{name}` is for a ratio of a model's features"):
        nw.ratio(rng.normal(size=50), rng.normal(size=50), **{name: value})

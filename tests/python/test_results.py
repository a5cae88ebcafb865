"""Results as objects: names as in the command's JSON, read only, compared by identity, pickled to the last digit."""

import copy
import json
import pickle
import warnings

import numpy as np
import pytest

import noisewright as nw


@pytest.fixture
def fitted():
    model, data = nw.load_example("old-faithful")
    return nw.fit(model, data)


@pytest.fixture
def sides(rng):
    """Two normal samples with both log-densities: 2·N(0, 1) against N(0, 4), so log Z = log 2."""

    def both(x):
        half = 0.5 * np.log(2 * np.pi)
        return np.log(2) - half - x**2 / 2, -half - np.log(2) - x**2 / 8

    return (*both(rng.normal(size=2000)), *both(2 * rng.normal(size=2000)))


def test_log_z_has_the_names_of_the_json(sides):
    result = nw.log_z(*sides, independent=True, prices=(1, 3))
    names = {"refused", "ratio", "dependence", "noise_words", "allocation", "estimates", "recommended"}
    assert names <= set(result.to_dict())
    assert (result.refused, result.ratio, result.dependence) == (None, False, "independent")
    assert result.allocations is result.allocation
    assert result.allocation["nce"]["data_draws"] == np.floor(result.allocation["nce"]["data_draws"])
    assert result["nce"].ess_data > 0 and result["nce"].ess_noise > 0
    assert nw.log_z(*sides).allocation is None and nw.log_z(*sides).allocations == {}
    assert "ratio of the two constants" in nw.log_z(*sides, ratio=True).summary()


def test_what_is_refused_is_said(rng):
    x, y = rng.normal(size=500), rng.normal(20.0, 0.2, size=500)
    sides = (-(x**2) / 2, -((x - 20) ** 2) / 0.08, -(y**2) / 2, -((y - 20) ** 2) / 0.08)
    with pytest.warns(nw.NoisewrightWarning):
        result = nw.log_z(*sides)
    assert result.refused and result.refused == result[result.recommended].refused


def test_fits_have_the_names_of_the_json(fitted, tmp_path, rng):
    told = fitted.to_dict()
    assert told["dropped"] == 0 and told["passes"] is None
    assert list(told["efficiency"]) == fitted.coordinates
    budget = {entry["name"]: entry["efficiency"] for entry in told["diagnostics"]["error_budget"]}
    assert budget == told["efficiency"], "one name, one number"
    assert all(0.9 < share <= 1 for share in fitted.efficiency.values() if share is not None)
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "\n".join(map(repr, rng.normal(size=300).tolist())) + "\nnan\n")
    streamed = nw.fit(nw.Model.from_features(["x", "x^2"], variables="x"), path, nu=3, drop_missing=True)
    assert streamed.dropped == 1 and streamed.passes > 0
    exact = nw.fit(nw.Model.from_features(["x", "x^2"], variables="x"), rng.normal(size=300), noise="exact")
    assert exact.efficiency is None


def test_ratios_states_evidence_and_paths_have_the_names_of_the_json(rng, quartic):
    ratio = nw.ratio(nw.Model.from_features(["x"], variables="x"), rng.normal(1, 1, 500), rng.normal(size=500))
    assert ratio.to_dict()["constant"]["estimate"] == ratio.constant.estimate
    x = rng.normal(size=2000) * np.repeat([1.0, 2.0], 1000)
    states = nw.log_z_states([-(x**2) / 2, -(x**2) / 8], [1000, 1000], names=["a", "b"], reference=1)
    assert (states.reference, states.dependence) == ("b", "chains")
    assert states.states["a"]["draws"] == 1000 and states.states["a"]["log_z"] == states.log_z[0]
    assert states.differences["log_z"][0, 1] == pytest.approx(states.difference("a", "b")[0])
    assert (states.differences["se"] == states.difference_se).all()
    draws = rng.normal(size=(4, 500, 1))
    evidence = nw.evidence(lambda x: -x[:, 0] ** 2 / 2, draws)
    assert evidence.chains == [500] * 4 and len(evidence.noises) == 2 and evidence.refused is None
    assert np.mean(evidence.halves) == pytest.approx(evidence.log_evidence, abs=0.1)
    path = nw.log_z_path(quartic, draws=400, states=3)
    assert path.refused is None and np.isnan(path.path["exchange"][0])
    for result in (ratio, states, evidence, path):
        json.dumps(result.to_dict())


def test_a_reference_that_is_no_state(rng):
    x = rng.normal(size=300)
    with pytest.raises(nw.InputError, match="`reference` is 5, and must be the number of a state, from 0 to 2"):
        nw.log_z_states([-(x**2) / 2] * 3, [100] * 3, reference=5)


def test_results_compare_by_identity_and_keep_their_words(fitted):
    for again in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert again != fitted and fitted == fitted
        assert again.noise.words == fitted.noise.words
        assert again["t1"] == fitted["t1"] and (again.covariance == fitted.covariance).all()
        assert not again.covariance.flags.writeable
    assert hash(fitted) == hash(fitted)
    with pytest.raises(ValueError, match="read-only"):
        fitted.covariance[0, 0] = 0.0


def test_weights_that_sum_to_one_stay_as_they_are():
    words = "0.1*normal(0, 1) + 0.2*normal(1, 1) + 0.7*normal(2, 1)"
    model = nw.Model.from_formula("-(x - m)^2/2", variables="x", parameters={"m": 0.0})
    noise = nw.error(model, noise=words).noise
    assert noise.words == words == pickle.loads(pickle.dumps(noise)).words


def test_designed_noises_are_json_and_say_what_they_are(quartic):
    noise = nw.design(quartic, nu=1).noise
    json.dumps(noise.to_dict())
    assert isinstance(noise["grid"]["x"], np.ndarray) and not noise["grid"]["x"].flags.writeable
    mixed = 0.9 * noise + 0.1 * nw.Normal(0, 9)
    assert "built:" not in mixed.words and noise.words in mixed.words
    draws = mixed.sample(50)
    assert np.isfinite(mixed.log_density(draws)).all()


def test_a_part_of_a_fitted_mixture_is_described_by_its_weights(fitted):
    mixed = 0.5 * fitted.noise + 0.5 * nw.Normal(0, 9)
    assert mixed.words.startswith("0.375*normal(") and "0.125*student(" in mixed.words
    x = np.linspace(-3, 3, 7)
    np.testing.assert_allclose(nw.Noise(mixed.words).log_density(x), mixed.log_density(x), rtol=1e-12)


def test_a_summary_says_once_that_it_converged(fitted):
    lines = [line for line in fitted.summary().splitlines() if "converged" in line]
    assert lines == [f"converged after {fitted.iterations} steps"]


def test_coordinates_that_are_not_asked_for_are_left_blank(quartic):
    summary = nw.error(quartic, noise="normal(0, 4)", target=["a"]).summary()
    row = next(line for line in summary.splitlines() if line.startswith("log_normalizer"))
    assert row.split() == ["log_normalizer"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: nw.Model.from_formula("-a*x^2", variables="x", parameters=["a"]), "dictionary"),
        (lambda: nw.Model.from_formula("-a*x^2", variables=3, parameters={"a": 1}), "list of names"),
        (lambda: nw.Model.from_formula("-x^2", variables="x", parameters={}, domain=("a", 1)), "`domain`"),
        (lambda: nw.log_z([0.0], [0.0], [0.0], [0.0], prices=(1, 2, 3)), "two numbers"),
        (lambda: nw.log_z([0.0], [0.0], [0.0], [0.0], prices=(2, 0)), "positive"),
    ],
)
def test_wrong_arguments_are_told_in_a_sentence(call, says):
    with pytest.raises(nw.NoisewrightError, match=says):
        call()


def test_an_accuracy_and_draws_that_cannot_be(quartic):
    with pytest.raises(nw.InputError, match="`accuracy` must be positive"):
        nw.error(quartic, accuracy=-1)
    with pytest.raises(nw.InputError, match="`draws` must be at least 1"):
        nw.error(quartic, draws=0)


def test_a_domain_may_be_an_array():
    model = nw.Model.from_formula("-a*x", variables="x", parameters={"a": 1.0}, domain=np.array([0, 1.0]))
    assert np.isneginf(model.log_density([2.0])).all()


def test_a_lazy_frame_is_to_be_collected():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": [0.1, 0.5, -0.3]}).lazy()
    with pytest.raises(nw.InputError, match="collect"):
        nw.fit(nw.Model.from_features(["x", "x^2"], variables="x"), frame)


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_a_score_that_is_wrong_by_a_factor_is_noticed(rng, factor):
    def log_density(x, theta):
        return -theta[0] * x[:, 0] ** 2 + theta[1] * x[:, 0]

    def score(x, theta):
        return factor * np.stack([-x[:, 0] ** 2, x[:, 0]], axis=1)

    model = nw.Model.from_functions(log_density, score, start=[0.5, 0.0], variables="x")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.log_density(rng.normal(size=100))
    found = [str(w.message) for w in told if "`score` is not the derivative" in str(w.message)]
    assert len(found) == (0 if factor == 1.0 else 1)

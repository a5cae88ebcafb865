"""A setting of a fit has an effect or is refused, as the table that all doors share says."""

import json
from pathlib import Path

import numpy as np
import pytest

import noisewright as nw

TABLE = json.loads((Path(__file__).parents[1] / "settings.json").read_text())
X = np.arange(60) % 13 / 4.0 - 1.5


@pytest.fixture(scope="module")
def model():
    return nw.Model.from_formula("-a*x^2/2", variables="x", parameters={"a": 1.0})


@pytest.mark.parametrize("row", TABLE, ids=lambda row: " ".join(row["command"]))
def test_settings_without_effect_are_refused(model, row):
    if row["refused"] is None:
        nw.fit(model, X, **row["python"])
        return
    setting, reason = row["refused"]
    with pytest.raises(nw.InputError) as caught:
        nw.fit(model, X, **row["python"])
    assert f"`{setting}`" in str(caught.value) and reason in str(caught.value)


@pytest.mark.parametrize("setting", [{"nu": 5}, {"noise_points": 9}, {"noise_share": 0.2}, {"max_noise": 9}, {"check_ratio": True}])
def test_settings_of_an_amount_are_refused_beside_given_draws(model, setting):
    noise = nw.Normal(0, 4)
    points = noise.sample(300, seed=1)
    draws = nw.NoiseDraws(points, noise.log_density(points), noise.log_density(X))
    nw.fit(model, X, noise=draws)
    with pytest.raises(nw.InputError, match="drawn elsewhere"):
        nw.fit(model, X, noise=draws, **setting)


def test_two_amounts_are_one_too_many(model):
    with pytest.raises(nw.InputError, match="`noise_points` has no meaning beside nu"):
        nw.fit(model, X, nu=5, noise_points=10)


def test_max_noise_bounds_the_noise(model):
    assert nw.fit(model, X, max_noise=500).noise_points <= 500 < nw.fit(model, X).noise_points


def test_the_names_of_the_command_are_understood(model):
    one = nw.fit(model, X, nu=5, errors="model", check_ratio=True)
    other = nw.fit(model, X, nu=5, covariance="model", check_nu=True)
    assert one["a"] == other["a"] and other.diagnostics["ratio_check"] is not None
    with pytest.raises(nw.InputError, match="the same argument"):
        nw.fit(model, X, errors="model", covariance="model")

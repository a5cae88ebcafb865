"""`noisewright design` against values published with the method and against `error` itself."""

import json

import numpy as np
import pytest
from reference import MODELS

from test_error import CORRELATION


def design(command, model, *arguments):
    return command.json("design", command.model(MODELS[model][0] if model in MODELS else model), *arguments)


OPTIMA = [
    ("mean", 1, 2.99387),
    ("variance", 1, 4.43526),
    ("variance", 0.1, 2.98157),
    ("mean with constant", 1, 3.50813),
    ("variance with constant", 1, 7.85537),
    ("mean with constant", 1 / 99, 31.0009),
    ("variance with constant", 1 / 99, 56.0387),
    ("mean with constant", 10, 11.9070),
    ("variance with constant", 10, 29.2962),
]


@pytest.mark.parametrize("model, nu, value", OPTIMA)
def test_the_exact_optimum(command, model, nu, value):
    got = design(command, model, "--nu", repr(nu))
    assert got["error"] == pytest.approx(value, rel=1e-5)
    assert got["nu"] == nu
    if "constant" in model:
        assert 0 <= got["gap"] < 1e-6
    else:
        assert got["gap"] is None
        assert got["stationary_points"] >= 1


@pytest.mark.parametrize("model, value, proportion", [("mean", 2.20686, 0.1768), ("variance", 2.94610, 0.1278)])
def test_the_joint_optimum(command, model, value, proportion):
    got = design(command, model)
    assert got["error"] == pytest.approx(value, rel=1e-5)
    assert got["noise_proportion"] == pytest.approx(proportion, abs=5e-4)
    assert got["noise_proportion"] == pytest.approx(got["nu"] / (1 + got["nu"]), rel=1e-12)


FAMILIES = [
    ("mean", "normal(?, 1)", None, 3.07109, 0.2510),
    ("mean", "normal(?, 1)", 1, 3.69862, None),
    ("variance", "normal(0, ?)", None, 4.79704, 0.2832),
    ("variance", "normal(0, ?)", 1, 5.51086, None),
]


@pytest.mark.parametrize("model, noise, nu, value, proportion", FAMILIES)
def test_the_best_member_of_a_family(command, model, noise, nu, value, proportion):
    arguments = ["--noise", noise] + (["--nu", nu] if nu else [])
    got = design(command, model, *arguments)
    assert got["error"] == pytest.approx(value, rel=1e-5)
    if proportion:
        assert got["noise_proportion"] == pytest.approx(proportion, abs=5e-4)


def test_the_best_correlation(command):
    got = design(command, CORRELATION, "--noise", "model(rho=?)")
    assert got["error"] == pytest.approx(2.40279, rel=1e-5)
    assert got["noise_proportion"] == pytest.approx(0.3261, abs=5e-4)


HISTOGRAMS = [("mean", 0.1, 2.384), ("mean", 0.5, 3.044), ("mean", 0.9, 10.719),
              ("variance", 0.1, 3.030), ("variance", 0.5, 4.488), ("variance", 0.9, 21.054)]


@pytest.mark.parametrize("model, proportion, value", HISTOGRAMS)
def test_histograms_are_as_good_as_properly_minimised(command, model, proportion, value):
    nu = proportion / (1 - proportion)
    got = design(command, model, "--noise", "histogram(20, -5, 5)", "--nu", repr(nu))
    assert got["error"] <= value * (1 + 3e-4)
    # No histogram beats the exact optimum.
    assert got["error"] >= design(command, model, "--nu", repr(nu))["error"]


def test_a_design_is_what_error_says_it_is(command):
    name = command.model(MODELS["variance with constant"][0])
    best = command.json("design", name, "--nu", 0.7, "--out", "design.json")
    json.loads((command.folder / "design.json").read_text())
    again = command.json("error", name, "--noise", 'file("design.json")', "--nu", 0.7)
    assert again["error"] == pytest.approx(best["error"], rel=1e-7)
    worse = command.json("error", name, "--noise", "data", "--nu", 0.7)
    assert worse["error"] == pytest.approx(best["error_noise_equals_data"], rel=1e-9)
    half = command.json("error", name, "--noise", "data", "--nu", 1)
    assert half["error"] == pytest.approx(best["error_conventional"], rel=1e-9)


def test_a_fixed_noise_gets_its_best_proportion(command):
    got = design(command, "variance", "--noise", "normal(0, 4.24226)")
    at = lambda nu: command.json("error", "model.toml", "--noise", "normal(0, 4.24226)", "--nu", repr(nu))["error"]
    assert got["error"] == pytest.approx(at(got["nu"]), rel=1e-8)
    assert at(1.05 * got["nu"]) > got["error"] < at(0.95 * got["nu"])


def test_dear_noise_is_used_less(command):
    cheap = design(command, "mean with constant", "--price-noise", 0.1)
    even = design(command, "mean with constant")
    dear = design(command, "mean with constant", "--price-noise", 10)
    assert cheap["nu"] > even["nu"] > dear["nu"]


def test_noise_for_an_efficiency(command):
    got = design(command, "mean with constant", "--noise", "data", "--efficiency", 0.95)
    # p_n = p_d: efficiency ν/(1+ν), so 19 noise points per data point.
    assert got["efficiency"]["nu"] == pytest.approx(19, rel=1e-6)


def test_fields(command):
    got = design(command, "mean with constant", "--nu", 1)
    for field in ["error", "nu", "noise_proportion", "error_noise_equals_data", "error_conventional", "gap",
                  "stationary_points", "noise"]:
        assert field in got, field
    assert len(got["noise"]["grid"]["x"]) == len(got["noise"]["grid"]["density"])


def test_data_alone_are_fitted_first(command):
    """A Gaussian far from the start values: the design is that at the fit, not at m = 0."""
    generator = np.random.default_rng(5)
    x = generator.normal(3, 1, 4000)
    (command.folder / "x.csv").write_text("x\n" + "\n".join(map(repr, map(float, x))) + "\n")
    name = command.model(MODELS["mean with constant"][0])
    got = command.json("design", name, "--data", "x.csv", "--nu", 1)
    assert got["parameters_from"] == "fit"
    assert got["parameters"]["m"] == pytest.approx(x.mean(), abs=0.02)
    # The optimum does not depend on where the mean is; 4,000 rows know it to a few per cent.
    assert got["error"] == pytest.approx(3.50813, rel=0.1)
    there = command.json("design", name, "--data", "x.csv", "--nu", 1, "--at", f"m={got['parameters']['m']!r}")
    assert there["parameters_from"] == "given"
    assert there["error"] == pytest.approx(got["error"], rel=1e-6)
    far = command.json("design", name, "--data", "x.csv", "--nu", 1, "--at", "m=0")
    assert abs(far["error"] - got["error"]) > 0.1 * got["error"]
    assert "that a fit to them found" in command.run("design", name, "--data", "x.csv", "--nu", 1).stdout


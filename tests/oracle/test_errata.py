"""The numbers in docs/src/errata.md that concern the paper's results."""

import math

import pytest
from reference import MODELS
from test_error import CORRELATION


def odds(proportion):
    return repr(proportion / (1 - proportion))


def test_item_1_the_error_of_is_revis(command):
    """1/(1−D)² − 1, not D/(1−D): about twice as large near p_n = p_d."""
    got = command.json("error", command.model(MODELS["mean"][0]), "--noise", "normal(0.2, 1)", "--nu", 1)
    distance = 1 - math.exp(-0.2**2 / 8)
    assert got["divergences"]["hellinger"] == pytest.approx(distance, rel=1e-9)
    assert got["normalizer_errors"]["is-revis"] == pytest.approx(4 * (1 / (1 - distance) ** 2 - 1), rel=1e-9)
    printed = 4 * distance / (1 - distance)
    assert got["normalizer_errors"]["is-revis"] / printed == pytest.approx(2, rel=0.01)


def test_item_2_the_best_ratio_for_a_constant_is_not_one(command):
    name = command.model(MODELS["mean"][0])
    at = lambda nu: command.json("error", name, "--noise", "normal(0.7, 1.5)", "--nu", nu)["normalizer_errors"]["nce"]
    assert at(1) == pytest.approx(0.451, abs=5e-4)
    assert at(3) == pytest.approx(0.389, abs=5e-4)


def test_item_3_the_best_variance(command):
    got = command.json("design", command.model(MODELS["variance"][0]), "--noise", "normal(0, ?)", "--nu", 1)
    assert got["noise"]["values"][0] == pytest.approx(4.24226, abs=1e-5)
    near = command.json("design", "model.toml", "--noise", "normal(0, ?)", "--nu", odds(0.58))
    assert near["noise"]["values"][0] == pytest.approx(3.84, abs=0.02)


@pytest.mark.parametrize(
    "model, noise, crossing", [("mean", "normal(?, 1)", 0.3327), ("variance", "normal(0, ?)", 0.2775)]
)
def test_item_9_the_limit_of_endless_noise_loses_when_there_is_little(command, model, noise, crossing):
    name = command.model(MODELS[model][0])
    limit = lambda p: command.json("error", name, "--noise", "all-noise", "--nu", odds(p))["error"]
    family = lambda p: command.json("design", name, "--noise", noise, "--nu", odds(p))["error"]
    assert limit(crossing - 0.001) > family(crossing - 0.001)
    assert limit(crossing + 0.001) < family(crossing + 0.001)


def test_item_10_the_best_proportion_can_exceed_one_half(command):
    variance = command.json("design", command.model(MODELS["variance"][0]), "--noise", "normal(0, 0.7)")
    assert variance["noise_proportion"] == pytest.approx(0.5528, abs=1e-3)
    correlation = command.json("design", command.model(CORRELATION), "--noise", "model(rho=0.4)")
    assert correlation["noise_proportion"] == pytest.approx(0.5181, abs=1e-3)


def test_item_12_the_best_shift_jumps(command):
    name = command.model(MODELS["mean"][0])
    at = lambda p: command.json("design", name, "--noise", "normal(?, 1)", "--nu", odds(p))["noise"]["values"][0]
    assert abs(at(0.5590)) == pytest.approx(1.4028, abs=1e-3)
    assert abs(at(0.5604)) < 1e-4
    name = command.model(CORRELATION)
    best = lambda rho: command.json("design", name, "--at", f"rho={rho}", "--noise", "model(rho=?)")["noise"]["values"][0]
    assert best(0.06) == pytest.approx(-0.035, abs=1e-3)
    assert best(0.12) == pytest.approx(-0.636, abs=1e-3)

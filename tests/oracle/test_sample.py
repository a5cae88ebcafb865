"""`noisewright sample`: the draws follow their density, and the density is the right one."""

import csv
import io
import math

import numpy as np
import pytest
from reference import MODELS
from scipy import stats

N = 20_000

DISTRIBUTIONS = [
    ("normal(1, 4)", stats.norm(1, 2)),
    ("student(5, -1, 2)", stats.t(5, -1, 2)),
    ("uniform(-2, 3)", stats.uniform(-2, 5)),
    ("laplace(0.5, 2)", stats.laplace(0.5, 2)),
    ("logistic(0.5, 2)", stats.logistic(0.5, 2)),
    ("gamma(2.5, 0.5)", stats.gamma(2.5, scale=2)),
    ("lognormal(0.5, 0.7)", stats.lognorm(0.7, scale=math.exp(0.5))),
]


def table(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def bound(n):
    """The Kolmogorov–Smirnov distance that n draws pass once in a million."""
    return math.sqrt(math.log(2e6) / (2 * n))


@pytest.mark.parametrize("words, distribution", DISTRIBUTIONS)
def test_families(command, words, distribution):
    process = command.run("sample", N, "--noise", words)
    assert process.returncode == 0, process.stderr
    draws = table(process.stdout)
    assert list(draws) == ["x", "log_density"] and len(draws["x"]) == N
    np.testing.assert_allclose(draws["log_density"], distribution.logpdf(draws["x"]), rtol=1e-10, atol=1e-10)
    assert stats.kstest(draws["x"], distribution.cdf).statistic < bound(N)


def test_mixtures(command):
    draws = table(command.run("sample", N, "--noise", "0.7*normal(0, 1) + 0.3*student(5, 0, 2)").stdout)
    cdf = lambda x: 0.7 * stats.norm.cdf(x) + 0.3 * stats.t(5, 0, 2).cdf(x)
    assert stats.kstest(draws["x"], cdf).statistic < bound(N)


@pytest.mark.parametrize("model", ["mean with constant", "variance"])
def test_designed_noise_follows_its_density(command, model):
    name = command.model(MODELS[model][0])
    command.json("design", name, "--nu", 1, "--out", "design.json")
    draws = table(command.run("sample", N, "--design", "design.json").stdout)
    order = np.argsort(draws["x"])
    x, density = draws["x"][order], np.exp(draws["log_density"][order])
    # The distribution function by the trapezoidal rule between neighbouring draws, which are dense where it rises;
    # between two draws lies more than 20/N with probability e^-20, so more than that is a gap of the support.
    pieces = 0.5 * (density[1:] + density[:-1]) * np.diff(x)
    mass = np.concatenate([[0], np.cumsum(np.minimum(pieces, 20 / N))])
    assert mass[-1] == pytest.approx(1, abs=0.01)
    distance = np.abs(mass - np.arange(N) / N).max()
    assert distance < bound(N) + 0.01


def test_the_data_as_noise(command):
    name = command.model(MODELS["variance with constant"][0])
    draws = table(command.run("sample", N, "--noise", "data", "--model", name, "--at", "v=4").stdout)
    assert stats.kstest(draws["x"], stats.norm(0, 2).cdf).statistic < bound(N)
    np.testing.assert_allclose(draws["log_density"], stats.norm(0, 2).logpdf(draws["x"]), rtol=1e-8, atol=1e-8)


def test_the_seed_decides(command):
    run = lambda *more: command.run("sample", 5000, "--noise", "student(5, 0, 2)", *more).stdout
    assert run("--seed", 3) == run("--seed", 3)
    assert run("--seed", 3) != run("--seed", 4)


def test_output_as_json_and_to_a_file(command):
    got = command.json("sample", 10, "--noise", "normal(0, 1)")
    assert len(got["draws"]["x"]) == 10 and len(got["draws"]["log_density"]) == 10
    process = command.run("sample", 10, "--noise", "normal(0, 1)", "--out", "draws.csv")
    assert process.returncode == 0 and process.stdout == ""
    written = table((command.folder / "draws.csv").read_text())
    np.testing.assert_allclose(written["x"], got["draws"]["x"], rtol=0, atol=0)


def test_json_says_where_the_file_is(command):
    got = command.json("sample", 7, "--noise", "normal(0, 1)", "--out", "draws.csv")
    assert got == {"noise": "normal(0, 1)", "rows": 7, "draws_kind": "random", "out": "draws.csv"}
    assert len((command.folder / "draws.csv").read_text().splitlines()) == 8

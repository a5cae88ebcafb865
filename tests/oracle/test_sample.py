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


def holds_one_in_each(x, cdf):
    """Whether every interval of mass 1/n has one of the n values: the next ones of random draws are as near as they like."""
    return sorted(np.floor(cdf(x) * len(x)).astype(int)) == list(range(len(x)))


def quiet(command, count, *words):
    """The draws of `--draws quiet`, and what was said beside them."""
    process = command.run("sample", count, "--draws", "quiet", *words)
    assert process.returncode == 0, process.stderr
    return table(process.stdout), process.stderr


@pytest.mark.parametrize("words, distribution", DISTRIBUTIONS)
def test_quiet_draws_are_one_in_each_interval(command, words, distribution):
    draws, told = quiet(command, 1024, "--noise", words, "--seed", 2)
    assert list(draws) == ["x", "log_density"] and told == ""
    np.testing.assert_allclose(draws["log_density"], distribution.logpdf(draws["x"]), rtol=1e-10, atol=1e-10)
    assert holds_one_in_each(draws["x"], distribution.cdf)
    independent = table(command.run("sample", 1024, "--noise", words, "--seed", 2).stdout)
    assert not holds_one_in_each(independent["x"], distribution.cdf)


def test_quiet_draws_in_the_plane_are_one_in_each_box(command):
    draws, _ = quiet(command, 1024, "--noise", "product(normal(1, 4), laplace(0.5, 2))")
    u = [stats.norm(1, 2).cdf(draws["x0"]), stats.laplace(0.5, 2).cdf(draws["x1"])]
    # Boxes of 2^-k by 2^-(10 - k): a (0, 10, 2)-net has one point in each of them.
    for k in range(11):
        boxes = np.floor(u[0] * 2**k) * 2 ** (10 - k) + np.floor(u[1] * 2 ** (10 - k))
        assert len(set(boxes)) == 1024, k
    densities = stats.norm(1, 2).logpdf(draws["x0"]) + stats.laplace(0.5, 2).logpdf(draws["x1"])
    np.testing.assert_allclose(draws["log_density"], densities, rtol=1e-10, atol=1e-10)


def test_quiet_draws_of_a_designed_noise(command):
    name = command.model(MODELS["mean with constant"][0])
    command.json("design", name, "--nu", 1, "--out", "design.json")
    draws, told = quiet(command, 1024, "--design", "design.json")
    independent = table(command.run("sample", 65_536, "--design", "design.json").stdout)
    assert told == "" and len(draws["x"]) == 1024
    # Between two quantiles of many independent draws lies the share of theirs, to two points and four deviations of a share.
    ends = np.quantile(independent["x"], [0.1, 0.3, 0.5, 0.7, 0.9])
    for end, share in zip(ends, [0.1, 0.3, 0.5, 0.7, 0.9]):
        assert abs((draws["x"] <= end).mean() - share) < 2 / 1024 + 4 * math.sqrt(share * (1 - share) / 65_536)
    at = np.interp(draws["x"], np.sort(independent["x"]), independent["log_density"][np.argsort(independent["x"])])
    assert np.median(np.abs(at - draws["log_density"])) < 0.01


def test_quiet_is_a_way_to_draw_where_there_is_no_other(command):
    words = ["--noise", "student(5, 0, 2)", "--seed", 3]
    plain, told = quiet(command, 256, *words)
    process = command.run("sample", 256, "--quiet", *words)
    assert process.returncode == 0 and told == process.stderr == ""
    assert table(process.stdout)["x"].tolist() == plain["x"].tolist()
    asked = command.run("sample", 256, "--draws", "random", "--quiet", *words).stdout
    assert asked == command.run("sample", 256, *words).stdout != process.stdout
    assert command.json("sample", 256, "--quiet", *words)["draws_kind"] == "quiet"
    assert command.json("sample", 256, *words)["draws_kind"] == "random"


def test_other_numbers_than_powers_of_two_are_drawn_and_told(command):
    some, told = quiet(command, 1000, "--noise", "normal(0, 1)")
    all_of_them, nothing = quiet(command, 1024, "--noise", "normal(0, 1)")
    assert told == "warning: 1000 quiet draws are less even than 1024: powers of two are best\n" and nothing == ""
    assert len(some["x"]) == 1000 and some["x"].tolist() == all_of_them["x"][:1000].tolist()
    assert command.run("sample", 1000, "--quiet", "--noise", "normal(0, 1)").stderr == told


def test_the_seed_decides_of_quiet_draws(command):
    one, again, other = (quiet(command, 64, "--noise", "normal(0, 1)", "--seed", seed)[0]["x"].tolist() for seed in (1, 1, 2))
    assert one == again and not set(one) & set(other)


FOUR = """variables = ["x", "y", "z", "w"]
log_density = "-a*(x^2 + y^2 + z^2 + w^2)/2 - (x*y)^2"
[parameters]
a = 1
"""


def test_what_cannot_be_drawn_quietly_says_so(command):
    words = ["--noise", "data", "--model", command.model(FOUR)]
    command.refuses("sample", 64, "--draws", "quiet", *words, says=["drawn quietly", "at random"])
    process = command.run("sample", 64, "--quiet", *words)
    assert process.returncode == 0 and "cannot be drawn quietly: its draws are independent" in process.stderr
    assert process.stdout == command.run("sample", 64, *words).stdout
    command.refuses("sample", 64, "--draws", "evenly", "--noise", "normal(0, 1)", says=["random or quiet"])


def test_quiet_draws_in_a_file(command):
    draws, _ = quiet(command, 4096 * 2, "--noise", "normal(0, 1)")
    process = command.run("sample", 4096 * 2, "--draws", "quiet", "--noise", "normal(0, 1)", "--out", "draws.csv")
    assert process.returncode == 0 and process.stdout == ""
    written = table((command.folder / "draws.csv").read_text())
    assert written["x"].tolist() == draws["x"].tolist()
    got = command.json("sample", 64, "--draws", "quiet", "--noise", "normal(0, 1)", "--out", "draws.parquet")
    assert got == {"noise": "normal(0, 1)", "rows": 64, "draws_kind": "quiet", "out": "draws.parquet"}

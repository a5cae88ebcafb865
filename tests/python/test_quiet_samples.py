"""Quiet draws in Python: as even as a net, the density of the noise, and those of the command to the bit."""

import csv
import io
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import noisewright as nw

BINARY = Path(os.environ.get("NOISEWRIGHT", Path(__file__).resolve().parents[2] / "target" / "debug" / "noisewright"))

LINES = [
    (nw.Normal(1, 4), stats.norm(1, 2)),
    (nw.Student(5, -1, 2), stats.t(5, -1, 2)),
    (nw.Gamma(2.5, 0.5), stats.gamma(2.5, scale=2)),
    (nw.Laplace(0.5, 2), stats.laplace(0.5, 2)),
    (nw.Beta(0.7, 1.9), stats.beta(0.7, 1.9)),
]


def holds_one_in_each(u):
    """Whether every interval of length 1/n has one of the n numbers."""
    return sorted(np.floor(u * len(u)).astype(int)) == list(range(len(u)))


@pytest.mark.parametrize("noise, distribution", LINES, ids=lambda value: str(value)[:20])
def test_quiet_draws_on_a_line(noise, distribution):
    draws = noise.sample(512, seed=4, quiet=True)
    assert draws.shape == (512,) and holds_one_in_each(distribution.cdf(draws))
    assert not holds_one_in_each(distribution.cdf(noise.sample(512, seed=4)))
    np.testing.assert_allclose(noise.log_density(draws), distribution.logpdf(draws), rtol=1e-10, atol=1e-10)


def test_the_mean_of_a_correlated_normal():
    noise = nw.Normal([1, -2], [[2, 0.6], [0.6, 0.5]])

    def gain(quiet):
        values = np.tanh([noise.sample(1024, seed=seed, quiet=quiet) - [1, -2] for seed in range(32)])
        return values.var(axis=(0, 1)) / 1024 / values.mean(1).var(axis=0, ddof=1)

    # Of independent draws it is 31 over χ² with 31 degrees of freedom, which is below 0.4 or above 20 with a probability of 1e-5.
    assert (gain(True) > 20).all()
    assert ((0.4 < gain(False)) & (gain(False) < 20)).all()


def test_a_part_of_a_mixture_has_its_share():
    draws = (0.25 * nw.Normal(0, 1) + 0.75 * nw.Normal(100, 1)).sample(1024, quiet=True)
    left = draws[draws < 50]
    assert len(left) == 256 and holds_one_in_each(stats.norm.cdf(left))


def test_other_numbers_are_the_first_of_more():
    noise = nw.Student(5, 0, 2)
    assert noise.sample(1000, seed=1, quiet=True).tolist() == noise.sample(1024, seed=1, quiet=True)[:1000].tolist()
    assert noise.sample(0, quiet=True).shape == (0,)


def test_designed_and_fitted_noises(quartic, rng):
    best = nw.design(quartic).noise
    draws = best.sample(256, seed=2, quiet=True)
    wide = best.sample(1 << 16, seed=2)
    # Between two quantiles of so many independent draws lies a share known to a hundredth, in steps of two points.
    assert abs((draws <= np.median(wide)).mean() - 0.5) < 2 / 256 + 0.01
    fit = nw.fit(quartic, rng.normal(size=500), nu=1, progress=False)
    assert fit.noise.sample(64, seed=1, quiet=True).shape == (64,)


def test_a_noise_that_cannot_is_refused():
    model = nw.Model.from_formula(
        "-a*(x^2 + y^2 + z^2 + w^2)/2 - (x*y)^2", variables=["x", "y", "z", "w"], parameters={"a": 1.0}
    )
    noise = nw.design(model, nu=1.0, draws=4000, progress=False).noise
    with pytest.raises(nw.InputError, match="no inverse distribution function to be drawn quietly by: draw it at random"):
        noise.sample(64, quiet=True)
    assert noise.sample(64).shape == (64, 4)


@pytest.mark.parametrize(
    "noise", [nw.Normal(1, 4), nw.Student(5, [1, 2], [[2, 0.6], [0.6, 0.5]]), 0.3 * nw.Normal(-4, 1) + 0.7 * nw.Student(5, 3, 1)], ids=str
)
def test_the_draws_are_those_of_the_command(noise):
    assert BINARY.exists(), f"{BINARY} is missing: build it with cargo build -p noisewright-cli"
    words = [str(BINARY), "sample", "128", "--draws", "quiet", "--seed", "7", "--noise", str(noise)]
    printed = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout
    rows = np.array([[float(cell) for cell in row.values()] for row in csv.DictReader(io.StringIO(printed))])
    draws = noise.sample(128, seed=7, quiet=True)
    assert rows[:, :-1].tolist() == draws.reshape(128, -1).tolist()
    np.testing.assert_allclose(rows[:, -1], noise.log_density(draws), rtol=1e-12)

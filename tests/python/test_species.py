"""The trees of the book's chapter on presences, against Poisson regression over all squares of the terrain and R's spatstat."""

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import noisewright as nw

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "beilschmiedia"


@pytest.fixture(scope="module")
def book():
    """What the chapter's Python makes, run in the folder that it names."""
    text = (ROOT / "docs" / "src" / "species.md").read_text(encoding="utf-8")
    found = {}
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore", nw.NoisewrightWarning)
        patch.chdir(ROOT)
        for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            exec(compile(block, "species.md", "exec"), found)
    return found


@pytest.fixture(scope="module")
def regression(book):
    """Counts of trees in squares: maximum likelihood of the Poisson process whose covariates are constant in them."""
    import statsmodels.api as sm

    i, j = ((book["seen"] + 2.5) // 5).astype(int).T
    counts = np.zeros((201, 101))
    np.add.at(counts, (i, j), 1)
    # Half of a square at the edge is inside the plot.
    width, height = np.full(201, 5.0), np.full(101, 5.0)
    width[[0, -1]] = height[[0, -1]] = 2.5
    design = sm.add_constant(book["layers"].reshape(-1, 2))
    model = sm.GLM(counts.ravel(), design, family=sm.families.Poisson(), exposure=np.outer(width, height).ravel())
    return model.fit(tol=1e-13)


def test_the_background_is_noise_of_a_poisson_process(book, regression):
    fit = book["fit"]
    assert fit.converged and fit.noise_points >= 1024
    expected = [regression.params[1], regression.params[2], math.log(len(book["seen"])) - regression.params[0]]
    for found, value in zip(fit.estimates.values(), expected):
        # The data are the same: the background alone sets them apart, and has at most a tenth of the error.
        assert abs(found.estimate - value) < 4 * found.se_noise
        assert found.se_noise <= 0.1 * found.se


def test_errors_that_trust_the_model_are_those_of_the_regression(book, regression):
    place = "product(uniform(0, 1000), uniform(0, 500))"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nw.NoisewrightWarning)
        fit = nw.fit(book["model"], book["seen"], noise=place, errors="model")
    for name, se in zip(["elevation", "slope"], regression.bse[1:]):
        # The noise adds one percent of a variance at most, and the loss's ratio two.
        assert fit.parameters[name].se == pytest.approx(se, rel=0.03)


def test_the_regression_is_what_r_finds(regression):
    # ppm(quadscheme(bei, nd = c(800, 400)) ~ elev + grad, data = bei.extra) of spatstat.model 3.2-1: its quadrature has points of its
    # own, and places on the border of two squares belong to one or the other.
    expected, errors = [-8.56848891, 0.0214714361, 5.85152890], [0.341222561, 0.002288688, 0.255797878]
    np.testing.assert_allclose(regression.bse, errors, rtol=1e-3)
    assert np.all(np.abs(regression.params - expected) < 0.02 * np.array(errors))


def test_clusters_widen_the_errors_and_need_less_background(book):
    fit, clustered = book["fit"], book["clustered"]
    assert clustered.noise_points < fit.noise_points
    for one, other in zip(fit.parameters.values(), clustered.parameters.values()):
        assert other.se > 3 * one.se


def test_functions_are_not_asked_outside_of_their_domain(book):
    places = []

    def density(x, theta):
        places.append(np.array(x))
        return book["terrain"](x) @ theta

    def score(x, theta):
        places.append(np.array(x))
        return book["terrain"](x)

    model = nw.Model.from_functions(
        density, score=score, parameters=["a", "b"], variables=["x", "y"], domain={"x": (0, 1000), "y": (0, 500)}, linear=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nw.NoisewrightWarning)
        nw.fit(model, book["seen"][:500], nu=5)
    asked = np.vstack(places)
    assert asked.min() >= 0 and np.all(asked.max(axis=0) <= [1000, 500])

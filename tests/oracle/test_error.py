"""`noisewright error` against scipy, mpmath and closed forms."""

import math

import mpmath
import numpy as np
import pytest
from reference import MODELS, NOISES, covariance

PIECES = [-90, -30, -12, -4, -1, 0, 0.3, 1, 4, 12, 30, 90]

# Model, noise, ν, loss: every model, noise and loss at least twice, with finite error.
CASES = [
    ("mean", "normal(0, 1)", 1, "js"),
    ("mean", "normal(0.5, 2)", 0.3, "js"),
    ("mean", "student(5, 0, 2)", 3, "kl"),
    ("mean", "laplace(0.3, 1.5)", 1, "hellinger"),
    ("mean", "uniform(-12, 12)", 2, "js"),
    ("mean with constant", "normal(0.5, 2)", 1, "js"),
    ("mean with constant", "normal(0.5, 2)", 2, "pearson"),
    ("mean with constant", "0.7*normal(0, 1) + 0.3*student(5, 0, 2)", 1, "js"),
    ("mean with constant", "laplace(0.3, 1.5)", 0.5, "power:0.3"),
    ("mean with constant", "normal(0, 1)", 4, "reverse-kl"),
    ("variance", "normal(0, 4.24226)", 1, "js"),
    ("variance", "student(5, 0, 2)", 0.1, "js"),
    ("variance", "uniform(-12, 12)", 10, "kl"),
    ("variance with constant", "normal(0, 4.24226)", 1, "js"),
    ("variance with constant", "student(5, 0, 2)", 2, "pearson"),
    ("variance with constant", "0.7*normal(0, 1) + 0.3*student(5, 0, 2)", 0.2, "power:0.3"),
    ("variance with constant", "normal(0, 1)", 1, "hellinger"),
    ("laplace", "laplace(0.3, 1.5)", 1, "js"),
    ("laplace", "student(5, 0, 2)", 1, "kl"),
    ("laplace", "normal(0.5, 2)", 1, "reverse-kl"),
]


@pytest.mark.parametrize("model, noise, nu, loss", CASES)
def test_covariance_agrees_with_direct_integration(command, model, noise, nu, loss):
    text, log_data, score = MODELS[model]
    # Beyond the bounded noise's support only losses that need none of it have mass; none is left at 12.
    pieces = PIECES if "uniform" not in noise else [-12, *PIECES[3:-3], 12]
    expected, information = covariance(log_data, score, NOISES[noise], nu, loss, pieces)
    got = command.json("error", command.model(text), "--noise", noise, "--nu", nu, "--loss", loss)
    np.testing.assert_allclose(got["covariance"], expected, rtol=2e-7, atol=1e-9 * np.abs(expected).max())
    assert got["error"] == pytest.approx((1 + nu) * np.trace(expected), rel=2e-7)
    kl = command.json("error", "model.toml", "--noise", noise, "--nu", nu, "--loss", loss, "--target", "kl")
    assert kl["error"] == pytest.approx((1 + nu) / 2 * np.trace(expected @ information), rel=2e-7)


@pytest.mark.parametrize("nu", [0.1, 1, 10])
@pytest.mark.parametrize("model, bound", [("mean", 1), ("variance", 2), ("laplace", 1)])
def test_noise_equal_to_data(command, model, bound, nu):
    got = command.json("error", command.model(MODELS[model][0]), "--noise", "data", "--nu", nu)
    assert got["error"] == pytest.approx((1 + nu) ** 2 / nu * bound, rel=1e-10)
    assert got["cramer_rao"] == pytest.approx((1 + nu) * bound, rel=1e-10)
    assert got["efficiency"] == pytest.approx(nu / (1 + nu), rel=1e-10)


def test_a_target_of_some_parameters_leaves_the_constant_out(command):
    name = command.model(MODELS["variance with constant"][0])
    everything = command.json("error", name, "--noise", "normal(0, 2)", "--nu", 2)
    only = command.json("error", name, "--noise", "normal(0, 2)", "--nu", 2, "--target", "v")
    assert only["error"] == pytest.approx(3 * everything["covariance"][0][0], rel=1e-12)
    assert everything["coordinates"] == ["v", "log_normalizer"]


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("nu", [1, 5])
def test_noise_thirteen_deviations_away(command, constant, nu):
    """Every integrand is below 1e-9 everywhere: an absolute tolerance would return anything."""
    mpmath.mp.dps = 40
    distance = 13

    def expectation(f):
        density = lambda x: mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)
        weight = lambda x: 1 / (1 + mpmath.exp(-distance * x + mpmath.mpf(distance) ** 2 / 2) / nu)
        return mpmath.quad(lambda x: density(x) * weight(x) * f(x), [-20, -5, 0, 3, 5, 6, 6.5, 7, 8, 10, 13, 20, 40])

    score = [lambda x: x, lambda x: mpmath.mpf(-1)][: 2 if constant else 1]
    mean = mpmath.matrix([expectation(s) for s in score])
    bread = mpmath.matrix([[expectation(lambda x: s(x) * t(x)) for t in score] for s in score])
    inverse = bread**-1
    sigma = inverse * (bread - (1 + mpmath.mpf(1) / nu) * mean * mean.T) * inverse
    model = MODELS["mean with constant" if constant else "mean"][0]
    got = command.json("error", command.model(model), "--noise", "normal(13, 1)", "--nu", nu)
    for i in range(len(score)):
        for j in range(len(score)):
            assert got["covariance"][i][j] == pytest.approx(float(sigma[i, j]), rel=1e-6)
    assert got["error"] > 1e6


def test_lighter_tails_are_infinite_and_named(command):
    name = command.model(MODELS["mean"][0])
    got = command.json("error", name, "--noise", "normal(0, 0.4)", "--nu", 1, "--loss", "kl")
    assert math.isinf(got["error"])
    assert "infinite" in got["infinite"] and "tail" in got["infinite"]
    assert math.isinf(got["normalizer_errors"]["is"])
    assert math.isfinite(got["normalizer_errors"]["nce"])
    text = command.run("error", name, "--noise", "normal(0, 0.4)", "--nu", 1, "--loss", "kl")
    assert text.returncode == 0 and "infinite" in text.stdout
    # The same noise is no trouble for the logistic loss.
    assert math.isfinite(command.json("error", name, "--noise", "normal(0, 0.4)", "--nu", 1)["error"])


#: Two normals and one as people write them, without and with the logarithm of their exponentials taken by hand.
MIXTURE = {"log(exp(-(x-m)^2/2) + exp(-(x+m)^2/2))": 1.0, "log(exp(-(x-m)^2/2))": 0.0}
BY_HAND = {"abs(m*x) + log(1 + exp(-2*abs(m*x))) - (x^2 + m^2)/2": 1.0, "-(x-m)^2/2": 0.0}


def spelled(command, formula, start):
    return command.model(f'variables = ["x"]\nlog_density = "{formula}"\n[parameters]\nm = {start}\n')


@pytest.mark.parametrize("spelling", [MIXTURE, BY_HAND])
@pytest.mark.parametrize(
    "which, noise, loss, culprit",
    [
        # Reverse KL has the variance ∫q²/p: e^(−x²/3 + x²/2) for q of variance 3. 2.95e98 was printed.
        (0, "normal(0, 3)", "reverse-kl", "the data have lighter tails than the noise"),
        # KL has ∫p²/q: e^(−x² + x²) for q of variance ½. 21715.7 was printed.
        (1, "normal(0, 0.5)", "kl", "the noise has lighter tails than the data"),
        # q² falls by a power alone; it was refused for its "overlap".
        (0, "student(3, 0, 1)", "reverse-kl", "the data have lighter tails than the noise"),
        (1, "student(3, 0, 1)", "reverse-kl", "the data have lighter tails than the noise"),
    ],
)
def test_infinite_errors_of_mixtures_are_infinite_and_name_the_tail(command, spelling, which, noise, loss, culprit):
    formula, start = list(spelling.items())[which]
    name = spelled(command, formula, start)
    got = command.json("error", name, "--noise", noise, "--loss", loss)
    assert got["error"] == math.inf and culprit in got["infinite"] and "end of `x`" in got["infinite"]
    printed = command.run("error", name, "--noise", noise, "--loss", loss).stdout
    assert "∞" in printed and f"The error is infinite: {got['infinite']}." in printed


@pytest.mark.parametrize("which, noise, loss", [(0, "normal(0, 1.5)", "reverse-kl"), (1, "normal(0, 0.6)", "kl"), (0, "student(3, 0, 1)", "kl")])
def test_finite_errors_of_mixtures_do_not_depend_on_how_they_are_written(command, which, noise, loss):
    errors = []
    for spelling in (MIXTURE, BY_HAND):
        formula, start = list(spelling.items())[which]
        errors.append(command.json("error", spelled(command, formula, start), "--noise", noise, "--loss", loss)["error"])
    assert math.isfinite(errors[0]) and errors[0] == pytest.approx(errors[1], rel=1e-8)


def test_divergences_of_two_gaussians(command):
    """N(0,1) data, N(m, s²) noise: χ² and BC in closed form, MATH §4."""
    m, s2, nu = 0.7, 1.5, 3.0
    got = command.json("error", command.model(MODELS["mean"][0]), "--noise", f"normal({m}, {s2})", "--nu", nu)
    chi2 = s2 / math.sqrt(2 * s2 - 1) * math.exp(m * m / (2 * s2 - 1)) - 1
    reverse = 1 / math.sqrt(s2 * (2 - s2)) * math.exp(m * m / (2 - s2)) - 1
    overlap = math.sqrt(2 * math.sqrt(s2) / (1 + s2)) * math.exp(-m * m / (4 * (1 + s2)))
    errors = got["normalizer_errors"]
    assert errors["is"] == pytest.approx((1 + nu) / nu * chi2, rel=1e-8)
    assert errors["revis"] == pytest.approx((1 + nu) * reverse, rel=1e-8)
    assert errors["is-revis"] == pytest.approx((1 + nu) ** 2 / nu * (1 / overlap**2 - 1), rel=1e-8)
    assert errors["nce"] == pytest.approx(0.389, abs=5e-4)


CORRELATION = """variables = ["x", "y"]
log_density = "-(x^2 - 2*rho*x*y + y^2)/(2*(1 - rho^2)) - log(1 - rho^2)/2 - log(2*pi)"
normalized = true
[parameters]
rho = 0.3
"""


def test_correlation_in_two_variables(command):
    name = command.model(CORRELATION)
    noise = "normal([0, 0], [[1, -0.2332], [-0.2332, 1]])"
    got = command.json("error", name, "--noise", noise, "--nu", 1)
    assert got["error"] == pytest.approx(2.6129, abs=5e-5)
    assert got["error_noise_equals_data"] == pytest.approx(4 * 0.91**2 / 1.09, rel=1e-8)  # 3.0389
    same = command.json("error", name, "--noise", "data", "--nu", 1)
    assert same["error"] == pytest.approx(4 * 0.91**2 / 1.09, rel=1e-8)


ISING = """variables = ["a", "b", "c"]
family = "ising"
[parameters]
h0 = 0.2
h1 = -0.4
J01 = 0.5
J12 = -0.3
"""


def test_ising_by_enumeration(command):
    """Eight states, summed by hand."""
    got = command.json("error", command.model(ISING), "--noise", "uniform", "--nu", 2)
    states = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1], indexing="ij")).reshape(3, -1).T
    a, b, c = states.T
    features = np.stack([a, b, c, a * b, a * c, b * c, -np.ones(8)], axis=1)
    energy = features @ np.array([0.2, -0.4, 0, 0.5, 0, -0.3, 0])
    data = np.exp(energy) / np.exp(energy).sum()
    weight = 1 / (1 + data / (2 / 8))
    bread = features.T @ (features * (data * weight)[:, None])
    mean = features.T @ (data * weight)
    inverse = np.linalg.inv(bread)
    sigma = inverse @ (bread - 1.5 * np.outer(mean, mean)) @ inverse
    assert got["coordinates"] == ["h0", "h1", "h2", "J01", "J02", "J12", "log_normalizer"]
    np.testing.assert_allclose(got["covariance"], sigma, rtol=1e-9, atol=1e-12)
    assert got["accuracy"]["method"] == "enumeration"


def test_von_mises_on_the_circle(command):
    from scipy import integrate, special

    a, b, nu = 1.2, -0.5, 2.0
    text = f'variables = ["x"]\nfamily = "von-mises"\n[parameters]\na = {a}\nb = {b}'
    got = command.json("error", command.model(text), "--noise", "von-mises(0.3, 0.8)", "--nu", nu)
    log_z = math.log(2 * math.pi * special.i0(math.hypot(a, b)))
    assert got["log_normalizer"] == pytest.approx(log_z, rel=1e-10)
    score = [math.cos, math.sin, lambda x: -1.0]
    density = lambda x: math.exp(a * math.cos(x) + b * math.sin(x) - log_z)
    noise = lambda x: math.exp(0.8 * math.cos(x - 0.3)) / (2 * math.pi * special.i0(0.8))
    weight = lambda x: nu * noise(x) / (density(x) + nu * noise(x))
    integral = lambda f: integrate.quad(lambda x: density(x) * weight(x) * f(x), -math.pi, math.pi, epsrel=1e-12)[0]
    mean = np.array([integral(s) for s in score])
    bread = np.array([[integral(lambda x: s(x) * t(x)) for t in score] for s in score])
    inverse = np.linalg.inv(bread)
    sigma = inverse @ (bread - (1 + 1 / nu) * np.outer(mean, mean)) @ inverse
    np.testing.assert_allclose(got["covariance"], sigma, rtol=1e-8, atol=1e-9)


def test_identical_densities_have_no_divergence(command):
    """They differ by rounding, which was once integrated at length and in vain."""
    got = command.json("error", command.model(MODELS["mean with constant"][0]), "--noise", "normal(0, 1)", "--nu", 1)
    assert got["normalizer_errors"] == {"is": 0, "revis": 0, "is-revis": 0, "nce": 0}

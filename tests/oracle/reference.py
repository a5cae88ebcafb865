"""The asymptotic error of a design by direct numerical integration, written from the formulas alone.

Nothing here is shared with the program: scores are written out by hand, integrals are scipy's or mpmath's.
"""

import math

import numpy as np
from scipy import integrate



def normal(mean, variance):
    constant = -0.5 * math.log(2 * math.pi * variance)
    return lambda x: constant - (x - mean) ** 2 / (2 * variance)


def student(dof, location, scale):
    beta = math.lgamma(0.5) + math.lgamma(dof / 2) - math.lgamma((dof + 1) / 2)
    constant = -beta - 0.5 * math.log(dof) - math.log(scale)
    return lambda x: constant - (dof + 1) / 2 * math.log1p(((x - location) / scale) ** 2 / dof)


def laplace(location, scale):
    return lambda x: -abs(x - location) / scale - math.log(2 * scale)


def softplus(g):
    return max(g, 0) + math.log1p(math.exp(-abs(g)))


# The logarithm of the weight w = r φ''(r) of each loss as a function of g = log r.
LOG_WEIGHTS = {
    "js": lambda g: -softplus(g),
    "kl": lambda g: 0.0,
    "reverse-kl": lambda g: -g,
    "hellinger": lambda g: -g / 2 - math.log(2),
    "pearson": lambda g: g,
    "power:0.3": lambda g: -0.3 * g,
}

MODELS = {
    # name: (model file, log-density of the data, score of every coordinate, the constant last where it is free)
    "mean": (
        'variables = ["x"]\nlog_density = "-(x-m)^2/2 - log(2*pi)/2"\nnormalized = true\n[parameters]\nm = 0',
        normal(0, 1),
        lambda x: np.array([x]),
    ),
    "mean with constant": (
        'variables = ["x"]\nlog_density = "-(x-m)^2/2"\n[parameters]\nm = 0',
        normal(0, 1),
        lambda x: np.array([x, -1.0]),
    ),
    "variance": (
        'variables = ["x"]\nlog_density = "-x^2/(2*v) - log(2*pi*v)/2"\nnormalized = true\n[parameters]\nv = 1',
        normal(0, 1),
        lambda x: np.array([(x * x - 1) / 2]),
    ),
    "variance with constant": (
        'variables = ["x"]\nlog_density = "-x^2/(2*v)"\n[parameters]\nv = 1',
        normal(0, 1),
        lambda x: np.array([x * x / 2, -1.0]),
    ),
    "laplace": (
        'variables = ["x"]\nlog_density = "-abs(x)/s - log(2*s)"\nnormalized = true\n[parameters]\ns = 1',
        laplace(0, 1),
        lambda x: np.array([abs(x) - 1]),
    ),
}

NOISES = {
    "normal(0, 1)": normal(0, 1),
    "normal(0.5, 2)": normal(0.5, 2),
    "normal(0, 4.24226)": normal(0, 4.24226),
    "student(5, 0, 2)": student(5, 0, 2),
    "laplace(0.3, 1.5)": laplace(0.3, 1.5),
    "0.7*normal(0, 1) + 0.3*student(5, 0, 2)": lambda x: math.log(
        0.7 * math.exp(normal(0, 1)(x)) + 0.3 * math.exp(student(5, 0, 2)(x))
    ),
    "uniform(-12, 12)": lambda x: -math.log(24),
}


def covariance(log_data, score, log_noise, nu, loss, pieces):
    """Σ = I_w⁻¹ (I_v − (1 + 1/ν) m_w m_wᵀ) I_w⁻¹ by quadrature, with the information matrix I."""
    log_weight = LOG_WEIGHTS[loss]

    def ratio(x):
        return log_data(x) - log_noise(x) - math.log(nu)

    def expectation(log_factor, f):
        def integrand(x):
            return math.exp(log_data(x) + log_factor(x)) * f(x)

        parts = zip(pieces[:-1], pieces[1:])
        return sum(integrate.quad(integrand, a, b, epsabs=0, epsrel=1e-11, limit=400)[0] for a, b in parts)

    first = lambda x: log_weight(ratio(x))
    second = lambda x: 2 * log_weight(ratio(x)) + softplus(ratio(x))
    size = len(score(0.5))
    mean, bread, meat, information = (np.zeros(s) for s in [(size,), (size, size), (size, size), (size, size)])
    for i in range(size):
        mean[i] = expectation(first, lambda x: score(x)[i])
        for j in range(size):
            product = lambda x: score(x)[i] * score(x)[j]
            bread[i, j] = expectation(first, product)
            meat[i, j] = expectation(second, product)
            information[i, j] = expectation(lambda x: 0.0, product)
    inverse = np.linalg.inv(bread)
    return inverse @ (meat - (1 + 1 / nu) * np.outer(mean, mean)) @ inverse, information

"""The asymptotic error of a design by direct numerical integration, written from the formulas alone.

Nothing here is shared with the program: scores are written out by hand, integrals are scipy's or mpmath's.
"""

import numpy as np
from scipy import integrate, stats

# The weight w = r φ''(r) of each loss as a function of g = log r, and v = w² (1 + r).
WEIGHTS = {
    "js": lambda g: 1 / (1 + np.exp(g)),
    "kl": lambda g: 1.0,
    "reverse-kl": lambda g: np.exp(-g),
    "hellinger": lambda g: 0.5 * np.exp(-g / 2),
    "pearson": lambda g: np.exp(g),
    "power:0.3": lambda g: np.exp(-0.3 * g),
}

MODELS = {
    # name: (model file, log-density of the data, score of every coordinate, the constant last where it is free)
    "mean": (
        'variables = ["x"]\nlog_density = "-(x-m)^2/2 - log(2*pi)/2"\nnormalized = true\n[parameters]\nm = 0',
        stats.norm(0, 1).logpdf,
        lambda x: np.array([x]),
    ),
    "mean with constant": (
        'variables = ["x"]\nlog_density = "-(x-m)^2/2"\n[parameters]\nm = 0',
        stats.norm(0, 1).logpdf,
        lambda x: np.array([x, -1.0]),
    ),
    "variance": (
        'variables = ["x"]\nlog_density = "-x^2/(2*v) - log(2*pi*v)/2"\nnormalized = true\n[parameters]\nv = 1',
        stats.norm(0, 1).logpdf,
        lambda x: np.array([(x * x - 1) / 2]),
    ),
    "variance with constant": (
        'variables = ["x"]\nlog_density = "-x^2/(2*v)"\n[parameters]\nv = 1',
        stats.norm(0, 1).logpdf,
        lambda x: np.array([x * x / 2, -1.0]),
    ),
    "laplace": (
        'variables = ["x"]\nlog_density = "-abs(x)/s - log(2*s)"\nnormalized = true\n[parameters]\ns = 1',
        stats.laplace(0, 1).logpdf,
        lambda x: np.array([abs(x) - 1]),
    ),
}

NOISES = {
    "normal(0, 1)": stats.norm(0, 1).logpdf,
    "normal(0.5, 2)": stats.norm(0.5, np.sqrt(2)).logpdf,
    "normal(0, 4.24226)": stats.norm(0, np.sqrt(4.24226)).logpdf,
    "student(5, 0, 2)": stats.t(5, 0, 2).logpdf,
    "laplace(0.3, 1.5)": stats.laplace(0.3, 1.5).logpdf,
    "0.7*normal(0, 1) + 0.3*student(5, 0, 2)": lambda x: np.logaddexp(
        np.log(0.7) + stats.norm(0, 1).logpdf(x), np.log(0.3) + stats.t(5, 0, 2).logpdf(x)
    ),
    "uniform(-12, 12)": stats.uniform(-12, 24).logpdf,
}


def covariance(log_data, score, log_noise, nu, loss, pieces):
    """Σ = I_w⁻¹ (I_v − (1 + 1/ν) m_w m_wᵀ) I_w⁻¹ by quadrature, with the information matrix I."""
    weight = WEIGHTS[loss]

    def ratio(x):
        return log_data(x) - log_noise(x) - np.log(nu)

    def expectation(f):
        def integrand(x):
            return np.exp(log_data(x)) * f(x)

        parts = zip(pieces[:-1], pieces[1:])
        return sum(integrate.quad(integrand, a, b, epsabs=0, epsrel=1e-11, limit=400)[0] for a, b in parts)

    size = len(score(0.5))
    mean, bread, meat, information = (np.zeros(s) for s in [(size,), (size, size), (size, size), (size, size)])
    for i in range(size):
        mean[i] = expectation(lambda x: weight(ratio(x)) * score(x)[i])
        for j in range(size):
            product = lambda x: score(x)[i] * score(x)[j]
            bread[i, j] = expectation(lambda x: weight(ratio(x)) * product(x))
            meat[i, j] = expectation(lambda x: weight(ratio(x)) ** 2 * (1 + np.exp(ratio(x))) * product(x))
            information[i, j] = expectation(product)
    inverse = np.linalg.inv(bread)
    return inverse @ (meat - (1 + 1 / nu) * np.outer(mean, mean)) @ inverse, information

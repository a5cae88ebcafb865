"""Five pairs of densities with a known ratio, in 1, 2 and 5 dimensions: draws, and the true log ratio."""

import numpy as np


def _normal(x, mean, variance):
    """The log-density of independent normals of these means and variances."""
    return (-0.5 * (x - mean) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)).sum(axis=1)


def _mixture(x, parts):
    return np.logaddexp.reduce([np.log(w) + _normal(x, np.array(m), np.array(v)) for w, m, v in parts], axis=0)


def _draw(rng, rows, parts):
    which = rng.choice(len(parts), size=rows, p=[w for w, _, _ in parts])
    means, variances = np.array([m for _, m, _ in parts]), np.array([v for _, _, v in parts])
    return means[which] + np.sqrt(variances[which]) * rng.normal(size=(rows, means.shape[1]))


def _flat(value, d):
    return [value] * d


PAIRS = {
    "1-D: N(0.5, 0.8) to N(0, 1)": ([(1.0, [0.5], [0.8])], [(1.0, [0.0], [1.0])]),
    "1-D: two modes to N(0, 2)": ([(0.5, [-1.2], [0.4]), (0.5, [1.2], [0.4])], [(1.0, [0.0], [2.0])]),
    "2-D: N((0.5, 0), (1, 0.6)) to N(0, 1)": ([(1.0, [0.5, 0.0], [1.0, 0.6])], [(1.0, [0.0, 0.0], [1.0, 1.0])]),
    "2-D: two modes to N(0, 2)": ([(0.5, [-1.0, -1.0], [0.6, 0.6]), (0.5, [1.0, 1.0], [0.6, 0.6])], [(1.0, [0.0, 0.0], [1.8, 1.8])]),
    "5-D: N(0.3, 1) to N(0, 1.2)": ([(1.0, _flat(0.3, 5), _flat(1.0, 5))], [(1.0, _flat(0.0, 5), _flat(1.2, 5))]),
}


def draw(name, rows, seed):
    """A sample of either density."""
    rng = np.random.default_rng(seed)
    first, second = PAIRS[name]
    return _draw(rng, rows, first), _draw(rng, rows, second)


def log_ratio(name, x):
    """The true log ratio."""
    first, second = PAIRS[name]
    return _mixture(x, first) - _mixture(x, second)

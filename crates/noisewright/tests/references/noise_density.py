"""Writes noise_density.tsv: log-densities and distribution functions of the noises, by SciPy and mpmath.

Columns: domain, noise in words, point (coordinates between spaces), log-density, distribution function or "-".
Run: python noise_density.py > noise_density.tsv   (scipy 1.17, mpmath 1.3 or newer)
"""

import math

import mpmath as mp
import numpy as np
from scipy import stats

mp.mp.dps = 40


def row(domain, words, point, log_density, cdf=None):
    point = " ".join(repr(float(x)) for x in np.atleast_1d(point))
    cdf = "-" if cdf is None else repr(float(cdf))
    print(domain, words, point, repr(float(log_density)), cdf, sep="\t")


def scalar(domain, words, distribution, points):
    log = distribution.logpmf if hasattr(distribution.dist, "pmf") else distribution.logpdf
    for x in points:
        row(domain, words, x, log(x), distribution.cdf(x))


LINE = [-1e3, -12.5, -1.0, -1e-3, 0.0, 0.3, 2.0, 40.0]
HALF = [1e-8, 0.02, 0.7, 1.0, 3.5, 60.0]

for mean, variance in [(0, 1), (1.5, 1e-6), (-3, 1e6), (0.25, 2)]:
    scalar("real", f"normal({mean}, {variance})", stats.norm(mean, math.sqrt(variance)), LINE)
for dof, location, scale in [(1, 0, 1), (3.5, 0.5, 2), (5, -1, 0.01), (1000, 0, 1)]:
    scalar("real", f"student({dof}, {location}, {scale})", stats.t(dof, location, scale), LINE)
scalar("real", "uniform(-2, 0.5)", stats.uniform(-2, 2.5), [-3.0, -1.0, 0.0, 0.3, 0.6])
for location, scale in [(0, 1), (0.5, 30)]:
    scalar("real", f"laplace({location}, {scale})", stats.laplace(location, scale), LINE)
    scalar("real", f"logistic({location}, {scale})", stats.logistic(location, scale), LINE)
for shape, rate in [(0.3, 2), (1, 0.5), (7.5, 3), (200, 50)]:
    scalar("positive", f"gamma({shape}, {rate})", stats.gamma(shape, scale=1 / rate), HALF)
for a, b in [(0.5, 0.5), (2, 3), (40, 1)]:
    scalar("[0, 1]", f"beta({a}, {b})", stats.beta(a, b), [1e-9, 0.1, 0.5, 0.93, 1 - 1e-9])
    scalar("[-2, 4]", f"beta({a}, {b})", stats.beta(a, b, -2, 6), [-1.9, 0.0, 3.5])
for mu, sigma in [(0, 1), (2, 0.1), (-1, 3)]:
    scalar("positive", f"lognormal({mu}, {sigma})", stats.lognorm(sigma, scale=math.exp(mu)), HALF)
for mean in [0.1, 4, 300]:
    scalar("counts", f"poisson({mean})", stats.poisson(mean), [0, 1, 5, 40, 310])
for mean, size in [(3, 1), (10, 0.2), (40, 500)]:
    distribution = stats.nbinom(size, size / (size + mean))
    scalar("counts", f"negative-binomial({mean}, {size})", distribution, [0, 1, 7, 60])


def von_mises(mean, kappa, x):
    return mp.mpf(kappa) * mp.cos(mp.mpf(x) - mp.mpf(mean)) - mp.log(2 * mp.pi * mp.besseli(0, kappa))


for mean, kappa in [(0.0, 0.0), (1.0, 0.01), (-2.5, 3.0), (0.5, 1e4)]:
    for x in [-3.0, -0.2, 0.51, 2.0, 9.0]:
        row("circle", f"von-mises({mean}, {kappa})", x, von_mises(mean, kappa, x))

for words, mean, matrix in [
    ("normal([1, -2], [[2, 0.6], [0.6, 0.5]])", [1, -2], [[2, 0.6], [0.6, 0.5]]),
    ("normal([0, 0, 0], [[1, 0.2, 0], [0.2, 4, -1], [0, -1, 9]])", [0, 0, 0], [[1, 0.2, 0], [0.2, 4, -1], [0, -1, 9]]),
]:
    for x in [np.zeros(len(mean)), np.arange(len(mean)) - 3.5]:
        row("real", words, x, stats.multivariate_normal(mean, matrix).logpdf(x))
for dof in [1, 4.5]:
    matrix = [[2, 0.6], [0.6, 0.5]]
    noise = stats.multivariate_t([1, -2], matrix, dof)
    for x in [[0, 0], [30, -7.25]]:
        row("real", f"student({dof}, [1, -2], [[2, 0.6], [0.6, 0.5]])", x, noise.logpdf(x))


def fisher(direction, kappa, x):
    order = mp.mpf(len(direction)) / 2 - 1
    dot = mp.fsum(mp.mpf(float(a)) * mp.mpf(float(b)) for a, b in zip(direction, x))
    log_c = order * mp.log(kappa) - (order + 1) * mp.log(2 * mp.pi) - mp.log(mp.besseli(order, kappa))
    return mp.mpf(kappa) * dot + log_c


for kappa in [0.5, 20.0, 500.0]:
    for x in [[0, 0, 1], [0.6, 0, 0.8], [0, -1, 0]]:
        row("sphere", f"von-mises-fisher([0, 0, 1], {kappa})", x, fisher([0, 0, 1], kappa, x))
    for x in [[0.6, 0.8], [-1, 0]]:
        row("sphere", f"von-mises-fisher([0.6, 0.8], {kappa})", x, fisher([0.6, 0.8], kappa, x))
    for x in [[0.5, 0.5, 0.5, 0.5, 0], [0, 0, 0, 0, 1]]:
        row("sphere", f"von-mises-fisher([0.5, 0.5, 0.5, 0.5, 0], {kappa})", x, fisher([0.5] * 4 + [0], kappa, x))


def truncated_normal(x, mean, deviation, lo, hi):
    def below(v):
        return mp.ncdf((mp.mpf(v) - mean) / deviation) if mp.isfinite(v) else mp.mpf(v > 0)

    # The upper tail as a lower one, so that nothing cancels at 40 digits.
    mass = below(2 * mean - lo) - below(2 * mean - hi)
    inside = below(2 * mean - lo) - below(2 * mean - x)
    return mp.log(mp.npdf(mp.mpf(x), mean, deviation)) - mp.log(mass), inside / mass


INF = mp.inf
for lo, hi, points in [(0, INF, [0.5, 3.0]), (10, INF, [10.01, 10.5]), (35, 36, [35.02, 35.9]), (-0.5, 2, [0.0, 1.9])]:
    for x in points:
        row("real", f"truncate(normal(0, 1), {lo}, {hi})", x, *truncated_normal(x, 0, 1, lo, hi))
for x in [0.1, 0.9]:
    row("[0, 1]", "normal(0.25, 1e12)", x, *truncated_normal(x, mp.mpf("0.25"), mp.mpf(10) ** 6, 0, 1))

mixture = [(0.7, stats.norm(0, 1)), (0.3, stats.t(5, 0, 2))]
for x in LINE:
    density = mp.fsum(mp.mpf(w) * mp.exp(mp.mpf(float(p.logpdf(x)))) for w, p in mixture)
    row("real", "0.7*normal(0, 1) + 0.3*student(5, 0, 2)", x, mp.log(density), sum(w * p.cdf(x) for w, p in mixture))

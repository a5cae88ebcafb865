"""Evidence of posteriors that are hard for a fitted noise, from exact draws, and the coverage of its intervals.

python bench/neighbours/hard_posteriors.py [REFITS] > page     (needs the package, SciPy, and PyTorch or JAX for the flow)
"""

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import integrate, stats

import noisewright as nw

Array = np.ndarray


@dataclass
class Posterior:
    """A density on the real line, exact draws of it, and its evidence."""

    name: str
    log_density: Callable[[Array], Array]
    draw: Callable[[np.random.Generator, int], Array]
    truth: float


def funnel(size: int = 10) -> Posterior:
    """Neal's funnel: s of standard deviation 3, and coordinates of standard deviation exp(s/2); normalized."""

    def log_density(x: Array) -> Array:
        s = x[:, 0]
        squares = (x[:, 1:] ** 2).sum(1)
        return stats.norm.logpdf(s, 0, 3) - 0.5 * ((size - 1) * (s + np.log(2 * np.pi)) + squares * np.exp(-s))

    def draw(random: np.random.Generator, count: int) -> Array:
        s = random.normal(0, 3, (count, 1))
        return np.hstack([s, random.normal(size=(count, size - 1)) * np.exp(s / 2)])

    return Posterior(f"funnel, {size} dimensions", log_density, draw, 0.0)


def two_moons() -> Posterior:
    """Two crescents: a radius about 0.1 and an angle, seen from |a + b| and b - a; the prior's density is 1/4."""
    root = np.sqrt(0.5)

    def log_density(x: Array) -> Array:
        along, across = np.abs(x.sum(1)) * root - 0.25, (x[:, 0] - x[:, 1]) * root
        radius = np.hypot(along, across)
        with np.errstate(divide="ignore"):
            inside = stats.norm.logpdf(radius, 0.1, 0.01) - np.log(np.pi * radius)
        box = (np.abs(x) <= 1).all(1)
        return np.where((along > 0) & box, inside - np.log(4), -np.inf)

    def draw(random: np.random.Generator, count: int) -> Array:
        radius, angle = random.normal(0.1, 0.01, count), random.uniform(-np.pi / 2, np.pi / 2, count)
        u = (radius * np.cos(angle) + 0.25) * random.choice([-1, 1], count)
        v = radius * np.sin(angle)
        return np.column_stack([(u + v) * root, (u - v) * root])

    # Each crescent has a probability of one, and the density of the prior.
    return Posterior("two moons", log_density, draw, float(np.log(2 / 4)))


EFFECTS = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
ERRORS = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])


def eight_schools(centred: bool) -> Posterior:
    """Effects of mean mu (normal, 5) and standard deviation tau (half-Cauchy, 5); the last coordinates are mu and log tau."""

    def given_tau(tau: Array) -> tuple[Array, Array, Array]:
        """Logarithm of the marginal density of the data, and mean and variance of mu, for each tau."""
        variance = ERRORS**2 + np.asarray(tau)[:, None] ** 2
        precision = 1 / 25 + (1 / variance).sum(1)
        mean = (EFFECTS / variance).sum(1) / precision
        squares = (EFFECTS**2 / variance).sum(1) - precision * mean**2
        log_marginal = -0.5 * (np.log(2 * np.pi * variance).sum(1) + np.log(25 * precision) + squares)
        return log_marginal, mean, 1 / precision

    def height(log_tau: Array) -> Array:
        tau = np.exp(log_tau)
        return np.exp(given_tau(tau)[0] + stats.halfcauchy.logpdf(tau, 0, 5) + log_tau)

    truth = float(np.log(integrate.quad(lambda t: height(np.array([t]))[0], -30, 30, points=[0, 2, 4], limit=500, epsabs=0)[0]))
    grid = np.linspace(-25, 20, 200_001)
    cumulative = integrate.cumulative_trapezoid(height(grid), grid, initial=0)

    def draw(random: np.random.Generator, count: int) -> Array:
        log_tau = np.interp(random.uniform(0, cumulative[-1], count), cumulative, grid)
        tau = np.exp(log_tau)[:, None]
        _, mean, variance = given_tau(tau[:, 0])
        mu = random.normal(mean, np.sqrt(variance))[:, None]
        precision = 1 / ERRORS**2 + 1 / tau**2
        theta = random.normal((EFFECTS / ERRORS**2 + mu / tau**2) / precision, 1 / np.sqrt(precision))
        return np.hstack([theta if centred else (theta - mu) / tau, mu, log_tau[:, None]])

    def log_density(x: Array) -> Array:
        theta, mu, log_tau = x[:, :8], x[:, 8:9], x[:, 9:]
        # Beyond, where there is no probability to speak of, tau has no square.
        reach = 300.0
        tau = np.exp(np.clip(log_tau, -reach, reach))
        prior = stats.norm.logpdf(theta, mu, tau) if centred else stats.norm.logpdf(theta)
        effects = theta if centred else mu + tau * theta
        parts = [stats.norm.logpdf(EFFECTS, effects, ERRORS).sum(1), prior.sum(1), stats.norm.logpdf(mu[:, 0], 0, 5)]
        whole = sum(parts) + stats.halfcauchy.logpdf(tau[:, 0], 0, 5) + log_tau[:, 0]
        return np.where(np.abs(log_tau[:, 0]) < reach, whole, -np.inf)

    return Posterior(f"eight schools, {'centred' if centred else 'not centred'}", log_density, draw, truth)


def answer(posterior: Posterior, noise: str, count: int, seed: int) -> nw.EvidenceResult:
    draws = posterior.draw(np.random.default_rng(seed), count)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return nw.evidence(posterior.log_density, draws, noise=noise, independent=True, seed=seed, progress=False)


def told(result: nw.EvidenceResult, truth: float) -> str:
    if result.refused is not None:
        return f"refused ({result.refused_code})"
    return f"{result.log_evidence:.4f} ± {result.se:.4f}, {abs(result.log_evidence - truth) / result.se:.1f} off"


def coverage(posterior: Posterior, refits: int, count: int) -> str:
    found = [answer(posterior, "auto", count, seed) for seed in range(refits)]
    given = [result for result in found if result.refused is None]
    if not given:
        return f"| {posterior.name} | {count} | {refits} | 0 | – | – |"
    covered = sum(result.lower <= posterior.truth <= result.upper for result in given)
    off = np.std([result.log_evidence for result in given]) / np.sqrt(np.mean([result.se**2 for result in given]))
    return f"| {posterior.name} | {count} | {refits} | {len(given)} | {100 * covered / len(given):.1f} % | {off:.2f} |"


def main() -> None:
    refits = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    schools = [eight_schools(False), eight_schools(True)]
    print("# Evidence of hard posteriors\n")
    print("Exact draws, so that only the noise is judged; the truth by closed form or quadrature. An answer is an estimate, its standard error,")
    print("and how many of them it is off; or there is none, with the code of the refusal. 20,000 draws.\n")
    kinds = ["normal", "mixture", "warped", "auto", "flow"]
    print(f"| posterior | truth | {' | '.join(kinds)} |\n|{'---|' * (2 + len(kinds))}")
    for posterior in [*schools, funnel(), two_moons()]:
        cells = [told(answer(posterior, noise, 20_000, 1), posterior.truth) for noise in kinds]
        print(f"| {posterior.name} | {posterior.truth:.4f} | {' | '.join(cells)} |", flush=True)
    print(f"\n## Coverage over {refits} refits\n\nNew draws each time, noise `auto`, intervals of 95 %; answers are those that were not refused.\n")
    print("| posterior | draws | refits | answers | covered | spread over standard error |\n|---|---|---|---|---|---|")
    for posterior in schools:
        print(coverage(posterior, refits, 4000), flush=True)


if __name__ == "__main__":
    main()

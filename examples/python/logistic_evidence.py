"""The evidence of a logistic regression from a Markov chain, against its value by quadrature, and a Bayes factor."""

import numpy as np

import noisewright as nw

rng = np.random.default_rng(3)
x = rng.normal(size=60)
y = rng.uniform(size=60) < 1 / (1 + np.exp(-(0.4 + 1.1 * x)))


def log_posterior(design):
    """Logistic likelihood and independent normal priors of variance 4, for coefficients one row each."""
    size = design.shape[1]
    signs = np.where(y, 1.0, -1.0)

    def log_density(beta):
        margins = (beta @ design.T) * signs
        prior = -(beta**2).sum(axis=1) / 8 - size * np.log(8 * np.pi) / 2
        return -np.logaddexp(0.0, -margins).sum(axis=1) + prior

    return log_density


def random_walk(log_density, size, chains=4, draws=5000, warm_up=500, step=0.5):
    """Metropolis's random walk: chain × draw × coefficient."""
    at = np.zeros((chains, size))
    here = log_density(at)
    kept = np.empty((chains, draws, size))
    for t in range(warm_up + draws):
        there = at + step * rng.normal(size=at.shape)
        value = log_density(there)
        accepted = np.log(rng.uniform(size=chains)) < value - here
        at, here = np.where(accepted[:, None], there, at), np.where(accepted, value, here)
        if t >= warm_up:
            kept[:, t - warm_up] = at
    return kept


def by_quadrature(log_density, size):
    """The same integral as a sum over a fine grid."""
    side = np.linspace(-6, 6, 601 if size == 1 else 401)
    grid = np.stack(np.meshgrid(*[side] * size), axis=-1).reshape(-1, size)
    values = log_density(grid)
    return values.max() + np.log(np.exp(values - values.max()).sum()) + size * np.log(side[1] - side[0])


full = log_posterior(np.column_stack([np.ones(60), x]))
null = log_posterior(np.ones((60, 1)))
results = []
for name, density, size in [("with slope", full, 2), ("without", null, 1)]:
    result = nw.evidence(density, {"beta": random_walk(density, size)})
    truth = by_quadrature(density, size)
    print(f"{name}: log evidence {result.log_evidence:.4f} ± {result.se:.4f}; by quadrature {truth:.4f}")
    assert abs(result.log_evidence - truth) < 4 * result.se and result.se < 0.05
    results.append(result)

factor = nw.bayes_factor(*results)
print(f"log Bayes factor {factor.log_factor:.3f} ± {factor.se:.3f}; probability of a slope {factor.probability:.4f}")

"""Which couplings of a sparse Ising model the lasso finds: 50 spins, 5,000 rows, one coupling in twenty present.

python bench/nets/ising_lasso.py [DATA SETS] [STRENGTH]
"""

import sys
import time

import numpy as np

import noisewright as nw

SPINS, ROWS, SHARE, SWEEPS = 50, 5000, 0.05, 300


def data(seed, strength):
    """Rows by Gibbs sampling, one chain each, and the couplings."""
    rng = np.random.default_rng(seed)
    above = np.triu_indices(SPINS, 1)
    present = rng.choice(len(above[0]), round(SHARE * len(above[0])), replace=False)
    couplings = np.zeros(len(above[0]))
    couplings[present] = strength * rng.choice([-1, 1], len(present))
    matrix = np.zeros((SPINS, SPINS))
    matrix[above] = couplings
    matrix += matrix.T
    x = rng.choice([-1.0, 1.0], (ROWS, SPINS))
    for _ in range(SWEEPS):
        for i in range(SPINS):
            x[:, i] = np.where(rng.random(ROWS) < 1 / (1 + np.exp(-2 * x @ matrix[i])), 1, -1)
    return x, couplings != 0


def main(count, strength):
    model = nw.Model.from_family("ising", variables=[f"s{i}" for i in range(SPINS)], states=[-1, 1])
    print(f"| couplings of ±{strength} | selected | true among them | of | F1 | processor seconds |\n|---|---|---|---|---|---|")
    for seed in range(1, count + 1):
        x, truth = data(seed, strength)
        start = time.process_time()
        fit = nw.fit(model, x, penalty="auto")
        seconds = time.process_time() - start
        found = np.array([e.estimate for e in fit.parameters.values()])[SPINS:] != 0
        both = (found & truth).sum()
        score = 2 * both / (found.sum() + truth.sum())
        print(f"| {seed} | {found.sum()} | {both} | {truth.sum()} | {score:.3f} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5, float(sys.argv[2]) if len(sys.argv) > 2 else 0.4)

"""Umbrella windows over a double well by Metropolis chains: draws, and their log-densities under all windows and without a bias."""

import numpy as np

CENTRES = np.array([-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5])
STIFFNESS = 20.0
DRAWS, STEPS = 250, 8


def energy(x):
    return 3 * (x**2 - 1) ** 2 + 0.5 * x


def biased(x, centre):
    return energy(x) + STIFFNESS * (x - centre) ** 2 / 2


rng = np.random.default_rng(8)
rows = []
for state, centre in enumerate(CENTRES):
    x = centre
    for step in range(-200, DRAWS * STEPS):
        trial = x + rng.normal(0, 0.5)
        if np.log(rng.random()) < biased(x, centre) - biased(trial, centre):
            x = trial
        if step >= 0 and step % STEPS == 0:
            rows.append((state + 1, x, *(-biased(x, CENTRES)), -energy(x)))
with open("draws.csv", "w") as file:
    file.write("state,x," + ",".join(f"u_{k + 1}" for k in range(len(CENTRES))) + ",u_free\n")
    for state, *values in rows:
        file.write(f"{state}," + ",".join(f"{value:.4f}" for value in values) + "\n")
grid = np.linspace(-3, 3, 60001)
density = np.exp(-energy(grid))
print("mean of x without a bias:", np.trapezoid(grid * density, grid) / np.trapezoid(density, grid))
print("free energy at 0 and at 1 less that of the lower well:", energy(0.0) - energy(grid).min(), energy(1.0) - energy(grid).min())

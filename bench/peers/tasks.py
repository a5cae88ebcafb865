"""The inputs of every task, made once with a fixed seed and kept as files that each contestant maps into memory."""

from pathlib import Path

import numpy as np

VALUES = 10_000_000  # of each of two samples
STATES, DRAWS = 50, 10_000
DIMENSION, ROWS = 10, 100_000


def log_z(folder: Path) -> None:
    """A standard normal known up to its constant, e^3, against normal noise; log-densities at both samples."""
    rng = np.random.default_rng(1)
    data, noise = rng.normal(size=VALUES), rng.normal(0.5, 1.5, size=VALUES)
    for name, x in (("data", data), ("noise", noise)):
        np.save(folder / f"log_f_{name}.npy", 3 - x**2 / 2 - np.log(2 * np.pi) / 2)
        np.save(folder / f"log_noise_{name}.npy", -((x - 0.5) ** 2) / 4.5 - np.log(2 * np.pi * 2.25) / 2)


def states(folder: Path) -> None:
    """Fifty harmonic wells side by side, ten thousand draws of each; −log-density of every draw under every state."""
    rng = np.random.default_rng(2)
    centres, widths = np.linspace(0, 20, STATES), np.linspace(1, 1.5, STATES)
    x = np.concatenate([rng.normal(c, w, size=DRAWS) for c, w in zip(centres, widths)])
    np.save(folder / "u_kn.npy", (x[None, :] - centres[:, None]) ** 2 / (2 * widths[:, None] ** 2))


def fit(folder: Path) -> None:
    """A ten-dimensional normal against a wider one: points, log-densities of the noise, and 65 features for those who
    do not make them."""
    rng = np.random.default_rng(3)
    factor = np.linalg.cholesky(0.5 * np.eye(DIMENSION) + 0.5)
    data = rng.normal(size=(ROWS, DIMENSION)) @ factor.T
    noise = 1.3 * rng.normal(size=(ROWS, DIMENSION)) @ factor.T
    inverse = np.linalg.inv(1.3 * factor)

    def log_noise(x):
        return -((x @ inverse.T) ** 2).sum(1) / 2 - DIMENSION / 2 * np.log(2 * np.pi) + np.linalg.slogdet(inverse)[1]

    for name, x in (("data", data), ("noise", noise)):
        np.save(folder / f"points_{name}.npy", np.asfortranarray(x))
        np.save(folder / f"log_density_{name}.npy", log_noise(x))


def features(x: np.ndarray) -> np.ndarray:
    """The statistics of the family `gaussian` with the constant's column: x_i, −x_i x_j (half on the diagonal), −1."""
    d = x.shape[1]
    columns = [x[:, i] for i in range(d)]
    columns += [-(0.5 if i == j else 1.0) * x[:, i] * x[:, j] for i in range(d) for j in range(i, d)]
    return np.column_stack([*columns, -np.ones(len(x))])


TASKS = {"log_z": log_z, "states": states, "fit": fit}

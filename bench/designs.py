"""`error` and `design` on ten models of two and three variables against product grids: prints the table of bench/CONSTANTS.md.

The grids are equidistant nodes over a box outside of which the model has less than 1e-16 of its mass, by NumPy alone. A designed noise has
kinks, which such a grid sees to about the square of its step: so its mass and its error there are given for a grid that is finer than
those of the design and is not one of them, and for a second one, half as fine, whose difference shows how well they are known.

Usage: python bench/designs.py [NODES in the plane [NODES in space]]
"""

import sys
from pathlib import Path

import numpy as np

import noisewright as nw

sys.path.append(str(Path(__file__).resolve().parents[1] / "crates/noisewright/tests/references"))
from integrals import MODELS, cube, error, normal  # noqa: E402


def box(features, theta, dimension, negligible=1e-16):
    """The ends of every axis outside of which the density is negligible, from a coarse grid."""
    axes = cube(dimension, 61, 9.0) if dimension == 3 else cube(dimension, 2001, 50.0)
    names = dict(zip("xyz", np.meshgrid(*axes, indexing="ij")))
    energy = sum(t * eval(f, {}, names) for t, f in zip(theta, features))
    inside = np.argwhere(energy - energy.max() > np.log(negligible))
    step = axes[0][1] - axes[0][0]
    return [(axes[0][low] - step, axes[0][high] + step) for low, high in zip(inside.min(0), inside.max(0))]


def grid(ends, count):
    """The middles of equal cells between the ends."""
    return [low + (high - low) * (np.arange(count) + 0.5) / count for low, high in ends]


def row(features, theta, mean, covariance, nu, nodes):
    """One line of the table."""
    theta, dimension = np.array(theta), len(mean)
    count = nodes[dimension - 2]
    variables = list("xyz"[:dimension])
    formulas = [f.replace("**", "^") for f in features]
    model = nw.Model.from_features(formulas, variables=variables)
    at = dict(zip(model.parameters, theta))
    ends = box(features, theta, dimension)
    given = nw.error(model, at=at, noise=nw.Normal(mean, np.array(covariance, float)), nu=nu)
    stated = given.accuracy["relative_error"]
    truth = error(features, theta, normal(mean, covariance), nu, grid(ends, count))[0]
    best = nw.design(model, at=at, nu=nu)
    log_noise = lambda points: best.noise.log_density(points.T)  # noqa: E731
    fine, coarse = (error(features, theta, log_noise, nu, grid(ends, n)) for n in (count, count // 2))
    off = fine[0] / best.error - 1
    cells = [
        ", ".join(formulas),
        f"{nu:g}",
        f"{given.error:.10g}",
        f"{abs(given.error / truth - 1):.0e}",
        f"{stated:.0e}",
        f"{best.error:.8g}",
        "-" if best.gap is None else f"{best.gap:.1e}",
        f"{off:+.1e} ({coarse[0] / best.error - 1:+.1e})",
        f"{fine[1] - 1:+.1e} ({coarse[1] - 1:+.1e})",
    ]
    print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    counts = [int(word) for word in sys.argv[1:]] + [1501, 211][len(sys.argv) - 1 :]
    print("| model | ν | error | off | stated | best error | gap | error of that noise on the grid | its mass − 1 |")
    print("|---|---|---|---|---|---|---|---|---|")
    for case in MODELS:
        row(*case, counts)

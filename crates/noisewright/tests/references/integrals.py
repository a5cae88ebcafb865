"""The error of designs in two and three variables by product grids: the numbers of tests/asymptotics/space.rs.

(1+ν) tr Σ of MATH §3 for the JS loss and a free constant, from equidistant nodes (111 and 151 a side in space, 1601 and 2201 in the plane);
the rule is exact to rounding for densities that are analytic and fall off, and both grids must agree.
"""

import numpy as np

MODELS = [
    # features, parameters, mean and covariance of the noise, ν
    (["x**4", "y**4", "z**4", "x*y"], [-0.25, -0.25, -0.25, 0.0], [0.1] * 3, np.full((3, 3), 0.2) + 1.2 * np.eye(3), 1.0),
    (["x**4", "y**4", "z**4", "x*z"], [-0.3, -0.2, -0.25, 0.1], [0, 0.1, 0], [[1.3, 0, 0.1], [0, 1.5, 0], [0.1, 0, 1.3]], 1.0),
    (["x**2", "y**2", "z**2", "x*y", "y*z"], [-0.5, -0.6, -0.4, 0.2, -0.1], [0.2, 0, -0.2], 1.5 * np.eye(3), 2.0),
    (["x**2", "x**4", "y**2", "z**4"], [0.5, -0.3, -0.5, -0.2], [0, 0, 0], np.diag([2.0, 1.5, 1.5]), 0.5),
    (["x", "y", "z", "x**2*y**2", "x**2 + y**2 + z**2"], [0.3, -0.2, 0.1, -0.1, -0.6], [0, 0, 0], 1.3 * np.eye(3), 1.0),
    (["x**4", "y**4", "x*y"], [-0.25, -0.25, 0.2], [0, 0], [[1.2, 0.3], [0.3, 1.2]], 0.2),
    (["x**2", "y**2", "x*y"], [-0.5, -0.5, 0.45], [0, 0], [[4.0, 2.0], [2.0, 4.0]], 1.0),
    (["x**2", "(y - x**2)**2"], [-0.5, -1.0], [0, 1], [[1.5, 0], [0, 4.0]], 1.0),
    (["x**6", "y**4", "x**2*y"], [-0.1, -0.2, 0.1], [0.1, 0.2], [[1.1, 0], [0, 1.6]], 3.0),
    (["x", "y**2", "x**2", "y**4"], [0.5, 1.0, -0.5, -0.25], [0.5, 0], [[1.5, 0], [0, 2.5]], 1.0),
]


def normal(mean, covariance):
    """The log-density of a normal noise at points, one column per point."""
    mean, covariance = np.array(mean, float)[:, None], np.array(covariance, float)
    constant = 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]

    def log_density(points):
        centred = points - mean
        return -0.5 * np.einsum("in,in->n", centred, np.linalg.solve(covariance, centred)) - constant

    return log_density


def slabs(axes):
    """The points of a product grid, one column per point, slab after slab of the first axis."""
    for first in axes[0]:
        rest = np.meshgrid(*axes[1:], indexing="ij")
        yield np.stack([np.full(rest[0].size, first), *(g.ravel() for g in rest)])


def error(features, theta, log_noise, nu, axes):
    """The error of a noise on a product grid of equidistant nodes, and the noise's mass there."""
    measure = np.prod([axis[1] - axis[0] for axis in axes])
    evaluate = [compile(f, f, "eval") for f in features]

    def statistics(points):
        names = dict(zip("xyz", points))
        return np.stack([eval(f, {}, names) for f in evaluate])

    log_z = np.log(sum(np.exp(theta @ statistics(points)).sum() for points in slabs(axes)) * measure)
    size = len(features) + 1
    information, first, mass = np.zeros((size, size)), np.zeros(size), 0.0
    for points in slabs(axes):
        values = statistics(points)
        log_p, log_n = theta @ values - log_z, log_noise(points)
        score = np.concatenate([values, -np.ones((1, points.shape[1]))])
        weight = 1 / (1 + np.exp(np.clip(log_p - log_n - np.log(nu), -700, 700)))
        weighted = np.exp(log_p) * weight * measure
        information += (score * weighted) @ score.T
        first += score @ weighted
        mass += np.exp(log_n).sum() * measure
    inverse = np.linalg.inv(information)
    sigma = inverse @ (information - (1 + 1 / nu) * np.outer(first, first)) @ inverse
    return (1 + nu) * np.trace(sigma), mass


def cube(dimension, count, reach):
    """The axes of a grid about zero."""
    return [(np.arange(count) + 0.5) / count * 2 * reach - reach] * dimension


if __name__ == "__main__":
    for features, theta, mean, covariance, nu in MODELS:
        dimension = len(mean)
        counts, reach = ((111, 151), 9.0) if dimension == 3 else ((1601, 2201), 50.0)
        grids = [cube(dimension, count, reach) for count in counts]
        found = [error(features, np.array(theta), normal(mean, covariance), nu, axes)[0] for axes in grids]
        print(f"{found[0]:.12g} {found[1]:.12g}  {features}")

"""The error of designs in two and three variables by product grids: the numbers of tests/integrals_in_space.rs.

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


def error(features, theta, mean, covariance, nu, count, reach=9.0):
    dimension = len(mean)
    axis = (np.arange(count) + 0.5) / count * 2 * reach - reach
    grids = np.meshgrid(*[axis] * dimension, indexing="ij")
    names = dict(zip("xyz", (g.ravel() for g in grids)))
    points = np.stack(list(names.values()))
    statistics = np.stack([eval(f, {}, names) for f in features])
    energy = np.tensordot(theta, statistics, 1)
    measure = (axis[1] - axis[0]) ** dimension
    log_z = np.log(np.sum(np.exp(energy - energy.max())) * measure) + energy.max()
    log_p = energy - log_z
    centred = points - np.array(mean, float)[:, None]
    covariance = np.array(covariance, float)
    quadratic = np.einsum("in,in->n", centred, np.linalg.solve(covariance, centred))
    log_n = -0.5 * quadratic - 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
    score = np.concatenate([statistics, -np.ones((1, points.shape[1]))])
    weight = 1 / (1 + np.exp(np.clip(log_p - log_n - np.log(nu), -700, 700)))
    p = np.exp(log_p) * measure
    information = (score * (p * weight)) @ score.T
    first = score @ (p * weight)
    inverse = np.linalg.inv(information)
    sigma = inverse @ (information - (1 + 1 / nu) * np.outer(first, first)) @ inverse
    return (1 + nu) * np.trace(sigma)


for model in MODELS:
    coarse, fine = (111, 151) if len(model[2]) == 3 else (1601, 2201)
    reach = 9.0 if len(model[2]) == 3 else 50.0
    print(f"{error(*model, coarse, reach):.12g} {error(*model, fine, reach):.12g}  {model[0]}")

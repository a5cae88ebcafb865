"""The best weights of 37 normal noises for `a*x^2/2 - b*x^4` at (1, 0.1), ν = 1, all unknowns alike, by scipy: writes dictionary.json.

The error is (1 + ν)(tr I_w⁻¹ − (1 + 1/ν)) with I_w = E_d[w ψψᵀ], w = ν p_n/(p_d + ν p_n), ψ = (x²/2, −x⁴, −1), by trapezoids on a grid.
"""

import json
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

MEANS = np.arange(-3.0, 3.01, 0.5)
MEMBERS = [(m, 0.4) for m in MEANS] + [(m, 0.8) for m in MEANS] + [(m, 1.6) for m in MEANS[1:-1]]
NU = 1.0

x = np.linspace(-9.0, 9.0, 4801)
step = x[1] - x[0]
data = np.exp(x**2 / 2 - 0.1 * x**4)
data /= data.sum() * step
score = np.stack([x**2 / 2, -(x**4), -np.ones_like(x)])
parts = np.stack([np.exp(-0.5 * ((x - m) / s) ** 2) / (s * np.sqrt(2 * np.pi)) for m, s in MEMBERS])


def error(weights):
    noise = weights @ parts
    w = NU * noise / (data + NU * noise)
    information = (score * (w * data * step)) @ score.T
    inverse = np.linalg.inv(information)
    sensitivity = np.einsum("in,ij,jn->n", score, inverse @ inverse, score)
    slope = -(1 + NU) * NU * (parts @ ((1 - w) ** 2 * sensitivity)) * step
    return (1 + NU) * (np.trace(inverse) - (1 + 1 / NU)), slope


def best():
    start = np.full(len(MEMBERS), 1 / len(MEMBERS))
    total = {"type": "eq", "fun": lambda p: p.sum() - 1, "jac": lambda p: np.ones_like(p)}
    for _ in range(3):
        found = minimize(error, start, jac=True, method="SLSQP", bounds=[(0, 1)] * len(MEMBERS), constraints=[total],
                         options={"ftol": 1e-15, "maxiter": 300})
        start = np.clip(found.x, 0, None) / np.clip(found.x, 0, None).sum()
    value, slope = error(start)
    return start, value, (start @ slope - slope.min())


if __name__ == "__main__":
    weights, value, gap = best()
    equal = 4 * np.trace(np.linalg.inv((score * (data * step)) @ score.T)) - 4
    print(len(MEMBERS), value, "gap", gap, "noise = data", equal, "kept", [(m, s, round(w, 5)) for (m, s), w in zip(MEMBERS, weights) if w > 1e-6])
    # The certificate says how far above the best it may be.
    answer = {"error": value, "above_best": gap, "normals": [[m, s] for m, s in MEMBERS]}
    Path(__file__).with_name("dictionary.json").write_text(json.dumps(answer) + "\n")

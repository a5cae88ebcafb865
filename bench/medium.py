"""Fits of medium dimensions with all settings left alone: CPU time, memory, noise points and efficiency of each.

Truncated normals of 10 variables, a torus graph of 10 angles, a Gaussian graphical model of 50 variables, an Ising chain of 100
spins; every model in a process of its own: `python bench/medium.py`.
"""

import json
import resource
import subprocess
import sys
import time

import numpy as np

import noisewright as nw


def truncated(rng: np.random.Generator) -> tuple[nw.Model, np.ndarray]:
    """Normal variables of autocorrelation 0.7, all of them positive."""
    d, kept = 10, []
    factor = np.linalg.cholesky(0.7 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d))))
    while sum(map(len, kept)) < 1000:
        drawn = rng.normal(size=(100_000, d)) @ factor.T
        kept.append(drawn[(drawn > 0).all(axis=1)])
    names = [f"x{j}" for j in range(d)]
    features = names + [f"{x}^2" for x in names] + [f"{x}*{y}" for x, y in zip(names, names[1:], strict=False)]
    return nw.Model.from_features(features, variables=names, domain="positive"), np.concatenate(kept)[:1000]


def torus(rng: np.random.Generator) -> tuple[nw.Model, np.ndarray]:
    """A chain of angles, each von Mises (κ = 4) around the one before."""
    d, n = 10, 2000
    angles = np.cumsum(np.column_stack([rng.uniform(-np.pi, np.pi, n), rng.vonmises(0.0, 4.0, (n, d - 1))]), axis=1)
    names = [f"x{j}" for j in range(d)]
    features = [f"{f}({x} - {y})" for x, y in zip(names, names[1:], strict=False) for f in ("cos", "sin")]
    return nw.Model.from_features(features, variables=names, domain="circle"), np.angle(np.exp(1j * angles))


def graphical(rng: np.random.Generator) -> tuple[nw.Model, np.ndarray]:
    """A chain of 50 normal variables: means, precisions and the couplings of neighbours."""
    d, n = 50, 5000
    rows = np.zeros((n, d))
    rows[:, 0] = rng.normal(size=n)
    for j in range(1, d):
        rows[:, j] = 0.5 * rows[:, j - 1] + rng.normal(size=n)
    names = [f"x{j}" for j in range(d)]
    features = names + [f"{x}^2" for x in names] + [f"{x}*{y}" for x, y in zip(names, names[1:], strict=False)]
    return nw.Model.from_features(features, variables=names), rows


def spins(rng: np.random.Generator) -> tuple[nw.Model, np.ndarray]:
    """A chain of 100 spins with couplings of a half."""
    d, n = 100, 5000
    turns = np.where(rng.random((n, d - 1)) < 1 / (1 + np.exp(-1.0)), 1.0, -1.0)
    rows = np.cumprod(np.column_stack([rng.choice([-1.0, 1.0], size=n), turns]), axis=1)
    names = [f"s{j}" for j in range(d)]
    edges = [(j, j + 1) for j in range(d - 1)]
    return nw.Model.from_family("ising", variables=names, states=[-1, 1], edges=edges), rows


MODELS = {"truncated normal, 10": truncated, "torus graph, 10": torus, "Gaussian graphical model, 50": graphical, "Ising chain, 100": spins}


def one(name: str) -> None:
    model, rows = MODELS[name](np.random.default_rng(1))
    before = time.process_time()
    fit = nw.fit(model, rows, seed=1, progress=False)
    budget = fit.diagnostics["error_budget"]
    print(json.dumps({
        "rows": len(rows),
        "unknowns": len(fit.parameters) + 1,
        "cpu": time.process_time() - before,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "points": fit.noise_points,
        "draws": fit.draws,
        "share": max(e.se_noise / e.se for e in fit.parameters.values()),
        "efficiency": min((e["efficiency"] for e in budget if e["efficiency"] is not None), default=None),
        "warnings": [warning["code"] for warning in fit.diagnostics["warnings"]],
    }))


def main() -> None:
    print("| model | rows | unknowns | CPU s | MB | noise points | largest share of the noise | efficiency | warnings |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in MODELS:
        run = subprocess.run([sys.executable, __file__, name], check=True, capture_output=True, text=True)
        found = json.loads(run.stdout)
        efficiency = "" if found["efficiency"] is None else f"{100 * found['efficiency']:.1f} %"
        print(f"| {name} | {found['rows']:,} | {found['unknowns']} | {found['cpu']:.1f} | {found['memory']:.0f} | {found['points']:,} ({found['draws']}) "
              f"| {100 * found['share']:.0f} % | {efficiency} | {', '.join(found['warnings']) or 'none'} |", flush=True)


if __name__ == "__main__":
    one(sys.argv[1]) if len(sys.argv) > 1 else main()

"""Simulates the comparators, Brier's loss and dictionary designs, and prints a page: `python bench/comparators.py [--repeats N]`.

Needs the package, scipy and scikit-learn. The committed page is COMPARATORS.md.
"""

import argparse
import json
import math
from pathlib import Path

import numpy as np

import noisewright as nw

QUARTIC = nw.Model.from_formula("a*x^2/2 - b*x^4", variables="x", parameters={"a": 1.0, "b": (0.1, 0.0, np.inf)})
MEAN = nw.Model.from_formula("m*x - x^2/2", variables="x", parameters={"m": 0.0})
REFERENCE = Path(__file__).parent.parent / "crates/noisewright/tests/references/dictionary.json"


def quartic_draws(rng, rows):
    grid = np.linspace(-6, 6, 8001)
    cumulated = np.cumsum(np.exp(grid**2 / 2 - 0.1 * grid**4))
    return np.interp(rng.random(rows) * cumulated[-1], cumulated, grid)


def spread(name, fit_one, truth, rows, repeats, predicted):
    """Rows times the mean squared error, and the coverage of 95 % intervals, of every parameter."""
    off, inside = [], []
    for repeat in range(repeats):
        parameters = fit_one(np.random.default_rng(repeat), repeat).parameters.values()
        off.append([e.estimate - t for e, t in zip(parameters, truth)])
        inside.append([e.lower <= t <= e.upper for e, t in zip(parameters, truth)])
    squares = rows * np.mean(np.square(off), axis=0)
    chance = math.sqrt(2 / repeats)
    for at, (square, expected, cover) in enumerate(zip(squares, predicted, np.mean(inside, axis=0))):
        print(f"| {name} {at + 1} | {rows} | {repeats} | {expected:.5g} | {square:.5g} ± {square * chance:.2g} | {100 * cover:.1f} % |", flush=True)


def score_matching(repeats):
    fit = lambda rng, _: nw.fit(QUARTIC, quartic_draws(rng, 2000), method="score-matching")
    spread("score matching, quartic", fit, (1.0, 0.1), 2000, repeats, (14.45128, 0.08453))


def brier(repeats):
    fit = lambda rng, seed: nw.fit(MEAN, rng.normal(size=1000), loss="brier", noise="normal(0, 4)", nu=1, seed=seed)
    spread("brier, no outliers", fit, (0.0,), 1000, repeats, (1.877,))
    means = {}
    for loss in ("js", "hellinger", "brier"):
        found = []
        for seed in range(max(20, repeats // 20)):
            rng = np.random.default_rng(seed)
            x = np.where(rng.random(4000) < 0.05, rng.normal(8, 0.1, 4000), rng.normal(size=4000))
            found.append(nw.fit(MEAN, x, loss=loss, noise="normal(0, 4)", nu=1, seed=seed)["m"].estimate)
        means[loss] = np.mean(found), np.std(found) / math.sqrt(len(found))
    print("\n5 % of the rows at 8 ± 0.1, 4,000 rows, mean estimate (limits 0.6976, 2.1356, 0.0000):")
    print(", ".join(f"{loss} {mean:.4f} ± {error:.4f}" for loss, (mean, error) in means.items()), flush=True)


def dictionary(repeats):
    normals = [nw.Normal(m, s * s) for m, s in json.loads(REFERENCE.read_text())["normals"]]
    best = nw.design(QUARTIC, at={"a": 1.0, "b": 0.1}, nu=1.0, noise=nw.Dictionary(normals))
    print(f"\n37 normals: error {best.error:.6f}, gap {best.gap:.1e}; noise = data {best.error_noise_equals_data:.5f}", flush=True)
    log_z = math.log(np.trapezoid(np.exp(np.linspace(-7, 7, 40001) ** 2 / 2 - 0.1 * np.linspace(-7, 7, 40001) ** 4), dx=14 / 40000))
    truth, rows = np.array([1.0, 0.1, log_z]), 8000
    off = []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        fit = nw.fit(QUARTIC, quartic_draws(rng, rows), noise=best.noise, nu=1.0, seed=seed)
        off.append([e.estimate for e in fit.estimates.values()] - truth)
    # The error is for the budget of rows and noise points, 2 T_d.
    simulated = 2 * rows * np.mean(np.sum(np.square(off), axis=1))
    print(f"simulated error of a fit against it, {rows} rows, {repeats} times: {simulated:.3f} ({100 * (simulated / best.error - 1):+.1f} %)", flush=True)


def digits():
    """The log ratio of the densities of two images of digits, 64 random cosine features of ten principal components."""
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA

    rng = np.random.default_rng(1)
    images = load_digits().data
    x = PCA(10, whiten=True, random_state=0).fit_transform(images)
    names = [f"x{j}" for j in range(10)]
    frequencies, phases = rng.normal(0, 0.6, (64, 10)), rng.uniform(0, 2 * math.pi, 64)
    terms = [" + ".join(f"({w:.6f})*{n}" for w, n in zip(row, names)) for row in frequencies]
    features = [f"cos({term} + {phase:.6f})" for term, phase in zip(terms, phases)]
    offset = " - ".join(["0", *(f"{n}^2/2" for n in names)])
    parameters = {f"t{k}": 0.0 for k in range(64)}
    formula = f"{offset} + " + " + ".join(f"t{k}*{f}" for k, f in enumerate(features))
    model = nw.Model.from_formula(formula, variables=names, parameters=parameters)
    at = lambda row: ", ".join(f"{v:.6f}" for v in row)
    fit = nw.fit(model, x, nu=2.0, seed=1)
    place = {name: e.estimate for name, e in fit.parameters.items()}
    print("\nLog ratio of the densities of two digits, 64 features, ν = 1: gain over noise = data")
    for first, second in ((0, 1), (2, 3), (4, 5), (6, 7)):
        question = f"log_density({at(x[first])}) - log_density({at(x[second])})"
        for words in ("optimal", "dictionary(auto)"):
            best = nw.design(model, x, at=place, nu=1.0, noise=words, target=question)
            gain = 1 - best.error / best.error_noise_equals_data
            print(f"images {first} and {second}, {words}: {best.error:.4g} against {best.error_noise_equals_data:.4g}, {100 * gain:.1f} %", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=2000)
    repeats = parser.parse_args().repeats
    print("# Comparators, robust losses, dictionaries\n\nWritten by `bench/comparators.py`.\n")
    print("| what | rows | repeats | predicted n·Var | simulated | coverage |\n|---|---|---|---|---|---|")
    score_matching(repeats)
    brier(repeats)
    dictionary(repeats)
    digits()

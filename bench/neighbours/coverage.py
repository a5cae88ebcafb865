"""Coverage of the errors of expectations and surfaces on AR(1) chains of normal states, whose means are known.

    python bench/neighbours/coverage.py [REPEATS]
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.stats import norm

import noisewright as nw

MEANS = np.array([0.0, 1.0, 2.0, 1.5])
COUNT = 1000


def chains(rng: np.random.Generator, rho: float, count: int) -> np.ndarray:
    """Stationary AR(1) chains about the first three means, one after the other; of the fourth state there are none."""
    out = []
    for mean in MEANS[:3]:
        x = rng.normal(size=count)
        x[1:] *= np.sqrt(1 - rho**2)
        for n in range(1, count):
            x[n] += rho * x[n - 1]
        out.append(mean + x)
    return np.concatenate(out)


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    edges = np.linspace(-1, 3, 9)
    print(f"Coverage of 95 % intervals (value ± 1.96 se) over {repeats} repeats; {COUNT} draws of each of three normal states,")
    print("means under them and under a fourth without draws; the simulation's own error is")
    print(f"{100 * np.sqrt(0.05 * 0.95 / repeats):.1f} percentage points.\n")
    print("| ρ | " + " | ".join(f"x under {k}" for k in range(4)) + " | " + " | ".join(f"x² under {k}" for k in range(4)) + " | difference 0→3 | surface of 3 |")
    print("|---" * 11 + "|")
    for rho in (0.0, 0.5, 0.8, 0.95):
        rng = np.random.default_rng(20)
        covered, difference, cells = np.zeros((repeats, 8), dtype=bool), np.zeros(repeats, dtype=bool), []
        for repeat in range(repeats):
            x = chains(rng, rho, COUNT)
            log_f = -0.5 * (x - MEANS[:, np.newaxis]) ** 2
            counts = [COUNT] * 3 + [0]
            found = nw.expectations(log_f, {"x": x, "y": x**2}, counts, progress=False)
            truth = np.concatenate([MEANS, MEANS**2 + 1])
            covered[repeat] = np.abs(found.values - truth) <= 1.96 * found.se
            value, se = found.difference(("x", 0), ("x", 3))
            difference[repeat] = abs(value - 1.5) <= 1.96 * se
            if repeat % 4 == 0:
                surface = nw.surface(log_f, {"x": x}, counts, state=3, bins=edges, reference="normalized", progress=False)
                exact = -np.log(np.diff(norm.cdf(edges, 1.5)) / np.diff(edges))
                known = np.isfinite(surface.se)
                cells += (np.abs(surface.free_energy - exact) <= 1.96 * surface.se)[known].tolist()
        shares = [*covered.mean(axis=0), difference.mean(), np.mean(cells)]
        print(f"| {rho} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + " |", flush=True)


if __name__ == "__main__":
    main()
